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
	parent  *vmContext // of a task: the machine's; it ends this one too
	done    atomic.Pointer[chan struct{}]
	reason  error  // that a task was cancelled for; set before done
	stopped func() // called on the machine's goroutine when it sees the end
	meter   *meter // of the machine

	// waits, of a task, ends what blocks the machine for it; nil: the machine's context does.
	waits context.Context

	// foreground, of the machine's context, ends what blocks the machine while a chunk runs; nil: none does.
	foreground context.Context
}

func newVMContext(ctx context.Context, stopped func(), m *meter) *vmContext {
	v := &vmContext{Context: ctx, stopped: stopped, meter: m}
	context.AfterFunc(ctx, v.stop)
	return v
}

// child is a context that can end alone.
func (v *vmContext) child() *vmContext {
	return &vmContext{Context: v.Context, parent: v, stopped: v.stopped, meter: v.meter}
}

// stop ends the context as the virtual machine sees it.
func (v *vmContext) stop() {
	closed := make(chan struct{})
	close(closed)
	v.done.Store(&closed)
}

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
		if m.counting && v.Context.Err() != nil {
			v.stop() // at once, where a limit was exceeded
		}
	}
	if m.step != nil {
		m.step()
	}
	from := v
	ch := v.done.Load()
	if ch == nil && v.parent != nil {
		from = v.parent
		ch = from.done.Load()
	}
	switch ch {
	case nil:
		return nil
	case &starved:
		if from.done.CompareAndSwap(&starved, nil) {
			raiseBare(m.global.CurrentThread, outOfMemory)
		}
	}
	v.stopped()
	return *ch
}

// starved stands in done for memory that is short.
var starved = closed

// Starve has the machine raise an error, once, that the script can catch: memory is short. It may be called from any
// goroutine.
func (t *Threads) Starve() {
	if t.ctx != nil {
		t.ctx.done.CompareAndSwap(nil, &starved)
	}
}

// Err implements context.Context.
func (v *vmContext) Err() error {
	if v.reason != nil && v.done.Load() != nil {
		return v.reason
	}
	return v.Context.Err()
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

// inherit gives th the context of L, which runs it.
func inherit(th, L *lua.LState) {
	if ctx := L.Context(); ctx != th.Context() && ctx != nil {
		th.SetContext(ctx)
	}
}
