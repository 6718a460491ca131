package lua51

import (
	"context"
	"sync"
)

// Ending is a context that ends machines from outside. First they stop, so that no instruction runs any more; then the
// context ends. Whatever wakes up because of that, and lets a script go on, does so in a machine that has stopped. Its
// methods may be called from any goroutine.
type Ending struct {
	context.Context
	end    context.CancelCauseFunc
	parent *Ending // nil: none

	mu      sync.Mutex
	stopped bool
	list    map[ends]struct{} // what ends with this one: machines, and other Endings
}

// ends is what a machine and an Ending have in common.
type ends interface{ stop() }

// NewEnding makes a context that ends with parent, or when End is called, which must happen at last.
func NewEnding(parent context.Context) *Ending {
	e := &Ending{list: make(map[ends]struct{})}
	if p, ok := parent.(*Ending); ok {
		e.Context, e.end = context.WithCancelCause(p)
		e.parent = p
		p.add(e)
		return e
	}
	e.Context, e.end = context.WithCancelCause(context.WithoutCancel(parent))
	unhook := context.AfterFunc(parent, func() { e.End(context.Cause(parent)) })
	context.AfterFunc(e.Context, func() { unhook() })
	if parent.Err() != nil {
		e.End(context.Cause(parent))
	}
	return e
}

// End ends the context; cause is that of context.Cause. Only the first call does anything.
func (e *Ending) End(cause error) {
	e.stop()
	e.end(cause)
	if e.parent != nil {
		e.parent.remove(e)
	}
}

// stop stops the machines, and lets no other one start.
func (e *Ending) stop() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.stopped = true
	for x := range e.list {
		x.stop()
	}
}

func (e *Ending) add(x ends) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.list[x] = struct{}{}
	if e.stopped {
		x.stop()
	}
}

func (e *Ending) remove(x ends) {
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.list, x)
}

// endWith has the end of ctx stop v, and returns what takes that back.
func endWith(ctx context.Context, v *vmContext) (undo func()) {
	if e, ok := ctx.(*Ending); ok {
		e.add(v)
		return func() { e.remove(v) }
	}
	stop := context.AfterFunc(ctx, v.stop)
	return func() { stop() }
}
