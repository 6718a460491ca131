package luabind

import (
	"slices"
	"strings"

	lua "github.com/yuin/gopher-lua"

	"npulua/luabind/lua51"
)

// Script is chunks of Eval as one script, which leaves the globals that they have left, and how many there are:
// what asked for help is left out. A local variable stays one of its chunk, an expression and what a chunk returns
// become the global "_", and no chunk goes on with the one before it.
func (e *Evaluator) Script(chunks []string) (code string, count int) {
	var parts []part
	for _, chunk := range chunks {
		if _, ok := e.helpQuery(chunk); !ok {
			parts = append(parts, readPart(chunk))
		}
	}
	var b strings.Builder
	for i, p := range parts {
		if text := p.statement(readLater(parts[i+1:]) || slices.ContainsFunc(parts, readsInside)); text != "" {
			b.WriteString(text + "\n")
			count++
		}
	}
	return b.String(), count
}

// part is a chunk on its way into a script.
type part struct {
	code   string
	list   []token // without comments
	values string  // that "_" is the first of, "" for none
	call   bool    // values are those of one call, which may have none
	early  bool    // it returns from inside a loop or a condition
	proto  *lua.FunctionProto
}

func readPart(chunk string) part {
	p := part{code: strings.TrimSpace(withoutEquals(chunk))}
	p.list = significant(tokens(p.code))
	input := lua51.CompileInput(p.code, "input")
	if p.proto = input.Proto; p.proto == nil || len(p.list) == 0 {
		return p
	}
	end := len(p.code)
	if last := p.list[len(p.list)-1]; last.text == ";" {
		end = last.start
	}
	if input.Expression {
		p.values, p.code = p.code[:end], ""
	} else {
		for i, inside := range blocks(p.list) {
			switch {
			case p.list[i].text != "return" || slices.Contains(inside, "function"):
			case len(inside) > 0:
				p.early = true
			default:
				p.values, p.code = p.code[p.list[i].end:end], p.code[:p.list[i].start]
			}
		}
	}
	_, err := lua51.Compile([]byte("do "+p.values+"\nend"), "input")
	p.call = err == nil && strings.TrimSpace(p.values) != ""
	return p
}

// blocks is for each token the keywords of the blocks around it.
func blocks(list []token) [][]string {
	out := make([][]string, len(list))
	var inside []string
	for i, t := range list {
		out[i] = slices.Clone(inside)
		if t.kind != tokenKeyword {
			continue
		}
		switch t.text {
		case "function", "do", "if", "repeat":
			inside = append(inside, t.text)
		case "end", "until":
			inside = inside[:max(len(inside)-1, 0)]
		}
	}
	return out
}

// reads reports whether the chunk, or with inside a function that it makes, mentions "_".
func (p part) reads(inside bool) bool {
	var in func(f *lua.FunctionProto, deep bool) bool
	in = func(f *lua.FunctionProto, deep bool) bool {
		return deep == inside && slices.Contains(f.Constants, lua.LValue(lua.LString("_"))) ||
			slices.ContainsFunc(f.FunctionPrototypes, func(g *lua.FunctionProto) bool { return in(g, true) })
	}
	return p.proto != nil && in(p.proto, false)
}

func readsInside(p part) bool { return p.reads(true) }

// readLater reports whether parts read the "_" that was there before them.
func readLater(parts []part) bool {
	for _, p := range parts {
		switch {
		case p.reads(false):
			return true
		case p.values != "" && !p.call && !p.early:
			return false
		}
	}
	return false
}

// keep sets "_" where what it is called with has a value.
const keep = `(function(...) if select("#", ...) > 0 then _ = (...) end end)`

// statement is p as it stands in a script; read says whether "_" is read after it.
func (p part) statement(read bool) string {
	values := strings.TrimSpace(p.values)
	switch {
	case p.early:
		text := "(function(...)\n" + indented(strings.TrimSpace(p.code+p.returned())) + "\nend)(...)"
		if read {
			text = keep + "(" + text + ")"
		}
		return block(text)
	case values == "":
	case p.call && read:
		values = keep + "(" + values + "\n)"
		if !strings.Contains(p.values, "--") {
			values = strings.Replace(values, "\n)", ")", 1)
		}
	case !p.call:
		values = "_ = " + values
	}
	text := strings.TrimSpace(p.code)
	switch {
	case text == "":
		text = values
	case values != "" && strings.HasPrefix(values, "("): // "a = f return (g)()"
		text += "\n" + block(values)
	case values != "":
		text = p.code + values
	}
	list := significant(tokens(text))
	for i, inside := range blocks(list) {
		switch t := list[i]; {
		case len(inside) > 0:
		case t.text == "local", t.text == "goto", i == 0 && t.text == "(", i > 0 && t.text == ":" && list[i-1].text == ":":
			return block(text)
		}
	}
	return text
}

// returned is the last statement of a chunk again, where it is one that returns.
func (p part) returned() string {
	if p.values == "" {
		return ""
	}
	return "return " + p.values
}

// block puts do and end around text.
func block(text string) string {
	all := tokens(text)
	if len(all) > 0 && all[len(all)-1].kind == tokenComment || strings.Contains(text, "\n") {
		return "do\n" + indented(text) + "\nend"
	}
	return "do " + text + " end"
}

// indented moves lines to the right, but not those inside a string.
func indented(text string) string {
	for _, t := range tokens(text) {
		if t.kind == tokenString && strings.Contains(t.text, "\n") {
			return text
		}
	}
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		if line != "" {
			lines[i] = "  " + line
		}
	}
	return strings.Join(lines, "\n")
}
