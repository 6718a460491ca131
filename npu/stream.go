package npu

import (
	"errors"
	"fmt"
	"runtime"
	"sync/atomic"
	"time"

	"npulua/npu/internal/driver"
	"npulua/npu/internal/executor"
)

// Stream is an ordered queue of work. Streams run in parallel; events order them.
type Stream struct {
	// Bound is free for bindings: what stands for the handle there.
	Bound any

	ctx      *Context
	res      *resource
	state    *streamState
	priority int
	number   int // in its context, from 0: the default stream
}

// streamState is what outlives the handle: where the stream is and how far the host knows it done.
type streamState struct {
	ctx    driver.Context
	h      driver.Stream // 0: the default stream of ctx
	queued uint64        // commands submitted
	synced uint64        // commands that the host knows to be done
	after  []dependency  // what waits for events bring along
	stop   *stopping     // of the context
	held   bool          // a callback runs: nothing of the stream does meanwhile
	pins   atomic.Int32  // waits under way: garbage collection must not take it
	fault  error         // what its work left when garbage collection took it; under session.mu
}

// stopping is what the streams of one context share where a failed command stops them all: every
// wait returns the fault then, but closing does not tell it once more.
type stopping struct {
	on   bool
	told *Error
}

// unlessTold is err, or nil where it is the same fault as told.
func unlessTold(err error, told *Error) error {
	if e, ok := err.(*Error); ok && told != nil && e.Fault != 0 && e.Fault == told.Fault {
		return nil
	}
	return err
}

// dependency says: once this stream is done up to own, src is done up to done.
type dependency struct {
	own  uint64
	src  *streamState
	done uint64
}

// StreamOptions describe a new stream.
type StreamOptions struct {
	Priority int    // 0 (highest, the default) to 7
	Failure  string // "" or "continue", "stop": what a failed command does to the whole context
}

// CreateStream makes a stream in c. ErrInvalidParam for options that do not exist; 207005 where the
// device has no more streams.
func (c *Context) CreateStream(t *Thread, opts StreamOptions) (*Stream, error) {
	if err := c.res.check(); err != nil {
		return nil, err
	}
	if opts.Priority < 0 || opts.Priority > 7 {
		return nil, errorf(ErrInvalidParam, "priority must be 0 (highest) to 7, got %d", opts.Priority)
	}
	mode, err := failureMode(opts.Failure)
	if err != nil {
		return nil, err
	}
	st := &streamState{ctx: c.h, stop: c.stop}
	err = t.retry(c.h, func(d driver.Driver) (err error) {
		st.h, err = d.CreateStream(driver.StreamConfig{Priority: opts.Priority})
		if err != nil || opts.Failure == "" {
			return err
		}
		if err = d.SetStreamFailureMode(st.h, mode); err != nil {
			_ = d.DestroyStream(st.h, true)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	if mode == driver.StopOnFailure {
		c.stop.on = true
	}
	h := st.h
	res := t.s.adopt(t, &resource{kind: "stream", parent: c.res, explicit: true, ctx: c.h, stream: st, destroy: func(d driver.Driver, force bool) error {
		return d.DestroyStream(h, force)
	}})
	res.idle = st.idle
	s := &Stream{ctx: c, res: res, state: st, priority: opts.Priority}
	t.s.mu.Lock()
	c.streams++
	s.number = c.streams
	t.s.mu.Unlock()
	runtime.AddCleanup(s, (*resource).collect, res)
	return s, nil
}

func failureMode(name string) (driver.FailureMode, error) {
	switch name {
	case "", "continue":
		return driver.ContinueOnFailure, nil
	case "stop":
		return driver.StopOnFailure, nil
	}
	return 0, errorf(ErrInvalidParam, `failure must be "continue" or "stop", got %q`, name)
}

// idle reports whether the driver has nothing left of the stream; also where it is gone.
func (st *streamState) idle(d driver.Driver) bool {
	if d.SetCurrentContext(st.ctx) != nil {
		return true
	}
	done, err := d.QueryStream(st.h)
	return done || err != nil
}

// Context is the owner of s.
func (s *Stream) Context() *Context { return s.ctx }

// Number is the number of the stream in its context: 0 for the default one, then counting from 1.
func (s *Stream) Number() int { return s.number }

// Priority is 0 (highest) to 7.
func (s *Stream) Priority() int { return s.priority }

// IsDefault reports whether s is the default stream of its context.
func (s *Stream) IsDefault() bool { return s.state.h == 0 }

// Closed reports whether s was closed, by itself or with its context.
func (s *Stream) Closed() bool { return s.res.closed || s.ctx.res.closed }

// ID is the number that the runtime gave the stream in its device.
func (s *Stream) ID(t *Thread) (int, error) {
	if err := s.check(); err != nil {
		return 0, err
	}
	if err := need(t.s, t.s.prober, "tell stream numbers"); err != nil {
		return 0, err
	}
	var id int
	err := t.call(s.state.ctx, func(driver.Driver) (err error) {
		id, err = t.s.prober.StreamID(s.state.h)
		return err
	})
	return id, err
}

func (s *Stream) check() error {
	if s.res.closed || s.ctx.res.closed {
		return s.closedError()
	}
	return nil
}

func (s *Stream) closedError() error {
	if s.res.closed {
		return s.res.closedError()
	}
	e := s.ctx.res.closedError()
	e.Detail = "stream was closed with its context: " + e.Detail
	return e
}

// begin claims a place for a command of s. Every begin is followed by submit.
func (s *Stream) begin(t *Thread, op driver.Op) (executor.Pending, *driver.Command, error) {
	if s.res.closed || s.ctx.res.closed {
		return executor.Pending{}, nil, s.closedError()
	}
	if t.c.Inside() {
		return executor.Pending{}, nil, insideError()
	}
	p, c := t.c.Begin()
	c.Op = op
	c.Site = t.Site
	c.Stream = s.state.h
	c.Context = s.state.ctx
	return p, c, nil
}

// submit publishes the command; in a blocking session it waits for it.
func (s *Stream) submit(t *Thread, p executor.Pending) error {
	s.state.queued++
	p.Submit()
	if t.s.opts.Blocking {
		return synchronizeState(t, s.state, -1)
	}
	return nil
}

// Fill queues a fill of buf with value, element by element. What value may be follows from the
// type of buf; see dtype rules in SetElement.
func (s *Stream) Fill(t *Thread, buf *Buffer, value float64) error {
	if err := s.check(); err != nil {
		return err
	}
	if err := buf.check(); err != nil {
		return err
	}
	if err := s.onDevice(t, buf); err != nil {
		return err
	}
	if msg := buf.typ.Check(value); msg != "" {
		return errorf(ErrInvalidParam, "%s", msg)
	}
	p, c, err := s.begin(t, driver.OpFill)
	if err != nil {
		return err
	}
	c.Dst = buf.ptr
	c.Size = buf.bytes
	c.Value = buf.typ.Bits(value)
	c.Width = uint8(buf.typ.Size())
	buf.used(s.state, t.Site, true)
	return s.submit(t, p)
}

// onDevice refuses memory that commands of s cannot work on.
func (s *Stream) onDevice(t *Thread, buf *Buffer) error {
	if buf.space != DeviceMemory {
		return hinted(errorf(ErrParamInvalid, "the buffer is %s memory, device memory is needed", buf.space),
			"allocate it with ctx:alloc, or fill a host buffer with h:fill")
	}
	if buf.root.dev != s.ctx.dev {
		return hinted(errorf(ErrStreamContext, "the buffer is on device %d, the stream on device %d", buf.root.dev.id, s.ctx.dev.id),
			"copy it to the device of the stream first")
	}
	return nil
}

// Record queues a mark in s. The event then stands for all work queued on s so far; an earlier
// record of it is forgotten.
func (s *Stream) Record(t *Thread, e *Event) error {
	if err := e.check(); err != nil {
		return err
	}
	if e.ctx.dev != s.ctx.dev {
		return errorf(ErrStreamContext, "the event is of device %d, the stream of device %d", e.ctx.dev.id, s.ctx.dev.id)
	}
	p, c, err := s.begin(t, driver.OpRecord)
	if err != nil {
		return err
	}
	c.Event = e.h
	e.src, e.ticket = s.state, s.state.queued+1
	return s.submit(t, p)
}

// Wait queues a wait: later work of s starts after the work that e stands for now. A wait for an
// event that was never recorded does nothing, as in AscendCL. e may be of another device.
func (s *Stream) Wait(t *Thread, e *Event) error {
	if err := e.check(); err != nil {
		return err
	}
	p, c, err := s.begin(t, driver.OpWait)
	if err != nil {
		return err
	}
	c.Event = e.h
	if e.src != nil && e.src != s.state {
		s.state.depend(e.src, e.ticket)
	}
	return s.submit(t, p)
}

// depend notes that the next command of st comes after done commands of src.
func (st *streamState) depend(src *streamState, done uint64) {
	for i := range st.after {
		if d := &st.after[i]; d.src == src {
			d.done = max(d.done, done)
			return
		}
	}
	st.after = append(st.after, dependency{st.queued + 1, src, done})
}

// known notes that the host has seen st done up to ticket.
func (st *streamState) known(ticket uint64) {
	if ticket <= st.synced {
		return
	}
	st.synced = ticket
	keep := st.after[:0]
	var reached []dependency
	for _, d := range st.after {
		if d.own <= ticket {
			reached = append(reached, d)
		} else {
			keep = append(keep, d)
		}
	}
	st.after = keep
	for _, d := range reached {
		d.src.known(d.done)
	}
}

// Callback queues fn to run on the thread that created it, when s reaches it: at a call of t that
// waits. Later work of s waits for fn. fn must not make NPU calls. Its error is a fault of s.
func (s *Stream) Callback(t *Thread, fn func() error) error {
	p, c, err := s.begin(t, driver.OpHostFunc)
	if err != nil {
		return err
	}
	e, caller, st, ticket := t.s.exec, t.c, s.state, s.state.queued
	c.Func = func() error {
		return e.Upcall(caller, func() error {
			st.known(ticket) // all before it is done
			st.held = true   // and nothing after it has begun
			defer func() { st.held = false }()
			return fn()
		})
	}
	return s.submit(t, p)
}

// Synchronize waits until all work queued on s so far is done, and returns the first fault of it,
// once. timeout: negative waits for ever, zero asks without waiting. ErrStreamTimeout says that
// work remains; it goes on.
func (s *Stream) Synchronize(t *Thread, timeout time.Duration) error {
	if err := s.check(); err != nil {
		return err
	}
	err := synchronizeState(t, s.state, timeout)
	runtime.KeepAlive(s) // its faults are the caller's
	return err
}

func synchronizeState(t *Thread, st *streamState, timeout time.Duration) error {
	ticket := st.queued
	err := t.wait(&executor.Target{Kind: executor.WaitStream, Context: st.ctx, Stream: st.h, Timeout: timeout})
	if finished(err) {
		st.learn(ticket, err, nil)
	}
	return err
}

// learn notes that st is done up to ticket, and gives the fault of its work to add.
func (st *streamState) learn(ticket uint64, fault error, add func(*streamState, error)) {
	st.known(ticket)
	if e, ok := fault.(*Error); ok && st.stop.on && st.stop.told == nil {
		st.stop.told = e
	}
	if add != nil {
		add(st, fault)
	}
}

// finished reports whether a wait came to its end, with or without a fault.
func finished(err error) bool {
	if err == nil {
		return true
	}
	var e *Error
	return errors.As(err, &e) && e.Code != ErrStreamTimeout && e.Code != ErrEventTimeout
}

// Query reports whether all work queued on s is done. It does not wait. A fault is returned as by
// Synchronize, once.
func (s *Stream) Query(t *Thread) (bool, error) {
	err := s.Synchronize(t, 0)
	if errors.Is(err, ErrStreamTimeout) {
		return false, nil
	}
	return err == nil, err
}

// Close waits for the work of s and destroys it. A fault of that work is returned.
func (s *Stream) Close(t *Thread) error {
	if s.IsDefault() && !s.Closed() {
		return hinted(errorf(ErrInvalidParam, "a default stream lives as long as its context"), "close the context")
	}
	return s.res.close(t, "", false)
}

// synchronizeAll waits for every stream below r and joins their faults; with closing it leaves out
// those that were told before. Streams that were dropped count, whether garbage collection has taken
// them or not, and take no time of their own.
func (s *Session) synchronizeAll(t *Thread, r *resource, timeout time.Duration, closing bool) error {
	var states []*streamState
	told := make(map[*stopping]*Error)
	var errs []error
	add := func(st *streamState, err error) {
		if closing {
			err = unlessTold(err, told[st.stop])
		}
		for _, other := range errs { // a context that stopped says so of every stream
			if e, ok := other.(*Error); ok {
				err = unlessTold(err, e)
			}
		}
		if err != nil {
			errs = append(errs, err)
		}
	}
	var walk func(r *resource)
	walk = func(r *resource) {
		if st := r.stream; st != nil {
			st.pins.Add(1)
			told[st.stop] = st.stop.told
			states = append(states, st)
		}
		for _, c := range r.children {
			walk(c)
		}
	}
	s.mu.Lock()
	walk(r)
	s.mu.Unlock()
	defer func(all []*streamState) {
		for _, st := range all {
			st.pins.Add(-1)
		}
	}(states)

	begin, err := t.Now()
	if err != nil {
		return err
	}
	for len(states) > 0 {
		left := time.Duration(-1)
		if timeout >= 0 {
			now, err := t.Now()
			if err != nil {
				return err
			}
			left = max(timeout-(now-begin), 0)
		}
		st := states[0]
		err := synchronizeState(t, st, left)
		if !finished(err) {
			if e, ok := err.(*Error); ok {
				e.Detail = fmt.Sprintf("not done after %v", timeout) // of them all
			}
			errs = append(errs, err)
			break
		}
		add(st, err)
		if states, err = s.unfinished(t, states[1:], add); err != nil {
			return err
		}
	}
	s.adopted(r, add)
	return errors.Join(errs...)
}

// unfinished is what of states has work left. The others are done: add gets their faults; with nil
// the faults stay.
func (s *Session) unfinished(t *Thread, states []*streamState, add func(*streamState, error)) ([]*streamState, error) {
	if len(states) == 0 {
		return nil, nil
	}
	var left []*streamState
	err := t.call(0, func(d driver.Driver) error {
		return s.exec.Untimed(func() error {
			for _, st := range states {
				gone := d.SetCurrentContext(st.ctx) != nil
				done := gone
				if !gone {
					var err error
					done, err = d.QueryStream(st.h)
					gone = err != nil
				}
				switch {
				case gone: // garbage collection took it
				case done && add == nil:
					st.known(st.queued)
				case done:
					st.learn(st.queued, own(s.exec.Fault(st.ctx, st.h)), add)
				default:
					left = append(left, st)
				}
			}
			return nil
		})
	})
	return left, err
}

// adopted takes the orphans below r.
func (s *Session) adopted(r *resource, add func(*streamState, error)) {
	var list []*streamState
	var walk func(r *resource)
	walk = func(r *resource) {
		list = append(list, r.orphans...)
		r.orphans = nil
		for _, c := range r.children {
			walk(c)
		}
	}
	s.mu.Lock()
	walk(r)
	s.mu.Unlock()
	for _, st := range list {
		st.learn(st.queued, st.fault, add)
		st.fault = nil
	}
}
