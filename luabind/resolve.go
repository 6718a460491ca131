package luabind

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	lua "github.com/yuin/gopher-lua"

	"npulua/npu"
)

// target is what a name in a chunk stands for, as far as that can be told without running anything.
type target struct {
	value lua.LValue // of a variable or field; nil: only the type is known
	class string     // of a handle: "stream"; "" for others
	row   string     // of a function of the API: "stream:launch", "npu.device"
	topic string     // of npu.kernel "relu": "relu"
	shape *shape     // of a table that a call or a field makes
	state targetState
}

type targetState uint8

const (
	opaque  targetState = iota // nothing can be told
	known                      // it exists
	missing                    // what it would be in is known, and lacks it
)

// maxTyped bounds the text whose names are looked at: it is done again at every key that is pressed.
const maxTyped = 16 << 10

// maxExpression bounds how long a chain of names and calls is followed.
const maxExpression = 64

// maxInherit bounds how many __index tables are followed.
const maxInherit = 16

// classOf is the class of a handle, "" for other values.
func (in *Interp) classOf(v lua.LValue) string {
	if ud, ok := v.(*lua.LUserData); ok {
		if mt, ok := ud.Metatable.(*lua.LTable); ok {
			if name, ok := mt.RawGetString("__metatable").(lua.LString); ok {
				return strings.TrimPrefix(string(name), "npu.")
			}
		}
	}
	return ""
}

// rowsOf are the rows of a class.
func (e *Evaluator) rowsOf(class string) (h classHelp, ok bool) {
	if e.classes == nil {
		e.classes = make(map[string]classHelp)
		for _, h := range helpClasses() {
			e.classes[h.name] = h
		}
	}
	h, ok = e.classes[class]
	return h, ok
}

// find is the row called name.
func (h classHelp) find(name string) (e entry, isMethod, ok bool) {
	for _, m := range h.methods {
		if m.name == name {
			return m, true, true
		}
	}
	for _, f := range h.fields {
		if f.name == name {
			return f, false, true
		}
	}
	return entry{}, false, false
}

// rowOf is the row that "stream:launch" or "npu.device" names.
func (e *Evaluator) rowOf(row string) (found entry, ok bool) {
	class, name, isMethod := strings.Cut(row, ":")
	if !isMethod {
		at := max(strings.LastIndexByte(row, '.'), 0)
		class, name = row[:at], row[min(at+1, len(row)):]
	}
	h, ok := e.rowsOf(class)
	if !ok {
		return entry{}, false
	}
	found, _, ok = h.find(name)
	return found, ok
}

// valueTarget describes a value.
func (e *Evaluator) valueTarget(v lua.LValue) target {
	t := target{value: v, class: e.in.classOf(v), state: known}
	if _, ok := e.rowsOf(t.class); !ok {
		t.class = ""
	}
	if fn, ok := v.(*lua.LFunction); ok {
		t.row = e.topicOf(fn)
	}
	return t
}

// fieldClass is the class of what the field of a handle holds, "" where it is none.
func (e *Evaluator) fieldClass(field string) string {
	name := field[strings.LastIndexByte(field, '_')+1:] // "default_stream"
	if h, ok := e.rowsOf(name); ok && !h.module {
		return name
	}
	return ""
}

// child is what name is in t.
func (e *Evaluator) child(t target, name string) target {
	switch {
	case t.state != known:
		return target{}
	case t.class != "":
		h, _ := e.rowsOf(t.class)
		_, isMethod, ok := h.find(name)
		switch {
		case !ok:
			return target{state: missing}
		case isMethod:
			return target{row: t.class + ":" + name, state: known}
		}
		return target{class: e.fieldClass(name), shape: shapes[t.class+"."+name], state: known}
	case t.shape != nil && !t.shape.list && slices.Contains(t.shape.keys, name):
		return target{state: known}
	case t.shape != nil:
		return target{state: missing}
	}
	switch v := t.value.(type) {
	case *lua.LTable, *lua.LUserData:
		got, open := inherited(v, name)
		switch {
		case got != lua.LNil:
			return e.valueTarget(got)
		case open:
			return target{}
		}
		return target{state: missing}
	case lua.LString:
		if got := e.stringLibrary().RawGetString(name); got != lua.LNil {
			return e.valueTarget(got)
		}
		return target{state: missing}
	}
	return target{}
}

func (e *Evaluator) stringLibrary() *lua.LTable {
	if t, ok := e.globals().RawGetString("string").(*lua.LTable); ok {
		return t
	}
	return e.in.L.NewTable()
}

func (e *Evaluator) globals() *lua.LTable { return e.in.L.G.Global }

// inherited is a field of v, also through __index tables. open says that code of the script would have to be
// asked, which is not.
func inherited(v lua.LValue, name string) (found lua.LValue, open bool) {
	for range maxInherit {
		if t, ok := v.(*lua.LTable); ok {
			if found := t.RawGetString(name); found != lua.LNil {
				return found, false
			}
		}
		next, open := parentOf(v)
		if next == nil {
			return lua.LNil, open
		}
		v = next
	}
	return lua.LNil, true
}

// parentOf is the table in which lookups in v go on; open says that something else is asked.
func parentOf(v lua.LValue) (parent *lua.LTable, open bool) {
	var meta lua.LValue
	switch x := v.(type) {
	case *lua.LTable:
		meta = x.Metatable
	case *lua.LUserData:
		meta = x.Metatable
	}
	mt, ok := meta.(*lua.LTable)
	if !ok {
		return nil, false
	}
	switch index := mt.RawGetString("__index").(type) {
	case *lua.LTable:
		return index, false
	case *lua.LNilType:
		return nil, false
	}
	return nil, true
}

// member is a name that can stand behind a dot or a colon.
type member struct {
	name   string
	method bool // it can be called
}

// members are the names in t, in no order; of a table the fields that are strings.
func (e *Evaluator) members(t target) []member {
	if t.state != known {
		return nil
	}
	if t.class != "" {
		h, _ := e.rowsOf(t.class)
		var list []member
		for _, m := range h.methods {
			list = append(list, member{m.name, true})
		}
		for _, f := range h.fields {
			list = append(list, member{f.name, false})
		}
		return list
	}
	if t.shape != nil {
		var list []member
		for _, key := range t.shape.keys {
			if !t.shape.list {
				list = append(list, member{key, false})
			}
		}
		return list
	}
	var tb *lua.LTable
	switch v := t.value.(type) {
	case *lua.LTable:
		tb = v
	case *lua.LUserData:
		if tb, _ = parentOf(v); tb == nil {
			return nil
		}
	case lua.LString:
		tb = e.stringLibrary()
	default:
		return nil
	}
	seen := make(map[string]bool)
	for range maxInherit {
		tb.ForEach(func(k, v lua.LValue) {
			if s, ok := k.(lua.LString); ok && v != lua.LNil && len(seen) < maxMembers {
				_, isFunction := v.(*lua.LFunction)
				seen[string(s)] = seen[string(s)] || isFunction
			}
		})
		if tb, _ = parentOf(tb); tb == nil {
			break
		}
	}
	var list []member
	for _, name := range slices.Sorted(maps.Keys(seen)) {
		list = append(list, member{name, seen[name]})
	}
	return list
}

// maxMembers bounds how many fields of a table are looked at.
const maxMembers = 10_000

// chunkNames are names that a chunk gives to its own variables.
func chunkNames(list []token) map[string]bool {
	names := make(map[string]bool)
	take := func(i int) int { // a list of names from i on
		for i < len(list) && list[i].kind == tokenName {
			names[list[i].text] = true
			if i+1 >= len(list) || list[i+1].text != "," {
				break
			}
			i += 2
		}
		return i
	}
	var open nesting
	for i, t := range list {
		open = open.with(t)
		switch {
		case t.kind == tokenKeyword && (t.text == "local" || t.text == "for"):
			take(i + 1)
		case t.kind == tokenKeyword && t.text == "function":
			for i++; i < len(list) && list[i].text != "("; i++ {
				if list[i].kind == tokenName && list[i-1].text != "." && list[i-1].text != ":" {
					names[list[i].text] = true
				}
			}
			names["self"] = true
			take(i + 1)
		case t.kind == tokenName && open.inner() != "{" && (i == 0 || list[i-1].text != "." && list[i-1].text != ":"):
			if end := assigned(list, i); end {
				take(i)
			}
		}
	}
	return names
}

// assigned reports whether the list of names at i is assigned to.
func assigned(list []token, i int) bool {
	for ; i < len(list) && list[i].kind == tokenName; i += 2 {
		if i+1 >= len(list) {
			return false
		}
		if list[i+1].text == "=" {
			return true
		}
		if list[i+1].text != "," {
			return false
		}
	}
	return false
}

// expression is what the expression stands for whose last token is list[i]; own are the chunk's variables. at
// is its first token.
func (e *Evaluator) expression(list []token, i int, own map[string]bool) (t target, at int) {
	if i < 0 || e.depth > maxExpression {
		return target{}, max(i, 0)
	}
	e.depth++
	defer func() { e.depth-- }()
	switch last := list[i]; {
	case last.kind == tokenName && i > 0 && (list[i-1].text == "." || list[i-1].text == ":"):
		parent, at := e.expression(list, i-2, own)
		return e.child(parent, last.text), at
	case last.kind == tokenName:
		if own[last.text] && e.globals().RawGetString(last.text) == lua.LNil {
			return target{}, i
		}
		return e.child(target{value: e.globals(), state: known}, last.text), i
	case last.kind == tokenString:
		if callee, at, ok := e.callee(list, i, own); ok {
			return e.result(callee, list[i:i+1]), at
		}
		return target{value: lua.LString(""), state: known}, i
	case last.text == ")" || last.text == "}":
		open := opening(list, i)
		if open < 0 {
			return target{}, i
		}
		if callee, at, ok := e.callee(list, open, own); ok {
			return e.result(callee, list[open+1:i]), at
		}
		if t, at := e.expression(list, i-1, own); last.text == ")" && at == open+1 {
			return t, open
		}
		return target{}, open
	case last.text == "]":
		open := opening(list, i)
		if open < 1 {
			return target{}, i
		}
		parent, at := e.expression(list, open-1, own)
		return e.element(parent, list[open+1:i]), at
	}
	return target{}, i
}

// callee is what is called with the argument that begins at list[i]: a bracket, a table or a string.
func (e *Evaluator) callee(list []token, i int, own map[string]bool) (t target, at int, ok bool) {
	if i == 0 {
		return target{}, 0, false
	}
	switch p := list[i-1]; {
	case p.kind == tokenName, p.text == ")", p.text == "]":
		t, at = e.expression(list, i-1, own)
		return t, at, true
	}
	return target{}, 0, false
}

// opening is the bracket that list[i] closes, -1 where there is none.
func opening(list []token, i int) int {
	depth := 0
	for ; i >= 0; i-- {
		if list[i].kind != tokenSymbol {
			continue
		}
		switch list[i].text {
		case ")", "}", "]":
			depth++
		case "(", "{", "[":
			if depth--; depth == 0 {
				return i
			}
		}
	}
	return -1
}

// unknownName is a name of a chunk that nothing has.
type unknownName struct {
	token int // in the chunk
	name  string
	hint  string // `npu has no "devcie", did you mean "device"?`; "" where nothing is near
}

// unknown lists the names in chunk that stand for nothing, as far as that can be told.
func (e *Evaluator) unknown(chunk string) []unknownName {
	if len(chunk) > maxTyped {
		return nil
	}
	list := significant(tokens(chunk))
	own := chunkNames(list)
	var out []unknownName
	for i, t := range list {
		if t.kind != tokenName {
			continue
		}
		if i+1 < len(list) && list[i+1].text == "=" {
			continue // it is set here, or a key
		}
		if got, _ := e.expression(list, i, own); got.state != missing {
			continue
		}
		u := unknownName{token: t.start, name: t.text}
		parent, what := target{value: e.globals(), state: known}, "there is no global"
		if i > 1 && (list[i-1].text == "." || list[i-1].text == ":") {
			var at int
			parent, at = e.expression(list, i-2, own)
			what = strings.TrimSpace(chunk[list[at].start:list[i-2].end]) + " has no"
		}
		var names []string
		for _, m := range e.members(parent) {
			names = append(names, m.name)
		}
		if n := e.locals[t.text]; n > 0 && parent.value == e.globals() {
			u.hint = fmt.Sprintf("%q was local to input %d; without \"local\" it would have stayed", t.text, n)
		} else if near := npu.Suggest(t.text, names); near != "" && len(t.text) > 2 {
			u.hint = fmt.Sprintf("%s %q%s", what, t.text, near)
		}
		out = append(out, u)
	}
	return out
}

// noteLocals keeps the names that a chunk declares as local, which the next one does not know.
func (e *Evaluator) noteLocals(chunk string) {
	list := significant(tokens(chunk))
	for i, t := range list {
		if t.kind != tokenKeyword || t.text != "local" {
			continue
		}
		for i++; i < len(list) && len(e.locals) < maxMembers && (list[i].kind == tokenName || list[i].text == "," || list[i].text == "function"); i++ {
			if list[i].kind == tokenName {
				e.locals[list[i].text] = e.chunks
				if i+1 < len(list) && list[i+1].text != "," {
					break
				}
			}
		}
	}
}

// significant leaves comments out.
func significant(list []token) []token {
	return slices.DeleteFunc(list, func(t token) bool { return t.kind == tokenComment })
}

// missing is a hint on the name that an expression ends with, where nothing has it.
func (e *Evaluator) missing(chunk string) string {
	if len(chunk) > maxTyped {
		return ""
	}
	list := significant(tokens(chunk))
	if len(list) == 0 {
		return ""
	}
	last := list[len(list)-1]
	for _, u := range e.unknown(chunk) {
		if u.token == last.start && last.kind == tokenName {
			return u.hint
		}
	}
	return ""
}

// topicOf is the help topic of a function of the API, "" for other functions.
func (e *Evaluator) topicOf(fn *lua.LFunction) string {
	if e.topics == nil {
		e.topics = make(map[lua.LValue]string)
		for _, b := range e.in.bound {
			class, methods := b.rows()
			methods.ForEach(func(k, v lua.LValue) { e.topics[v] = class + ":" + k.String() })
		}
	}
	if topic := e.topics[fn]; topic != "" {
		return topic
	}
	name := e.in.library[fn]
	if at := strings.LastIndexByte(name, '.'); at > 0 {
		if h, ok := e.rowsOf(name[:at]); ok && h.module {
			return name
		}
	}
	return ""
}
