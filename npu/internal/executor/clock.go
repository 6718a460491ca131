package executor

import (
	"time"

	"npulua/npu/internal/driver"
)

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
	outside := e.outside.Load() > 0 || e.turns.Load() != e.seen // in this order: see EndOutside
	if e.clock == nil {
		if len(e.waiting) == 0 && e.hostFuncs.Load() == 0 && !outside {
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
		if outside {
			return false
		}
		if e.wall && e.hangs() {
			return false // as on hardware: until somebody interrupts
		}
		e.deadlock()
		return true
	}
	if err := e.advanceClock(limit); err != nil {
		e.fail(nil, err)
	}
	return true
}

// hangs reports whether work that was made to hang runs.
func (e *Executor) hangs() bool {
	r, ok := e.d.(driver.Rehearser)
	return ok && r.Hangs()
}

func (e *Executor) advanceClock(limit time.Duration) (err error) {
	defer recoverTo(&err)
	e.clock.Advance(limit)
	return nil
}

// elapse lets d of a virtual time pass, with all that happens in it.
func (e *Executor) elapse(d time.Duration) {
	if d <= 0 {
		return
	}
	for until := e.clock.Now() + d; e.clock.Advance(until); {
	}
}

// pass is elapse for what a caller has spent.
func (e *Executor) pass(d time.Duration) {
	err := func() (err error) {
		defer recoverTo(&err)
		e.elapse(d)
		return nil
	}()
	if err != nil {
		e.fail(nil, err)
	}
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

// park sleeps until somebody kicks, or until the next look at the waiters is due: then it reports false.
func (e *Executor) park() (kicked bool) {
	e.parked.Store(true)
	defer e.parked.Store(false)
	if e.ring.peek() != nil || e.hasRel.Load() || e.closing.Load() || e.turns.Load() != e.seen {
		return true
	}
	var timer <-chan time.Time
	if len(e.waiting) > 0 || e.wall && e.idle.Load() > 0 { // what they wait for may be no target
		if d, ok := e.untilDue(); ok {
			t := time.NewTimer(d)
			defer t.Stop()
			timer = t.C
		}
	}
	select {
	case <-e.wake:
		return true
	case <-timer:
		return false
	}
}

// untilDue is how long the thread may sleep while callers wait; false: until kicked.
func (e *Executor) untilDue() (time.Duration, bool) {
	if e.clock == nil {
		return min(max(time.Since(e.pollSince)/pollShare, pollFirst), pollLast), true
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
