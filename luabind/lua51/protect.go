package lua51

import (
	"context"
	"errors"

	lua "github.com/yuin/gopher-lua"
)

// HiddenChunk is the source name of the Lua part of this package; messages and places pass it over.
const HiddenChunk = "[protect]"

// maxDepth bounds calls that nest on the Go stack: protected calls, and coroutines that resume
// coroutines. PUC Lua's limit is 200.
const maxDepth = 190

// threadValues is the first size of a thread's value stack; it grows as needed.
const threadValues = 64

// Threads runs protected calls and coroutines. In gopher-lua an error closes the upvalues of the
// whole thread in which it is raised, so that locals and closures outside the protected call stop
// sharing; and a protected call cannot be yielded across. Both are cured by giving each protected
// call a thread of its own. Threads are pooled.
type Threads struct {
	main   *lua.LState
	meter  *meter
	ctx    *vmContext // nil: nothing ends the threads
	free   []*lua.LState
	owners map[*lua.LState]*lua.LState // thread of a protected call: the thread that made the call; nil: a task
	fixed  map[*lua.LState]bool        // threads that cannot yield, because Go waits for them
	depth  int

	// resumed are the coroutines that run, or wait for one that they resumed, in any task.
	resumed map[*lua.LState]bool

	create, resume lua.LGFunction // the library's own
	pcall, yield   *lua.LFunction // with hidden parts
	hooks          hooks          // of debug.sethook; nil: none
}

// OpenThreads replaces pcall, xpcall and the functions of coroutine in L, the main thread. ctx ends
// every thread; it is set as L's context.
func OpenThreads(L *lua.LState, ctx context.Context) *Threads {
	t := &Threads{main: L, meter: &meter{left: Slice, global: L.G}, owners: make(map[*lua.LState]*lua.LState), fixed: make(map[*lua.LState]bool), resumed: make(map[*lua.LState]bool)}
	co := L.GetGlobal("coroutine").(*lua.LTable)
	t.create = co.RawGetString("create").(*lua.LFunction).GFunction
	t.resume = co.RawGetString("resume").(*lua.LFunction).GFunction
	for name, fn := range map[string]lua.LGFunction{
		"create": t.coCreate, "resume": t.coResume, "status": t.coStatus, "running": t.coRunning, "wrap": t.coWrap,
	} {
		co.RawSetString(name, L.NewFunction(fn))
	}
	t.meter.threads = t
	t.yield = hidden(L, yieldSource, t.coYield)
	co.RawSetString("yield", t.yield)
	t.pcall = hidden(L, pcallSource, t.start, t.goOn, t.coYield)
	L.SetGlobal("pcall", t.pcall)
	L.SetGlobal("xpcall", L.NewFunction(t.xpcall))
	if ctx != nil { // last: it may have ended, and then nothing runs any more
		t.ctx = newVMContext(ctx, func() { t.forgetTailCalls(L) }, t.meter)
		L.SetContext(t.ctx)
	}
	return t
}

// forgetTailCalls does so on every thread under the running one, before tracebacks are made of them.
func (t *Threads) forgetTailCalls(main *lua.LState) {
	L := main.G.CurrentThread
	if L == nil {
		L = main
	}
	for ; L != nil; L = t.parent(L) {
		forgetTailCalls(L)
	}
}

// Stopped lets no script run another instruction, once the context of OpenThreads is done: that would
// otherwise come to pass a moment later.
func (t *Threads) Stopped() {
	if t.ctx != nil && t.ctx.Err() != nil {
		t.ctx.stop()
	}
}

// yieldSource is coroutine.yield around the library's own. What a resume hands over passes through
// an open call: gopher-lua fills a fixed number of results from registers that hold other values
// where the resume gives fewer, and takes the results of a yield in a tail call for another frame's.
const yieldSource = `
local yield = ...
local function pass(...) return ... end
return function(...) return pass(yield(...)) end
`

// pcallSource is the part of pcall that a coroutine can be suspended in: where the protected
// function yields, so does pcall, and what comes back goes down again.
const pcallSource = `
local start, continue, yield = ...
local finish
local function go_on(th, ...) return finish(continue(th, ...)) end
function finish(th, done, ...)
	if done == nil then return go_on(th, yield(...)) end
	return done, ...
end
return function(...) return finish(start(...)) end
`

// hidden makes the function that a hidden chunk returns for its arguments.
func hidden(L *lua.LState, source string, args ...lua.LGFunction) *lua.LFunction {
	proto, err := Compile([]byte(source), HiddenChunk)
	if err != nil {
		panic("lua51: " + err.Error())
	}
	L.Push(L.NewFunctionFromProto(proto))
	for _, fn := range args {
		L.Push(L.NewFunction(fn))
	}
	L.Call(len(args), 1)
	fn := L.Get(-1).(*lua.LFunction)
	L.Pop(1)
	return fn
}

// take returns a thread for a protected call made by L.
func (t *Threads) take(L *lua.LState) *lua.LState {
	if t.depth >= maxDepth {
		raise(L, "C stack overflow")
	}
	var th *lua.LState
	if n := len(t.free); n > 0 {
		th = t.free[n-1]
		t.free = t.free[:n-1]
		inherit(th, L)
	} else {
		th = t.newThread(L)
	}
	th.Env = L.Env
	t.owners[th] = L
	return th
}

// newThread makes an empty thread with a small stack that L's context ends.
func (t *Threads) newThread(L *lua.LState) *lua.LState {
	opts := L.Options
	L.Options.RegistrySize = threadValues
	ctx := L.RemoveContext() // the library would derive one for each thread
	th, _ := L.NewThread()
	L.Options = opts
	if ctx != nil {
		L.SetContext(ctx)
		th.SetContext(ctx)
	}
	th.Options = opts
	return th
}

// give returns a thread whose call is over. One that failed keeps frames that nothing can remove.
func (t *Threads) give(th *lua.LState, failed bool) {
	delete(t.owners, th)
	if failed || len(t.free) >= 64 {
		return
	}
	th.SetTop(0)
	th.Dead = false
	t.free = append(t.free, th)
}

// start is the Go part of pcall: it returns the thread, whether the call is done (nil: it yielded),
// and the results, the error or the yielded values.
func (t *Threads) start(L *lua.LState) int {
	if L.GetTop() == 0 {
		raise(L, "bad argument #1 to 'pcall' (value expected)")
	}
	fn, ok := L.Get(1).(*lua.LFunction)
	args := make([]lua.LValue, 0, 8)
	if !ok {
		// Anything else is called through its metatable.
		meta, _ := L.GetMetaField(L.Get(1), "__call").(*lua.LFunction)
		if meta == nil {
			L.Push(lua.LNil)
			L.Push(lua.LFalse)
			L.Push(lua.LString("attempt to call a " + L.Get(1).Type().String() + " value"))
			return 3
		}
		fn = meta
		args = append(args, L.Get(1))
	}
	for i := 2; i <= L.GetTop(); i++ {
		args = append(args, L.Get(i))
	}
	if fn.IsG || t.logical(L) == L.G.MainThread {
		// A Go function as the first of a thread cannot be suspended, and outside of coroutines
		// nothing can: such calls leave their thread clean also where they fail.
		return t.startFixed(L, fn, args)
	}
	return t.run(L, t.take(L), fn, args)
}

func (t *Threads) startFixed(L *lua.LState, fn *lua.LFunction, args []lua.LValue) int {
	values, err := t.protect(L, fn, nil, args)
	L.Push(lua.LNil)
	return 1 + pushOutcome(L, values, err)
}

// pushOutcome pushes what a protected call returns: true and values, or false and the error.
func pushOutcome(L *lua.LState, values []lua.LValue, err error) int {
	if err != nil {
		L.Push(lua.LFalse)
		L.Push(ErrorValue(err))
		return 2
	}
	L.Push(lua.LTrue)
	for _, v := range values {
		L.Push(v)
	}
	return 1 + len(values)
}

// ErrorValue is what a script raised, or the text of an error that is none of a script.
func ErrorValue(err error) lua.LValue {
	var api *lua.ApiError
	if errors.As(err, &api) && api.Object != nil {
		return errorText(api.Object)
	}
	return lua.LString(err.Error())
}

// goOn resumes a protected call that had yielded.
func (t *Threads) goOn(L *lua.LState) int {
	th := checkThread(L)
	args := make([]lua.LValue, 0, 8)
	for i := 2; i <= L.GetTop(); i++ {
		args = append(args, L.Get(i))
	}
	t.owners[th] = L
	inherit(th, L)
	th.Env = L.Env
	return t.run(L, th, nil, args)
}

// run begins or goes on with th. It returns the thread, whether the call is done, and the values, as start does.
func (t *Threads) run(L, th *lua.LState, fn *lua.LFunction, args []lua.LValue) int {
	if fn != nil { // of a dead thread the library only notes what would run: its own way to run that makes no values one
		th.Dead = true
		_, _, _ = L.Resume(th, fn)
		th.Dead = false
	}
	L.SetTop(0)
	L.Push(th)
	for _, v := range args {
		L.Push(v)
	}
	t.depth++
	n := t.resume(L)
	t.depth--
	L.G.CurrentThread = L
	first := L.GetTop() - n + 1
	var done lua.LValue = lua.LTrue
	switch ok := L.Get(first) == lua.LTrue; {
	case !th.Dead:
		delete(t.owners, th) // whoever goes on with it owns it; nobody may
		done = lua.LNil
	case ok:
		t.give(th, false)
	default:
		t.give(th, true)
		done = lua.LFalse
		L.Replace(first+1, errorText(L.Get(first+1)))
	}
	L.Replace(first, done)
	L.Insert(th, first)
	return n + 1
}

// Call calls fn with args on a thread of its own, for Go: it cannot be yielded across. A failed
// call gives the error with the library's traceback of the thread.
func (t *Threads) Call(L *lua.LState, fn lua.LValue, args ...lua.LValue) ([]lua.LValue, error) {
	return t.protect(L, fn, nil, args)
}

func (t *Threads) protect(L *lua.LState, fn lua.LValue, handler *lua.LFunction, args []lua.LValue) ([]lua.LValue, error) {
	return t.runOn(t.take(L), L, fn, handler, args)
}

// runOn calls fn on th, whose caller is L. th has no Parent: the library would hand the results to that by
// itself.
func (t *Threads) runOn(th, L *lua.LState, fn lua.LValue, handler *lua.LFunction, args []lua.LValue) ([]lua.LValue, error) {
	t.fixed[th] = true
	L.G.CurrentThread = th
	t.depth++
	th.Push(fn)
	for _, a := range args {
		th.Push(a)
	}
	err, clean := protectedCall(th, len(args), handler)
	t.depth--
	L.G.CurrentThread = L
	delete(t.fixed, th)
	var results []lua.LValue
	if err == nil {
		for i := 1; i <= th.GetTop(); i++ {
			results = append(results, th.Get(i))
		}
	}
	t.give(th, !clean)
	return results, err
}

// protectedCall is PCall of the function and the n arguments on th. clean: th can be used for another call.
func protectedCall(th *lua.LState, n int, handler *lua.LFunction) (err error, clean bool) {
	defer func() {
		switch r := recover().(type) {
		case nil:
		case *lua.ApiError: // there was no room for the handler
			err = r
		default:
			if !fullAtEntry(th) {
				panic(r)
			}
			err = &lua.ApiError{Type: lua.ApiErrorRun, Object: lua.LString("stack overflow"), StackTrace: "stack traceback:\n\t..."}
		}
	}()
	return th.PCall(n, lua.MultRet, handler), true
}

// fullAtEntry reports whether the function that runs on th has not begun: there was no room for its arguments. The
// library fails to say so, since it looks for the line of an instruction that there is not.
func fullAtEntry(th *lua.LState) bool {
	if !frameKnown {
		return false
	}
	f := currentFrame(th)
	return f != nil && f.fn != nil && !f.fn.IsG && f.pc == 0
}

// xpcall is xpcall(f, handler): the handler runs where the error was raised.
func (t *Threads) xpcall(L *lua.LState) int {
	if L.GetTop() < 2 {
		raise(L, "bad argument #2 to 'xpcall' (value expected)")
	}
	handler := L.Get(2)
	results, err := t.protect(L, L.Get(1), newOperator(L, func(L *lua.LState) int {
		msg := errorText(L.Get(1))
		L.Push(handler)
		L.Push(msg)
		L.Call(1, 1)
		closeUpvalues(L)
		return 1
	}), nil)
	return pushOutcome(L, results, err)
}

// closeUpvalues gives the closures that were made on L their variables, before the frames of a
// failed call go: with a message handler the library leaves them open. Raising an error is the only
// way in.
func closeUpvalues(L *lua.LState) {
	L.Push(L.NewFunction(func(L *lua.LState) int {
		L.Error(lua.LNil, 0)
		return 0
	}))
	_ = L.PCall(0, 0, nil) // fails by design
}
