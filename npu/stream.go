package npu

import (
	"runtime"
	"weak"

	"npulua/npu/internal/driver"
)

// Stream is an ordered queue of work. Streams run in parallel; events order them.
type Stream struct {
	// Bound is free for bindings: what stands for the handle there.
	Bound any

	ctx      *Context
	res      *resource
	state    *streamState
	priority int
}

// StreamOptions describe a new stream.
type StreamOptions struct {
	Priority int    // 0 (highest, the default) to 7
	Failure  string // "" or "continue", "stop": what a failed command does to the whole context
}

// CreateStream makes a stream in c. ErrInvalidParam for options that do not exist; 207005 where the
// device has no more streams.
func (c *Context) CreateStream(t *Thread, opts StreamOptions) (*Stream, error) {
	if err := c.res.usable(); err != nil {
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
	st.sch.Store(t.scheduler())
	res := &resource{kind: "stream", parent: c.res, explicit: true, ctx: c.h, stream: st, destroy: func(d driver.Driver, force bool) error {
		st.throttle.destroy(d)
		return d.DestroyStream(st.h, force)
	}}
	res.idle, st.closed = st.idle, &res.closed
	s := &Stream{ctx: c, res: res, state: st, priority: opts.Priority}
	err = t.create(c.h, res, func(d driver.Driver) (err error) {
		st.h, err = d.CreateStream(driver.StreamConfig{Priority: opts.Priority})
		if err != nil {
			return err
		}
		if opts.Failure != "" {
			if err = d.SetStreamFailureMode(st.h, mode); err != nil {
				_ = d.DestroyStream(st.h, true)
				return err
			}
		}
		if mode == driver.StopOnFailure {
			c.stop.on.Store(true)
		}
		t.s.mu.Lock()
		defer t.s.mu.Unlock()
		c.streams++
		st.name = streamName{c.dev.id, c.id, c.streams}
		st.handle = weak.Make(s)
		return nil
	})
	if err != nil {
		return nil, err
	}
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

// Context is the owner of s.
func (s *Stream) Context() *Context { return s.ctx }

// Number is the number of the stream in its context: 0 for the default one, then counting from 1.
func (s *Stream) Number() int { return s.state.name.number }

// String is "stream(2, context 1, device 0)"; a default stream is "stream(default, ...".
func (s *Stream) String() string {
	mark := ""
	if s.Closed() {
		mark = ", closed"
	}
	return s.state.name.text(mark)
}

// Priority is 0 (highest) to 7.
func (s *Stream) Priority() int { return s.priority }

// IsDefault reports whether s is the default stream of its context.
func (s *Stream) IsDefault() bool { return s.state.h == 0 }

// Closed reports whether s was closed, by itself or with its context.
func (s *Stream) Closed() bool { return s.res.closed.Load() || s.ctx.res.closed.Load() }

// ID is the number that the runtime gave the stream in its device.
func (s *Stream) ID(t *Thread) (int, error) {
	if err := s.check(); err != nil {
		return 0, err
	}
	if err := need(t.s, t.s.prober, "tell stream numbers"); err != nil {
		return 0, err
	}
	var id int
	err := t.callOn(s.state.ctx, func(driver.Driver) (err error) {
		id, err = t.s.prober.StreamID(s.state.h)
		return err
	}, s.check)
	return id, err
}

func (s *Stream) check() error {
	if s.Closed() {
		return s.closedError()
	}
	return nil
}

// usable fails where nothing new can be queued on s.
func (s *Stream) usable() error {
	if s.res.ending.Load() || s.ctx.res.ending.Load() {
		return s.closedError()
	}
	return nil
}

func (s *Stream) closedError() error {
	if s.res.ending.Load() {
		return s.res.closedError()
	}
	e := s.ctx.res.closedError()
	was := "was"
	if !s.Closed() {
		was = "is being"
	}
	e.Detail = "stream " + was + " closed with its context: " + e.Detail
	return e
}

func implicitError() error {
	return hinted(errorf(driver.CodeCaptureImplicit, "a default stream cannot take part in the recording of a graph"), "use a stream made with create_stream")
}

// meet refuses a wait of s for e where one of them is part of a recording that the other cannot join.
func (s *Stream) meet(e *Event) error {
	g, of := s.state.recording.Load(), e.mark.recording
	switch {
	case g == of:
	case g != nil:
		return hinted(errorf(driver.CodeCaptureDependency, "the event was not recorded in the graph that is being recorded"),
			"record the event inside, or wait for it before the recording")
	case s.IsDefault():
		return implicitError()
	case s.ctx.dev != of.ctx.dev:
		return errorf(ErrStreamContext, "the graph that is being recorded is of device %d, the stream of device %d", of.ctx.dev.id, s.ctx.dev.id)
	}
	return nil
}

// Fill queues a fill of buf with value, element by element. What value may be follows from the
// type of buf; see dtype rules in SetElement.
func (s *Stream) Fill(t *Thread, buf *Buffer, value float64) error {
	return s.FillValue(t, buf, Number(value))
}

// FillValue is Fill of a value.
func (s *Stream) FillValue(t *Thread, buf *Buffer, value Value) error {
	if err := s.check(); err != nil {
		return err
	}
	if err := buf.check(); err != nil {
		return err
	}
	if err := s.onDevice(t, buf); err != nil {
		return err
	}
	word, problem := buf.typ.Pack(value)
	if problem != "" {
		return errorf(ErrInvalidParam, "%s", problem)
	}
	q, err := s.begin(t, driver.OpFill, buf.root.res)
	if err != nil {
		return err
	}
	q.Dst = q.memory(buf, true)
	q.Size = buf.bytes
	q.Value = word
	q.Width = uint8(buf.typ.Size())
	return q.submit()
}

// onDevice refuses memory that commands of s cannot work on.
func (s *Stream) onDevice(t *Thread, buf *Buffer) error {
	if buf.space != DeviceMemory {
		return hinted(errorf(ErrParamInvalid, "the buffer is %s memory, device memory is needed", buf.space),
			"allocate it with ctx:alloc, or fill a host buffer with h:fill")
	}
	if buf.root.dev != s.ctx.dev {
		return hinted(s.foreignError(buf.root.dev), "copy it to the device of the stream first")
	}
	return nil
}

// foreignError is the refusal of a buffer on dev, which is not the device of s.
func (s *Stream) foreignError(dev *Device) *Error {
	return errorf(ErrStreamContext, "the buffer is on device %d, the stream on device %d", dev.id, s.ctx.dev.id)
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
	q, err := s.begin(t, driver.OpRecord, e.res)
	if err != nil {
		return err
	}
	q.Event = e.h
	if g := s.state.recording.Load(); g != nil {
		e.mark.recording, e.mark.of, e.mark.node = g, g, len(g.nodes)
		g.rec.events = append(g.rec.events, e)
		return q.submit()
	}
	e.src, e.ticket, e.mark.recording = s.state, s.state.queued+1, nil
	return q.submit()
}

// Wait queues a wait: later work of s starts after the work that e stands for now. A wait for an
// event that was never recorded does nothing, as in AscendCL. e may be of another device.
func (s *Stream) Wait(t *Thread, e *Event) error {
	if err := e.check(); err != nil {
		return err
	}
	q, err := s.begin(t, driver.OpWait, e.res)
	if err != nil {
		return err
	}
	if s.state.recording.Load() != nil || e.mark.recording != nil {
		if err := s.meet(e); err != nil {
			return q.cancel(err)
		}
	}
	q.Event = e.h
	if g := e.mark.recording; g != nil {
		if s.state.recording.Load() == nil {
			g.join(s)
		}
		return q.note(graphNode{}, e.mark.node)
	}
	if e.src != nil && e.src != s.state {
		s.state.depend(e.src, e.ticket)
	}
	return q.submit()
}

// Close waits for the work of s and destroys it. A fault of that work is returned.
func (s *Stream) Close(t *Thread) error {
	if s.IsDefault() && !s.Closed() {
		return hinted(errorf(ErrInvalidParam, "a default stream lives as long as its context"), "close the context")
	}
	return s.res.close(t, "", false)
}
