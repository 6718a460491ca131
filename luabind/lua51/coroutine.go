package lua51

import (
	lua "github.com/yuin/gopher-lua"
)

// logical is the coroutine that a thread of a protected call belongs to.
func (t *Threads) logical(L *lua.LState) *lua.LState {
	for {
		owner, protected := t.owners[L]
		if owner == nil {
			if protected { // the first thread of a task, which is no coroutine
				return L.G.MainThread
			}
			return L
		}
		L = owner
	}
}

// parent is the thread that waits for L: the one that resumed it, or that made its protected call; nil
// for the first one of a task.
func (t *Threads) parent(L *lua.LState) *lua.LState {
	if L.Parent != nil {
		return L.Parent
	}
	return t.owners[L]
}

func checkThread(L *lua.LState) *lua.LState {
	th, ok := L.Get(1).(*lua.LState)
	if !ok {
		argError(L, 1, "coroutine expected")
	}
	return th
}

// threadSteps is what making a thread counts as.
const threadSteps = 200

func (t *Threads) coCreate(L *lua.LState) int {
	if fn, ok := L.Get(1).(*lua.LFunction); !ok || fn.IsG {
		argError(L, 1, "Lua function expected")
	}
	charge(L, threadSteps)
	opts, ctx := L.Options, L.Context()
	L.Options.RegistrySize = threadValues
	L.RemoveContext() // the library would derive one for each thread
	n := t.create(L)
	L.Options = opts
	t.setContext(L, ctx)
	th := L.Get(-1).(*lua.LState)
	th.Options = opts
	t.inheritHook(L, th)
	t.own(th, ctx)
	return n
}

// status is the state of a coroutine as seen from the thread that runs.
func (t *Threads) status(running, th *lua.LState) string {
	switch {
	case th == t.logical(running):
		return "running"
	case th.Dead:
		return "dead"
	}
	if t.resumed[th] {
		return "normal"
	}
	return "suspended"
}

func (t *Threads) coStatus(L *lua.LState) int {
	L.Push(lua.LString(t.status(L, checkThread(L))))
	return 1
}

func (t *Threads) coRunning(L *lua.LState) int {
	if th := t.logical(L); th != L.G.MainThread {
		L.Push(th)
	} else {
		L.Push(lua.LNil)
	}
	return 1
}

// coResume checks what the library does not, then resumes.
func (t *Threads) coResume(L *lua.LState) int {
	th := checkThread(L)
	if s := t.status(L, th); s != "suspended" {
		L.Push(lua.LFalse)
		L.Push(lua.LString("cannot resume " + s + " coroutine"))
		return 2
	}
	if t.full() {
		L.Push(lua.LFalse)
		L.Push(lua.LString("C stack overflow"))
		return 2
	}
	t.inherit(th, L)
	outer := t.nesting
	t.entry = t.depth
	t.resumed[th] = true
	n := t.resume(L)
	delete(t.resumed, th)
	t.nesting = outer
	L.G.CurrentThread = L
	if n == 2 && L.Get(-2) == lua.LFalse {
		v := errorText(L.Get(-1))
		L.Pop(1)
		L.Push(v)
	}
	return n
}

// coWrap makes a function that resumes a coroutine and raises its error unchanged.
func (t *Threads) coWrap(L *lua.LState) int {
	t.coCreate(L)
	th := L.Get(-1)
	L.Pop(1)
	L.Push(L.NewFunction(func(L *lua.LState) int {
		L.Insert(th, 1)
		n := t.coResume(L)
		if first := L.Get(-n); n > 0 && lua.LVIsFalse(first) {
			L.Error(L.Get(-n+1), 0)
		}
		return n - 1
	}))
	return 1
}

func (t *Threads) coYield(L *lua.LState) int {
	switch {
	case t.logical(L) == L.G.MainThread:
		raiseBare(L, "attempt to yield from outside a coroutine")
	case t.depth != t.entry+1: // a metamethod, an iterator or a callback cannot be left and entered again
		raiseBare(L, "attempt to yield across metamethod/C-call boundary")
	}
	return -1
}
