package lua51

import (
	"reflect"
	"sync"
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

	_         int
	local     int // where its registers begin
	_         int
	args      int // that fn was called with
	_         int
	tailCalls int // functions that gave their place to fn
}

// frameOffset is where LState keeps its current frame; frameKnown is false where this version of
// the library looks otherwise, and the slow way is used.
var frameOffset, frameKnown = func() (uintptr, bool) {
	f, ok := reflect.TypeOf(lua.LState{}).FieldByName("currentFrame")
	if !ok || f.Type.Kind() != reflect.Pointer {
		return 0, false
	}
	want, got := reflect.TypeOf(frame{}), f.Type.Elem()
	for name, mirror := range map[string]string{"Fn": "fn", "Parent": "parent", "Pc": "pc", "LocalBase": "local", "NArgs": "args", "TailCall": "tailCalls"} {
		g, ok := got.FieldByName(name)
		w, _ := want.FieldByName(mirror)
		if !ok || g.Offset != w.Offset || g.Type.Kind() != w.Type.Kind() {
			return 0, false
		}
	}
	return f.Offset, true
}()

func currentFrame(L *lua.LState) *frame {
	return *(**frame)(unsafe.Add(unsafe.Pointer(L), frameOffset))
}

// line is where the frame's Lua function is.
func (f *frame) line() int {
	proto := f.fn.Proto
	if i := f.pc - 1; i >= 0 && i < len(proto.DbgSourcePositions) {
		return proto.DbgSourcePositions[i]
	}
	return proto.LineDefined
}

// operators are the functions that stand for an operator of the language, by their code: they are no
// level of the call stack. It is filled when a machine is made, always with the same.
var operators sync.Map

// newOperator makes a function that is one of operators.
func newOperator(L *lua.LState, fn lua.LGFunction) *lua.LFunction {
	operators.Store(reflect.ValueOf(fn).Pointer(), true)
	return L.NewFunction(fn)
}

func (f *frame) isOperator() bool {
	if f.fn == nil || !f.fn.IsG {
		return false
	}
	_, ok := operators.Load(reflect.ValueOf(f.fn.GFunction).Pointer())
	return ok
}

// maxTailCalls is how many lines of a traceback a frame's tail calls take.
const maxTailCalls = 20

// forgetTailCalls lowers the counts of tail calls in the frames of L to maxTailCalls: for a traceback
// the library makes a line of each, and a loop of tail calls that was interrupted has made millions.
func forgetTailCalls(L *lua.LState) {
	if !frameKnown {
		return
	}
	for f := currentFrame(L); f != nil; f = f.parent {
		f.tailCalls = min(f.tailCalls, maxTailCalls)
	}
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
			return f.fn.Proto, f.line()
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
