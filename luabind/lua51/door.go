package lua51

import (
	"context"
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"

	lua "github.com/yuin/gopher-lua"
)

// Whatever Go calls in Lua goes through the door in this file: functions that library functions call, metamethods and
// iterators that the virtual machine calls by itself, protected calls, coroutines, tasks. The door counts how deeply
// such calls nest, lets nothing in where the machine has ended, and turns a Go panic that is no error of Lua's into the
// end of the machine.

const (
	// maxDepth bounds how deeply calls from Go into Lua nest, the script itself included: 197 in a script, as in PUC Lua.
	maxDepth = 198
	// handlerDepth is how much deeper they may nest in message handlers, also in those of handlers.
	handlerDepth = 25
	// handlerFrames is how many frames a message handler gets where the stack was full.
	handlerFrames = 16
)

// nesting is how the calls from Go into Lua nest in the task that runs.
type nesting struct {
	depth    int // how many there are
	handlers int // message handlers among them
	// entry is depth as it was when a resume entered the thread that runs: at one more the thread can yield. -1 where Go
	// waits for what the thread returns.
	entry int
}

// full reports whether no other call may nest.
func (n *nesting) full() bool { return n.depth >= maxDepth+min(n.handlers, 1)*handlerDepth }

// own has the threads of the machine watch over L.
func (t *Threads) own(L *lua.LState, ctx context.Context) {
	keepUpvalues(L)
	L.Panic = throw
	t.setContext(L, ctx)
}

// setContext has ctx end what runs on L.
func (t *Threads) setContext(L *lua.LState, ctx context.Context) {
	L.SetContext(ctx)
	*mainLoop(L) = t.door
}

// inherit gives th the context of L, which runs it.
func (t *Threads) inherit(th, L *lua.LState) {
	if ctx := L.Context(); ctx != th.Context() {
		t.setContext(th, ctx)
	}
}

// throw raises the value on top of the stack. The library would make a traceback first, in the square of the depth.
func throw(L *lua.LState) {
	panic(&lua.ApiError{Type: lua.ApiErrorRun, Object: L.Get(-1)})
}

// enter runs what was called last on L. base is its frame; nil where L is resumed.
func (t *Threads) enter(L *lua.LState, base *frame) {
	if t.full() {
		raiseBare(L, calledFrom(L)+"C stack overflow")
	}
	if err := L.Context().Err(); err != nil {
		raiseBare(L, err.Error())
	}
	t.depth++
	if base != nil {
		t.loop(L, base)
	} else {
		t.resumeLoop(L)
	}
	t.depth--
}

// resumeLoop runs L, which is resumed. The library takes any panic for an error.
func (t *Threads) resumeLoop(L *lua.LState) {
	defer func() {
		if r := recover(); r != nil {
			e, _ := t.caught(L, r)
			closeUpvalues(L)
			panic(e)
		}
	}()
	t.loop(L, nil)
}

// calledFrom is the place of the instruction that called the newest function of L; "" where Go did.
func calledFrom(L *lua.LState) string {
	f := currentFrame(L)
	for f = f.parent; f != nil && f.isOperator(); {
		f = f.parent
	}
	return f.place()
}

// invoke calls fn with args on th, which is empty, and leaves the results there. handler, where not nil, is called with
// the error, in the place where that was raised. traced: the error has a traceback.
func (t *Threads) invoke(th *lua.LState, fn, handler lua.LValue, args []lua.LValue, traced bool) (err error) {
	defer func() {
		r := recover()
		if r == nil {
			return
		}
		e, full := t.caught(th, r)
		closeUpvalues(th)
		if traced {
			e.StackTrace = Traceback(th, 0)
		}
		if handler != nil && th.Context().Err() == nil {
			if full {
				dropFrames(th, handlerFrames)
			}
			e = t.handle(th, handler, e)
		}
		err = e
	}()
	th.Push(fn)
	for _, a := range args {
		th.Push(a)
	}
	th.Call(len(args), lua.MultRet)
	return nil
}

// handle calls a message handler; its result takes the place of the error, or what it raises.
func (t *Threads) handle(th *lua.LState, handler lua.LValue, e *lua.ApiError) (result *lua.ApiError) {
	t.handlers++
	defer func() {
		if r := recover(); r != nil {
			result, _ = t.caught(th, r)
			closeUpvalues(th)
		}
	}()
	return &lua.ApiError{Type: lua.ApiErrorRun, Object: call(th, handler, errorText(e.Object))}
}

// caught is a recovered panic on L as an error. full: there was no room for another call.
func (t *Threads) caught(L *lua.LState, r any) (e *lua.ApiError, full bool) {
	switch x := r.(type) {
	case *lua.ApiError:
		text, ok := x.Object.(lua.LString)
		return x, ok && strings.HasSuffix(string(text), "registry overflow")
	case string:
		full = x == "lua callstack overflow"
	case runtime.Error:
		full = fullAtEntry(L)
	}
	if full {
		place := ""
		if f := currentFrame(L); f != nil {
			place = f.place()
		}
		return &lua.ApiError{Type: lua.ApiErrorRun, Object: lua.LString(place + "stack overflow")}, true
	}
	if t.onDefect == nil {
		panic(r)
	}
	t.onDefect(r, debug.Stack())
	return &lua.ApiError{Type: lua.ApiErrorRun, Object: lua.LString(fmt.Sprintf("internal error: %v", r))}, false
}

// OnDefect has fn called for a Go panic that is no error of Lua's, in whatever Lua called. fn must end the context of
// OpenThreads, since the caller of what panicked sees an error that it may catch.
func (t *Threads) OnDefect(fn func(value any, stack []byte)) { t.onDefect = fn }

// fullAtEntry reports whether the function that runs on th has not begun: there was no room for its arguments. The
// library fails to say so, since it looks for the line of an instruction that there is not.
func fullAtEntry(th *lua.LState) bool {
	f := currentFrame(th)
	return f != nil && f.fn != nil && !f.fn.IsG && f.pc == 0
}

// call calls fn and returns its first result.
func call(L *lua.LState, fn lua.LValue, args ...lua.LValue) lua.LValue {
	checkCallable(L, fn)
	L.Push(fn)
	for _, a := range args {
		L.Push(a)
	}
	return callPushed(L, len(args))
}

// callPushed calls the function and the n arguments that were pushed, and returns its first result.
func callPushed(L *lua.LState, n int) lua.LValue {
	L.Call(n, 1)
	v := L.Get(-1)
	L.Pop(1)
	return v
}

// callInPlace calls fn with the arguments of the running function; the results take their place. It returns their
// number.
func callInPlace(L *lua.LState, fn lua.LValue) int {
	n := L.GetTop()
	L.Insert(fn, 1)
	L.Call(n, lua.MultRet)
	return L.GetTop()
}

// CallAll calls fn without arguments for a function that runs on L; its results are pushed, and their number returned.
func CallAll(L *lua.LState, fn lua.LValue) int {
	top := L.GetTop()
	L.Push(fn)
	L.Call(0, lua.MultRet)
	return L.GetTop() - top
}
