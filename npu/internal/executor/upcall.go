package executor

import (
	"sync/atomic"

	"npulua/npu/internal/driver"
)

// action is a function that the executor wants to have run by a caller.
type action struct {
	fn   func() error
	err  error
	done atomic.Bool
	wake chan struct{}
}

func (a *action) end(err error) {
	a.err = err
	a.done.Store(true)
	select {
	case a.wake <- struct{}{}:
	default:
	}
}

func errGone() error {
	return driver.Errorf(driver.CodeInternal, driver.OpHostFunc.Call(), "the thread that queued the host function has ended")
}

// Upcall runs fn on caller and returns its error. A driver with a clock calls it on the executor's
// thread, another on a thread of its own; it blocks that thread. The caller runs fn at its next
// wait.
func (e *Executor) Upcall(c *Caller, fn func() error) error {
	if err := c.ctx.Err(); err != nil {
		return err
	}
	a := &action{fn: fn, wake: make(chan struct{}, 1)}
	if e.clock != nil {
		e.giveBack() // on the executor's thread: the caller must be able to reach a wait
	}
	if !c.action.CompareAndSwap(nil, a) {
		return driver.Errorf(driver.CodeInternal, "aclrtLaunchHostFunc", "two host functions at once")
	}
	var alone <-chan struct{} // closed: c will not wait again
	if e.last.Load() != c {
		alone = e.alone
	}
	if c.closed.Load() && c.action.CompareAndSwap(a, nil) {
		return errGone()
	}
	c.notify()
	for i := 0; !a.done.Load(); i++ {
		if i < c.spin {
			pause(i)
			continue
		}
		select {
		case <-a.wake:
		case <-c.ctx.Done():
			if c.action.CompareAndSwap(a, nil) {
				return c.ctx.Err() // it never began
			}
			<-a.wake
		case <-alone:
			if c.action.CompareAndSwap(a, nil) {
				return errGone()
			}
			<-a.wake
		}
	}
	return a.err
}

// run runs a posted function and tells the executor, also where it panics.
func (c *Caller) run(a *action) {
	c.inside = true
	defer func() {
		c.inside = false
		if r := recover(); r != nil {
			a.err = panicError(r)
		}
		a.end(a.err)
	}()
	a.err = a.fn()
}
