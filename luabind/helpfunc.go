package luabind

import (
	"fmt"
	"slices"
	"strings"

	lua "github.com/yuin/gopher-lua"

	"npulua/luabind/lua51"
	"npulua/npu"
)

// replHelp is what help() says before the topics.
const replHelp = `An expression prints its values; _ is the first value of the last one. Other chunks run as in lua(1):
a local variable of one chunk is unknown in the next, so leave local out. Tasks of earlier chunks go on
whenever a chunk waits.
  help "launch"    help(npu)    help(s.launch)    s.launch?    help(107002)
`

// openHelp makes the global help.
func (in *Interp) openHelp() {
	e := in.NewEvaluator()
	in.L.SetGlobal("help", in.L.NewFunction(func(L *lua.LState) int {
		text := e.explainNothing()
		if L.GetTop() > 0 {
			text = e.explainValue(L.Get(1))
		}
		if err := in.std.Stdout.WriteContext(in.ctx, Wrap(text, in.columns)+"\n"); err != nil {
			lua51.Raise(L, "%s", err.Error())
		}
		return 0
	}))
}

// Wrap is text whose lines have at most that many columns, broken between words; an example, which people
// copy, stays a line. 0 columns: no limit.
func Wrap(text string, columns int) string {
	if columns == 0 {
		return text
	}
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		indent := line[:len(line)-len(strings.TrimLeft(line, " "))]
		if textWidth(line) <= columns || strings.HasPrefix(line, "  Example:") {
			continue
		}
		var b strings.Builder
		at := len(indent)
		b.WriteString(indent)
		for j, word := range strings.Split(line[len(indent):], " ") {
			w := textWidth(word)
			switch {
			case j == 0:
			case at+1+w > columns && at > len(indent):
				b.WriteString("\n" + indent)
				at = len(indent)
			default:
				b.WriteByte(' ')
				at++
			}
			b.WriteString(word)
			at += w
		}
		lines[i] = b.String()
	}
	return strings.Join(lines, "\n")
}

func (e *Evaluator) explainNothing() string {
	text, _ := Help("")
	return replHelp + "\nTopics:\n" + text
}

// helpQuery is what a chunk asks about that is no Lua: "s.launch?", "?s.launch", "help s.launch", "?" or "help".
func helpQuery(chunk string) (about string, ok bool) {
	chunk = strings.TrimSpace(chunk)
	list := tokens(chunk)
	if len(list) == 0 || len(chunk) > maxTyped {
		return "", false
	}
	first, last := list[0], list[len(list)-1]
	switch {
	case last.text == "?":
		return strings.TrimSpace(strings.TrimRight(chunk, "?")), true
	case first.text == "?":
		return strings.TrimSpace(strings.TrimLeft(chunk, "?")), true
	case chunk == "help":
		return "", true
	case first.text == "help" && list[1].start > first.end && isTopic(list[1:]):
		return strings.TrimSpace(chunk[first.end:]), true
	}
	return "", false
}

// isTopic reports whether list is a name such as s.launch, or a number.
func isTopic(list []token) bool {
	for i, t := range list {
		word := t.kind == tokenName || t.kind == tokenKeyword || t.kind == tokenNumber && len(list) == 1
		if i%2 == 0 && !word || i%2 == 1 && t.text != "." && t.text != ":" {
			return false
		}
	}
	return len(list)%2 == 1
}

// explain is the help on what a name stands for, or on a topic.
func (e *Evaluator) explain(name string) string {
	if name == "" {
		return e.explainNothing()
	}
	list := significant(tokens(name))
	if len(list) == 0 {
		return e.explainNothing()
	}
	t, at := e.expression(list, len(list)-1, nil)
	switch {
	case at > 0:
		return "no help on " + oneLine(name) + ": ask about one name, as in s.launch?"
	case t.row != "":
		return e.explainTopic(t.row)
	case t.value != nil && t.state == known:
		return e.explainValue(t.value)
	case t.class != "":
		return e.explainTopic(t.class)
	}
	if text, ok := Help(strings.ReplaceAll(name, ":", ".")); ok {
		return text
	}
	if hint := e.missing(name); hint != "" {
		return "no help on " + name + ": " + hint
	}
	if !isTopic(list) {
		return "no help on " + oneLine(name) + ": what it is shows when it has run; ask about a name, as in s.launch?"
	}
	if len(list) > 2 { // a field of a handle
		if parent, _ := e.expression(list, len(list)-3, nil); parent.class != "" {
			return e.explainTopic(parent.class + "." + list[len(list)-1].text)
		}
	}
	return e.explainTopic(name)
}

func (e *Evaluator) explainTopic(topic string) string {
	text, ok := Help(topic)
	if !ok {
		text += "\n  help() lists the topics"
	}
	return text
}

// explainValue is the help on a value: a topic, a module, a function, a handle or an error.
func (e *Evaluator) explainValue(v lua.LValue) string {
	switch x := v.(type) {
	case lua.LString:
		if x == "" {
			return e.explainNothing()
		}
		return e.explainTopic(string(x))
	case lua.LNumber:
		number := lua51.NumberText(float64(x))
		if text, ok := Help(number); ok {
			return text
		}
		return number + " is a number, and no error code. help() lists the topics"
	case *lua.LFunction:
		if topic := e.topicOf(x); topic != "" {
			return e.explainTopic(topic)
		}
		p := &printer{e: e}
		text := p.function(x)
		if x.IsG || x.Proto.SourceName == lua51.HiddenChunk {
			if name := e.in.library[x]; name == "help" {
				return e.explainNothing()
			}
			return text + "\n  A function of Lua 5.1: its manual describes it."
		}
		return text + "\n  " + parameters(x.Proto)
	case *lua.LUserData:
		if k, ok := x.Value.(*npu.Kernel); ok {
			if text, ok := Help(k.Name()); ok && k.Doc() != "" {
				return text
			}
		}
		if class := e.in.classOf(x); class != "" {
			return e.explainTopic(class)
		}
	case *lua.LTable:
		if isErrorObject(x) {
			text, _ := Help(lua51.NumberText(float64(lua.LVAsNumber(x.RawGetString("code")))))
			return errorText(x) + "\n\n" + text
		}
		if name := e.in.library[x]; name == "npu" {
			return e.explainTopic(name)
		} else if name != "" {
			return "module " + name + " of Lua 5.1: its manual describes it.\n  " + strings.Join(e.functionNames(x), " ")
		}
	}
	return "a " + v.Type().String() + ": there is no help on it. help() lists the topics"
}

func (e *Evaluator) functionNames(t *lua.LTable) []string {
	var names []string
	t.ForEach(func(k, v lua.LValue) {
		if s, ok := k.(lua.LString); ok && v.Type() == lua.LTFunction {
			names = append(names, string(s))
		}
	})
	slices.Sort(names)
	return names
}

// parameters describes what a function of the script takes.
func parameters(proto *lua.FunctionProto) string {
	var names []string
	for i := range int(proto.NumParameters) {
		if i < len(proto.DbgLocals) {
			names = append(names, oneLine(proto.DbgLocals[i].Name))
		}
	}
	if proto.IsVarArg&lua.VarArgIsVarArg != 0 {
		names = append(names, "...")
	}
	return fmt.Sprintf("takes (%s), lines %d to %d", strings.Join(names, ", "), proto.LineDefined, proto.LastLineDefined)
}
