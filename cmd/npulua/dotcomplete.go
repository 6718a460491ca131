package main

import (
	"strings"

	"npulua/luabind"
)

// Complete implements repl.Evaluator: names of commands, their files, words and code, and else Lua.
func (s *interactive) Complete(text string, pos int) (start int, candidates []string) {
	begin := len(text) - len(strings.TrimLeft(text, " \t"))
	if begin >= pos || text[begin] != '.' {
		return s.Evaluator.Complete(text, pos)
	}
	name, arg := text[begin:pos], pos
	if i := strings.IndexAny(name, " \t\n"); i >= 0 {
		name, arg = name[:i], begin+i+1
		for arg < pos && (text[arg] == ' ' || text[arg] == '\t') {
			arg++
		}
	}
	typed := text[arg:pos]
	var words []string
	switch {
	case arg == pos && begin+len(name) == pos:
		start, typed = begin, name
		for _, c := range dotCommands {
			words = append(words, c.name)
		}
	case name == ".load", name == ".save", name == ".save!":
		path := withHome(typed)
		from, names := luabind.CompletePath(path)
		if from -= len(path) - len(typed); from < 0 {
			return pos, nil // a "~" alone
		}
		return arg + from, names
	case name == ".help":
		start = arg
		for _, c := range dotCommands {
			words = append(words, c.name[1:])
		}
	case name == ".trace":
		start, words = arg, []string{"off", "on", "show"}
	case name == ".time", name == ".bench":
		start, candidates = s.Evaluator.Complete(text[arg:], pos-arg)
		return arg + start, candidates
	default:
		return pos, nil
	}
	for _, w := range words {
		if strings.HasPrefix(w, typed) {
			candidates = append(candidates, w)
		}
	}
	return start, candidates
}
