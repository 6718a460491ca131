package npu

import (
	"errors"
	"fmt"
	"runtime"
	"time"

	"npulua/npu/internal/driver"
	"npulua/npu/internal/executor"
)

// Event is a mark in a stream: to wait for, or to take the time between two.
type Event struct {
	// Bound is free for bindings: what stands for the handle there.
	Bound any

	h      driver.Event
	ctx    *Context
	res    *resource
	timing bool
	number int          // in its context
	src    *streamState // where it was recorded last; nil: never
	ticket uint64       // the record's number in src

	mark *eventMark
}

// eventMark is the place of an event's last record in a graph that is being recorded.
type eventMark struct {
	recording *Graph // nil: it is in none
	node      int    // which of its commands
	of        *Graph // that is being recorded and has a record of the event, which may not be the last one
}

// check refuses what the host may not do with an event of a recording.
func (m *eventMark) check() error {
	if m.of == nil {
		return nil
	}
	return hinted(errorf(driver.CodeEventCaptured, "the event is recorded in a graph that is being recorded"), "wait after the recording")
}

// CreateEvent makes an event in c. With timing it can be given to Elapsed. 207007 where the device
// has no more events.
func (c *Context) CreateEvent(t *Thread, timing bool) (*Event, error) {
	flags := driver.EventSync
	if timing {
		flags |= driver.EventTiming
	}
	e := &Event{ctx: c, timing: timing, mark: new(eventMark)}
	h := new(driver.Event)
	e.res = &resource{kind: "event", parent: c.res, explicit: true, ctx: c.h,
		destroy: func(d driver.Driver, _ bool) error { return d.DestroyEvent(*h) }}
	err := t.create(c.h, e.res, func(d driver.Driver) (err error) {
		if *h, err = d.CreateEvent(flags); err != nil {
			return err
		}
		t.s.mu.Lock()
		defer t.s.mu.Unlock()
		c.events++
		e.number = c.events
		return nil
	})
	if err != nil {
		return nil, err
	}
	e.h = *h
	runtime.AddCleanup(e, (*resource).collect, e.res)
	return e, nil
}

// Context is the owner of e.
func (e *Event) Context() *Context { return e.ctx }

// Number is the number of the event in its context, counting from 1.
func (e *Event) Number() int { return e.number }

// String is "event(2, context 1, device 0, timing)"; the default context is number 0.
func (e *Event) String() string {
	mark := ""
	if e.timing {
		mark = ", timing"
	}
	if e.Closed() {
		mark += ", closed"
	}
	return fmt.Sprintf("event(%d, context %d, device %d%s)", e.number, e.ctx.id, e.ctx.dev.id, mark)
}

// Timing reports whether e can be given to Elapsed.
func (e *Event) Timing() bool { return e.timing }

// Recorded reports whether e was ever recorded.
func (e *Event) Recorded() bool { return e.src != nil }

// Closed reports whether e was closed, by itself or with its context.
func (e *Event) Closed() bool { return e.res.closed.Load() }

func (e *Event) check() error { return e.res.check() }

// Synchronize waits for the work that e stands for, and returns a fault of its stream as
// Stream.Synchronize does. timeout as there, with ErrEventTimeout. An event that was never
// recorded is no wait.
func (e *Event) Synchronize(t *Thread, timeout time.Duration) error {
	err := e.synchronize(t, timeout)
	if err != nil && e.src != nil {
		return t.reported(err, e.src)
	}
	return err
}

// synchronize is Synchronize without a report.
func (e *Event) synchronize(t *Thread, timeout time.Duration) error {
	if err := e.check(); err != nil {
		return err
	}
	if err := e.mark.check(); err != nil {
		return err
	}
	if e.src == nil {
		return nil
	}
	src, ticket := e.src, e.ticket
	if timeout == 0 && e.timing && !t.s.info.Simulated && ticket <= src.synced.Load() {
		timeout = stampTime
	}
	err := t.wait(&executor.Target{Kind: executor.WaitEvent, Context: e.ctx.h, Event: e.h,
		Stream: src.h, StreamContext: src.ctx, Timeout: timeout, Gone: &e.res.closed})
	runtime.KeepAlive(e) // garbage collection must not destroy it under the wait
	if finished(err) {
		src.known(ticket)
	}
	if err == nil {
		t.s.mu.Lock()
		err, src.fault = src.fault, nil // of a stream that garbage collection took
		t.s.mu.Unlock()
	}
	return goneOr(err, e.check)
}

// stampTime is how long a question for an event may take whose record is known to be done: the library may read its time
// only then, and does not call it complete before. It takes some milliseconds.
const stampTime = time.Second

// Query reports whether the work that e stands for is done; true where it was never recorded.
func (e *Event) Query(t *Thread) (bool, error) {
	err := e.synchronize(t, 0)
	if errors.Is(err, ErrEventTimeout) {
		return false, nil
	}
	return err == nil, err
}

// Elapsed is the time on the device from the record of start to that of stop, both done and both
// created with timing. Negative where stop came first.
func Elapsed(t *Thread, start, stop *Event) (time.Duration, error) {
	for i, e := range []*Event{start, stop} {
		name := [...]string{"start", "stop"}[i]
		if err := e.check(); err != nil {
			return 0, err
		}
		if err := e.mark.check(); err != nil {
			return 0, err
		}
		if !e.timing {
			return 0, hinted(errorf(ErrNotSupported, "the %s event was created without timing", name),
				"create it with create_event{timing = true}")
		}
		if e.src == nil {
			return 0, hinted(errorf(ErrInternal, "the %s event was never recorded", name), "record it on a stream first")
		}
	}
	var elapsed time.Duration
	err := t.callOn(start.ctx.h, func(d driver.Driver) (err error) {
		elapsed, err = d.ElapsedTime(start.h, stop.h)
		return err
	}, start.check, stop.check)
	return elapsed, err
}

// Close destroys e. Waits that are queued already are not affected.
func (e *Event) Close(t *Thread) error { return e.res.close(t, "", false) }
