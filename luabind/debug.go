package luabind

import (
	lua "github.com/yuin/gopher-lua"
)

// openDebug replaces the functions of the debug library that would show what scripts must not see.
func openDebug(L *lua.LState) {
	debug := L.GetGlobal("debug").(*lua.LTable)
	traceback := debug.RawGetString("traceback").(*lua.LFunction).GFunction
	debug.RawSetString("traceback", L.NewFunction(func(L *lua.LState) int { return debugTraceback(L, traceback) }))
	raw := debug.RawGetString("getmetatable").(*lua.LFunction).GFunction
	debug.RawSetString("getmetatable", L.NewFunction(func(L *lua.LState) int {
		switch L.Get(1).Type() {
		case lua.LTNil, lua.LTBool, lua.LTNumber: // theirs only explain errors
			L.Push(lua.LNil)
			return 1
		}
		return raw(L)
	}))
}

// debugTraceback is debug.traceback([thread,] [message [, level]]); a message that is neither text nor
// nil is returned as it is.
func debugTraceback(L *lua.LState, traceback lua.LGFunction) int {
	th, level := L, 1
	if other, ok := L.Get(1).(*lua.LState); ok {
		if L.Remove(1); other != L {
			th, level = other, 0
		}
	}
	message := L.Get(1)
	switch message.Type() {
	case lua.LTNil, lua.LTString, lua.LTNumber:
	default:
		L.Push(message)
		return 1
	}
	level = L.OptInt(2, level)
	L.SetTop(0)
	L.Push(th)
	L.Push(lua.LNumber(level))
	traceback(L)
	trace := readableTrace(lua.LVAsString(L.Get(-1)))
	if message != lua.LNil {
		trace = message.String() + "\n" + trace
	}
	L.Push(lua.LString(trace))
	return 1
}
