package executor

import (
	"context"
	"runtime"
	"sync"
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

// crowded is how long a thread that gave its CPU away waits for it at least on a machine where spinning is in vain.
const crowded = 100 * time.Microsecond

// avoid is how often nobody spins after that.
const avoid = 2000

// rounds is how many of n rounds to spin now.
func (e *Executor) rounds(n int) int {
	if left := e.avoided.Load(); left > 0 {
		e.avoided.Store(left - 1)
		return 0
	}
	return n
}

func spinRounds(n int) int {
	if runtime.GOMAXPROCS(0) < 2 {
		return 0
	}
	return n
}

// pause is round i of spinning: it takes some tens of nanoseconds without touching memory that others
// write, and gives the CPU away now and then. What is answered at once is answered before that.
//
// pause reports false where others took the CPU for longer than a wake-up costs: whoever spins on a machine that is so
// busy should park, since a thread that is woken gets a CPU sooner than one that gave it away.
//
//go:noinline
func pause(i int) bool {
	if i%64 == 63 {
		begin := time.Now()
		yieldCPU()
		return time.Since(begin) < crowded
	}
	for range 24 {
	}
	return true
}

// Caller is one thread of control that uses the executor: a script's task, or a goroutine of a Go
// program. It has at most one call under way; it is not safe for concurrent use.
type Caller struct {
	e    *Executor
	ctx  context.Context
	spin int

	// the call under way; the executor owns these between publishing the slot and setting done
	request request
	usable  func() error
	fn      func(driver.Driver) error
	use     driver.Context
	err     error
	done    atomic.Bool

	site    atomic.Uint32 // of the call under way, for Serving
	parked  atomic.Bool
	wake    chan struct{}
	closed  atomic.Bool
	action  atomic.Pointer[action] // host function to run here, posted by the executor
	upcalls sync.Mutex             // of threads of a library that have one each
	inside  bool                   // a host function is running on this caller
	claims  bool                   // a place is claimed and not submitted: nothing else can be asked for
	spent   time.Duration          // since the last thing that was put into the ring
	held    bool                   // it was parked for heldTime or longer

	number   int // in order of registration
	state    atomic.Int32
	poked    atomic.Bool // Wake was called since the last wait
	answered []*Target   // of Post; the executor writes it while c is claimed
	spare    []*Target
	failure  error        // that ended the wait; written while c is claimed
	sent     atomic.Int64 // targets posted so far

	// the executor's
	served     int64  // of sent
	round      uint64 // of settle, that answerable is of
	answerable bool

	posts posts
}

// request is what a slot carries instead of a command: a call, or a target to wait for.
type request struct {
	caller *Caller
	target *Target
}

// NewCaller registers a thread of control. ctx interrupts its waits. Time of a virtual clock jumps
// only while every caller waits, so a caller must be closed when it ends.
func (e *Executor) NewCaller(ctx context.Context) *Caller {
	c := &Caller{e: e, ctx: ctx, spin: spinRounds(callerRounds), wake: make(chan struct{}, 1)}
	c.request.caller = c
	e.mu.Lock()
	e.numbers++
	c.number = e.numbers
	e.registered[c] = struct{}{}
	e.mu.Unlock()
	e.callers.Add(1)
	return c
}

// Close unregisters the caller. Host functions that it queued and that have not begun fail.
func (c *Caller) Close() {
	if c.closed.Swap(true) {
		return
	}
	if a := c.action.Swap(nil); a != nil {
		a.end(ErrGone)
	}
	c.e.mu.Lock()
	delete(c.e.registered, c)
	c.e.mu.Unlock()
	c.e.callers.Add(-1)
	c.e.turns.Add(1)
	c.e.kick()
}

// errEnded answers what comes after Executor.Close.
func errEnded() error {
	return driver.Errorf(driver.CodeUninitialized, "", "the session was closed")
}

// Inside reports whether a host function of a stream is running on this caller: it must not use
// the executor then, because the executor may be waiting for it.
func (c *Caller) Inside() bool { return c.inside }

// Err is the cause of the end of the context that interrupts waits; nil while it goes on.
func (c *Caller) Err() error { return cause(c.ctx) }

// Context is what interrupts waits.
func (c *Caller) Context() context.Context { return c.ctx }

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
	spin := c.e.rounds(c.spin)
	for i := 0; !ready(); i++ {
		// ready once more: the executor gives back its places in the ring before it posts a function,
		// and where that is enough the function is left to a later call, the same one in every run.
		if a := c.action.Load(); a != nil && !ready() && c.action.CompareAndSwap(a, nil) {
			c.run(a)
			i = 0
			continue
		}
		if i < spin {
			if !pause(i) {
				c.e.avoided.Store(avoid)
				spin = 0
			}
			continue
		}
		c.parked.Store(true)
		if !ready() && c.action.Load() == nil {
			begin := time.Now()
			select {
			case <-c.wake:
				c.held = c.held || time.Since(begin) >= heldTime
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

// Call runs fn on the executor's thread, in order with the commands published before, and returns
// its error. use, where not zero, is made current first; with zero fn may change the current
// context. fn must not keep the driver.
func (c *Caller) Call(use driver.Context, fn func(driver.Driver) error) error {
	return c.CallWhere(nil, use, fn)
}

// CallWhere is Call where usable, which is asked on the executor's thread before use is made current, returns nil. Else
// its error is returned: for a context that others may have destroyed. usable nil: always.
func (c *Caller) CallWhere(usable func() error, use driver.Context, fn func(driver.Driver) error) error {
	c.usable, c.fn, c.use = usable, fn, use
	c.done.Store(false)
	c.err = nil
	c.publish(&c.request)
	if !c.block(c.done.Load, nil) {
		return errEnded()
	}
	c.usable, c.fn = nil, nil
	err := c.err
	if c.held {
		if c.held = false; c.e.onHeld != nil {
			c.e.onHeld()
		}
	}
	if c.posts.some.Load() {
		c.runPosted()
	}
	return err
}

// publish puts a request into the ring.
func (c *Caller) publish(r *request) {
	s, pos := c.claim()
	s.request = r
	s.seq.Store(pos + 1)
	c.e.kick()
}

func (c *Caller) claim() (*slot, uint64) {
	if c.claims {
		panic("executor: a call between Begin and Submit")
	}
	s, pos := c.e.ring.claim()
	for s == nil {
		s, pos = c.claimFull()
	}
	if c.spent > 0 {
		s.spent, c.spent = c.spent, 0
	}
	return s, pos
}

// Spend lets d of a virtual time pass before what the caller publishes next, with all that happens in it. A time of the
// machine or one that is paced needs no help.
func (c *Caller) Spend(d time.Duration) {
	if c.e.clock != nil && !c.e.wall {
		c.spent += d
	}
}

// claimFull waits for a place and tries once more.
func (c *Caller) claimFull() (*slot, uint64) {
	c.e.fullWaits.Add(1)
	c.e.setStarving(c, true)
	c.block(func() bool {
		return c.e.ring.roomy() || c.action.Load() != nil && !c.e.ring.full()
	}, nil)
	c.e.setStarving(c, false)
	return c.e.ring.claim()
}

// At says where the next call comes from.
func (c *Caller) At(site driver.Site) { c.site.Store(uint32(site)) }

// Pending is a claimed place in the ring.
type Pending struct {
	s   *slot
	pos uint64
	c   *Caller
}

// Begin claims the next place in the ring and returns the command there, to be filled and given
// to Submit or Cancel. It waits while the ring is full; the caller waits for nothing more before it submits, and what
// is published later by anybody comes later. The command has no field set but Args, which is
// empty and may be appended to; fields that its Op does not use may hold old values.
func (c *Caller) Begin() (Pending, *driver.Command) {
	s, pos := c.claim()
	c.claims = true
	return Pending{s, pos, c}, &s.cmd
}

// Op is what the command does.
func (p Pending) Op() driver.Op { return p.s.cmd.Op }

// Submit publishes the command and returns at once: its error, if any, comes at the next wait for
// its stream.
func (p Pending) Submit() {
	p.c.claims = false
	p.s.seq.Store(p.pos + 1)
	p.c.e.kick()
}

// Cancel gives the place back without a command.
func (p Pending) Cancel() {
	p.s.cmd.Op = driver.OpNone
	p.Submit()
}
