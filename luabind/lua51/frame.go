package lua51

import (
	"reflect"
	"unsafe"

	lua "github.com/yuin/gopher-lua"
)

// frame mirrors the start of gopher-lua's callFrame. What runs on a thread, and at which line, must
// be known in nanoseconds, and the library's own way to it formats text and allocates; so the fields
// are read in place, at offsets that are checked by name when the program starts.
type frame struct {
	_      int
	fn     *lua.LFunction
	parent *frame
	pc     int
}

// frameOffset is where LState keeps its current frame; frameKnown is false where this version of
// the library looks otherwise, and the slow way is used.
var frameOffset, frameKnown = func() (uintptr, bool) {
	f, ok := reflect.TypeOf(lua.LState{}).FieldByName("currentFrame")
	if !ok || f.Type.Kind() != reflect.Pointer {
		return 0, false
	}
	want, got := reflect.TypeOf(frame{}), f.Type.Elem()
	for i, name := range []string{"Idx", "Fn", "Parent", "Pc"} { // frame has them in this order
		g, ok := got.FieldByName(name)
		if !ok || g.Offset != want.Field(i).Offset || g.Type.Kind() != want.Field(i).Type.Kind() {
			return 0, false
		}
	}
	return f.Offset, true
}()

func currentFrame(L *lua.LState) *frame {
	return *(**frame)(unsafe.Add(unsafe.Pointer(L), frameOffset))
}

// Caller finds the innermost Lua function that runs on L, or on the threads that wait for it, and
// its current line. Functions of this package's own are passed over.
func (t *Threads) Caller(L *lua.LState) (*lua.FunctionProto, int) {
	if !frameKnown {
		return t.callerSlow(L)
	}
	for ; L != nil; L = t.parent(L) {
		for f := currentFrame(L); f != nil; f = f.parent {
			if f.fn == nil || f.fn.IsG || f.fn.Proto.SourceName == HiddenChunk {
				continue
			}
			proto := f.fn.Proto
			if i := f.pc - 1; i >= 0 && i < len(proto.DbgSourcePositions) {
				return proto, proto.DbgSourcePositions[i]
			}
			return proto, proto.LineDefined
		}
	}
	return nil, 0
}

// callerSlow does the same through the library's debug interface.
func (t *Threads) callerSlow(L *lua.LState) (*lua.FunctionProto, int) {
	for ; L != nil; L = t.parent(L) {
		for level := 0; ; level++ {
			dbg, ok := L.GetStack(level)
			if !ok {
				break
			}
			fn, err := L.GetInfo("fl", dbg, lua.LNil)
			if f, ok := fn.(*lua.LFunction); err == nil && ok && !f.IsG && f.Proto.SourceName != HiddenChunk {
				return f.Proto, dbg.CurrentLine
			}
		}
	}
	return nil, 0
}

// canYield reports whether the function that runs on L now may suspend it: whether only Lua
// functions, called by call instructions, lie under it. A metamethod, an iterator or a callback of
// a library function cannot be left and entered again.
func canYield(L *lua.LState) bool {
	if !frameKnown {
		return true
	}
	f := currentFrame(L)
	if f == nil {
		return false
	}
	for f = f.parent; f != nil; f = f.parent {
		if f.fn == nil || f.fn.IsG {
			return false
		}
		switch code := f.fn.Proto.Code; {
		case f.pc < 1 || f.pc > len(code):
			return false
		default:
			if op := int(code[f.pc-1] >> 26); op != lua.OP_CALL && op != lua.OP_TAILCALL {
				return false
			}
		}
	}
	return true
}
