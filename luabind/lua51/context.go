package lua51

import (
	"context"
	"sync/atomic"

	lua "github.com/yuin/gopher-lua"
)

// vmContext is a context for the virtual machine, which asks for Done before every instruction.
// Until the context ends Done is nil, since a nil channel is asked much faster than an open one.
type vmContext struct {
	context.Context
	parent *vmContext // of a task: the machine's; it ends this one too
	state  atomic.Int32
	idle   atomic.Bool // of the machine's: no task runs
	reason error       // that a task was cancelled for; set before it is stopped
	meter  *meter      // of the machine

	// waits, of a task, ends what blocks the machine for it; nil: the machine's context does.
	waits context.Context

	// foreground, of the machine's context, ends what blocks the machine while a chunk runs; nil: none does.
	foreground context.Context
}

// States of a context.
const (
	running = iota
	short   // of memory: the next instruction raises an error
	ended
)

// child is a context that can end alone.
func (v *vmContext) child() *vmContext {
	return &vmContext{Context: v.Context, parent: v, meter: v.meter}
}

// stop ends the context as the virtual machine sees it.
func (v *vmContext) stop() { v.state.Store(ended) }

func (v *vmContext) stopped() bool {
	return v.state.Load() == ended || v.parent != nil && v.parent.state.Load() == ended
}

// Starve has the machine raise an error, once, that the script can catch: memory is short. It may be called from any
// goroutine. Feed takes that back where it was not raised yet. A machine that waits takes none, so it is not told.
func (t *Threads) Starve() {
	t.ctx.state.CompareAndSwap(running, short)
	if t.ctx.idle.Load() {
		t.Feed()
	}
}

// Feed tells that memory is short no more.
func (t *Threads) Feed() { t.ctx.state.CompareAndSwap(short, running) }

// rest notes that no task runs.
func (t *Threads) rest() {
	t.ctx.idle.Store(true)
	t.Feed()
}

// work notes that one runs again.
func (t *Threads) work() { t.ctx.idle.Store(false) }

// closed is the channel of a context that has ended.
var closed = func() chan struct{} { c := make(chan struct{}); close(c); return c }()

// Done implements context.Context.
func (v *vmContext) Done() <-chan struct{} {
	m := v.meter
	if m.asked > 0 { // by the last instruction: it is taken
		m.room(0)
	}
	switch {
	case m.counting:
		m.weigh()
	case m.limits != nil:
		m.weighStore()
	}
	if m.left--; m.left < 0 {
		m.used()
	}
	if m.step != nil {
		m.step()
	}
	if v.state.Load() == running && (v.parent == nil || v.parent.state.Load() == running) {
		return nil
	}
	return v.attend()
}

// attend is Done where something is not as ever.
func (v *vmContext) attend() <-chan struct{} {
	root := v
	if v.parent != nil {
		root = v.parent
	}
	if !v.stopped() {
		if v.meter.inHidden() || !root.state.CompareAndSwap(short, running) {
			return nil
		}
		raiseBare(v.meter.global.CurrentThread, outOfMemory)
	}
	return closed
}

// Err implements context.Context.
func (v *vmContext) Err() error {
	if !v.stopped() {
		return nil
	}
	if v.reason != nil && v.state.Load() == ended {
		return v.reason
	}
	if err := v.Context.Err(); err != nil {
		return err
	}
	return context.Canceled // its end is on its way
}

// blocking is the context of what blocks the machine, whichever task waits for it.
func (v *vmContext) blocking() context.Context {
	root := v
	if v.parent != nil {
		root = v.parent
	}
	switch {
	case v.waits != nil:
		return v.waits
	case root.foreground != nil:
		return root.foreground
	}
	return v.Context
}

// contextOf is the context of what L waits for outside the machine, or one that never ends.
func contextOf(L *lua.LState) context.Context {
	switch ctx := L.Context().(type) {
	case nil:
		return context.Background()
	case *vmContext:
		return ctx.blocking()
	case *boundedContext:
		return ctx.blocking()
	default:
		return ctx
	}
}

// machineContext is what ends the whole machine of L: of what outlives the chunk that made it.
func machineContext(L *lua.LState) context.Context {
	v, ok := L.Context().(*vmContext)
	if b, bounded := L.Context().(*boundedContext); bounded {
		v, ok = b.vmContext, true
	}
	switch {
	case !ok:
		return contextOf(L)
	case v.parent != nil:
		return v.parent.Context
	}
	return v.Context
}
