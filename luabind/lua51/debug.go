package lua51

import (
	"strconv"
	"strings"

	lua "github.com/yuin/gopher-lua"
)

// OpenDebug replaces the functions of debug that OpenBase leaves. io and load are for debug.debug.
func (t *Threads) OpenDebug(io *IO, load Loader) {
	registry := t.main.NewTable() // what other libraries keep in the real one is not for scripts
	registry.RawSetString("_LOADED", t.main.GetField(t.main.GetGlobal("package"), "loaded"))
	registry.RawSetString(fileType, io.meta)
	setRows(t.main, "debug", map[string]lua.LGFunction{
		"debug":    func(L *lua.LState) int { return io.debugDebug(L, t, load) },
		"getfenv":  debugGetfenv,
		"gethook":  t.debugGethook,
		"getinfo":  func(L *lua.LState) int { return debugGetinfo(L, true) },
		"getlocal": debugGetlocal,
		"getregistry": func(L *lua.LState) int {
			L.Push(registry)
			return 1
		},
		"getupvalue": debugGetupvalue,
		"setfenv":    debugSetfenv,
		"sethook":    t.debugSethook,
		"setlocal":   debugSetlocal,
		"setupvalue": debugSetupvalue,
		"traceback":  debugTraceback,
	})
}

// ConfineDebug leaves of debug what reaches into no other function.
func (t *Threads) ConfineDebug() {
	debug := t.main.GetGlobal("debug").(*lua.LTable)
	var names []lua.LValue
	debug.ForEach(func(k, _ lua.LValue) { names = append(names, k) })
	for _, name := range names {
		debug.RawSet(name, lua.LNil)
	}
	setRows(t.main, "debug", map[string]lua.LGFunction{
		"getinfo":   func(L *lua.LState) int { return debugGetinfo(L, false) },
		"traceback": debugTraceback,
	})
}

// otherThread is the thread that a debug function is about, and how many arguments stand for it. Where none is
// given, or the one that runs, it is that.
func otherThread(L *lua.LState) (s stack, th *lua.LState, shift int) {
	if th, ok := L.Get(1).(*lua.LState); ok {
		return stackOfThread(L, th), th, 1
	}
	return stackOf(L), L, 0
}

// isOwn reports whether th is the coroutine that runs on L.
func isOwn(L, th *lua.LState) bool {
	t := threadsOf(L)
	return th == L || t != nil && th == t.logical(L)
}

// description is what debug.getinfo tells about a function, and about the level at which it runs.
type description struct {
	source, shortSource, what  string
	lineDefined, lastLine, now int
	upvalues                   int
	fn                         *lua.LFunction
}

// describe describes fn; l is the level at which it runs, empty where it is asked for as a value.
func describe(l level, fn *lua.LFunction) description {
	switch {
	case l.isTail():
		return description{source: "=(tail call)", shortSource: "(tail call)", what: "tail", lineDefined: -1, lastLine: -1, now: -1}
	case isC(fn):
		d := description{source: "=[C]", shortSource: "[C]", what: "C", lineDefined: -1, lastLine: -1, now: -1, fn: fn}
		if fn != nil && fn.IsG {
			d.upvalues = len(fn.Upvalues)
		}
		return d
	}
	source := sourceOf(fn.Proto)
	d := description{
		source: source, shortSource: ChunkID(source), what: "Lua", lineDefined: fn.Proto.LineDefined, lastLine: fn.Proto.LastLineDefined,
		now: l.line(), upvalues: int(fn.Proto.NumUpvalues), fn: fn,
	}
	if isMain(fn.Proto) {
		d.what, d.lineDefined, d.lastLine = "main", 0, 0
	}
	return d
}

// isMain reports whether proto is a whole chunk.
func isMain(proto *lua.FunctionProto) bool { return proto.LineDefined == 0 }

func debugGetinfo(L *lua.LState, withFunction bool) int {
	s, _, shift := otherThread(L)
	options := optString(L, shift+2, "flnSu")
	var l level
	var fn *lua.LFunction
	if n, ok := toNumber(L.Get(shift + 1)); ok {
		if l, ok = s.at(int(int32(truncate(n)))); !ok {
			L.Push(lua.LNil)
			return 1
		}
		fn = l.fn
	} else if fn, ok = L.Get(shift + 1).(*lua.LFunction); !ok {
		argError(L, shift+1, "function or level expected")
	}
	options = cString(options)
	if strings.Trim(options, "SlnufL") != "" {
		argError(L, shift+2, "invalid option")
	}
	d := describe(l, fn)
	t := L.NewTable()
	for _, o := range options {
		switch o {
		case 'S':
			t.RawSetString("source", lua.LString(d.source))
			t.RawSetString("short_src", lua.LString(d.shortSource))
			t.RawSetString("what", lua.LString(d.what))
			t.RawSetString("linedefined", lua.LNumber(d.lineDefined))
			t.RawSetString("lastlinedefined", lua.LNumber(d.lastLine))
		case 'l':
			t.RawSetString("currentline", lua.LNumber(d.now))
		case 'u':
			t.RawSetString("nups", lua.LNumber(d.upvalues))
		case 'n':
			name, kind := l.name()
			if kind != "" || l.isTail() {
				t.RawSetString("name", lua.LString(name))
			}
			t.RawSetString("namewhat", lua.LString(kind))
		case 'f':
			if withFunction && d.fn != nil {
				t.RawSetString("func", d.fn)
			}
		case 'L':
			if lines := activeLines(L, d.fn); lines != nil {
				t.RawSetString("activelines", lines)
			}
		}
	}
	L.Push(t)
	return 1
}

// activeLines are the lines of a function that have code, nil for one that is no script's.
func activeLines(L *lua.LState, fn *lua.LFunction) *lua.LTable {
	if isC(fn) {
		return nil
	}
	lines := L.NewTable()
	for _, line := range fn.Proto.DbgSourcePositions {
		if line > 0 {
			lines.RawSetInt(line, lua.LTrue)
		}
	}
	return lines
}

func debugGetlocal(L *lua.LState) int {
	s, _, shift := otherThread(L)
	l, ok := s.at(checkInt(L, shift+1))
	if !ok {
		argError(L, shift+1, "level out of range")
	}
	name, register := l.local(checkInt(L, shift+2))
	v, ok := l.register(register, nil)
	if !ok {
		L.Push(lua.LNil)
		return 1
	}
	L.Push(lua.LString(name))
	L.Push(v)
	return 2
}

func debugSetlocal(L *lua.LState) int {
	s, _, shift := otherThread(L)
	l, ok := s.at(checkInt(L, shift+1))
	if !ok {
		argError(L, shift+1, "level out of range")
	}
	v := checkAny(L, shift+3)
	name, register := l.local(checkInt(L, shift+2))
	if _, ok := l.register(register, v); !ok {
		L.Push(lua.LNil)
		return 1
	}
	L.Push(lua.LString(name))
	return 1
}

// local is the name of local variable n at l, and its register, from 1.
func (l level) local(n int) (name string, register int) {
	switch {
	case l.frame == nil || isHidden(l.frame.fn): // the registers of hidden parts are nobody's
		return "", 0
	case !l.isLua():
		return temporary, n
	}
	reg := 0
	for _, v := range activeLocals(l.fn.Proto, l.frame.pc-1) {
		if reg++; v[0] == hiddenMark {
			continue
		}
		if n--; n == 0 {
			return v, reg
		}
	}
	return temporary, reg + n
}

const temporary = "(*temporary)"

func debugGetupvalue(L *lua.LState) int {
	n := checkInt(L, 2)
	fn := checkFunction(L, 1)
	if isC(fn) || n < 1 || n > len(fn.Upvalues) {
		return 0
	}
	L.Push(lua.LString(fn.Proto.DbgUpvalues[n-1]))
	L.Push(fn.Upvalues[n-1].Value())
	return 2
}

func debugSetupvalue(L *lua.LState) int {
	v := checkAny(L, 3)
	n := checkInt(L, 2)
	fn := checkFunction(L, 1)
	if isC(fn) || n < 1 || n > len(fn.Upvalues) {
		return 0
	}
	fn.Upvalues[n-1].SetValue(v)
	L.Push(lua.LString(fn.Proto.DbgUpvalues[n-1]))
	return 1
}

// Levels of a traceback at its beginning and its end, where it has more.
const firstLevels, lastLevels = 12, 10

func debugTraceback(L *lua.LState) int {
	s, th, shift := otherThread(L)
	from := 0
	if isOwn(L, th) {
		from = 1
	}
	if n, ok := toNumber(L.Get(shift + 2)); ok {
		from = int(int32(truncate(n)))
		L.SetTop(shift + 1)
	}
	head := ""
	if L.GetTop() > shift {
		message, ok := toText(L.Get(shift + 1))
		if !ok {
			return 1 // as it is
		}
		head = message + "\n"
	}
	text := head + s.traceback(from)
	chargeBytes(L, len(text))
	L.Push(lua.LString(text))
	return 1
}

// traceback is the text of a stack from a level on.
func (s stack) traceback(from int) string {
	count, all := 0, s
	for l, ok := all.next(); ok; l, ok = all.next() {
		count += max(l.tails, 1)
	}
	// What is left out is between first and last.
	first, last := 0, 0
	if cut := max(from, firstLevels); cut+lastLevels+1 < count {
		first, last = cut, count-lastLevels
	}
	var b strings.Builder
	b.WriteString("stack traceback:")
	for from = max(from, -firstLevels); from < 0; from++ {
		b.WriteString("\n\t(tail call): ?")
	}
	at := 0
	for l, ok := s.next(); ok; l, ok = s.next() {
		end := at + max(l.tails, 1)
		for i := max(at, from); i < end; i++ {
			if i == first && i < last {
				b.WriteString("\n\t...")
			}
			if i >= first && i < last {
				i = min(end, last) - 1
				continue
			}
			b.WriteString(l.text())
		}
		at = end
	}
	return b.String()
}

// text is the line of l in a traceback.
func (l level) text() string {
	d := describe(l, l.fn)
	text := "\n\t" + d.shortSource + ":"
	if d.now > 0 {
		text += strconv.Itoa(d.now) + ":"
	}
	name, kind := l.name()
	switch {
	case kind != "":
		return text + " in function '" + name + "'"
	case d.what == "main":
		return text + " in main chunk"
	case d.what == "Lua":
		return text + " in function <" + d.shortSource + ":" + strconv.Itoa(d.lineDefined) + ">"
	}
	return text + " ?"
}
