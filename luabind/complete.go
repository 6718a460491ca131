package luabind

import (
	"slices"
	"strings"
)

// maxCandidates bounds what Complete returns.
const maxCandidates = 500

// Complete is what can stand for the word that ends at byte pos of text: each candidate replaces
// text[start:pos]. They are in order, and none runs code of the script.
func (e *Evaluator) Complete(text string, pos int) (start int, candidates []string) {
	pos = min(max(pos, 0), len(text))
	if len(text) > maxTyped {
		return pos, nil
	}
	all := tokens(text[:pos])
	start = pos
	if len(all) > 0 && all[len(all)-1].kind == tokenComment && (all[len(all)-1].open || all[len(all)-1].end == pos) {
		return start, nil
	}
	list := significant(all)
	own := chunkNames(significant(tokens(text)))
	word := ""
	n := len(list)
	if n > 0 {
		switch last := list[n-1]; {
		case last.kind == tokenString && last.open:
			return e.completeString(list, own, pos)
		case last.end < pos:
		case last.kind == tokenName || last.kind == tokenKeyword:
			word, start, n = last.text, last.start, n-1
		case last.kind == tokenNumber || last.kind == tokenString:
			return start, nil
		}
	}
	var names []string
	if n > 0 && (list[n-1].text == "." || list[n-1].text == ":") {
		parent, _ := e.expression(list, n-2, own)
		for _, m := range e.members(parent) {
			isMethod := m.method || parent.class == ""
			if list[n-1].text == "." && isName(m.name) || list[n-1].text == ":" && isMethod && isName(m.name) {
				if parent.class != "" && m.method && list[n-1].text == "." && word == "" {
					continue // methods want a colon; a word begun with a dot may still be one
				}
				names = append(names, m.name)
			}
		}
		return start, matching(names, word)
	}
	if n > 0 && list[n-1].kind == tokenKeyword && (list[n-1].text == "function" || list[n-1].text == "local") {
		return start, nil // a new name
	}
	if options := e.optionsAt(list, n, own); options != nil {
		for _, o := range options {
			names = append(names, o.name+" = ")
		}
		if found := matching(names, word); len(found) > 0 {
			return start, found
		}
		names = nil
	}
	if c := e.choiceAt(list, n, own); c.literals != nil || c.words != nil && list[n-1].text == "=" {
		names = c.literals
		if c.words != nil {
			for _, w := range c.words() {
				names = append(names, `"`+w+`"`)
			}
		}
		if found := matching(names, word); len(found) > 0 {
			return start, found
		}
	}
	isNamed, names := following(list[:n])
	if !isNamed {
		return start, matching(names, word)
	}
	for _, m := range e.members(target{value: e.globals(), state: known}) {
		if isName(m.name) {
			names = append(names, m.name)
		}
	}
	for name := range own {
		if name != word || !strings.HasSuffix(text[:pos], word) {
			names = append(names, name)
		}
	}
	return start, matching(names, word)
}

// matching are the names that begin with word, in order, each once.
func matching(names []string, word string) []string {
	var out []string
	for _, n := range names {
		if strings.HasPrefix(n, word) && (word != "" || n[0] != '_') {
			out = append(out, n)
		}
	}
	slices.Sort(out)
	out = slices.Compact(out)
	return out[:min(len(out), maxCandidates)]
}

// optionsAt are the options of the call in whose options table a key begins at list[n].
func (e *Evaluator) optionsAt(list []token, n int, own map[string]bool) []option {
	open := enclosing(list, n)
	if open < 0 || list[open].text != "{" || n > 0 && list[n-1].text != "{" && list[n-1].text != "," && list[n-1].text != ";" {
		return nil
	}
	used := make(map[string]bool)
	for i := open + 1; i+1 < n; i++ {
		if list[i+1].text == "=" {
			used[list[i].text] = true
		}
	}
	var left []option
	for _, o := range e.optionsOf(list, open, own) {
		if !used[o.name] {
			left = append(left, o)
		}
	}
	return left
}

// optionsOf are the options of the call whose options table list[open] begins.
func (e *Evaluator) optionsOf(list []token, open int, own map[string]bool) []option {
	callee, ok := e.called(list, open, own) // f{
	if !ok {
		outer := enclosing(list, open)
		if outer < 0 || list[outer].text != "(" {
			return nil
		}
		if callee, ok = e.called(list, outer, own); !ok { // f(a, {
			return nil
		}
	}
	row, _ := e.rowOf(callee.row)
	return row.options
}

// enclosing is the bracket in front of list[n] that is not closed there, -1 where there is none.
func enclosing(list []token, n int) int {
	depth := 0
	for i := n - 1; i >= 0; i-- {
		if list[i].kind != tokenSymbol {
			continue
		}
		switch list[i].text {
		case ")", "}", "]":
			depth++
		case "(", "{", "[":
			if depth--; depth < 0 {
				return i
			}
		}
	}
	return -1
}

// completeString completes the string that the text ends in.
func (e *Evaluator) completeString(list []token, own map[string]bool, pos int) (start int, candidates []string) {
	i := len(list) - 1
	word := list[i].content()
	start = pos - len(word)
	if i > 1 && list[i-1].text == "[" && endsOperand(list[i-2]) { // t["
		var keys []string
		parent, _ := e.expression(list, i-2, own)
		for _, m := range e.members(parent) {
			if plainName(m.name) {
				keys = append(keys, m.name)
			}
		}
		return start, matching(keys, word)
	}
	c := e.choiceAt(list, i, own)
	if c.words != nil {
		return start, matching(c.words(), word)
	}
	files := c.files
	if files == nil {
		if files = aFile.files; !strings.Contains(word, "/") {
			return start, nil
		}
	}
	at, names := files(e, word)
	return start + at, names
}
