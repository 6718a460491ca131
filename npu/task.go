package npu

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"runtime/debug"
	"slices"
	"sync/atomic"
	"time"

	"npulua/npu/internal/driver"
	"npulua/npu/internal/executor"
)

// Task is a thread of control of a Scheduler.
type Task struct {
	// Bound is free for bindings: what stands for the task there.
	Bound any
	// OnCancel, where set, is called once when the task is cancelled.
	OnCancel func()

	sch     *Scheduler
	thread  *Thread
	number  int // from 1; 0: the first task
	site    Site
	fn      func(*Thread) error
	state   TaskState
	started bool
	err     error
	joiners []*party

	wait      *suspension     // under way
	cancelled *Error          // nil: nobody has cancelled it
	ctx       context.Context // ends its waits, besides that of the thread; nil: nothing else does
	shield    int             // above 0: it gives back what it holds, and is not to be interrupted by Cancel

	next  func() (struct{}, bool)
	yield func(struct{}) bool
}

// TaskState is what a task does.
type TaskState uint8

// The states.
const (
	TaskReady     TaskState = iota // can run, when its turn comes
	TaskRunning                    // has its turn
	TaskWaiting                    // waits for something
	TaskDone                       // has returned
	TaskFailed                     // has ended with an error
	TaskCancelled                  // was cancelled, and has ended
)

// String is the state as scripts see it.
func (s TaskState) String() string {
	return [...]string{"ready", "running", "waiting", "done", "failed", "cancelled"}[s]
}

func newTask(s *Scheduler, number int, site Site, fn func(*Thread) error) *Task {
	t := &Task{sch: s, number: number, site: site, fn: fn}
	t.thread = &Thread{s: s.s, c: s.c, Site: site, task: t}
	t.next, _ = iter.Pull(t.run)
	return t
}

// run is the goroutine of t.
func (t *Task) run(yield func(struct{}) bool) {
	t.yield = yield
	t.started = true
	var err error
	if t.cancelled == nil {
		t.sch.machine.Enter(t)
		err = t.call()
		t.sch.machine.Leave(t)
	}
	switch {
	case t.cancelled != nil:
		t.state, t.err = TaskCancelled, t.cancelled
	case err != nil:
		t.state, t.err = TaskFailed, err
		t.sch.failed = append(t.sch.failed, t)
	default:
		t.state = TaskDone
	}
	delete(t.sch.live, t)
	for _, p := range t.joiners {
		p.finish(t.sch, nil, false, nil)
	}
	t.joiners, t.fn = nil, nil
}

// call calls the function of t; a panic becomes an error.
func (t *Task) call() (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = &PanicError{Value: r, Stack: debug.Stack()}
		}
	}()
	return t.fn(t.thread)
}

// Number counts the tasks of a scheduler, from 1; 0 is the first one.
func (t *Task) Number() int { return t.number }

// Site is where the task was spawned.
func (t *Task) Site() Site { return t.site }

// State is what the task does.
func (t *Task) State() TaskState {
	if t.state == TaskWaiting && t.wait != nil && t.wait.over.Load() {
		return TaskReady
	}
	return t.state
}

// Err is the error that the task has ended with; nil before.
func (t *Task) Err() error { return t.err }

// Thread is the thread of the task.
func (t *Task) Thread() *Thread { return t.thread }

// Ended reports whether the task has returned, failed, or ended after Cancel.
func (t *Task) Ended() bool { return t.state >= TaskDone }

// String names the task for messages: "task 2 (spawned at a.lua:3)".
func (t *Task) String() string {
	if t.number == 0 {
		return cmp.Or(t.sch.name, "main")
	}
	return fmt.Sprintf("task %d%s", t.number, t.sch.s.made("spawned", t.site))
}

// SpawnSite is Site, also for nil: no place.
func (t *Task) SpawnSite() Site {
	if t == nil {
		return 0
	}
	return t.site
}

// AwaitEnd waits until t has ended, in whatever way; see Join.
func (t *Task) AwaitEnd(by *Thread, timeout time.Duration) error {
	if by.task == nil || by.task.sch != t.sch {
		return otherScheduler()
	}
	return t.ended(by.task, timeout)
}

func otherScheduler() error {
	return errorf(ErrInvalidParam, "the task belongs to another scheduler")
}

// Join waits until t has ended, and returns its error. timeout: negative waits for ever; ErrStreamTimeout
// where it is over. by is a thread of the same scheduler, not that of t.
func (t *Task) Join(by *Thread, timeout time.Duration) error {
	if err := t.AwaitEnd(by, timeout); err != nil {
		return err
	}
	t.sch.failed = slices.DeleteFunc(t.sch.failed, func(x *Task) bool { return x == t })
	return t.err
}

// ended waits until t has ended.
func (t *Task) ended(by *Task, timeout time.Duration) error {
	if t.Ended() {
		return nil
	}
	if by == t {
		return errorf(ErrInvalidParam, "a task cannot wait for its own end")
	}
	if err := by.mayWait(); err != nil {
		return err
	}
	p := &party{w: &suspension{task: by, on: t}}
	t.joiners = append(t.joiners, p)
	err := by.suspendFor(p.w, timeout)
	if err != nil {
		Case{Task: t}.leave(p)
	}
	return err
}

// Cancel ends t: what it waits for is over at once, and everything it waits for later, except where it
// gives back what it holds. It returns before t has ended. A task that has ended stays as it is.
func (t *Task) Cancel(by *Thread) {
	if t.Ended() || t.cancelled != nil {
		return
	}
	what := "the task was cancelled"
	if at := t.sch.s.Where(by.Site); at != "" {
		what += " at " + at
	}
	t.cancelled = hinted(errorf(driver.CodeTaskAbort, "%s", what), "it has no results; task.status tells before join")
	if t.OnCancel != nil {
		t.OnCancel()
	}
	if t.shield == 0 {
		t.wake(t.cancelled)
	}
}

// wake ends the wait of t, where it waits.
func (t *Task) wake(err error) {
	if w := t.wait; w != nil {
		w.finish(t.sch, err)
	}
}

// suspension is one wait of a task. Whoever ends it first decides its result.
type suspension struct {
	task   *Task // set before others see the suspension
	over   atomic.Bool
	err    error
	on     any              // what is waited for: *Task, *Channel, []Case; nil: target
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
	if t.cancelled != nil && t.shield == 0 {
		return t.cancelled
	}
	if err := t.over(); err != nil {
		return err
	}
	return t.sch.c.Err()
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
	t.sch.direct = target
	t.sch.turn.Unlock()
	over, err := t.waitAlone(target, t.sch.Alone)
	t.sch.turn.Lock()
	t.sch.direct, t.sch.quiet = nil, 0
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
