package npu

import (
	"context"
	"runtime/debug"
	"time"
)

// outsideWork is what a task waits for in outside, for messages: "libdcmi".
type outsideWork string

// outside runs fn on a goroutine of its own and returns what it returns, so that neither the executor nor other tasks
// wait with it: for calls that are slow and no business of the executor's thread. ErrStreamTimeout after limit. The
// wait ends as others do, also early; then the context of fn ends too, and nobody learns what fn returns.
func (t *Thread) outside(what string, limit time.Duration, fn func(ctx context.Context) error) error {
	if t.c.Inside() {
		return insideError()
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	keeper := t.s.NewThread(ctx) // while it is registered no deadlock is told
	defer keeper.Close()
	done := make(chan error, 1)
	run := func() {
		defer func() {
			if r := recover(); r != nil {
				done <- &PanicError{Value: r, Stack: debug.Stack()}
			}
		}()
		done <- fn(ctx)
	}
	if t.task != nil && !t.task.sch.over {
		w := &suspension{task: t.task, on: outsideWork(what)}
		go func() {
			run()
			w.finish(nil, nil)
		}()
		if err := t.task.suspendFor(w, limit); err != nil {
			return err
		}
		return <-done
	}
	go run()
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case err := <-done:
		return err
	case <-timer.C:
		return timeoutError(limit)
	case <-t.c.Done():
		return t.c.Err()
	}
}
