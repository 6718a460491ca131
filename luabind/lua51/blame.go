package lua51

import (
	"fmt"
	"strings"

	lua "github.com/yuin/gopher-lua"
)

// Suggester returns text such as `, did you mean "x"?`, or "".
type Suggester func(name string, candidates []string) string

// blamed are the types without metatables of their own: theirs say which variable held a value that
// an operation cannot use, as PUC Lua does.
var blamed = []lua.LValue{lua.LNil, lua.LTrue, lua.LNumber(0)}

// arithmeticEvents are the operations that the virtual machine computes itself.
var arithmeticEvents = []string{"__add", "__sub", "__mul", "__div", "__unm"}

// openBlame gives nil, booleans and numbers metatables that explain. getmetatable hides them.
func openBlame(L *lua.LState, suggest Suggester) {
	for _, v := range blamed {
		mt := L.NewTable()
		mt.RawSetString("__index", L.NewFunction(func(L *lua.LState) int { return cannot(L, "index", L.Get(1), indexed) }))
		mt.RawSetString("__newindex", L.NewFunction(func(L *lua.LState) int { return cannot(L, "index", L.Get(1), indexed) }))
		mt.RawSetString("__call", L.NewFunction(func(L *lua.LState) int { return cannotCall(L, suggest) }))
		if v.Type() != lua.LTNumber {
			for _, event := range arithmeticEvents {
				mt.RawSetString(event, newOperator(L, func(L *lua.LState) int { return cannotCompute(L, event) }))
			}
		}
		L.SetMetatable(v, mt)
	}
}

// operand is the register that an instruction of the caller used, -1 where it is none.
type operand func(in instruction) int

// indexed is the table operand of an index operation.
func indexed(in instruction) int {
	switch in.op() {
	case lua.OP_GETTABLE, lua.OP_GETTABLEKS, lua.OP_SELF:
		return in.b()
	case lua.OP_SETTABLE, lua.OP_SETTABLEKS:
		return in.a()
	}
	return -1
}

func called(in instruction) int {
	switch in.op() {
	case lua.OP_CALL, lua.OP_TAILCALL:
		return in.a()
	}
	return -1
}

// caller is the Lua function that called the running one, and its current instruction; nil where Go
// did.
func caller(L *lua.LState) (fn *lua.LFunction, pc int) {
	if !frameKnown {
		return nil, 0
	}
	f := currentFrame(L)
	if f == nil || f.parent == nil || f.parent.fn == nil || f.parent.fn.IsG {
		return nil, 0
	}
	if pc = f.parent.pc - 1; pc < 0 || pc >= len(f.parent.fn.Proto.Code) {
		return nil, 0
	}
	return f.parent.fn, pc
}

// blame describes the value in an operand: "global 'x' (a nil value)", or "a nil value".
func blame(L *lua.LState, v lua.LValue, which operand) (text string, o origin) {
	kind := "a " + v.Type().String() + " value"
	fn, pc := caller(L)
	if fn == nil {
		return kind, o
	}
	in := instruction(fn.Proto.Code[pc])
	reg := which(in)
	if reg < 0 || reg > 0xff {
		return kind, o
	}
	if called(in) == reg {
		o = originOfTemporary(fn.Proto, pc, reg)
	} else {
		o = originOf(fn.Proto, pc, reg)
	}
	if o.kind == "" {
		return kind, o
	}
	return fmt.Sprintf("%s '%s' (%s)", o.kind, o.name, kind), o
}

func cannot(L *lua.LState, what string, v lua.LValue, which operand) int {
	text, _ := blame(L, v, which)
	raise(L, "attempt to %s %s", what, text)
	return 0
}

// cannotCall explains the call of what is no function; the nearest name in the table that lacks it is
// suggested.
func cannotCall(L *lua.LState, suggest Suggester) int {
	text, o := blame(L, L.Get(1), called)
	if suggest != nil && (o.kind == "field" || o.kind == "method") {
		if t := tableOf(L, o); t != nil {
			text += suggest(o.name, stringKeys(t))
		}
	}
	raise(L, "attempt to call %s", text)
	return 0
}

// tableOf is the table in which a field was looked up, where it is still in the variable that it was
// read from.
func tableOf(L *lua.LState, o origin) *lua.LTable {
	fn, _ := caller(L)
	var v lua.LValue
	switch t := originOf(fn.Proto, o.at, o.from); t.kind {
	case "global":
		v = L.GetGlobal(t.name)
	case "upvalue":
		if t.from < len(fn.Upvalues) {
			v = fn.Upvalues[t.from].Value()
		}
	case "local":
		if dbg, ok := L.GetStack(1); ok {
			_, v = L.GetLocal(dbg, t.from+1)
		}
	}
	t, _ := v.(*lua.LTable)
	return t
}

func stringKeys(t *lua.LTable) []string {
	var keys []string
	t.ForEach(func(k, _ lua.LValue) {
		if s, ok := k.(lua.LString); ok && !strings.ContainsRune(string(s), hiddenMark) {
			keys = append(keys, string(s))
		}
	})
	return keys
}

// cannotCompute explains arithmetic on what is no number: the first operand that is none is to blame.
// Where only the second one has a metamethod, that computes.
func cannotCompute(L *lua.LState, event string) int {
	if second := L.Get(2); second.Type() == lua.LTTable || second.Type() == lua.LTUserData {
		if handler := L.GetMetaField(second, event); handler != lua.LNil {
			L.Push(handler)
			L.Push(L.Get(1))
			L.Push(second)
			L.Call(2, 1)
			return 1
		}
	}
	v, which := L.Get(1), func(in instruction) int { return in.b() }
	if _, ok := toNumber(v); ok {
		v, which = L.Get(2), func(in instruction) int { return in.c() }
	}
	return cannot(L, "perform arithmetic on", v, func(in instruction) int {
		switch in.op() {
		case lua.OP_ADD, lua.OP_SUB, lua.OP_MUL, lua.OP_DIV, lua.OP_UNM:
			return which(in)
		}
		return -1
	})
}

// blameArgument describes argument i of an operator that became a call.
func blameArgument(L *lua.LState, i int) string {
	text, _ := blame(L, L.Get(i), func(in instruction) int {
		if reg := called(in); reg >= 0 {
			return reg + i
		}
		return -1
	})
	return text
}
