package luabind

import (
	"strings"

	lua "github.com/yuin/gopher-lua"

	"npulua/luabind/lua51"
)

// module is Lua's: it makes the table of a module, which becomes the environment of the function that called it.
func (p *packages) module(L *lua.LState) int {
	name := lua51.CheckString(L, 1)
	t, ok := L.GetField(p.loaded, name).(*lua.LTable)
	if !ok {
		if t = tableOfGlobals(L, name); t == nil {
			lua51.Raise(L, "name conflict for module '%s'", name)
		}
		L.SetField(p.loaded, name, t)
	}
	if L.GetField(t, "_NAME") == lua.LNil {
		L.SetField(t, "_M", t)
		L.SetField(t, "_NAME", lua.LString(name))
		L.SetField(t, "_PACKAGE", lua.LString(name[:strings.LastIndexByte(name, '.')+1]))
	}
	caller := lua51.CallingFunction(L)
	if caller == nil {
		lua51.Raise(L, "'module' not called from a Lua function")
	}
	caller.Env = t
	for i, n := 2, L.GetTop(); i <= n; i++ {
		lua51.Call(L, L.Get(i), t)
	}
	return 0
}

// tableOfGlobals is the table that a name with dots stands for; tables that are not there are made. nil: something
// else is.
func tableOfGlobals(L *lua.LState, name string) *lua.LTable {
	t := lua51.Globals(L)
	for part := range strings.SplitSeq(name, ".") {
		switch v := t.RawGetString(part).(type) {
		case *lua.LNilType:
			next := L.NewTable()
			L.SetField(t, part, next)
			t = next
		case *lua.LTable:
			t = v
		default:
			return nil
		}
	}
	return t
}

// packageSeeall lets a module see the global variables.
func packageSeeall(L *lua.LState) int {
	t := lua51.CheckTable(L, 1)
	mt, ok := t.Metatable.(*lua.LTable)
	if !ok {
		mt = L.NewTable()
		t.Metatable = mt
	}
	L.SetField(mt, "__index", lua51.Globals(L))
	return 0
}

// packageLoadlib answers as a Lua does that was built without a loader of libraries.
func packageLoadlib(L *lua.LState) int {
	lua51.CheckString(L, 1)
	lua51.CheckString(L, 2)
	L.Push(lua.LNil)
	L.Push(lua.LString("modules in C cannot be loaded"))
	L.Push(lua.LString("absent"))
	return 3
}
