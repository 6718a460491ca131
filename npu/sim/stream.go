package sim

import (
	"slices"
	"time"

	"npulua/npu/internal/driver"
)

// stream is a queue of tasks of which the first is running or waits for something.
type stream struct {
	h        driver.Stream // 0 for a default stream
	id       int
	ctx      *context
	priority int
	stops    bool // SetStreamFailureMode has made its context one that stops

	head, tail *task
	count      int
	running    bool // the head has started, or is in the queue of an engine
	blocked    bool // the head waits for a record
	fault      *driver.Error
	capture    *capture // nil: commands run
	past       past
}

// newStream makes a stream in c; the first one is its default stream.
func (d *Driver) newStream(call string, c *context, cfg driver.StreamConfig) (*stream, error) {
	dev := c.dev
	if dev.streams >= dev.profile.Streams {
		return nil, driver.Errorf(driver.CodeResourceStream, call, "device %d has no more than %d streams, default streams included",
			dev.id, dev.profile.Streams)
	}
	s := &stream{ctx: c, id: dev.streamID, priority: min(max(cfg.Priority, 0), 7)}
	dev.streamID++
	dev.streams++
	if len(c.streams) > 0 {
		s.h = driver.Stream(d.newHandle())
		d.streams[s.h] = s
	}
	c.streams = append(c.streams, s)
	return s, nil
}

// dropStream forgets an idle stream.
func (d *Driver) dropStream(s *stream) {
	s.ctx.streams = slices.DeleteFunc(s.ctx.streams, func(x *stream) bool { return x == s })
	delete(d.streams, s.h)
	s.ctx.dev.streams--
	d.progress++
}

// drained lets time pass until s is idle; false where that never happens.
func (d *Driver) drained(s *stream) bool {
	return d.waitUntil(func() bool { return s.count == 0 }, -1)
}

// finish lets time pass until s, which is destroyed, is idle. What hangs is dropped.
func (d *Driver) finish(s *stream) {
	for !d.drained(s) {
		if !d.dropHung(s) {
			d.dropQueued(s)
			return
		}
	}
}

// stream finds a live stream of any context; 0 is the default stream of the current one.
func (d *Driver) stream(call string, h driver.Stream) (*stream, error) {
	if h == 0 {
		ctx, err := d.needContext(call)
		if err != nil {
			return nil, err
		}
		return ctx.streams[0], nil
	}
	s := d.streams[h]
	if s == nil {
		return nil, driver.Errorf(driver.CodeInvalidHandle, call, "%#x is no live stream", uintptr(h))
	}
	return s, nil
}

// usableStream finds a live stream of any context, where some context is current.
func (d *Driver) usableStream(call string, h driver.Stream) (*stream, error) {
	s, err := d.stream(call, h)
	if err != nil {
		return nil, err
	}
	if _, err := d.needContext(call); err != nil {
		return nil, err
	}
	return s, nil
}

// ownStream finds a stream of the current context.
func (d *Driver) ownStream(call string, h driver.Stream) (*stream, error) {
	s, err := d.stream(call, h)
	if err != nil {
		return nil, err
	}
	ctx, err := d.needContext(call)
	if err != nil {
		return nil, err
	}
	if s.ctx != ctx {
		return nil, driver.Errorf(driver.CodeStreamContext, call, "stream %d belongs to another context than the current one", s.id)
	}
	return s, nil
}

// CreateStream implements driver.Driver.
func (d *Driver) CreateStream(cfg driver.StreamConfig) (driver.Stream, error) {
	const call = "aclrtCreateStreamWithConfig"
	ctx, err := d.needContext(call)
	if err != nil {
		return 0, err
	}
	d.host(costStream)
	s, err := d.newStream(call, ctx, cfg)
	if err != nil {
		return 0, err
	}
	return s.h, nil
}

// DestroyStream implements driver.Driver.
func (d *Driver) DestroyStream(h driver.Stream, force bool) error {
	call := "aclrtDestroyStream"
	if force {
		call = "aclrtDestroyStreamForce"
	}
	if h == 0 {
		return driver.Errorf(driver.CodeInvalidParam, call, "stream is NULL: the default stream lives as long as its context")
	}
	s, err := d.ownStream(call, h)
	if err != nil {
		return err
	}
	if s.capture != nil {
		return captured(call, s)
	}
	d.host(costStream)
	if force {
		d.dropQueued(s)
	}
	d.finish(s)
	d.dropStream(s)
	return nil
}

// SetStreamFailureMode implements driver.Driver.
func (d *Driver) SetStreamFailureMode(h driver.Stream, m driver.FailureMode) error {
	const call = "aclrtSetStreamFailureMode"
	s, err := d.ownStream(call, h)
	if err != nil {
		return err
	}
	if m > driver.StopOnFailure {
		return driver.Errorf(driver.CodeRtParamInvalid, call, "there is no failure mode %d", m)
	}
	if m == driver.StopOnFailure {
		s.stops, s.ctx.mode = true, m
	} else if s.stops {
		return driver.Errorf(driver.CodeNotSupported, call, "a stream that stops its context on failure cannot go back to continue")
	}
	return nil
}

// StreamID implements driver.Prober.
func (d *Driver) StreamID(h driver.Stream) (int, error) {
	const call = "aclrtStreamGetId"
	s, err := d.usableStream(call, h)
	if err != nil {
		return 0, err
	}
	return s.id, nil
}

// QueryStream implements driver.Driver.
func (d *Driver) QueryStream(h driver.Stream) (bool, error) {
	const call = "aclrtStreamQuery"
	s, err := d.usableStream(call, h)
	if err != nil {
		return false, err
	}
	if s.capture != nil {
		return false, captured(call, s)
	}
	d.host(costQuery)
	return s.count == 0, nil
}

// SynchronizeStream implements driver.Driver.
func (d *Driver) SynchronizeStream(h driver.Stream, timeout time.Duration) error {
	const call = "aclrtSynchronizeStreamWithTimeout"
	s, err := d.usableStream(call, h)
	if err != nil {
		return err
	}
	return d.synchronize(call, []*stream{s}, timeout)
}

// SynchronizeDevice implements driver.Driver.
func (d *Driver) SynchronizeDevice(timeout time.Duration) error {
	const call = "aclrtSynchronizeDeviceWithTimeout"
	ctx, err := d.needContext(call)
	if err != nil {
		return err
	}
	return d.synchronize(call, ctx.streams, timeout)
}

func (d *Driver) synchronize(call string, streams []*stream, timeout time.Duration) error {
	if timeout == 0 {
		return driver.Errorf(driver.CodeRtParamInvalid, call, "a timeout of 0 is not allowed")
	}
	for _, s := range streams {
		if s.capture != nil {
			return captured(call, s)
		}
	}
	d.host(costSynchronize)
	done := d.waitUntil(func() bool {
		for _, s := range streams {
			if s.count > 0 {
				return false
			}
		}
		return true
	}, timeout)
	if !done {
		return driver.Errorf(driver.CodeStreamSyncTimeout, call, "not done after %v", timeout)
	}
	for _, s := range streams {
		if err := s.takeFault(); err != nil {
			return err
		}
	}
	return nil
}

// takeFault returns the first fault of s, once, and then for ever that which stopped its context.
func (s *stream) takeFault() error {
	stopped := s.ctx.stopped
	s.ctx.told = stopped != nil
	if err := s.takeOwn(); err != nil || stopped == nil {
		return err
	}
	return stopped
}

// takeOwn returns the first fault of s, once.
func (s *stream) takeOwn() error {
	err := s.fault
	s.fault = nil
	if err == nil {
		return nil
	}
	return err
}

// over is the failure that has stopped c, once somebody has waited.
func (c *context) over() error {
	if c.told {
		return c.stopped
	}
	return nil
}
