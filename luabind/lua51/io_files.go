package lua51

import (
	"fmt"

	lua "github.com/yuin/gopher-lua"
)

// fileOf is the file in argument 1, open or closed.
func fileOf(L *lua.LState) *file {
	f, ok := toFile(L.Get(1))
	if !ok {
		typeError(L, 1, fileType)
	}
	return f
}

func toFile(v lua.LValue) (*file, bool) {
	ud, ok := v.(*lua.LUserData)
	if !ok {
		return nil, false
	}
	f, ok := ud.Value.(*file)
	return f, ok
}

// openFileOf is the file in argument 1, which must be open.
func openFileOf(L *lua.LState) *file {
	f := fileOf(L)
	if f.closed {
		raise(L, "attempt to use a closed file")
	}
	return f
}

// standard is the file of io.read or io.write.
func standard(L *lua.LState, ud *lua.LUserData, name string) *file {
	f := ud.Value.(*file)
	if f.closed {
		raise(L, "standard %s file is closed", name)
	}
	return f
}

// setDefault is io.input and io.output.
func (x *IO) setDefault(L *lua.LState, which **lua.LUserData, mode string) int {
	switch v := L.Get(1).(type) {
	case *lua.LNilType:
	case lua.LString, lua.LNumber:
		*which = x.openOrRaise(L, mode)
	default:
		openFileOf(L)
		*which = v.(*lua.LUserData)
	}
	L.Push(*which)
	return 1
}

func (x *IO) setInput(L *lua.LState) int  { return x.setDefault(L, &x.input, "r") }
func (x *IO) setOutput(L *lua.LState) int { return x.setDefault(L, &x.output, "w") }

func (x *IO) typeOf(L *lua.LState) int {
	var kind lua.LValue = lua.LNil
	if f, ok := toFile(checkAny(L, 1)); ok {
		kind = lua.LString("file")
		if f.closed {
			kind = lua.LString("closed file")
		}
	}
	L.Push(kind)
	return 1
}

func (x *IO) fileString(L *lua.LState) int {
	f := fileOf(L)
	text := "file (closed)"
	if !f.closed {
		text = fmt.Sprintf("file (%p)", f)
	}
	L.Push(lua.LString(text))
	return 1
}

func (x *IO) closeFile(L *lua.LState) int {
	if L.GetTop() == 0 {
		L.Push(x.output)
	}
	return x.methodClose(L)
}

// methodClose gives true for a pipe too, however its command ended.
func (x *IO) methodClose(L *lua.LState) int {
	f := openFileOf(L)
	if f.std {
		L.Push(lua.LNil)
		L.Push(lua.LString("cannot close standard file"))
		return 2
	}
	return pushResult(L, x.finish(L, f))
}

// finish closes f for the script. Its buffers go at once: f itself stays until the garbage collector has been twice.
func (x *IO) finish(L *lua.LState, f *file) error {
	f.closed = true
	err := x.shut(contextOf(L), f)
	f.in, f.out = nil, nil
	return err
}

var (
	whenceNames    = []string{"set", "cur", "end"}
	bufferingNames = []string{"no", "full", "line"}
	bufferings     = []Buffering{Unbuffered, BlockBuffered, LineBuffered}
)

func (x *IO) methodSeek(L *lua.LState) int {
	f := openFileOf(L)
	whence := checkOption(L, 2, "cur", whenceNames)
	pos, err := f.moveTo(contextOf(L), optInteger(L, 3, 0), whence)
	if err != nil {
		return pushResult(L, err)
	}
	L.Push(lua.LNumber(pos))
	return 1
}

// methodSetvbuf accepts a file that is only read, where there is nothing to set.
func (x *IO) methodSetvbuf(L *lua.LState) int {
	f := openFileOf(L)
	mode := bufferings[checkOption(L, 2, "", bufferingNames)]
	optInteger(L, 3, 0) // a size, which glibc takes no notice of either
	if f.out != nil {
		f.out.setBuffering(mode)
	}
	L.Push(lua.LTrue)
	return 1
}

// fileGone closes a file that nobody needs any more, unless it is a standard stream.
func (x *IO) fileGone(L *lua.LState) int {
	if f := fileOf(L); !f.closed && !f.std {
		x.finish(L, f)
	}
	return 0
}
