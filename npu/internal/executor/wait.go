package executor

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"npulua/npu/internal/driver"
)

// Target is what a wait waits for: a stream, an event, or a point in time.
type Target struct {
	Kind    TargetKind
	Context driver.Context // owner of the stream or event
	Stream  driver.Stream  // zero: the default stream of Context
	Event   driver.Event
	// StreamContext is the owner of Stream where an event is waited for: the stream in which it was
	// recorded, whose faults the wait returns.
	StreamContext driver.Context
	KeepFaults    bool // leave the faults of the stream to a later wait
	// Timeout is how long to wait at most; negative is for ever. For Timer it is the wait itself.
	Timeout time.Duration

	deadline  time.Duration
	hasEnd    bool
	cancelled atomic.Bool
}

// TargetKind says which field of a Target counts.
type TargetKind uint8

// The kinds.
const (
	WaitStream TargetKind = iota
	WaitEvent
	WaitTimer
)

// Wait suspends the caller until t is reached; the executor goes on serving others. It returns
// the first fault of the stream or CodeStreamSyncTimeout or CodeEventSyncTimeout after
// t.Timeout, and the context's error where that was cancelled. The work itself goes on.
func (c *Caller) Wait(t *Target) error {
	if c.ctx.Err() != nil {
		return context.Cause(c.ctx)
	}
	c.fn, c.target, c.use = nil, t, t.Context
	c.publish()
	if !c.block(c.done.Load, func() {
		t.cancelled.Store(true)
		c.e.kick()
	}) {
		return errEnded()
	}
	c.target = nil
	if c.err == errCancelled {
		return context.Cause(c.ctx)
	}
	return c.err
}

// settle answers the waiting callers whose wait is over and reports whether there were any.
func (e *Executor) settle() bool {
	any := false
	for i := 0; i < len(e.waiting); {
		c := e.waiting[i]
		over, err := e.check(c.target)
		if !over {
			i++
			continue
		}
		e.waiting = append(e.waiting[:i], e.waiting[i+1:]...)
		e.answer(c, err)
		any = true
	}
	if any {
		e.poll = pollFirst
		if len(e.unreleased) > 0 {
			e.hasRel.Store(true)
		}
	}
	return any
}

func (e *Executor) answer(c *Caller, err error) {
	c.err = err
	c.done.Store(true)
	c.notify()
}

// errCancelled stands for the error of the caller's context, which Wait returns instead.
var errCancelled = errors.New("wait cancelled")

// check reports whether a wait is over, and with which error.
func (e *Executor) check(t *Target) (over bool, err error) {
	defer func() {
		if err != nil {
			over = true
		}
	}()
	defer recoverTo(&err)
	if t.cancelled.Load() {
		return true, errCancelled
	}
	if t.Kind == WaitTimer {
		return e.Now() >= t.deadline, nil
	}
	if err := e.use(t.Context); err != nil {
		return true, err
	}
	timeoutCode := driver.CodeStreamSyncTimeout
	call := "aclrtSynchronizeStreamWithTimeout"
	if t.Kind == WaitEvent {
		timeoutCode, call = driver.CodeEventSyncTimeout, "aclrtSynchronizeEventWithTimeout"
		over, err = e.d.QueryEvent(t.Event)
	} else {
		over, err = e.d.QueryStream(t.Stream)
	}
	switch {
	case err != nil:
		return true, err
	case over:
		return true, e.collect(t)
	case t.hasEnd && e.Now() >= t.deadline:
		return true, driver.Errorf(timeoutCode, call, "not done after %v", t.Timeout)
	}
	return false, nil
}

// collect takes the errors of a stream whose work is done: those of refused commands first.
func (e *Executor) collect(t *Target) error {
	if t.KeepFaults {
		return nil
	}
	var err error
	owner := t.Context
	if t.Kind == WaitEvent {
		err = e.d.SynchronizeEvent(t.Event, -1)
		owner = t.StreamContext
	} else {
		err = e.d.SynchronizeStream(t.Stream, -1)
	}
	return e.both(e.Deferred(owner, t.Stream), err)
}

// canAdvance reports whether virtual time may jump: nobody else has anything to do.
func (e *Executor) canAdvance() bool {
	if e.clock == nil || e.ring.peek() != nil {
		return false
	}
	return e.last.Load() != nil || int64(len(e.waiting)) >= e.callers.Load()
}

// advance lets the next thing happen, up to the first deadline of a wait. It returns false where
// the thread should rather park (real time has not come that far).
func (e *Executor) advance() bool {
	limit := time.Duration(-1)
	for _, c := range e.waiting {
		if t := c.target; t.hasEnd && (limit < 0 || t.deadline < limit) {
			limit = t.deadline
		}
	}
	next, ok := e.clock.Next()
	if e.wall {
		due := limit
		if ok && (limit < 0 || next < limit) {
			due = next
		}
		if due >= 0 && e.wallNow() < due {
			return false
		}
	}
	if !ok && limit < 0 {
		e.deadlock()
		return true
	}
	if err := e.advanceClock(limit); err != nil {
		for _, c := range e.waiting {
			e.answer(c, err)
		}
		e.waiting = e.waiting[:0]
	}
	return true
}

func (e *Executor) advanceClock(limit time.Duration) (err error) {
	defer recoverTo(&err)
	e.clock.Advance(limit)
	return nil
}

// deadlock answers every wait that nothing can end any more.
func (e *Executor) deadlock() {
	for _, c := range e.waiting {
		e.answer(c, &driver.Error{
			Code: driver.CodeStreamSyncTimeout, Detail: "deadlock: nothing that is left to run can end this wait",
			Hint: "look for an event that is waited for and never recorded",
		})
	}
	e.waiting = e.waiting[:0]
}

// pace brings a paced clock up to real time.
func (e *Executor) pace() {
	if e.wall {
		for now := e.wallNow(); e.clock.Advance(now); {
		}
	}
}

// park sleeps until somebody kicks, or until the next look at the waiters is due.
func (e *Executor) park() {
	e.parked.Store(true)
	defer e.parked.Store(false)
	if e.ring.peek() != nil || e.hasRel.Load() || e.closing.Load() {
		return
	}
	var timer <-chan time.Time
	if len(e.waiting) > 0 {
		if d, ok := e.untilDue(); ok {
			t := time.NewTimer(d)
			defer t.Stop()
			timer = t.C
		}
	}
	select {
	case <-e.wake:
	case <-timer:
	}
}

// untilDue is how long the thread may sleep while callers wait; false: until kicked.
func (e *Executor) untilDue() (time.Duration, bool) {
	if e.clock == nil {
		d := e.poll
		e.poll = min(2*e.poll, pollLast)
		return d, true
	}
	if !e.wall {
		return 0, false
	}
	due, ok := e.clock.Next()
	for _, c := range e.waiting {
		if t := c.target; t.hasEnd && (!ok || t.deadline < due) {
			due, ok = t.deadline, true
		}
	}
	return max(due-e.wallNow(), 0), ok
}
