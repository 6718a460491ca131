package npu

import (
	"errors"
	"slices"
	"time"

	"npulua/npu/internal/driver"
)

// Group is some tasks of a scheduler that can be ended together, whatever they do: those that its Spawn makes and the
// ones that they spawn, with the handles that they make and the streams that they queue work on. Who uses a group
// belongs to the same scheduler and is none of its tasks.
type Group struct {
	sch   *Scheduler
	scope *scope
	used  []*streamState // by commands of its tasks; garbage collection leaves them alone until Close
	last  *streamState   // of used

	// OutsideLimit is how much real time a wait of its tasks for something outside the session may take where time is
	// virtual and stands still meanwhile; 0: no limit. See Thread.Outside.
	OutsideLimit time.Duration
}

// NewGroup makes a group without tasks. Close ends it.
func (s *Scheduler) NewGroup() *Group {
	return &Group{sch: s, scope: &scope{final: true}}
}

// Spawn makes a task of g; see Scheduler.Spawn.
func (g *Group) Spawn(by *Thread, fn func(*Thread) error) (*Task, error) {
	return g.sch.spawn(by, g, fn)
}

// Group is the group that t is part of, or nil.
func (t *Thread) Group() *Group { return t.group }

// abandoned reports whether nothing of g, which may be nil, waits for queued work any more.
func (g *Group) abandoned() bool { return g != nil && g.scope.force }

// use notes that a task queues a command on st.
func (g *Group) use(st *streamState) {
	if st == g.last {
		return
	}
	g.last = st
	if !slices.Contains(g.used, st) {
		st.pins.Add(1)
		g.used = append(g.used, st)
	}
}

// Tasks are those of g that have not ended, oldest first.
func (g *Group) Tasks() []*Task {
	return slices.DeleteFunc(g.sch.tasks(), func(t *Task) bool { return t.thread.group != g })
}

// TakeFailures are the tasks of g that failed and that nobody has joined. They are not among those of the scheduler any
// more.
func (g *Group) TakeFailures() (list []*Task) {
	g.sch.failed = slices.DeleteFunc(g.sch.failed, func(t *Task) bool {
		if t.thread.group != g {
			return false
		}
		list = append(list, t)
		return true
	})
	return list
}

// Await waits until all tasks of g have ended. timeout: negative waits for ever; ErrStreamTimeout where it is over.
func (g *Group) Await(t *Thread, timeout time.Duration) error {
	left, err := t.countdown(timeout)
	if err != nil {
		return err
	}
	for {
		list := g.Tasks()
		if len(list) == 0 {
			return nil
		}
		rest, err := left()
		if err != nil {
			return err
		}
		if err := list[0].AwaitEnd(t, rest); err != nil {
			return err
		}
	}
}

// countdown returns what tells how much of timeout is left.
func (t *Thread) countdown(timeout time.Duration) (left func() (time.Duration, error), err error) {
	if timeout < 0 {
		return func() (time.Duration, error) { return -1, nil }, nil
	}
	begin, err := t.Now()
	return func() (time.Duration, error) {
		now, err := t.Now()
		return max(timeout-(now-begin), 0), err
	}, err
}

// StreamFault is what the work of a stream has left.
type StreamFault struct {
	Device int
	Err    error
}

// Settle waits until the streams that g used have no work left, and returns the faults of that work. The error is
// ErrStreamTimeout, with a report, where timeout is over before.
func (g *Group) Settle(t *Thread, timeout time.Duration) (faults []StreamFault, err error) {
	s := g.sch.s
	add := func(st *streamState, err error) {
		for _, other := range faults { // a context that stopped says so of every stream
			if e, ok := other.Err.(*Error); ok {
				err = unlessTold(err, e)
			}
		}
		if err != nil {
			faults = append(faults, StreamFault{st.name.device, err})
		}
	}
	left, err := t.countdown(timeout)
	if err != nil {
		return nil, err
	}
	states, err := s.unfinished(t, g.used, add)
	for len(states) > 0 && err == nil {
		rest, err := left()
		if err != nil {
			return faults, err
		}
		st := states[0]
		if err = synchronizeState(t, st, rest); !finished(err) {
			return faults, t.reported(err, states...)
		}
		if !isGone(err) {
			add(st, err)
		}
		if states, err = s.unfinished(t, states[1:], add); err != nil {
			return faults, err
		}
	}
	return faults, err
}

// Report says what the tasks of g wait for, main without its name, and which streams that they used have work left, a
// line each.
func (g *Group) Report(t *Thread, main *Task) (waits, streams []string) {
	for _, x := range g.Tasks() {
		text := "is running"
		if x.wait != nil && !x.wait.over.Load() {
			text = x.wait.text(g.sch.s)
		}
		if x != main {
			text = x.String() + " " + text
		}
		waits = append(waits, text)
	}
	_ = t.call(0, func(d driver.Driver) error { // without it the report is poorer, no other
		return g.sch.s.exec.Untimed(func() error {
			streams = g.sch.s.report(d, g.used)
			return nil
		})
	})
	return bounded(waits, "waits"), bounded(streams, "streams with work left")
}

// Cancel cancels all tasks of g; see Task.Cancel.
func (g *Group) Cancel(t *Thread) {
	for _, x := range g.Tasks() {
		x.Cancel(t)
	}
}

// Abort breaks off the work that is left on the streams of g; their faults are forgotten. Where that cannot be done,
// which the error tells, what the group made is closed without waiting for it from now on.
func (g *Group) Abort(t *Thread) error {
	s := g.sch.s
	left, err := s.unfinished(t, g.used, nil)
	if err != nil {
		return err
	}
	aborter, _ := s.drv.(driver.Aborter)
	var errs []error
	for _, st := range left {
		if err := need(s, aborter, "break off what a stream does"); err != nil {
			errs = append(errs, err)
			break
		}
		err := t.callWhere(st.stillThere, st.ctx, func(driver.Driver) error {
			if err := aborter.AbortStream(st.h); err != nil {
				return err
			}
			_ = s.exec.Fault(st.ctx, st.h) // of work that nobody waits for
			return nil
		})
		errs = append(errs, err)
		if errors.Is(err, ErrNotSupported) { // nor can it for the others
			break
		}
	}
	if err := errors.Join(errs...); err != nil {
		g.scope.force = true
		for _, x := range g.Tasks() {
			x.wake(err) // also what gives back something
		}
		return err
	}
	return nil
}

// Close closes what the tasks of g made, newest first; they have ended. It waits for work that is left, unless Abort
// has failed.
func (g *Group) Close(t *Thread) error {
	err := g.scope.close(t)
	for _, st := range g.used {
		st.pins.Add(-1)
	}
	g.used, g.last = nil, nil
	return err
}
