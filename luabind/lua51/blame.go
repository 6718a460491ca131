package lua51

import (
	"fmt"
	"strings"

	lua "github.com/yuin/gopher-lua"
)

// Suggester returns text such as `, did you mean "x"?`, or "".
type Suggester func(name string, candidates []string) string

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

// cannotIndex explains an index operation on v, which has a name where it is the operand, and none where it is what
// a table has for __index or __newindex.
func cannotIndex(L *lua.LState, v lua.LValue) int {
	which := indexed
	if fn, pc := caller(L); fn != nil {
		o := operands{currentFrame(L).parent, valuesOf(L)}
		if reg := indexed(instruction(fn.Proto.Code[pc])); reg >= 0 && o.register(reg) != v {
			which = func(instruction) int { return -1 }
		}
	}
	return cannot(L, "index", v, which)
}

// cannotCall explains the call of what is no function; the nearest name in the table that lacks it is
// suggested.
func cannotCall(L *lua.LState, suggest Suggester) int {
	text, o := blame(L, L.Get(1), called)
	if suggest != nil && o.name != "?" && (o.kind == "field" || o.kind == "method") {
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
func cannotCompute(L *lua.LState, bad int) int {
	return cannot(L, "perform arithmetic on", L.Get(bad), func(in instruction) int {
		switch in.op() {
		case lua.OP_ADD, lua.OP_SUB, lua.OP_MUL, lua.OP_DIV:
			if bad == 2 {
				return in.c()
			}
			return in.b()
		case lua.OP_UNM:
			return in.b()
		}
		return argument(in, bad)
	})
}

func cannotCompare(L *lua.LState, a, b lua.LValue) {
	raise(L, "%s", compareProblem(a.Type().String(), b.Type().String()))
}

// argument is the register of argument i of an operator that became a call.
func argument(in instruction, i int) int {
	if reg := called(in); reg >= 0 {
		return reg + i
	}
	return -1
}

// blameArgument describes it.
func blameArgument(L *lua.LState, i int) string {
	text, _ := blame(L, L.Get(i), func(in instruction) int { return argument(in, i) })
	return text
}
