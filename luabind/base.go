package luabind

import (
	lua "github.com/yuin/gopher-lua"

	"npulua/luabind/lua51"
)

// openBase replaces the library functions that would leave without the teardown, or load a chunk
// past our loader.
func (in *Interp) openBase() {
	L := in.L
	osTable := L.GetGlobal("os").(*lua.LTable)
	osTable.RawSetString("exit", L.NewFunction(in.osExit))
	for name, fn := range map[string]lua.LGFunction{
		"loadstring": in.baseLoadString, "loadfile": in.baseLoadFile, "dofile": in.baseDoFile, "load": in.baseLoad,
	} {
		L.SetGlobal(name, L.NewFunction(fn))
	}
	openDebug(L)
	in.openRequire()
}

// osExit closes the session and ends the process: os.exit([code]), true is 0 and false is 1. A fraction
// is cut off.
func (in *Interp) osExit(L *lua.LState) int {
	code := 0
	switch v := L.Get(1).(type) {
	case *lua.LNilType:
	case lua.LBool:
		if !v {
			code = 1
		}
	default:
		code = lua51.CheckInt(L, 1)
	}
	in.exitCode, in.exited = code, true
	in.exit(L)
	return 0
}

// exit ends the process, or leaves the host function that runs now first: the executor waits for
// that one.
func (in *Interp) exit(L *lua.LState) {
	if in.opts.Exit == nil {
		lua51.Raise(L, "os.exit is not available here")
	}
	if in.thread.Inside() {
		in.exiting = true
		lua51.Raise(L, "os.exit(%d)", in.exitCode)
	}
	in.opts.Exit(in.exitCode)
	if in.parent != nil { // a worker goes on here, to its end
		in.threads.Stopped()
		lua51.Raise(L, "os.exit(%d)", in.exitCode)
	}
}

// pushLoaded pushes what load functions return: the function, or nil and a message.
func (in *Interp) pushLoaded(L *lua.LState, source []byte, name string) int {
	fn, err := in.load(source, name)
	if err != nil {
		L.Push(lua.LNil)
		L.Push(lua.LString(err.Error()))
		return 2
	}
	L.Push(fn)
	return 1
}

// chunkName is the name of a chunk as messages show it: =name and @name lose their mark, source
// text becomes [string "first line"].
func chunkName(name string) string {
	if name == "" {
		return `[string ""]`
	}
	if name[0] == '=' || name[0] == '@' {
		return name[1:]
	}
	for i := range name {
		if name[i] == '\n' || i >= 60 {
			return `[string "` + name[:i] + `..."]`
		}
	}
	return `[string "` + name + `"]`
}

func (in *Interp) baseLoadString(L *lua.LState) int {
	code := L.CheckString(1)
	return in.pushLoaded(L, []byte(code), chunkName(L.OptString(2, code)))
}

func (in *Interp) baseLoad(L *lua.LState) int {
	if code, ok := L.Get(1).(lua.LString); ok {
		return in.pushLoaded(L, []byte(code), chunkName(L.OptString(2, string(code))))
	}
	fn := L.CheckFunction(1)
	name := chunkName(L.OptString(2, "=(load)"))
	var source []byte
	for {
		results, err := in.threads.Call(L, fn)
		if err != nil {
			L.Push(lua.LNil)
			L.Push(lua51.ErrorValue(err))
			return 2
		}
		if len(results) == 0 || results[0] == lua.LNil || results[0] == lua.LString("") {
			break
		}
		piece, ok := lua51.Text(results[0])
		if !ok {
			L.Push(lua.LNil)
			L.Push(lua.LString(lua51.Where(L) + "reader function must return a string"))
			return 2
		}
		source = append(source, piece...)
		if in.policy != nil && len(source) > maxSource {
			break // it is refused below
		}
	}
	return in.pushLoaded(L, source, name)
}

func (in *Interp) baseLoadFile(L *lua.LState) int {
	data, name, err := in.readLoaded(L.OptString(1, "-"))
	if err != nil {
		L.Push(lua.LNil)
		L.Push(lua.LString(err.Error()))
		return 2
	}
	return in.pushLoaded(L, data, name)
}

func (in *Interp) baseDoFile(L *lua.LState) int {
	top := L.GetTop()
	if in.baseLoadFile(L) == 2 {
		lua51.Raise(L, "%s", L.Get(-1).String())
	}
	L.Call(0, lua.MultRet)
	return L.GetTop() - top
}
