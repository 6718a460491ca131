package npu

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"npulua/npu/internal/driver"
	"npulua/npu/internal/executor"
)

// suspension is one wait of a task. Whoever ends it first decides its result.
type suspension struct {
	task   *Task // set before others see the suspension
	over   atomic.Bool
	err    error
	on     any              // what is waited for: *Task, *Channel, []Case, outsideWait; nil: target
	target *executor.Target // posted and not answered
	timed  bool             // target is only the timeout
	sends  bool             // on is a channel to send to
	site   Site

	value  any // what a channel handed over
	open   bool
	chosen int // case of a select
}

// end ends the wait with err; false where it was ended before.
func (w *suspension) end(err error) bool {
	if !w.over.CompareAndSwap(false, true) {
		return false
	}
	w.err = err
	return true
}

// finish ends the wait with err and makes its task ready. by is the scheduler that runs on this goroutine.
func (w *suspension) finish(by *Scheduler, err error) bool {
	if !w.end(err) {
		return false
	}
	w.resume(by)
	return true
}

// resume makes the task of a wait that was ended ready.
func (w *suspension) resume(by *Scheduler) {
	s := w.task.sch
	if s == by {
		s.makeReady(w.task)
		return
	}
	s.mu.Lock()
	s.inbox = append(s.inbox, w)
	s.mu.Unlock()
	s.c.Wake()
}

// scheduler is that of t's task, or nil.
func (t *Thread) scheduler() *Scheduler {
	if t.task == nil {
		return nil
	}
	return t.task.sch
}

// interrupted is why t may not wait any more.
func (t *Task) interrupted() error {
	if t.cancelled != nil && (t.shield == 0 || t.thread.group.abandoned()) {
		return t.cancelled
	}
	if err := t.over(); err != nil {
		return err
	}
	return t.sch.c.Err()
}

// ended is why t may not go on with what takes long; nil while it may.
func (t *Thread) ended() error {
	if t.task != nil {
		return t.task.interrupted()
	}
	return t.c.Err()
}

// over is the cause of the end of t's own context; nil while it goes on.
func (t *Task) over() error {
	if t.ctx == nil || t.ctx.Err() == nil {
		return nil
	}
	return context.Cause(t.ctx)
}

// reached is reach where the own context of t has ended, and t gives something back: that needs no wait where
// target is reached.
func (t *Task) reached(target *executor.Target) error {
	target.Timeout = 0
	err := t.sch.c.Try(target)
	if errors.Is(err, driver.CodeStreamSyncTimeout) || errors.Is(err, driver.CodeEventSyncTimeout) {
		return t.over()
	}
	return err
}

// interruptedBy reports whether err says that the own context of t's task has ended.
func (t *Thread) interruptedBy(err error) bool {
	if t.task == nil {
		return false
	}
	over := t.task.over()
	return over != nil && errors.Is(err, over)
}

// waitAlone waits for target while no other task runs, and while on does not say no: over is false then
// and target posted. The own context of t ends it too.
func (t *Task) waitAlone(target *executor.Target, on func() bool) (over bool, err error) {
	c := t.sch.c
	if t.ctx == nil {
		return c.WaitWhile(target, on)
	}
	if err := t.over(); err != nil {
		return true, err
	}
	defer context.AfterFunc(t.ctx, c.Wake)()
	over, err = c.WaitWhile(target, func() bool { return t.ctx.Err() == nil && on() })
	if !over && t.ctx.Err() != nil {
		c.Withdraw(target)
		return true, context.Cause(t.ctx)
	}
	return over, err
}

// reach suspends t until target is reached.
func (t *Task) reach(target *executor.Target) error {
	if !t.sch.Alone() {
		return t.suspend(&suspension{task: t}, target)
	}
	t.sch.direct, t.sch.directSite = target, t.thread.Site // which host functions change while it waits
	t.sch.turn.Unlock()
	over, err := t.waitAlone(target, t.sch.Alone)
	t.sch.turn.Lock()
	t.sch.direct = nil
	t.sch.rested()
	if over {
		return err
	}
	return t.giveWay(&suspension{task: t, site: t.thread.Site}, target) // a host function has spawned a task
}

// mayWait fails in a host function, before the wait is known to anybody.
func (t *Task) mayWait() error {
	if t.sch.c.Inside() {
		return insideError()
	}
	return nil
}

// suspendFor suspends t, which may wait, until w is ended, or until timeout (negative: never) is over.
func (t *Task) suspendFor(w *suspension, timeout time.Duration) error {
	switch {
	case timeout == 0:
		if err := timeoutError(timeout); w.end(err) {
			return err
		}
	case timeout > 0:
		w.timed = true
		return t.suspend(w, &executor.Target{Kind: executor.WaitTimer, Timeout: timeout})
	}
	return t.suspend(w, nil)
}

// timeoutError is what a wait for other tasks returns when its time is over.
func timeoutError(d time.Duration) error {
	return hinted(errorf(ErrStreamTimeout, "not done after %v", d), "nothing was changed: wait again, or longer")
}

func (t *Task) suspend(w *suspension, target *executor.Target) error {
	s := t.sch
	w.site = t.thread.Site
	if err := t.interrupted(); err != nil && w.end(err) {
		return err
	}
	if target != nil {
		s.c.Post(target)
	}
	return t.giveWay(w, target)
}

// giveWay lets others run until w is ended; target, where there is one, is posted.
func (t *Task) giveWay(w *suspension, target *executor.Target) error {
	s := t.sch
	if target != nil {
		target.Owner, w.target = w, target
		s.waits++
	}
	t.wait, t.state = w, TaskWaiting
	if ctx := t.ctx; ctx != nil {
		defer context.AfterFunc(ctx, func() { w.finish(nil, context.Cause(ctx)) })()
	}
	s.pause(t)
	t.wait = nil
	if w.target != nil {
		s.c.Withdraw(w.target)
		w.target = nil
		s.waits--
	}
	return w.err
}
