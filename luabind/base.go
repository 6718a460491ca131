package luabind

import (
	"errors"
	"io/fs"
	"strings"

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
	in.openCollect()
	in.threads.OpenDebug(in.io, in.load)
	in.openRequire()
}

// openCollect has collectgarbage give back, before it returns, the handles that nobody can reach: what is free then
// is the same in every run.
func (in *Interp) openCollect() {
	collect := in.L.GetGlobal("collectgarbage").(*lua.LFunction).GFunction
	in.L.SetGlobal("collectgarbage", in.L.NewFunction(func(L *lua.LState) int {
		mode := L.Get(1)
		n := collect(L)
		if mode == lua.LNil || mode == lua.LString("collect") || mode == lua.LString("step") {
			in.thread.Collect()
		}
		return n
	}))
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
		lua51.Raise(L, "os.exit(%d)", in.exitCode)
	}
}

// pushLoaded pushes what load functions return: the function, or nil and a message.
func pushLoaded(L *lua.LState, fn *lua.LFunction, err error) int {
	if err != nil {
		L.Push(lua.LNil)
		L.Push(lua51.ErrorValue(err))
		return 2
	}
	L.Push(fn)
	return 1
}

func (in *Interp) baseLoadString(L *lua.LState) int {
	code := lua51.CheckString(L, 1)
	fn, err := in.load(L, []byte(code), lua51.OptString(L, 2, code))
	return pushLoaded(L, fn, err)
}

// baseLoad is load(f [, name]); what f raises is returned.
func (in *Interp) baseLoad(L *lua.LState) int {
	read := lua51.CheckFunction(L, 1)
	name := lua51.OptString(L, 2, "=(load)")
	var source []byte
	asked := false
	for in.policy == nil || len(source) <= maxSource { // more is refused below
		results, err := in.threads.Call(L, read)
		if err != nil {
			return pushLoaded(L, nil, err)
		}
		if len(results) == 0 || results[0] == lua.LNil {
			results = []lua.LValue{lua.LString("")}
		}
		piece, ok := lua51.Text(results[0])
		if !ok {
			return pushLoaded(L, nil, errors.New(lua51.Where(L)+"reader function must return a string"))
		}
		if piece == "" && (asked || len(source) > 0) {
			break
		}
		asked = true // an end at once is asked for twice, as PUC Lua does
		source = append(source, piece...)
	}
	fn, err := in.load(L, source, name)
	return pushLoaded(L, fn, err)
}

func (in *Interp) baseLoadFile(L *lua.LState) int {
	path := lua51.OptString(L, 1, "-")
	if end := strings.IndexByte(path, 0); end >= 0 {
		path = path[:end]
	}
	data, name, err := in.readLoaded(path)
	var pe *fs.PathError
	switch {
	case errors.As(err, &pe):
		verb := "open"
		if pe.Op == "read" {
			verb = "read"
		}
		return pushLoaded(L, nil, errors.New("cannot "+verb+" "+path+": "+lua51.ErrnoText(err)))
	case err != nil:
		return pushLoaded(L, nil, err)
	}
	fn, err := in.loadFile(L, data, name)
	return pushLoaded(L, fn, err)
}

func (in *Interp) baseDoFile(L *lua.LState) int {
	if in.baseLoadFile(L) == 2 {
		L.Error(L.Get(-1), 0)
	}
	return lua51.CallAll(L, L.Get(-1))
}
