// Package executor runs every driver call on one goroutine that is locked to its thread, because
// the runtime keeps the current context in thread-local storage.
//
// There are two doors. Begin and Submit queue stream-ordered work through a bounded ring and
// return at once; nothing is allocated. Call and Wait need an answer: the caller spins briefly,
// then parks. Both keep the order of the caller. A caller that stands for several tasks posts what they wait
// for and awaits all of it at once (Post, Await): answers come only while nothing of the caller runs, in the
// order of posting, so that they do not depend on how fast the two threads are. The executor switches the thread's current context
// when the next command needs another one, and only then.
package executor

import (
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"npulua/npu/internal/driver"
)

// Options of New. The zero value is what sessions use.
type Options struct {
	RingSize int  // slots, rounded up to a power of two; 0: 4096
	Wall     bool // pace a driver with a clock of its own in real time
	// Held is called after a Call that held its caller for heldTime or longer, on that one's goroutine; nil: nothing is.
	Held func()
}

// heldTime is how long a Call takes in which a person may lose patience.
const heldTime = 10 * time.Millisecond

const (
	defaultRing = 4096
	batch       = 256 // commands between two looks at waiters
	// The pause between two looks at waiters of a driver without a clock: a share of the time that was waited so
	// far, so that short work is seen at once and long work costs no CPU.
	pollShare = 16
	pollFirst = 5 * time.Microsecond
	pollLast  = 5 * time.Millisecond
)

// Stats counts what passed through. Read them with Executor.Stats.
type Stats struct {
	Commands        int64 // stream-ordered commands
	Calls           int64 // synchronous calls
	Waits           int64
	ContextSwitches int64 // calls of SetCurrentContext
	RingFull        int64 // times that a caller waited for a place
	Errors          int64 // commands that the driver refused
}

// Executor owns the thread. Make one with New and end it with Close.
type Executor struct {
	d       driver.Driver
	clock   driver.Clock // nil where time is the machine's
	ring    *ring
	wall    bool
	onHeld  func() // of Options
	start   time.Time
	spin    int
	callers atomic.Int64 // registered callers
	idle    atomic.Int64 // those of them that wait for answers; for a moment it may be too small, never too large
	targets atomic.Int64 // len(waiting), readable from anywhere
	turns   atomic.Int64 // changes of idle and callers that the thread has to look at
	starved atomic.Int64 // len(starving), readable without the lock

	avoided atomic.Int64 // times that nobody spins yet, because the machine is busy
	parked  atomic.Bool
	wake    chan struct{}
	closing atomic.Bool
	aborted atomic.Bool
	ended   chan struct{}
	last    atomic.Pointer[Caller] // the only one that goes on; nil: all do
	serving atomic.Pointer[Caller] // whose call is under way; nil: none is
	alone   chan struct{}          // closed once last is set

	fullWaits  atomic.Int64
	hostFuncs  atomic.Int64 // queued and not run, where the driver has no clock: they may end any wait
	outside    atomic.Int64 // waits that something outside ends: see BeginOutside
	interrupts atomic.Int64 // calls of Refuse
	refusing   atomic.Int64 // number of the one that is in force; 0: none is

	mu         sync.Mutex
	registered map[*Caller]struct{} // under mu
	numbers    int                  // callers registered so far; under mu
	releases   []release            // posted by garbage collection; under mu
	starving   []*Caller            // wait for a place in the ring; under mu
	hasRel     atomic.Bool

	// owned by the thread
	current    driver.Context // current context of the thread; 0: not known
	waiting    []*Target      // in order of posting
	settling   []*Caller      // claimed by settle
	round      uint64         // of settle
	posted     []*Caller      // with functions to run
	progress   uint64         // of the clock, when settle looked last
	seen       int64          // turns, at the start of the round
	seenIdle   bool           // last waited then
	unreleased []release      // to be tried again
	deferred   map[streamKey]*driver.Error
	stats      Stats
	pollSince  time.Time // when the last wait began or ended, of a driver without a clock
}

// New starts the executor over d. Nobody else may call d from now on.
func New(d driver.Driver, opts Options) *Executor {
	size := defaultRing
	if opts.RingSize > 0 {
		for size = 2; size < opts.RingSize; size *= 2 {
		}
	}
	e := &Executor{
		d: d, ring: newRing(size), wall: opts.Wall, onHeld: opts.Held, start: time.Now(), spin: spinRounds(executorRounds),
		wake: make(chan struct{}, 1), ended: make(chan struct{}), alone: make(chan struct{}),
		deferred: make(map[streamKey]*driver.Error), registered: make(map[*Caller]struct{}),
	}
	e.clock, _ = d.(driver.Clock)
	if e.clock == nil {
		e.wall = false
	}
	go e.run()
	return e
}

// Close waits until the ring is empty and ends the thread. No caller may have a call under way.
func (e *Executor) Close() {
	e.closing.Store(true)
	e.kick()
	<-e.ended
}

// Last says that of all callers only c goes on, to tear down: time jumps when c waits, and host
// functions of the others fail. Once.
func (e *Executor) Last(c *Caller) {
	e.last.Store(c)
	close(e.alone)
	e.kick()
}

// Abort drops the commands that are still in the ring, and those to come, for a program that was
// interrupted. Calls and waits go on. It may be called from anywhere.
func (e *Executor) Abort() {
	e.aborted.Store(true)
	if s, ok := e.d.(driver.Stopper); ok {
		s.Stop()
	}
	e.kick()
}

// kick wakes the executor where it is parked.
func (e *Executor) kick() {
	if e.parked.Load() {
		select {
		case e.wake <- struct{}{}:
		default:
		}
	}
}

// run is the thread's loop.
func (e *Executor) run() {
	runtime.LockOSThread() // never unlocked: the thread ends with the goroutine
	defer close(e.ended)
	idle := 0
	for {
		e.beginRound()
		e.pace()
		n := e.drain()
		if e.hasRel.Load() {
			e.runReleases()
		}
		look := e.idle.Load() > 0 // else nobody takes answers
		if look && len(e.waiting)+len(e.posted) > 0 && e.settle() {
			idle = 0
			continue
		}
		if n > 0 {
			idle = 0
			continue
		}
		if look && e.canAdvance() && e.advance() {
			continue
		}
		if e.closing.Load() && e.ring.peek() == nil {
			return
		}
		if idle++; idle < e.spin && e.avoided.Load() == 0 {
			if !pause(idle) {
				e.avoided.Store(avoid)
			}
			continue
		}
		if idle = 0; !e.park() {
			idle = e.spin // only time has passed: one look is enough
		}
	}
}

// beginRound notes who waits before settle looks at what for.
func (e *Executor) beginRound() {
	e.seen = e.turns.Load()
	c := e.last.Load()
	e.seenIdle = c != nil && c.state.Load() == idling
}

// serve answers a call, or begins a wait.
func (e *Executor) serve(r *request) {
	if r.target != nil {
		e.stats.Waits++
		r.caller.served++
		e.begin(r.target)
		e.pollAnew()
		e.waiting = append(e.waiting, r.target)
		e.targets.Store(int64(len(e.waiting)))
		return
	}
	c := r.caller
	e.stats.Calls++
	c.err = e.call(c)
	c.done.Store(true)
	c.notify()
}

// pollAnew has waiters looked at often again.
func (e *Executor) pollAnew() {
	if e.clock == nil {
		e.pollSince = time.Now()
	}
}

func (e *Executor) call(c *Caller) (err error) {
	defer recoverTo(&err)
	if c.usable != nil {
		if err := c.usable(); err != nil {
			return err
		}
	}
	if err := e.use(c.use); err != nil {
		return err
	}
	if c.use == 0 {
		e.current = 0 // fn may change it
	}
	e.serving.Store(c)
	defer e.serving.Store(nil)
	return c.fn(e.d)
}

// Serving is the place from which the call came that the driver is at, for one that does not return; false where it is
// at none. It may be called from anywhere.
func (e *Executor) Serving() (driver.Site, bool) {
	c := e.serving.Load()
	if c == nil {
		return 0, false
	}
	return driver.Site(c.site.Load()), true
}

// Now is the driver's time, or real time since New where it has none. Only inside Call.
func (e *Executor) Now() time.Duration {
	if e.clock != nil {
		return e.clock.Now()
	}
	return time.Since(e.start)
}

func (e *Executor) wallNow() time.Duration { return time.Since(e.start) }

// Stats is a copy of the counters. Only inside Call.
func (e *Executor) Stats() Stats {
	s := e.stats
	s.RingFull = e.fullWaits.Load()
	return s
}
