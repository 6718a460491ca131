package executor

import (
	"context"
	"errors"
	"math"
	"slices"
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
	// Owner is free for whoever posts the target.
	Owner any
	// Err is the result, once Await has returned the target.
	Err error

	request  request
	deadline time.Duration
	hasEnd   bool
	fresh    bool // not looked at yet
	done     bool // answered; written while the caller is claimed
	// withdrawn: nobody wants the answer any more. The executor forgets the target without one.
	withdrawn atomic.Bool
}

// TargetKind says which field of a Target counts.
type TargetKind uint8

// The kinds.
const (
	WaitStream TargetKind = iota
	WaitEvent
	WaitTimer
)

// ErrDeadlock is what Await returns where nothing that is left to run can end any wait.
var ErrDeadlock = errors.New("deadlock")

// Wait suspends the caller until t is reached; the executor goes on serving others. It returns
// the first fault of the stream or CodeStreamSyncTimeout or CodeEventSyncTimeout after
// t.Timeout, the context's error where that was cancelled, and ErrDeadlock. The work itself goes on.
func (c *Caller) Wait(t *Target) error {
	_, err := c.WaitWhile(t, func() bool { return true })
	return err
}

// WaitWhile is Wait that ends early, with over false, where Wake was called and on says no: t is posted
// then, and Await returns it.
func (c *Caller) WaitWhile(t *Target, on func() bool) (over bool, err error) {
	if c.ctx.Err() != nil {
		return true, context.Cause(c.ctx)
	}
	c.Post(t)
	for {
		if err := c.idle(); err != nil && !t.done {
			t.withdrawn.Store(true)
			return true, err
		}
		if t.done {
			c.answered = slices.DeleteFunc(c.answered, func(x *Target) bool { return x == t })
			return true, t.Err
		}
		if !on() {
			return false, nil
		}
	}
}

// Post begins to wait for t, which Await returns once it is reached. The executor owns t until then, or
// until it is withdrawn, and t must not be used again.
func (c *Caller) Post(t *Target) {
	t.request.caller, t.request.target = c, t
	c.sent.Add(1)
	c.publish(&t.request)
}

// Withdraw ends the wait for t, of which Await says nothing then. The caller must not be waiting.
func (c *Caller) Withdraw(t *Target) {
	t.withdrawn.Store(true)
	c.answered = slices.DeleteFunc(c.answered, func(x *Target) bool { return x == t })
}

// Await suspends the caller until some of its posted targets are reached, and returns them in the order
// in which they were posted; fewer or none where Wake was called, or where posted functions have run.
// ErrDeadlock, or the cause of the end of the caller's context, comes without any. The list is valid until
// the next call.
func (c *Caller) Await() ([]*Target, error) {
	if len(c.answered) == 0 {
		if err := c.idle(); err != nil && len(c.answered) == 0 {
			return nil, err
		}
	}
	return c.takeAnswered(), nil
}

func (c *Caller) takeAnswered() []*Target {
	list := c.answered
	c.answered, c.spare = c.spare[:0], list
	return list
}

// Poll answers those of c's targets that are reached, without waiting, after pass of a virtual time.
// Functions that were posted run.
func (c *Caller) Poll(pass time.Duration) ([]*Target, error) {
	err := c.Call(0, func(driver.Driver) error {
		e := c.e
		c.state.Store(claimed)
		defer c.state.Store(running) // before c goes on: from now on its answers are its own
		if e.clock != nil && pass > 0 && !e.wall {
			for until := e.clock.Now() + pass; e.clock.Advance(until); {
			}
		}
		e.settle()
		return nil
	})
	return c.takeAnswered(), err
}

// Pass lets d of a virtual time pass where another caller waits for time, or for work of the device, so
// that one which does not wait for long does not stop them. Functions that were posted run.
func (c *Caller) Pass(d time.Duration) error {
	return c.Call(0, func(driver.Driver) error {
		e := c.e
		if e.clock == nil || e.wall || !slices.ContainsFunc(e.waiting, func(t *Target) bool {
			return !t.unwanted() && t.request.caller != c && t.request.caller.state.Load() == idling
		}) {
			return nil
		}
		for until := e.clock.Now() + d; e.clock.Advance(until); {
		}
		e.settle()
		return nil
	})
}

// Try looks at once whether t is reached: the error is that of a wait for it, a timeout where it is not.
func (c *Caller) Try(t *Target) error {
	if c.ctx.Err() != nil {
		return context.Cause(c.ctx)
	}
	return c.Call(0, func(driver.Driver) error {
		c.e.begin(t)
		over, err := c.e.look(t)
		if over && err == nil {
			err = c.e.collect(t)
		}
		return err
	})
}

// begin sets the deadline of t.
func (e *Executor) begin(t *Target) {
	t.fresh = true
	t.hasEnd = t.Timeout >= 0
	if t.deadline = e.Now() + t.Timeout; t.deadline < 0 && t.hasEnd {
		t.deadline = math.MaxInt64
	}
}

// settle answers the targets of idle callers that are reached, and wakes callers that have functions to
// run. It reports whether anybody was woken. It takes no time of a virtual clock.
func (e *Executor) settle() bool {
	progress := true
	if e.clock != nil {
		n := e.clock.Changes()
		progress = n != e.progress
		e.progress = n
	}
	e.settling = e.settling[:0]
	var now time.Duration
	if len(e.waiting) > 0 {
		now = e.Now()
	}
	e.round++
	kept := e.waiting[:0]
	for _, t := range e.waiting {
		if !t.unwanted() && !e.settleOne(t, now, progress) {
			kept = append(kept, t)
		}
	}
	clear(e.waiting[len(kept):])
	e.waiting = kept
	e.posted = slices.DeleteFunc(e.posted, e.claim)
	if len(e.settling) == 0 {
		return false
	}
	for _, c := range e.settling {
		c.state.Store(running)
		c.notify()
	}
	e.poll = pollFirst
	if len(e.unreleased) > 0 {
		e.hasRel.Store(true)
	}
	return true
}

// unwanted reports whether nobody waits for t any more.
func (t *Target) unwanted() bool { return t.withdrawn.Load() || t.request.caller.closed.Load() }

// answerable reports whether c waits and the executor has seen all that it has posted. It is asked once a
// round, so that a caller that goes idle in the middle of one gets its answers in order.
func (e *Executor) answerable(c *Caller) bool {
	if c.round != e.round {
		c.round = e.round
		c.answerable = c.state.Load() != running && c.served == c.sent.Load()
	}
	return c.answerable
}

// settleOne answers t where it is reached and its caller is idle. It reports whether t is done with.
func (e *Executor) settleOne(t *Target, now time.Duration, progress bool) bool {
	c := t.request.caller
	if !e.answerable(c) {
		t.fresh = true // not looked at
		return false
	}
	due := t.hasEnd && now >= t.deadline
	if !due && (t.Kind == WaitTimer || !progress && !t.fresh) {
		return false
	}
	t.fresh = false
	var over bool
	var err error
	_ = e.Untimed(func() error {
		over, err = e.look(t)
		return nil
	})
	if !over {
		return false
	}
	if !e.claim(c) {
		t.fresh = true // c was woken meanwhile
		return false
	}
	if t.withdrawn.Load() { // while c ran, after it was asked for in this round
		return true
	}
	if err == nil {
		err = e.collect(t)
	}
	t.Err, t.done = err, true
	c.answered = append(c.answered, t)
	return true
}

// look reports whether the wait for t is over, and with which error.
func (e *Executor) look(t *Target) (over bool, err error) {
	defer func() {
		if err != nil {
			over = true
		}
	}()
	defer recoverTo(&err)
	if t.Kind == WaitTimer {
		return e.Now() >= t.deadline, nil
	}
	// A stream or event can be asked for in any context, but a default stream has no name elsewhere.
	if e.current == 0 || t.Kind == WaitStream && t.Stream == 0 {
		if err := e.use(t.Context); err != nil {
			return true, err
		}
	}
	over, err = e.query(t)
	if errors.Is(err, driver.CodeContextNull) { // the current one was destroyed
		e.current = 0
		if err := e.use(t.Context); err != nil {
			return true, err
		}
		over, err = e.query(t)
	}
	if over || err != nil || !t.hasEnd || e.Now() < t.deadline {
		return over, err
	}
	code, call := driver.CodeStreamSyncTimeout, "aclrtSynchronizeStreamWithTimeout"
	if t.Kind == WaitEvent {
		code, call = driver.CodeEventSyncTimeout, "aclrtSynchronizeEventWithTimeout"
	}
	return true, driver.Errorf(code, call, "not done after %v", t.Timeout)
}

func (e *Executor) query(t *Target) (bool, error) {
	if t.Kind == WaitEvent {
		return e.d.QueryEvent(t.Event)
	}
	return e.d.QueryStream(t.Stream)
}

// collect takes the errors of a stream whose work is done: those of refused commands first.
func (e *Executor) collect(t *Target) (err error) {
	defer recoverTo(&err)
	if t.KeepFaults || t.Kind == WaitTimer {
		return nil
	}
	if err := e.use(t.Context); err != nil {
		return err
	}
	owner := t.Context
	if t.Kind == WaitEvent {
		err = e.d.SynchronizeEvent(t.Event, -1)
		owner = t.StreamContext
	} else {
		err = e.d.SynchronizeStream(t.Stream, -1)
	}
	return e.both(e.Deferred(owner, t.Stream), err)
}

// canAdvance reports whether time may jump, or a deadlock be told: nobody has anything to do, and settle
// has looked at what all wait for.
func (e *Executor) canAdvance() bool {
	idle := e.idle.Load()
	if c := e.last.Load(); c != nil {
		return e.seenIdle && c.state.Load() == idling && e.turns.Load() == e.seen && e.ring.peek() == nil
	}
	// In this order: callers publish, take a turn, and count as idle.
	return idle > 0 && idle >= e.callers.Load() && e.turns.Load() == e.seen && e.ring.peek() == nil
}

// advance lets the next thing happen, up to the first deadline of a wait, or tells of a deadlock. It
// returns false where the thread should rather park: real time has not come that far.
func (e *Executor) advance() bool {
	if e.clock == nil {
		if len(e.waiting) == 0 && !e.callbacks {
			e.deadlock()
			return true
		}
		return false
	}
	limit := time.Duration(-1)
	for _, t := range e.waiting {
		if t.hasEnd && !e.absent(t) && (limit < 0 || t.deadline < limit) {
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
		e.fail(nil, err)
	}
	return true
}

// absent reports whether nobody would take the answer of t: its caller has ended, or goes on while only
// another one counts.
func (e *Executor) absent(t *Target) bool {
	last := e.last.Load()
	return t.unwanted() || last != nil && last != t.request.caller && t.request.caller.state.Load() == running
}

func (e *Executor) advanceClock(limit time.Duration) (err error) {
	defer recoverTo(&err)
	e.clock.Advance(limit)
	return nil
}

// deadlock ends what one caller waits for, the one that was registered last: what that does may end the
// waits of the others, who wait for its end most often.
func (e *Executor) deadlock() {
	var newest *Caller
	e.mu.Lock()
	for c := range e.registered {
		if c.state.Load() == idling && (newest == nil || c.number > newest.number) {
			newest = c
		}
	}
	e.mu.Unlock()
	e.fail(newest, ErrDeadlock)
}

// fail ends what every idle caller waits for with err, or only c where it is not nil.
func (e *Executor) fail(c *Caller, err error) {
	e.settling = e.settling[:0]
	e.mu.Lock()
	for x := range e.registered {
		if (c == nil || c == x) && x.state.Load() == idling && e.claim(x) {
			x.failure = err
		}
	}
	e.mu.Unlock()
	for _, c := range e.settling {
		c.state.Store(running)
		c.notify()
	}
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
	if e.ring.peek() != nil || e.hasRel.Load() || e.closing.Load() || e.turns.Load() != e.seen {
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
	for _, t := range e.waiting {
		if t.hasEnd && (!ok || t.deadline < due) {
			due, ok = t.deadline, true
		}
	}
	return max(due-e.wallNow(), 0), ok
}
