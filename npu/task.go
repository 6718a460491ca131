package npu

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"runtime/debug"
	"slices"
	"time"

	"npulua/npu/internal/driver"
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

func newTask(s *Scheduler, number int, site Site, group *Group, fn func(*Thread) error) *Task {
	t := &Task{sch: s, number: number, site: site, fn: fn}
	t.thread = &Thread{s: s.s, c: s.c, Site: site, task: t, group: group}
	if group != nil {
		t.thread.scope = group.scope
	}
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
	t.sch.s.tasks.Add(-1)
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

// Interrupted reports whether the task of t was cancelled, or its program has ended from outside: errors of its waits
// say only that.
func (t *Thread) Interrupted() bool {
	return t.c.Err() != nil || t.task != nil && (t.task.cancelled != nil || t.task.over() != nil)
}

// Shield lets fn give something back: Cancel does not end its waits.
func (t *Thread) Shield(fn func()) {
	if t.task != nil {
		t.task.shield++
		defer func() { t.task.shield-- }()
	}
	fn()
}
