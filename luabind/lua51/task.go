package lua51

import (
	"context"

	lua "github.com/yuin/gopher-lua"
)

// Task is what a thread of control of the machine has of its own. Of all tasks one runs at a time;
// whoever lets another one run calls Leave before and Enter after.
type Task struct {
	t       *Threads
	ctx     *vmContext
	current *lua.LState
	nesting nesting
}

// NewTask makes a task that has not begun. The first task of the machine is one too.
func (t *Threads) NewTask() *Task {
	return &Task{t: t, current: t.main, ctx: t.ctx.child()}
}

// Leave notes what k needs to go on. Until Enter what is called is called by nobody.
func (k *Task) Leave() {
	k.t.rest()
	g := k.t.main.G
	k.current, k.nesting = g.CurrentThread, k.t.nesting
	g.CurrentThread, k.t.nesting = k.t.main, nesting{entry: -1}
}

// Enter lets k go on.
func (k *Task) Enter() {
	k.t.work()
	k.t.main.G.CurrentThread, k.t.nesting = k.current, k.nesting
}

// Cancel lets k run no other instruction: an error with the text of reason is raised before each, so that
// no pcall hides it.
func (k *Task) Cancel(reason error) {
	if k.ctx.reason == nil {
		k.ctx.reason = reason
		k.ctx.stop()
	}
}

// BlockUntil lets what blocks the machine for k end with ctx, which ends with the machine's context. Before Run.
func (k *Task) BlockUntil(ctx context.Context) { k.ctx.waits = ctx }

// BlockAs is BlockUntil with what the task of L has. Before Run.
func (k *Task) BlockAs(L *lua.LState) {
	switch ctx := L.Context().(type) {
	case *vmContext:
		k.BlockUntil(ctx.waits)
	case *boundedContext:
		k.BlockUntil(ctx.waits)
	}
}

// Run calls fn with args as the whole of k, on a thread under which nothing waits. Errors are those of
// Call.
func (k *Task) Run(fn lua.LValue, args ...lua.LValue) ([]lua.LValue, error) {
	t := k.t
	t.work()
	defer t.rest()
	th := t.take(t.main)
	t.owners[th] = nil
	t.setContext(th, k.ctx)
	return t.runOn(th, t.main, fn, nil, args, true)
}
