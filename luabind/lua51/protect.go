package lua51

import (
	"context"
	"errors"
	"math"

	lua "github.com/yuin/gopher-lua"
)

// HiddenChunk is the source name of the Lua part of this package; messages and places pass it over.
const HiddenChunk = "[protect]"

const (
	// threadValues is the first size of a thread's value stack; it grows as needed.
	threadValues = 64
	// pooledValues is the largest one that is kept for another call.
	pooledValues = 1 << 13
	// maxFree bounds the pool of threads.
	maxFree = 64
)

// Threads runs protected calls and coroutines. In gopher-lua an error closes the upvalues of the
// whole thread in which it is raised, so that locals and closures outside the protected call stop
// sharing; and a protected call cannot be yielded across. Both are cured by giving each protected
// call a thread of its own. Threads are pooled.
type Threads struct {
	main   *lua.LState
	meter  *meter
	ctx    *vmContext
	free   []*lua.LState
	owners map[*lua.LState]*lua.LState // thread of a protected call: the thread that made the call; nil: a task
	nesting

	door, loop loop // what runs threads of this machine, and what the library has for that
	onDefect   func(value any, stack []byte)

	// resumed are the coroutines that run, or wait for one that they resumed, in any task.
	resumed map[*lua.LState]bool

	create, resume lua.LGFunction // the library's own
	pcall, yield   *lua.LFunction // with hidden parts
	hooks          hooks          // of debug.sethook; nil: none
}

// OpenThreads replaces pcall, xpcall and the functions of coroutine in L, the main thread. ctx ends
// every thread: at once where it is an Ending.
func OpenThreads(L *lua.LState, ctx context.Context) *Threads {
	t := &Threads{main: L, meter: &meter{left: Slice, global: L.G}, owners: make(map[*lua.LState]*lua.LState), resumed: make(map[*lua.LState]bool)}
	t.door = t.enter
	t.ctx = &vmContext{Context: ctx, meter: t.meter}
	L.SetContext(context.Background())
	t.loop = *mainLoop(L)
	t.own(L, &vmContext{Context: context.Background(), meter: t.meter}) // ctx may have ended, and then nothing runs any more
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
	t.meter.left = Slice // what was run here is not the script's
	t.setContext(L, t.ctx)
	endWith(ctx, t.ctx)
	return t
}

// Current is the thread that runs, or of a machine in which nothing does the main one.
func (t *Threads) Current() *lua.LState {
	if L := t.main.G.CurrentThread; L != nil {
		return L
	}
	return t.main
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
	values := make([]lua.LValue, len(args))
	for i, fn := range args {
		values[i] = L.NewFunction(fn)
	}
	return call(L, L.NewFunctionFromProto(proto), values...).(*lua.LFunction)
}

// take returns a thread for a protected call made by L.
func (t *Threads) take(L *lua.LState) *lua.LState {
	var th *lua.LState
	if n := len(t.free); n > 0 {
		th = t.free[n-1]
		t.free = t.free[:n-1]
		t.inherit(th, L)
	} else {
		th = t.newThread(L)
	}
	th.Env = L.Env
	t.owners[th] = L
	return th
}

// newThread makes an empty thread with a small stack that L's context ends.
func (t *Threads) newThread(L *lua.LState) *lua.LState {
	opts, ctx := L.Options, L.Context()
	L.Options.RegistrySize = threadValues
	L.RemoveContext() // the library would derive one for each thread
	th, _ := L.NewThread()
	L.Options = opts
	t.setContext(L, ctx)
	th.Options = opts
	t.own(th, ctx)
	return th
}

// give returns a thread whose call is over.
func (t *Threads) give(th *lua.LState) {
	delete(t.owners, th)
	if len(t.free) >= maxFree || cap(valuesOf(th)) > pooledValues {
		return
	}
	if currentFrame(th) != nil { // it has failed
		dropFrames(th, math.MaxInt)
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
		// nothing can.
		values, err := t.runOn(t.take(L), L, fn, nil, args, false)
		L.Push(lua.LNil)
		return 1 + pushOutcome(L, values, err)
	}
	return t.run(L, t.take(L), fn, args)
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
	t.inherit(th, L)
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
	outer := t.nesting
	t.entry = t.depth
	n := t.resume(L)
	t.nesting = outer
	L.G.CurrentThread = L
	first := L.GetTop() - n + 1
	var done lua.LValue = lua.LTrue
	switch ok := L.Get(first) == lua.LTrue; {
	case !th.Dead:
		delete(t.owners, th) // whoever goes on with it owns it; nobody may
		done = lua.LNil
	case ok:
		t.give(th)
	default:
		t.give(th)
		done = lua.LFalse
		L.Replace(first+1, errorText(L.Get(first+1)))
	}
	L.Replace(first, done)
	L.Insert(th, first)
	return n + 1
}

// Call calls fn with args on a thread of its own, for Go: it cannot be yielded across. A failed
// call gives the error with the traceback of the thread.
func (t *Threads) Call(L *lua.LState, fn lua.LValue, args ...lua.LValue) ([]lua.LValue, error) {
	return t.runOn(t.take(L), L, fn, nil, args, true)
}

// runOn calls fn on th, whose caller is L. th has no Parent: the library would hand the results to that by
// itself.
func (t *Threads) runOn(th, L *lua.LState, fn, handler lua.LValue, args []lua.LValue, traced bool) ([]lua.LValue, error) {
	outer := t.nesting
	t.entry = -1
	L.G.CurrentThread = th
	err := t.invoke(th, fn, handler, args, traced)
	t.nesting = outer
	L.G.CurrentThread = L
	var results []lua.LValue
	if err == nil {
		for i := 1; i <= th.GetTop(); i++ {
			results = append(results, th.Get(i))
		}
	}
	t.give(th)
	return results, err
}

// xpcall is xpcall(f, handler): the handler runs where the error was raised.
func (t *Threads) xpcall(L *lua.LState) int {
	if L.GetTop() < 2 {
		raise(L, "bad argument #2 to 'xpcall' (value expected)")
	}
	values, err := t.runOn(t.take(L), L, L.Get(1), L.Get(2), nil, false)
	return pushOutcome(L, values, err)
}
