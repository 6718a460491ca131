package luabind

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	lua "github.com/yuin/gopher-lua"

	"npulua/luabind/lua51"
	"npulua/npu"
)

// Bounds of what is printed of one value.
const (
	prettyDepth    = 5       // tables in tables
	prettyItems    = 100     // of one table
	prettyTotal    = 1000    // of all tables in the value
	prettyString   = 200     // bytes of a string inside a table
	prettyText     = 1000    // bytes of a string that is the value itself
	prettyElements = 8       // of a buffer
	prettyBudget   = 200_000 // instructions of a __tostring
	prettyWidth    = 80
)

// Format is values as Eval prints them. ctx ends what __tostring functions do: an *InterruptedError.
func (e *Evaluator) Format(ctx context.Context, values ...lua.LValue) (string, error) {
	var text string
	_, err := e.run(ctx, e.in.L.NewFunction(func(L *lua.LState) int {
		p := &printer{e: e, L: L, left: prettyTotal, width: e.Width}
		if p.width <= 0 {
			p.width = prettyWidth
		}
		text = p.list(values)
		return 0
	}))
	return text, err
}

// printer makes text of values.
type printer struct {
	e     *Evaluator
	L     *lua.LState
	width int
	left  int           // items that may still be shown
	path  []*lua.LTable // tables around the one under way
}

// node is a value on its way to text: either text, or items between braces.
type node struct {
	text  string
	items []node
	key   string // in front of an item: "name = "
	list  bool   // of items that share lines
}

// list prints values on one line where each is one, or each from a line of its own on.
func (p *printer) list(values []lua.LValue) string {
	var parts []string
	lines := false
	for i, v := range values {
		if i == prettyItems {
			parts = append(parts, fmt.Sprintf("... %d more", len(values)-i))
			break
		}
		text := p.value(v)
		lines = lines || strings.Contains(text, "\n")
		parts = append(parts, text)
	}
	if lines {
		return strings.Join(parts, "\n")
	}
	return strings.Join(parts, "\t")
}

// value prints v by itself.
func (p *printer) value(v lua.LValue) string {
	switch x := v.(type) {
	case lua.LString:
		return quote(string(x), prettyText)
	case *lua.LUserData:
		if d, ok := x.Value.(*npu.Device); ok && !d.Closed() {
			if text := p.devices([]int{d.ID()}); text != "" {
				return text
			}
		}
	case *lua.LTable:
		if isErrorObject(x) {
			return errorText(x)
		}
		if ids := deviceList(x); ids != nil {
			if text := p.devices(ids); text != "" {
				return text
			}
		}
		if text, failed := p.ownText(x); failed {
			return text + " " + p.fields(x).render(p.width, 0, 0)
		} else if text != "" {
			return clip(text, prettyText)
		}
		return p.fields(x).render(p.width, 0, 0)
	}
	return p.node(v).render(p.width, 0, 0)
}

// node reads v.
func (p *printer) node(v lua.LValue) node {
	switch x := v.(type) {
	case lua.LString:
		return node{text: quote(string(x), prettyString)}
	case lua.LNumber:
		return node{text: lua51.NumberText(float64(x))}
	case *lua.LFunction:
		return node{text: p.function(x)}
	case *lua.LUserData:
		return node{text: p.handle(x)}
	case *lua.LTable:
		return p.table(x)
	case *lua.LState:
		return node{text: "thread"}
	case lua.LChannel:
		return node{text: "channel"}
	}
	return node{text: v.String()}
}

// ownText is what the __tostring of t gives, "" where it has none; a note where that failed.
func (p *printer) ownText(t *lua.LTable) (text string, failed bool) {
	fn := p.L.GetMetaField(t, "__tostring")
	if fn == lua.LNil {
		return "", false
	}
	results, err := p.e.in.threads.CallBounded(p.L, prettyBudget, fn, t)
	switch {
	case err != nil:
		what, _, _ := strings.Cut(valueText(lua51.ErrorValue(err)), "\n")
		return "<__tostring failed: " + clip(what, prettyString) + ">", true
	case len(results) == 0 || results[0].Type() != lua.LTString && results[0].Type() != lua.LTNumber:
		return "<__tostring failed: it returned no string>", true
	}
	return results[0].String(), false
}

// handle is a handle, or another object of Go, on one line.
func (p *printer) handle(ud *lua.LUserData) string {
	fn := p.L.GetMetaField(ud, "__tostring")
	if fn == lua.LNil {
		return "userdata"
	}
	results, err := p.e.in.threads.CallBounded(p.L, prettyBudget, fn, ud)
	if err != nil || len(results) == 0 {
		return "userdata"
	}
	text := oneLine(results[0].String())
	if b, ok := ud.Value.(*npu.Buffer); ok {
		text += firstElements(b)
	}
	return text
}

// firstElements is " {1, 2, 3, ...}" for host memory that may be read now.
func firstElements(b *npu.Buffer) string {
	if b.Space() == npu.DeviceMemory || b.Closed() {
		return ""
	}
	var parts []string
	for i := range min(b.Count(), prettyElements) {
		v, err := b.Element(i)
		if err != nil {
			return " (queued work writes it)"
		}
		parts = append(parts, elementText(b.Type(), v))
	}
	if b.Count() > prettyElements {
		parts = append(parts, "...")
	}
	return " {" + strings.Join(parts, ", ") + "}"
}

// elementText has as many digits as the type can tell apart.
func elementText(typ npu.DType, v float64) string {
	if strings.HasPrefix(typ.String(), "int") || strings.HasPrefix(typ.String(), "uint") || v == math.Trunc(v) || typ.String() == "float64" {
		return lua51.NumberText(v)
	}
	if typ.Size() < 4 {
		return strconv.FormatFloat(v, 'g', 4, 64)
	}
	return strconv.FormatFloat(v, 'g', -1, 32)
}

// function is the name of a function, where it has one, and where it was defined.
func (p *printer) function(fn *lua.LFunction) string {
	name := p.e.topicOf(fn)
	if name == "" {
		name = p.e.in.library[fn]
	}
	if name == "" {
		name = p.e.globalName(fn)
	}
	text := "function"
	if name != "" {
		text += " " + name
	}
	switch {
	case fn.IsG || fn.Proto.SourceName == lua51.HiddenChunk:
		text += " (built in)"
	case fn.Proto.LineDefined > 0:
		text += fmt.Sprintf(" at %s:%d", oneLine(fn.Proto.SourceName), fn.Proto.LineDefined)
	default:
		text += fmt.Sprintf(" at %s", oneLine(fn.Proto.SourceName))
	}
	return text
}

// globalName is the global variable that holds fn, or the field of a global table.
func (e *Evaluator) globalName(fn *lua.LFunction) string {
	found, looked := "", 0
	is := func(name string, v lua.LValue) {
		if looked++; v == fn && (found == "" || name < found) {
			found = name
		}
	}
	e.globals().ForEach(func(k, v lua.LValue) {
		name, ok := k.(lua.LString)
		if !ok || name == "_G" || name == "_" {
			return
		}
		is(string(name), v)
		if t, ok := v.(*lua.LTable); ok && looked < maxMembers && t.Len() < maxMembers {
			t.ForEach(func(k, v lua.LValue) {
				if field, ok := k.(lua.LString); ok {
					is(string(name)+"."+string(field), v)
				}
			})
		}
	})
	return found
}

// table reads a table inside another value.
func (p *printer) table(t *lua.LTable) node {
	switch {
	case slices.Contains(p.path, t):
		return node{text: "<cycle>"}
	case isErrorObject(t):
		return node{text: "<error: " + clip(oneLine(errorText(t)), prettyString) + ">"}
	}
	if text, _ := p.ownText(t); text != "" {
		return node{text: clip(oneLine(text), prettyString)}
	}
	if name := p.e.in.library[t]; name != "" {
		return node{text: "<table " + name + ">"}
	}
	if len(p.path) >= prettyDepth {
		if k, _ := t.Next(lua.LNil); k == lua.LNil {
			return node{text: "{}"}
		}
		return node{text: "{...}"}
	}
	return p.fields(t)
}

// fields reads the array part, the other fields in order of their keys, and the metatable.
func (p *printer) fields(t *lua.LTable) node {
	p.path = append(p.path, t)
	defer func() { p.path = p.path[:len(p.path)-1] }()

	n := node{list: true}
	length, shown := lua51.Length(t), 0
	for i := range min(length, prettyItems) { // up to the first hole
		if lua51.Item(t, i+1) == lua.LNil {
			length = i
			break
		}
	}
	for ; shown < length && shown < prettyItems && p.left > 0; shown++ {
		p.left--
		n.items = append(n.items, p.node(lua51.Item(t, shown+1)))
	}
	keys, fields := smallestKeys(t, length, prettyItems)
	for _, k := range keys {
		if p.left <= 0 || len(n.items) >= prettyItems {
			break
		}
		p.left--
		item := p.node(t.RawGet(k))
		item.key = p.key(k) + " = "
		n.items, n.list, shown = append(n.items, item), false, shown+1
	}
	if more := length + fields - shown; more > 0 {
		n.items = append(n.items, node{text: fmt.Sprintf("... %d more", more)})
	}
	if mt, ok := t.Metatable.(*lua.LTable); ok {
		item := node{}
		if hidden := mt.RawGetString("__metatable"); hidden != lua.LNil {
			item = p.node(hidden)
		} else {
			item = p.node(mt)
		}
		item.key = "<metatable> = "
		n.items, n.list = append(n.items, item), false
	}
	if len(n.items) == 0 {
		return node{text: "{}"}
	}
	return n
}

// smallestKeys are the first most keys of t, without those of its array of length, in order; count is the
// number of them all.
func smallestKeys(t *lua.LTable, length, most int) (keys []lua.LValue, count int) {
	cut := func() {
		slices.SortStableFunc(keys, compareKeys)
		if len(keys) > most {
			keys = keys[:most]
		}
	}
	t.ForEach(func(k, v lua.LValue) {
		if n, ok := k.(lua.LNumber); ok && n >= 1 && n <= lua.LNumber(length) && n == lua.LNumber(int(n)) {
			return
		}
		count++
		if keys = append(keys, k); len(keys) >= 8*most {
			cut()
		}
	})
	cut()
	return keys, count
}

// compareKeys orders numbers, then strings, then the rest as it comes.
func compareKeys(a, b lua.LValue) int {
	rank := func(v lua.LValue) int {
		switch v.Type() {
		case lua.LTNumber:
			return 0
		case lua.LTString:
			return 1
		case lua.LTBool:
			return 2
		}
		return 3
	}
	if d := rank(a) - rank(b); d != 0 {
		return d
	}
	switch x := a.(type) {
	case lua.LNumber:
		y := b.(lua.LNumber)
		switch {
		case x < y:
			return -1
		case x > y:
			return 1
		}
	case lua.LString:
		return strings.Compare(string(x), string(b.(lua.LString)))
	case lua.LBool:
		return strings.Compare(x.String(), b.String())
	}
	return 0
}

// key is a key as a table constructor has it.
func (p *printer) key(k lua.LValue) string {
	if s, ok := k.(lua.LString); ok && isName(string(s)) {
		return string(s)
	}
	if t, ok := k.(*lua.LTable); ok {
		if isErrorObject(t) || p.L.GetMetaField(t, "__tostring") != lua.LNil {
			return "[" + p.table(t).flat() + "]"
		}
		return "[{...}]"
	}
	return "[" + p.node(k).flat() + "]"
}

// flat is the node on one line.
func (n node) flat() string {
	if n.items == nil {
		return n.text
	}
	var b strings.Builder
	b.WriteByte('{')
	for i, item := range n.items {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(item.key + item.flat())
	}
	b.WriteByte('}')
	return b.String()
}

// render is the node on one line where that fits behind used columns, else on several, indented.
func (n node) render(width, indent, used int) string {
	flat := n.flat()
	if n.items == nil || textWidth(flat)+used <= width {
		return flat
	}
	pad := strings.Repeat(" ", indent+2)
	var b strings.Builder
	b.WriteString("{\n")
	column := 0
	for i, item := range n.items {
		text := item.key + item.render(width, indent+2, indent+2+textWidth(item.key)+1)
		comma := ","
		if i == len(n.items)-1 {
			comma = ""
		}
		switch w := textWidth(text) + len(comma); {
		case n.list && column > 0 && item.items == nil && column+1+w <= width:
			b.WriteString(" " + text + comma)
			column += 1 + w
		default:
			if i > 0 {
				b.WriteByte('\n')
			}
			b.WriteString(pad + text + comma)
			column = len(pad) + w
			if strings.Contains(text, "\n") {
				column = width
			}
		}
	}
	b.WriteString("\n" + pad[2:] + "}")
	return b.String()
}

// textWidth is about how many columns s takes: East Asian characters take two.
func textWidth(s string) int {
	n := 0
	for _, r := range s {
		switch {
		case r >= 0x1100 && (r <= 0x115f || r >= 0x2e80 && r <= 0xd7a3 || r >= 0xf900 && r <= 0xfaff || r >= 0xfe30 && r <= 0xfe6f ||
			r >= 0xff00 && r <= 0xff60 || r >= 0x1f300 && r <= 0x1faff || r >= 0x20000 && r <= 0x3fffd):
			n += 2
		case unicode.Is(unicode.Mn, r):
		default:
			n++
		}
	}
	return n
}

// quote is s as a Lua string of one line, cut after most bytes.
func quote(s string, most int) string {
	var b strings.Builder
	b.WriteByte('"')
	i := 0
	for i < len(s) && i < most {
		r, size := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\r':
			b.WriteString(`\r`)
		case r == '\t':
			b.WriteString(`\t`)
		case r == utf8.RuneError && size == 1, !unicode.IsPrint(r):
			for _, c := range []byte(s[i : i+size]) {
				fmt.Fprintf(&b, `\%03d`, c)
			}
		default:
			b.WriteRune(r)
		}
		i += size
	}
	b.WriteByte('"')
	if i < len(s) {
		return b.String() + "... (" + strconv.Itoa(len(s)) + " B)"
	}
	return b.String()
}

// clip cuts text after most bytes, and drops what a terminal would obey.
func clip(s string, most int) string {
	if len(s) > most {
		for most > 0 && !utf8.RuneStart(s[most]) {
			most--
		}
		s = s[:most] + "..."
	}
	return strings.Map(func(r rune) rune {
		if r == '\n' || r == '\t' || unicode.IsPrint(r) {
			return r
		}
		return '?'
	}, s)
}

// oneLine is s without line ends and control characters.
func oneLine(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t':
			return ' '
		case unicode.IsPrint(r):
			return r
		}
		return '?'
	}, s)
}
