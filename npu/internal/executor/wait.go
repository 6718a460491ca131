package executor

import (
	"context"
	"errors"
	"slices"
	"time"

	"npulua/npu/internal/driver"
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

// Poll answers those of c's targets that are reached, without waiting. Functions that were posted run.
func (c *Caller) Poll() ([]*Target, error) {
	err := c.Call(0, func(driver.Driver) error {
		e := c.e
		c.state.Store(claimed)
		defer c.state.Store(running) // before c goes on: from now on its answers are its own
		e.settle()
		return nil
	})
	return c.takeAnswered(), err
}

// Pass lets d of a virtual time pass where another caller waits for time, or for work of the device, so
// that one which does not wait for long does not stop them. Functions that were posted run.
func (c *Caller) Pass(d time.Duration) error {
	if c.e.targets.Load() == 0 {
		return nil // a call would take a CPU from whoever has it
	}
	return c.Call(0, func(driver.Driver) error {
		e := c.e
		if e.clock == nil || e.wall || !slices.ContainsFunc(e.waiting, func(t *Target) bool {
			return !t.unwanted() && t.request.caller != c && t.request.caller.state.Load() == idling
		}) {
			return nil
		}
		e.elapse(d)
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
