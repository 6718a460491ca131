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
	done    atomic.Pointer[chan struct{}]
	stopped func() // called on the machine's goroutine when it sees the end
}

func newVMContext(ctx context.Context, stopped func()) *vmContext {
	v := &vmContext{Context: ctx, stopped: stopped}
	context.AfterFunc(ctx, v.stop)
	return v
}

// stop ends the context as the virtual machine sees it.
func (v *vmContext) stop() {
	closed := make(chan struct{})
	close(closed)
	v.done.Store(&closed)
}

// Done implements context.Context.
func (v *vmContext) Done() <-chan struct{} {
	if ch := v.done.Load(); ch != nil {
		v.stopped()
		return *ch
	}
	return nil
}

// contextOf is L's context, or one that never ends.
func contextOf(L *lua.LState) context.Context {
	switch ctx := L.Context().(type) {
	case nil:
		return context.Background()
	case *vmContext:
		return ctx.Context
	default:
		return ctx
	}
}
