package lua51

import (
	"errors"

	lua "github.com/yuin/gopher-lua"
)

// RunChunk calls fn with args as the first task of the machine. ctx, made of that of OpenThreads, ends it
// alone: an error with the text of reason is raised before each instruction then. It ends what runs meanwhile
// for nobody, such as host functions, and what blocks the machine in any task. Other tasks go on.
func (t *Threads) RunChunk(ctx *Ending, reason error, fn lua.LValue, args ...lua.LValue) ([]lua.LValue, error) {
	root := t.ctx
	k := &Task{t: t, current: t.main, ctx: root.child()}
	k.ctx.Context, k.ctx.reason = ctx, reason
	defer endWith(ctx, k.ctx)()
	t.setContext(t.main, k.ctx)
	outer := root.foreground
	root.foreground = ctx
	defer func() {
		root.foreground = outer
		t.setContext(t.main, root)
	}()
	return k.Run(fn, args...)
}

// boundedContext ends after a number of instructions.
type boundedContext struct {
	*vmContext
	left int
}

var errBounded = errors.New("it runs too long")

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
		return t.runOn(th, L, fn, nil, args, true)
	}
	bounded := &boundedContext{ctx, most}
	t.setContext(th, bounded)
	results, err := t.runOn(th, L, fn, nil, args, true)
	if err != nil && bounded.left < 0 {
		err = errBounded
	}
	return results, err
}
