package executor

import (
	"context"
	"runtime"
	"sync/atomic"
	"time"

	"npulua/npu/internal/driver"
)

// Spinning before parking: a parked thread that is locked takes tens of microseconds to wake, a
// spinning one well under one. Each round is a few dozen cycles. With one CPU nobody spins, since
// the other side could not run.
const (
	callerRounds   = 2000
	executorRounds = 4000
)

func spinRounds(n int) int {
	if runtime.GOMAXPROCS(0) < 2 {
		return 0
	}
	return n
}

// pause is round i of spinning: it takes some tens of nanoseconds without touching memory that others
// write, and gives the CPU away now and then. What is answered at once is answered before that.
//
//go:noinline
func pause(i int) {
	if i%64 == 63 {
		yieldCPU()
		return
	}
	for range 24 {
	}
}

// Caller is one thread of control that uses the executor: a script's task, or a goroutine of a Go
// program. It has at most one call under way; it is not safe for concurrent use.
type Caller struct {
	e    *Executor
	ctx  context.Context
	spin int

	// the call under way; the executor owns these between publishing the slot and setting done
	fn     func(driver.Driver) error
	target *Target
	use    driver.Context
	err    error
	done   atomic.Bool

	parked atomic.Bool
	wake   chan struct{}
	closed atomic.Bool
	action atomic.Pointer[action] // host function to run here, posted by the executor
	inside bool                   // a host function is running on this caller
}

// action is a function that the executor wants to have run by a caller.
type action struct {
	fn   func() error
	err  error
	done atomic.Bool
	wake chan struct{}
}

// NewCaller registers a thread of control. ctx interrupts its waits. Time of a virtual clock jumps
// only while every caller waits, so a caller must be closed when it ends.
func (e *Executor) NewCaller(ctx context.Context) *Caller {
	e.callers.Add(1)
	return &Caller{e: e, ctx: ctx, spin: spinRounds(callerRounds), wake: make(chan struct{}, 1)}
}

// Close unregisters the caller. Host functions that it queued and that have not begun fail.
func (c *Caller) Close() {
	if c.closed.Swap(true) {
		return
	}
	if a := c.action.Swap(nil); a != nil {
		a.end(errGone())
	}
	c.e.callers.Add(-1)
	c.e.kick()
}

func errGone() error {
	return driver.Errorf(driver.CodeInternal, driver.OpHostFunc.Call(), "the thread that queued the host function has ended")
}

// errEnded answers what comes after Executor.Close.
func errEnded() error {
	return driver.Errorf(driver.CodeUninitialized, "", "the session was closed")
}

// Inside reports whether a host function of a stream is running on this caller: it must not use
// the executor then, because the executor may be waiting for it.
func (c *Caller) Inside() bool { return c.inside }

// SetContext replaces the context that interrupts waits. Not while a call is under way.
func (c *Caller) SetContext(ctx context.Context) { c.ctx = ctx }

// notify wakes the caller where it is parked.
func (c *Caller) notify() {
	if c.parked.Load() {
		select {
		case c.wake <- struct{}{}:
		default:
		}
	}
}

// block returns once ready does: it spins, then parks, and meanwhile runs the host functions that
// the executor posts. onCancel, where set, is called once when the context is done. It reports
// false where the executor ended instead.
func (c *Caller) block(ready func() bool, onCancel func()) bool {
	var cancelled <-chan struct{}
	if onCancel != nil {
		cancelled = c.ctx.Done()
	}
	for i := 0; !ready(); i++ {
		if a := c.action.Load(); a != nil && c.action.CompareAndSwap(a, nil) {
			c.run(a)
			i = 0
			continue
		}
		if i < c.spin {
			pause(i)
			continue
		}
		c.parked.Store(true)
		if !ready() && c.action.Load() == nil {
			select {
			case <-c.wake:
			case <-cancelled:
				cancelled = nil
				onCancel()
			case <-c.e.ended:
				c.parked.Store(false)
				return ready()
			}
		}
		c.parked.Store(false)
	}
	return true
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

func (a *action) end(err error) {
	a.err = err
	a.done.Store(true)
	select {
	case a.wake <- struct{}{}:
	default:
	}
}

// Call runs fn on the executor's thread, in order with the commands published before, and returns
// its error. use, where not zero, is made current first; with zero fn may change the current
// context. fn must not keep the driver.
func (c *Caller) Call(use driver.Context, fn func(driver.Driver) error) error {
	c.fn, c.target, c.use = fn, nil, use
	c.publish()
	if !c.block(c.done.Load, nil) {
		return errEnded()
	}
	c.fn = nil
	return c.err
}

// publish puts the call under way into the ring.
func (c *Caller) publish() {
	c.done.Store(false)
	c.err = nil
	s, pos := c.claim()
	s.caller = c
	s.seq.Store(pos + 1)
	c.e.kick()
}

func (c *Caller) claim() (*slot, uint64) {
	s, pos := c.e.ring.claim()
	for s == nil {
		s, pos = c.claimFull()
	}
	return s, pos
}

// claimFull waits for a place and tries once more.
func (c *Caller) claimFull() (*slot, uint64) {
	c.e.fullWaits.Add(1)
	c.e.setStarving(c, true)
	c.block(c.e.ring.roomy, nil)
	c.e.setStarving(c, false)
	return c.e.ring.claim()
}

// Pending is a claimed place in the ring.
type Pending struct {
	s   *slot
	pos uint64
	e   *Executor
}

// Begin claims the next place in the ring and returns the command there, to be filled and given
// to Submit. It waits while the ring is full. The command has no field set but Args, which is
// empty and may be appended to; fields that its Op does not use may hold old values.
func (c *Caller) Begin() (Pending, *driver.Command) {
	s, pos := c.claim()
	return Pending{s, pos, c.e}, &s.cmd
}

// Submit publishes the command and returns at once: its error, if any, comes at the next wait for
// its stream.
func (p Pending) Submit() {
	p.s.seq.Store(p.pos + 1)
	p.e.kick()
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
