// Package executor runs every driver call on one goroutine that is locked to its thread, because
// the runtime keeps the current context in thread-local storage.
//
// There are two doors. Begin and Submit queue stream-ordered work through a bounded ring and
// return at once; nothing is allocated. Call and Wait need an answer: the caller spins briefly,
// then parks. Both keep the order of the caller. The executor switches the thread's current context
// when the next command needs another one, and only then.
package executor

import (
	"errors"
	"fmt"
	"math"
	"runtime"
	"runtime/debug"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"npulua/npu/internal/driver"
)

// Options of New. The zero value is what sessions use.
type Options struct {
	RingSize int  // slots, rounded up to a power of two; 0: 4096
	Wall     bool // pace a driver with a clock of its own in real time
}

const (
	defaultRing = 4096
	batch       = 256 // commands between two looks at waiters
	// pollFirst and pollLast bound the pause between two looks at waiters of a driver without a
	// clock: short at first, for latency, then doubling, for the CPU.
	pollFirst = 5 * time.Microsecond
	pollLast  = 500 * time.Microsecond
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
	start   time.Time
	spin    int
	callers atomic.Int64 // registered callers
	starved atomic.Int64 // len(starving), readable without the lock

	parked  atomic.Bool
	wake    chan struct{}
	closing atomic.Bool
	aborted atomic.Bool
	ended   chan struct{}
	last    atomic.Pointer[Caller] // the only one that goes on; nil: all do
	alone   chan struct{}          // closed once last is set

	fullWaits atomic.Int64

	mu       sync.Mutex
	releases []release // posted by garbage collection; under mu
	starving []*Caller // wait for a place in the ring; under mu
	hasRel   atomic.Bool

	// owned by the thread
	current    driver.Context // current context of the thread; 0: not known
	waiting    []*Caller
	unreleased []release // to be tried again
	deferred   map[streamKey]*driver.Error
	stats      Stats
	poll       time.Duration
}

// release is something to give back, once the commands published before have reached the driver:
// they may use it.
type release struct {
	fn    func(driver.Driver) bool
	after uint64 // position in the ring
}

type streamKey struct {
	ctx driver.Context
	s   driver.Stream
}

// New starts the executor over d. Nobody else may call d from now on.
func New(d driver.Driver, opts Options) *Executor {
	size := defaultRing
	if opts.RingSize > 0 {
		for size = 2; size < opts.RingSize; size *= 2 {
		}
	}
	e := &Executor{
		d: d, ring: newRing(size), wall: opts.Wall, start: time.Now(), spin: spinRounds(executorRounds),
		wake: make(chan struct{}, 1), ended: make(chan struct{}), alone: make(chan struct{}),
		deferred: make(map[streamKey]*driver.Error), poll: pollFirst,
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

// Release has fn run on the thread some time later, again after the next wait where it reports
// false. It takes no time of a virtual clock, since it comes when garbage collection does. It
// never blocks and may be called from anywhere.
func (e *Executor) Release(fn func(driver.Driver) bool) {
	e.mu.Lock()
	e.releases = append(e.releases, release{fn, e.ring.tail.Load()})
	e.mu.Unlock()
	e.hasRel.Store(true)
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
		e.pace()
		n := e.drain()
		if e.hasRel.Load() {
			e.runReleases()
		}
		if len(e.waiting) > 0 && e.settle() {
			idle = 0
			continue
		}
		if n > 0 {
			idle = 0
			continue
		}
		if len(e.waiting) > 0 && e.canAdvance() && e.advance() {
			continue
		}
		if e.closing.Load() && e.ring.peek() == nil {
			return
		}
		if idle++; idle < e.spin {
			pause(idle)
			continue
		}
		e.park()
		idle = 0
	}
}

// drain executes up to a batch of what the ring holds and gives the places back.
func (e *Executor) drain() int {
	n := 0
	for n < batch {
		s := e.ring.peek()
		if s == nil {
			break
		}
		n++
		if c := s.caller; c != nil {
			s.caller = nil
			e.serve(c)
		} else {
			e.submit(&s.cmd)
		}
		e.ring.next++ // not before: a release on the way must not give back a slot in use
	}
	if n > 0 {
		e.giveBack()
	}
	return n
}

// giveBack returns the places read so far to the callers.
func (e *Executor) giveBack() {
	e.ring.release()
	if e.starved.Load() > 0 && e.ring.roomy() {
		e.notifyStarving()
	}
}

// submit hands one command to the driver and keeps its error for the stream's next wait.
func (e *Executor) submit(c *driver.Command) {
	e.stats.Commands++
	var err error
	if !e.aborted.Load() {
		err = e.enqueue(c)
	}
	c.Func = nil
	c.Args = c.Args[:0]
	if err != nil {
		e.stats.Errors++
		e.deferError(c, err)
	}
}

// enqueue tries until the stream has room. Panics of a driver become errors.
func (e *Executor) enqueue(c *driver.Command) (err error) {
	defer recoverTo(&err)
	if err := e.use(c.Context); err != nil {
		return err
	}
	err = e.d.Enqueue(c)
	for err == driver.CodeQueueFull && !e.aborted.Load() {
		e.giveBack()
		if e.clock != nil {
			if !e.step(-1) {
				return driver.Errorf(driver.CodeResourceStream, c.Op.Call(), "the stream's queue is full and nothing in it can finish")
			}
		} else {
			time.Sleep(pollFirst)
		}
		err = e.d.Enqueue(c)
	}
	return err
}

// step lets the next thing happen, in real time where the clock is paced.
func (e *Executor) step(limit time.Duration) bool {
	if e.wall {
		if next, ok := e.clock.Next(); ok && (limit < 0 || next <= limit) {
			for d := next - e.wallNow(); d > 0 && !e.aborted.Load(); d = next - e.wallNow() {
				time.Sleep(min(d, pollLast))
			}
		}
	}
	return e.clock.Advance(limit)
}

// use makes ctx current where it is not.
func (e *Executor) use(ctx driver.Context) error {
	if ctx == e.current || ctx == 0 {
		return nil
	}
	e.stats.ContextSwitches++
	if err := e.d.SetCurrentContext(ctx); err != nil {
		e.current = 0
		return err
	}
	e.current = ctx
	return nil
}

// deferError keeps the first error of a stream; later ones are listed in it.
func (e *Executor) deferError(c *driver.Command, err error) {
	key := streamKey{c.Context, c.Stream}
	if first := e.deferred[key]; first != nil {
		if len(first.Affected) < driver.MaxAffected {
			first.Affected = append(first.Affected, c.Site)
		}
		return
	}
	de := asError(err, c.Op.Call())
	if de.Site == 0 {
		de.Site, de.Op = c.Site, c.Op.String()
	} else if c.Site != de.Site { // an earlier fault stopped the context
		de.Affected = append(slices.Clone(de.Affected), c.Site)
	}
	e.deferred[key] = de
}

// Deferred takes the error that a command of stream s left, or nil. Only inside Call.
func (e *Executor) Deferred(ctx driver.Context, s driver.Stream) *driver.Error {
	key := streamKey{ctx, s}
	err := e.deferred[key]
	if err != nil {
		delete(e.deferred, key)
	}
	return err
}

// Fault takes what the work of s left: s is done and ctx current. Only inside Call or Release.
func (e *Executor) Fault(ctx driver.Context, s driver.Stream) error {
	return e.both(e.Deferred(ctx, s), e.d.SynchronizeStream(s, -1))
}

// both joins the error of a refused command and the fault of the work that was done.
func (e *Executor) both(refused *driver.Error, fault error) error {
	if refused == nil {
		return fault
	}
	if f, ok := fault.(*driver.Error); fault == nil || ok && f.Fault != 0 && f.Fault == refused.Fault {
		return refused
	}
	return errors.Join(fault, refused)
}

// serve answers a call, or registers the caller as waiting.
func (e *Executor) serve(c *Caller) {
	if c.target != nil {
		e.stats.Waits++
		t := c.target
		t.hasEnd = t.Timeout >= 0
		if t.deadline = e.Now() + t.Timeout; t.deadline < 0 && t.hasEnd {
			t.deadline = math.MaxInt64
		}
		e.waiting = append(e.waiting, c)
		return
	}
	e.stats.Calls++
	c.err = e.call(c)
	c.done.Store(true)
	c.notify()
}

func (e *Executor) call(c *Caller) (err error) {
	defer recoverTo(&err)
	if err := e.use(c.use); err != nil {
		return err
	}
	if c.use == 0 {
		e.current = 0 // fn may change it
	}
	return c.fn(e.d)
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

// Now is the driver's time, or real time since New where it has none. Only inside Call.
func (e *Executor) Now() time.Duration {
	if e.clock != nil {
		return e.clock.Now()
	}
	return time.Since(e.start)
}

func (e *Executor) wallNow() time.Duration { return time.Since(e.start) }

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

func (e *Executor) notifyStarving() {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, c := range e.starving {
		c.notify()
	}
}

func (e *Executor) setStarving(c *Caller, on bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if on {
		e.starving = append(e.starving, c)
	} else {
		e.starving = slices.DeleteFunc(e.starving, func(x *Caller) bool { return x == c })
	}
	e.starved.Store(int64(len(e.starving)))
}

func (e *Executor) runReleases() {
	e.mu.Lock()
	list := append(e.unreleased, e.releases...)
	e.releases = nil
	e.hasRel.Store(false)
	e.mu.Unlock()
	e.unreleased = nil
	run := func() {
		for _, r := range list {
			if r.after > e.ring.next {
				e.unreleased = append(e.unreleased, r)
				e.hasRel.Store(true)
			} else if !e.tryRelease(r.fn) {
				e.unreleased = append(e.unreleased, r)
			}
		}
		if e.current != 0 && e.d.SetCurrentContext(e.current) != nil {
			e.current = 0
		}
	}
	if e.clock != nil {
		e.clock.Untimed(run)
	} else {
		run()
	}
}

func (e *Executor) tryRelease(fn func(driver.Driver) bool) (done bool) {
	defer func() {
		if recover() != nil {
			done = true // nobody waits for it; what it held is lost
		}
	}()
	return fn(e.d)
}

// Again runs what Release was given so far, and then fn, which takes no time of a virtual clock.
// Only inside Call.
func (e *Executor) Again(fn func() error) error {
	e.runReleases()
	return e.Untimed(fn)
}

// Untimed runs fn, which takes no time of a virtual clock. Only inside Call.
func (e *Executor) Untimed(fn func() error) (err error) {
	if e.clock == nil {
		return fn()
	}
	e.clock.Untimed(func() { err = fn() })
	return err
}

// Stats is a copy of the counters. Only inside Call.
func (e *Executor) Stats() Stats {
	s := e.stats
	s.RingFull = e.fullWaits.Load()
	return s
}

// asError makes any error an *driver.Error of its own, so that sites can be added to it.
func asError(err error, call string) *driver.Error {
	switch x := err.(type) {
	case *driver.Error:
		c := *x
		return &c
	case driver.Code:
		return &driver.Error{Code: x, Call: call}
	}
	return &driver.Error{Code: driver.CodeInternal, Call: call, Detail: err.Error()}
}

// PanicError is a Go panic on the executor's thread: a defect of npulua or of a driver.
type PanicError struct {
	Value any
	Stack []byte
}

func (p *PanicError) Error() string { return fmt.Sprintf("internal error: %v", p.Value) }

func panicError(r any) error { return &PanicError{Value: r, Stack: debug.Stack()} }

func recoverTo(err *error) {
	if r := recover(); r != nil {
		*err = panicError(r)
	}
}
