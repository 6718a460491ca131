package executor

import (
	"context"
	"errors"
	"sync"
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

// ErrGone is what becomes of a host function whose caller has ended.
var ErrGone = errors.New("the thread that queued it has ended")

// Upcall runs fn on caller and returns its error. A driver with a clock calls it on the executor's
// thread, another on a thread of its own; it blocks that thread. The caller runs fn at its next
// wait. A library may have a thread for each context: then one waits for the other.
func (e *Executor) Upcall(c *Caller, fn func() error) error {
	if e.clock == nil {
		c.upcalls.Lock()
		defer c.upcalls.Unlock()
	}
	if c.closed.Load() {
		return ErrGone
	}
	if err := c.Err(); err != nil {
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
		return ErrGone
	}
	c.notify()
	spin := e.rounds(c.spin)
	for i := 0; !a.done.Load(); i++ {
		if i < spin {
			if !pause(i) {
				spin = 0
			}
			continue
		}
		select {
		case <-a.wake:
		case <-c.ctx.Done():
			if c.action.CompareAndSwap(a, nil) {
				return c.Err() // it never began
			}
			<-a.wake
		case <-alone:
			if c.action.CompareAndSwap(a, nil) {
				return ErrGone
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

// posts are functions that a caller runs later.
type posts struct {
	some atomic.Bool // there are any; readable without the lock
	mu   sync.Mutex
	list []post
}

type post struct {
	fn   func() error
	done func(error)
}

// Later has fn run by c, in the order of these calls, at the end of its next call, wait or poll, and ends
// the wait that c is in for it; done gets its error. It returns at once, and fails where c was closed. A
// driver with a clock calls it on the executor's thread, another from anywhere.
func (e *Executor) Later(c *Caller, fn func() error, done func(error)) error {
	if c.closed.Load() {
		return ErrGone
	}
	c.posts.mu.Lock()
	c.posts.list = append(c.posts.list, post{fn, done})
	c.posts.some.Store(true)
	c.posts.mu.Unlock()
	if e.clock == nil {
		c.Wake()
	} else {
		e.posted = append(e.posted, c)
	}
	return nil
}

// runPosted runs what Later was given.
func (c *Caller) runPosted() {
	for c.posts.some.Load() && !c.inside {
		c.posts.mu.Lock()
		list := c.posts.list
		c.posts.list = nil
		c.posts.some.Store(false)
		c.posts.mu.Unlock()
		for _, p := range list {
			a := &action{fn: p.fn, wake: make(chan struct{}, 1)}
			c.run(a)
			p.done(a.err)
		}
	}
}

// cause is what ended ctx; nil while it goes on.
func cause(ctx context.Context) error {
	if ctx.Err() == nil {
		return nil
	}
	return context.Cause(ctx)
}
