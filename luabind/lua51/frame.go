package lua51

import (
	"reflect"
	"strconv"
	"sync"
	"unsafe"

	lua "github.com/yuin/gopher-lua"
)

// frame mirrors the start of gopher-lua's callFrame. What runs on a thread, and at which line, must
// be known in nanoseconds, and the library's own way to it formats text and allocates; so the fields
// are read in place, at offsets that are checked by name when the program starts.
type frame struct {
	index  int // in the stack of frames
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
	for name, mirror := range map[string]string{"Idx": "index", "Fn": "fn", "Parent": "parent", "Pc": "pc", "LocalBase": "local", "NArgs": "args", "TailCall": "tailCalls"} {
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

// place is "chunk:line: " of f; "" for nil, for Go functions and for parts of this package.
func (f *frame) place() string {
	if f == nil || f.fn == nil || f.fn.IsG || f.fn.Proto.SourceName == HiddenChunk {
		return ""
	}
	return f.fn.Proto.SourceName + ":" + strconv.Itoa(f.line()) + ": "
}

// operators are the functions that stand for an operator of the language, by their code: they are no
// level of the call stack. It is filled when a machine is made, always with the same.
var operators sync.Map

// newOperator makes a function that is one of operators.
func newOperator(L *lua.LState, fn lua.LGFunction) *lua.LFunction {
	operators.Store(reflect.ValueOf(fn).Pointer(), true)
	return L.NewFunction(fn)
}

// called is f or the first frame outwards that is no operator, nil where there is none.
func (f *frame) called() *frame {
	for f != nil && f.isOperator() {
		f = f.parent
	}
	return f
}

func (f *frame) isOperator() bool {
	if f.fn == nil || !f.fn.IsG {
		return false
	}
	_, ok := operators.Load(reflect.ValueOf(f.fn.GFunction).Pointer())
	return ok
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
