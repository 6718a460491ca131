package luabind

import (
	"fmt"
	"slices"
	"strings"

	lua "github.com/yuin/gopher-lua"

	"npulua/luabind/lua51"
	"npulua/npu"
)

// replHelp is what help() says: what to ask next, the topics in the place of %s, and what a session is. A paragraph
// is one line, which Wrap breaks.
const replHelp = `help "launch"     a function, with a first launch as its example
help "kernels"    what can be launched; help "relu" is one of them
help "stream"     a type, and what it can do
npu.device?       what a name stands for; help(npu.device) is the same
help(107002)      an error code

Topics:
%s

An expression prints its values; _ is the first value of the last one. Other chunks run as in lua(1): a local variable of one chunk is unknown in the next, so leave local out. Tasks of earlier chunks go on whenever a chunk waits.`

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
	example := false
	for i, line := range lines {
		example = strings.HasPrefix(line, exampleHead) || example && strings.HasPrefix(line, "    ")
		indent := line[:len(line)-len(strings.TrimLeft(line, " "))]
		if textWidth(line) <= columns || example {
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
	return fmt.Sprintf(replHelp, text)
}

// helpQuery is what a chunk asks about that is no Lua: "s.launch?", "?s.launch", "help s.launch", "?" or "help"; or
// that is help(s.launch), which would ask nil where there is no s. A comment may follow.
func (e *Evaluator) helpQuery(chunk string) (about string, ok bool) {
	if len(chunk) > maxTyped {
		return "", false
	}
	list := significant(tokens(chunk))
	n := len(list)
	if n == 0 {
		return "", false
	}
	begin, end := 0, n
	for end > 0 && list[end-1].text == "?" {
		end--
	}
	for begin < end && list[begin].text == "?" {
		begin++
	}
	switch rest := list[1:]; {
	case begin > 0 || end < n:
	case list[0].text != "help":
		return "", false
	case n == 1:
		return "", true
	case rest[0].start > list[0].end && (isTopic(rest) || rest[0].text == "." && isTopic(rest[1:])):
		begin++
	case n > 3 && rest[0].text == "(" && list[n-1].text == ")" && isName(list[1+1].text) && isTopic(list[2:n-1]) && e.isHelp():
		begin, end = 2, n-1
		first, _ := e.expression(list, begin, nil)
		if t, _ := e.expression(list, end-1, nil); t.state == opaque && first.state != missing {
			return "", false // it shows when it runs
		}
	default:
		return "", false
	}
	if begin == end {
		return "", true
	}
	return strings.TrimSpace(chunk[list[begin].start:list[end-1].end]), true
}

// isHelp reports whether help is still what the library made.
func (e *Evaluator) isHelp() bool {
	fn, ok := e.globals().RawGetString("help").(*lua.LFunction)
	return ok && e.in.library[fn] == "help"
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
	n := len(list)
	t, at := e.expression(list, n-1, nil)
	switch {
	case at > 0:
		return "no help on " + oneLine(name) + ": ask about one name, as in npu.device?"
	case t.row != "":
		return e.explainTopic(t.row)
	case slices.Contains(kernelNames(), t.topic):
		return e.explainTopic(t.topic)
	case t.topic != "":
		return fmt.Sprintf("no help on kernel %q%s", t.topic, npu.Suggest(t.topic, kernelNames()))
	case n == 1 && list[0].kind == tokenString && list[0].content() != "":
		return e.explainTopic(list[0].content())
	}
	if text, ok := e.explainField(list); ok {
		return text
	}
	switch {
	case t.value != nil && t.state == known:
		return e.explainValue(t.value)
	case t.class != "":
		return e.explainTopic(t.class)
	}
	if text, ok := Help(strings.ReplaceAll(name, ":", ".")); ok {
		return text
	}
	if first, _ := e.expression(list, 0, nil); n > 2 && first.state == missing && isTopic(list) {
		text := "there is no " + list[0].text + " here yet"
		if topic, ok := Help(list[n-1].text); ok {
			return text + "; help knows of " + list[n-1].text + ":\n\n" + topic
		}
		return "no help on " + name + ": " + text
	}
	if hint := e.missing(name); hint != "" {
		return "no help on " + name + ": " + hint
	}
	if !isTopic(list) && name[0] != '.' {
		return "no help on " + oneLine(name) + ": what it is shows when it has run; ask about a name, as in npu.device?"
	}
	return e.explainTopic(name)
}

// explainField is the help on a field of a handle, or of npu.
func (e *Evaluator) explainField(list []token) (text string, ok bool) {
	n := len(list)
	if n < 3 || list[n-2].text != "." && list[n-2].text != ":" {
		return "", false
	}
	parent, _ := e.expression(list, n-3, nil)
	field := list[n-1].text
	t := e.child(parent, field)
	switch {
	case parent.class != "" && t.state == known && t.class == "":
		return Help(parent.class + "." + field)
	case parent.value != nil && e.in.library[parent.value] == "npu":
		return Help("npu." + field)
	}
	return "", false
}

func (e *Evaluator) explainTopic(topic string) string {
	if topic[0] == '.' {
		return "no help on " + oneLine(topic) + ": .help describes what begins with a dot"
	}
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
		if _, ok := Help(string(x)); ok || suggestTopic(string(x)) != "" {
			return e.explainTopic(string(x))
		}
		return e.explain(string(x))
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
			return e.explainKernel(k)
		}
		if class := e.in.classOf(x); class != "" {
			return e.explainTopic(class)
		}
	case *lua.LTable:
		if isErrorObject(x) {
			text, _ := Help(lua51.NumberText(float64(lua.LVAsNumber(x.RawGetString("code")))))
			return errorText(x) + "\n\n" + text
		}
		if name := e.in.library[x]; name == "npu" || isPart(name) {
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
