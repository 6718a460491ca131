package lua51

import (
	"slices"

	lua "github.com/yuin/gopher-lua"
)

// level is one level of the call stack as PUC Lua counts them: a function that runs, or one that gave its place
// away in a tail call.
type level struct {
	thread *lua.LState    // on which the function runs
	frame  *frame         // nil: the place of a tail call, or what called the first function
	inner  *frame         // where the function is: its frame, or that of a section of it
	tails  int            // without a frame: how many functions gave their place to the one above
	fn     *lua.LFunction // nil: none
}

// stack goes through levels, from the function that runs on. Protected calls run on threads of their own: the stack
// goes on with the thread of the caller there. Functions that stand for an operator are no levels, and a library
// function with a part in Lua is one.
type stack struct {
	t       *Threads
	thread  *lua.LState
	outer   []*lua.LState // threads that wait for it, innermost first; nil: those that own it
	frame   *frame
	inner   *frame // of a section whose function comes next; nil: none
	running bool   // no level was given yet
	tails   int    // of the last level
}

// stackOf is the stack of the function that runs on L.
func stackOf(L *lua.LState) stack {
	s := stack{t: threadsOf(L), running: true}
	s.enter(L)
	return s
}

// stackOfThread is the stack of a coroutine as seen from L, which runs: it may be that of L.
func stackOfThread(L, th *lua.LState) stack {
	t := threadsOf(L)
	if t == nil && th == L || t != nil && th == t.logical(L) {
		return stackOf(L)
	}
	chain := []*lua.LState{th}
	for inner := t.protectedBy(th); inner != nil; inner = t.protectedBy(inner) {
		chain = append(chain, inner)
	}
	slices.Reverse(chain)
	s := stack{t: t, running: true, outer: chain[1:]}
	s.enter(chain[0])
	return s
}

func (s *stack) enter(th *lua.LState) {
	s.thread, s.frame = th, nil
	if frameKnown && th != nil {
		s.frame = currentFrame(th)
	}
}

// leave goes on with the thread that waits for this one; at the end of a task there is one level more, as there is
// for the program that calls a script.
func (s *stack) leave() (level, bool) {
	th := s.thread
	switch {
	case s.outer != nil:
		s.thread, s.frame = nil, nil
		if len(s.outer) > 0 {
			s.enter(s.outer[0])
			s.outer = s.outer[1:]
			return s.next()
		}
	case s.t.isFirst(th):
		s.thread, s.frame = nil, nil
		return level{thread: th}, true
	default:
		s.enter(s.t.owner(th))
		if s.thread != nil {
			return s.next()
		}
	}
	return level{}, false
}

// next is the next level; the tail calls of one function are one.
func (s *stack) next() (level, bool) {
	if n := s.tails; n > 0 {
		s.tails = 0
		return level{thread: s.thread, tails: n}, true
	}
	for f := s.frame; f != nil; f = f.parent {
		if f.fn == nil || f.parent != nil && isHidden(f.parent.fn) || !s.running && f.isOperator() {
			continue
		}
		if s.inner == nil {
			s.inner = f
		}
		if !f.fn.IsG && isSection(f.fn.Proto) && f.parent != nil {
			continue
		}
		l := level{thread: s.thread, frame: f, inner: s.inner, fn: f.fn}
		s.running, s.frame, s.inner = false, f.parent, nil
		switch {
		case isHidden(f.fn):
			l.fn, s.tails = s.t.public(f.fn, f.tailCalls)
		case !f.fn.IsG:
			s.tails = f.tailCalls
		}
		return l, true
	}
	if s.thread == nil {
		return level{}, false
	}
	return s.leave()
}

// at is level n: 0 runs, 1 called it. Below 0 all is like the place of a tail call.
func (s stack) at(n int) (level, bool) {
	if n < 0 {
		return level{thread: s.thread, tails: 1}, true
	}
	for l, ok := s.next(); ok; l, ok = s.next() {
		switch {
		case l.isTail():
			if n -= l.tails; n < 0 {
				return l, true
			}
		case n == 0:
			return l, true
		default:
			n = s.skip(n - 1)
		}
	}
	return level{}, false
}

// skip passes over at most n levels, those that are no more than a frame of a script's function, and returns how many are
// left: a walk from level to level begins anew each time.
func (s *stack) skip(n int) int {
	if s.tails > 0 || s.frame == nil {
		return n
	}
	for f := s.frame; n > 0 && f.isPlain() && f.parent != nil && !isHidden(f.parent.fn); n-- {
		f = f.parent
		s.frame = f
	}
	return n
}

// isPlain reports whether f is one level, whatever is around it but a hidden caller.
func (f *frame) isPlain() bool {
	return f.fn != nil && !f.fn.IsG && f.tailCalls == 0 && !isHidden(f.fn) && !isSection(f.fn.Proto)
}

func isHidden(fn *lua.LFunction) bool {
	return fn != nil && !fn.IsG && fn.Proto.SourceName == HiddenChunk
}

// isC reports whether a function looks as if it was written in C.
func isC(fn *lua.LFunction) bool { return fn == nil || fn.IsG || isHidden(fn) }

func (l level) isTail() bool { return l.tails > 0 }

// isLua reports whether the function at l is a script's.
func (l level) isLua() bool { return l.frame != nil && !isC(l.fn) }

// line is where the function at l is, -1 where it is no script's.
func (l level) line() int {
	if !l.isLua() {
		return -1
	}
	return l.inner.line()
}

// name is what the caller calls the function at l, and what kind of variable that is: both empty where nothing tells.
func (l level) name() (name, kind string) {
	if l.frame == nil || l.isLua() && l.frame.tailCalls > 0 {
		return "", ""
	}
	caller := l.frame.parent
	if caller == nil || isC(caller.fn) {
		return "", ""
	}
	pc := caller.pc - 1
	if pc < 0 || pc >= len(caller.fn.Proto.Code) {
		return "", ""
	}
	switch in := instruction(caller.fn.Proto.Code[pc]); in.op() {
	case lua.OP_CALL, lua.OP_TAILCALL:
		o := originOfTemporary(caller.fn.Proto, pc, in.a())
		return o.name, o.kind
	case lua.OP_TFORLOOP:
		return "(for generator)", "local"
	}
	return "", ""
}

// register is local variable n of the function at l, counted as its registers are, from 1; nil where there is none.
// With a value it is set.
func (l level) register(n int, value lua.LValue) (lua.LValue, bool) {
	if l.frame == nil || n < 1 {
		return nil, false
	}
	dbg, ok := l.thread.GetStack(l.libraryLevel())
	if !ok {
		return nil, false
	}
	if value != nil {
		return nil, l.thread.SetLocal(dbg, n, value) != ""
	}
	name, v := l.thread.GetLocal(dbg, n)
	return v, name != ""
}

// libraryLevel is the number of l in the library's own count of its thread.
func (l level) libraryLevel() int {
	n := 0
	for f := currentFrame(l.thread); f != l.frame; f = f.parent {
		if n++; f.fn != nil && !f.fn.IsG {
			n += f.tailCalls
		}
	}
	return n
}

// threadsOf are the threads of the machine of L, nil where they are the library's own.
func threadsOf(L *lua.LState) *Threads {
	switch ctx := L.Context().(type) {
	case *vmContext:
		return ctx.meter.threads
	case *boundedContext:
		return ctx.meter.threads
	}
	return nil
}

// owner is the thread whose protected call L is, nil where it is none.
func (t *Threads) owner(L *lua.LState) *lua.LState {
	if t == nil {
		return nil
	}
	return t.owners[L]
}

// isFirst reports whether L is the first thread of a task.
func (t *Threads) isFirst(L *lua.LState) bool {
	if t == nil {
		return false
	}
	owner, protected := t.owners[L]
	return protected && owner == nil || L == t.main
}

// public is the function that scripts called where fn, a hidden part of it, runs, and how many tail calls of theirs
// came before.
func (t *Threads) public(fn *lua.LFunction, tails int) (*lua.LFunction, int) {
	if t == nil || fn == t.pcall || fn == t.yield {
		return fn, tails
	}
	return t.pcall, 0
}

// protectedBy is the thread of a protected call that th waits for, nil where it waits for none.
func (t *Threads) protectedBy(th *lua.LState) *lua.LState {
	if t == nil || !frameKnown {
		return nil
	}
	for inner, owner := range t.owners {
		if owner == th && inner != th {
			return inner
		}
	}
	// A call that yielded is owned by nobody: pcall holds its thread, below its own call of yield.
	f := currentFrame(th)
	if f == nil || f.parent == nil || !isHidden(f.fn) || !isHidden(f.parent.fn) {
		return nil
	}
	v, _ := level{thread: th, frame: f.parent}.register(1, nil)
	inner, _ := v.(*lua.LState)
	return inner
}
