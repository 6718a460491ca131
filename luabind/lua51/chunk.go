package lua51

import (
	"context"
	"errors"

	lua "github.com/yuin/gopher-lua"
)

// RunChunk calls fn with args as the first task of the machine. ctx, made of that of OpenThreads, ends it
// alone: an error with the text of reason is raised before each instruction then. It ends what runs meanwhile
// for nobody, such as host functions, and what blocks the machine in any task. Other tasks go on.
func (t *Threads) RunChunk(ctx context.Context, reason error, fn lua.LValue, args ...lua.LValue) ([]lua.LValue, error) {
	root := t.ctx
	k := &Task{t: t, current: t.main, ctx: root.child()}
	k.ctx.Context, k.ctx.reason = ctx, reason
	defer context.AfterFunc(ctx, k.ctx.stop)()
	t.main.SetContext(k.ctx)
	outer := root.foreground
	root.foreground = ctx
	defer func() {
		root.foreground = outer
		t.main.SetContext(root)
	}()
	return k.Run(fn, args...)
}

// boundedContext ends after a number of instructions.
type boundedContext struct {
	*vmContext
	left int
}

var (
	closed     = func() chan struct{} { c := make(chan struct{}); close(c); return c }()
	errBounded = errors.New("it runs too long")
)

// Done implements context.Context.
func (b *boundedContext) Done() <-chan struct{} {
	if b.left--; b.left < 0 {
		return closed
	}
	return b.vmContext.Done()
}

// Err implements context.Context.
func (b *boundedContext) Err() error {
	if b.left < 0 {
		return errBounded
	}
	return b.vmContext.Err()
}

// CallBounded is Call of a function that runs most instructions at most, and fails then.
func (t *Threads) CallBounded(L *lua.LState, most int, fn lua.LValue, args ...lua.LValue) ([]lua.LValue, error) {
	th := t.take(L)
	ctx, ok := L.Context().(*vmContext)
	if !ok {
		return t.runOn(th, L, fn, nil, args)
	}
	bounded := &boundedContext{ctx, most}
	th.SetContext(bounded)
	results, err := t.runOn(th, L, fn, nil, args)
	if err != nil && bounded.left < 0 {
		err = errBounded
	}
	return results, err
}
