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
	debug := L.GetGlobal("debug").(*lua.LTable)
	traceback := debug.RawGetString("traceback").(*lua.LFunction).GFunction
	debug.RawSetString("traceback", L.NewFunction(func(L *lua.LState) int {
		n := traceback(L)
		if s, ok := L.Get(-1).(lua.LString); ok && n == 1 {
			L.Pop(1)
			L.Push(lua.LString(readableTrace(string(s))))
		}
		return n
	}))
	in.openRequire()
}

// osExit closes the session and ends the process: os.exit([code]), true is 0 and false is 1.
func (in *Interp) osExit(L *lua.LState) int {
	code := 0
	switch v := L.Get(1).(type) {
	case *lua.LNilType:
	case lua.LBool:
		if !v {
			code = 1
		}
	default:
		n, ok := exact(L.CheckNumber(1))
		if !ok || n != int64(int32(n)) {
			L.ArgError(1, "a whole number expected")
		}
		code = int(n)
	}
	in.exitCode = code
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
	var source []byte
	for {
		L.Push(fn)
		L.Call(0, 1)
		piece := L.Get(-1)
		L.Pop(1)
		if piece == lua.LNil || piece == lua.LString("") {
			break
		}
		s, ok := piece.(lua.LString)
		if !ok {
			lua51.Raise(L, "reader function must return a string")
		}
		source = append(source, s...)
	}
	return in.pushLoaded(L, source, chunkName(L.OptString(2, "=(load)")))
}

func (in *Interp) baseLoadFile(L *lua.LState) int {
	data, name, err := readFile(L.OptString(1, "-"), in.opts.Stdin)
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
