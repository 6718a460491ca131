package executor

import (
	"slices"
	"time"
)

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
	if e.waiting = kept; e.targets.Load() != int64(len(kept)) {
		e.targets.Store(int64(len(kept)))
	}
	e.posted = slices.DeleteFunc(e.posted, e.claim)
	if len(e.settling) == 0 {
		return false
	}
	for _, c := range e.settling {
		c.state.Store(running)
		c.notify()
	}
	e.pollAnew()
	if len(e.unreleased) > 0 {
		e.hasRel.Store(true)
	}
	return true
}

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

// absent reports whether nobody would take the answer of t: its caller has ended, or goes on while only
// another one counts.
func (e *Executor) absent(t *Target) bool {
	last := e.last.Load()
	return t.unwanted() || last != nil && last != t.request.caller && t.request.caller.state.Load() == running
}
