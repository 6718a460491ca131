package executor

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"time"

	"npulua/npu/internal/driver"
)

type streamKey struct {
	ctx driver.Context
	s   driver.Stream
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
		if s.spent > 0 {
			e.pass(s.spent)
			s.spent = 0
		}
		if r := s.request; r != nil {
			s.request = nil
			e.serve(r)
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
	if c.Op == driver.OpNone { // cancelled
		c.Func, c.Args = nil, c.Args[:0]
		return
	}
	e.stats.Commands++
	if c.Op == driver.OpHostFunc && e.clock == nil {
		c.Func = e.counted(c.Func)
	}
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

// counted is fn, which counts as queued until it has run once. One that is dropped counts for ever.
func (e *Executor) counted(fn func() error) func() error {
	var ran atomic.Bool
	e.hostFuncs.Add(1)
	return func() error {
		defer func() {
			if !ran.Swap(true) {
				e.hostFuncs.Add(-1)
				e.turns.Add(1)
				e.kick()
			}
		}()
		return fn()
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
		if e.refusing.Load() != 0 && (e.wall || e.clock == nil) { // a virtual time need not be waited for
			return driver.Errorf(driver.CodeTaskAbort, c.Op.Call(), "interrupted while the stream's queue was full")
		}
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

// Refuse lets no command wait for room in its stream, for a program that was interrupted: those that find none
// are refused, and the next wait for the stream tells. It may be called from anywhere; so may end, which lets
// commands wait again that are published after its call.
func (e *Executor) Refuse() (end func()) {
	n := e.interrupts.Add(1)
	e.refusing.Store(n)
	return func() {
		go func() { // what is before the call in the ring may take a while
			c := e.NewCaller(context.Background())
			defer c.Close()
			_ = c.Call(0, func(driver.Driver) error { // it fails where nothing is left to wait
				e.refusing.CompareAndSwap(n, 0)
				return nil
			})
		}()
	}
}

// step lets the next thing happen, in real time where the clock is paced.
func (e *Executor) step(limit time.Duration) bool {
	if e.wall {
		if next, ok := e.clock.Next(); ok && (limit < 0 || next <= limit) {
			for d := next - e.wallNow(); d > 0 && !e.aborted.Load(); d = next - e.wallNow() {
				if e.refusing.Load() != 0 {
					return true
				}
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
		first.Affect(c.Site)
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
