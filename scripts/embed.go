// Package scripts holds the Lua scripts that come with npulua. The first comment block of a script
// is its help, unless it makes one of the options that it declares.
package scripts

import (
	"embed"
	"io/fs"
	"regexp"
	"strings"
)

//go:embed *.lua lib/*.lua data/*.png data/*.json data/scenarios/*.json
var files embed.FS

// Script is one of them.
type Script struct {
	Name string // without .lua
	Code string
}

// List returns all scripts by name.
func List() []Script {
	entries, err := files.ReadDir(".")
	if err != nil {
		panic(err)
	}
	var out []Script
	for _, e := range entries {
		name, ok := strings.CutSuffix(e.Name(), ".lua")
		if !ok {
			continue
		}
		code, err := files.ReadFile(e.Name())
		if err != nil {
			panic(err)
		}
		out = append(out, Script{name, string(code)})
	}
	return out
}

// Find returns the script called name.
func Find(name string) (Script, bool) {
	for _, s := range List() {
		if s.Name == name {
			return s, true
		}
	}
	return Script{}, false
}

// Help is the first comment block, without its dashes.
func (s Script) Help() string {
	var lines []string
	for line := range strings.SplitSeq(s.Code, "\n") {
		if strings.HasPrefix(line, "#!") && len(lines) == 0 {
			continue
		}
		text, ok := strings.CutPrefix(line, "--")
		if !ok {
			break
		}
		lines = append(lines, strings.TrimPrefix(text, " "))
	}
	return strings.Join(lines, "\n")
}

// argsPattern is a line of code that loads the module which reads command lines.
var argsPattern = regexp.MustCompile(`(?m)^[^\n"']*\brequire\s*\(?\s*["']args["']`)

// MakesHelp reports whether the script reads its command line with the module args, which prints help for --help.
func (s Script) MakesHelp() bool {
	for _, line := range argsPattern.FindAllString(s.Code, -1) {
		if !strings.Contains(line, "--") {
			return true
		}
	}
	return false
}

// Summary is the first line of Help, without the name that it starts with.
func (s Script) Summary() string {
	first, _, _ := strings.Cut(s.Help(), "\n")
	return strings.TrimPrefix(first, s.Name+": ")
}

// Library holds the modules that scripts share.
func Library() fs.FS {
	sub, err := fs.Sub(files, "lib")
	if err != nil {
		panic(err)
	}
	return sub
}

// Data holds the sample files that scripts read as "sample:NAME".
func Data() fs.FS {
	sub, err := fs.Sub(files, "data")
	if err != nil {
		panic(err)
	}
	return sub
}
