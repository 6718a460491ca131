package lua51

import (
	lua "github.com/yuin/gopher-lua"
)

// Globals is the table of global variables of the coroutine that runs on L, which setfenv(0, t) changes.
func Globals(L *lua.LState) *lua.LTable { return L.Env }

// setGlobals does that: all threads of protected calls of the coroutine have the same.
func setGlobals(L *lua.LState, env *lua.LTable) {
	t := threadsOf(L)
	for th := L; th != nil; th = t.owner(th) {
		th.Env = env
	}
}

// environmentFunction is the function that getfenv or setfenv is asked about: itself, or the one at a level.
func environmentFunction(L *lua.LState, level int) *lua.LFunction {
	if fn, ok := L.Get(1).(*lua.LFunction); ok {
		return fn
	}
	if level < 0 {
		argError(L, 1, "level must be non-negative")
	}
	l, ok := stackOf(L).at(level)
	switch {
	case !ok:
		argError(L, 1, "invalid level")
	case l.isTail():
		raise(L, "no function environment for tail call at level %d", level)
	}
	return l.fn
}

func baseGetfenv(L *lua.LState) int {
	level := 1
	if _, ok := L.Get(1).(*lua.LFunction); !ok {
		level = optInt(L, 1, 1)
	}
	if fn := environmentFunction(L, level); isC(fn) {
		L.Push(Globals(L))
	} else {
		L.Push(fn.Env)
	}
	return 1
}

func baseSetfenv(L *lua.LState) int {
	env := checkTable(L, 2)
	level := 0
	if _, ok := L.Get(1).(*lua.LFunction); !ok {
		level = checkInt(L, 1)
	}
	fn := environmentFunction(L, level)
	if n, ok := toNumber(L.Get(1)); ok && n == 0 {
		setGlobals(L, env)
		return 0
	}
	if isC(fn) {
		raise(L, "'setfenv' cannot change environment of given object")
	}
	fn.Env = env
	L.Push(fn)
	return 1
}

func debugGetfenv(L *lua.LState) int {
	switch v := checkAny(L, 1).(type) {
	case *lua.LFunction:
		L.Push(v.Env)
	case *lua.LUserData:
		L.Push(v.Env)
	case *lua.LState:
		if isOwn(L, v) {
			v = L
		}
		L.Push(v.Env)
	default:
		L.Push(lua.LNil)
	}
	return 1
}

func debugSetfenv(L *lua.LState) int {
	env := checkTable(L, 2)
	switch v := L.Get(1).(type) {
	case *lua.LFunction:
		v.Env = env
	case *lua.LUserData:
		v.Env = env
	case *lua.LState:
		if isOwn(L, v) {
			setGlobals(L, env)
		} else {
			v.Env = env
		}
	default:
		raise(L, "'setfenv' cannot change environment of given object")
	}
	L.Push(L.Get(1))
	return 1
}

// CallingFunction is the function of a script that called the one that runs on L, nil where none did.
func CallingFunction(L *lua.LState) *lua.LFunction {
	if l, ok := stackOf(L).at(1); ok && l.isLua() {
		return l.fn
	}
	return nil
}
