//go:build linux && (amd64 || arm64)

package acl

import (
	"math"
	"time"

	"npulua/npu/internal/driver"
)

// stream is a live stream, or the default stream of a context. That is a stream of the library like others, made at its first
// command: the library does not tell the numbers of tasks on its own default streams.
type stream struct {
	h    driver.Stream // 0: a default stream
	raw  uintptr       // 0: a default stream without commands
	ctx  *ctx
	id   int32 // the library's number, -1 where it tells none
	log  log   // of what was queued, for faults
	late late

	records uint64 // how often an event was recorded, outside of captures
	reached uint64 // how many of these records are known to be reached; of those behind a failure that stopped the context none is

	capture    *capture   // that it is part of
	workspaces workspaces // of its operators
}

// stream finds a stream that the library may be asked about in the current context.
func (d *Driver) stream(f *function, h driver.Stream) (*stream, error) {
	s := d.lastStream
	if s == nil || s.h != h {
		s = d.streams[h]
	}
	switch {
	case h != 0 && s == nil:
		return nil, driver.Errorf(driver.CodeInvalidHandle, f.name, "the stream is not live")
	case d.current == nil:
		return nil, d.noContext(f)
	case h == 0:
		return d.current.main, nil
	}
	d.lastStream = s
	return s, nil
}

// ownStream is stream for calls that take streams of the current context only.
func (d *Driver) ownStream(f *function, h driver.Stream) (*stream, error) {
	s, err := d.stream(f, h)
	if err == nil && s.ctx != d.current {
		return nil, driver.Errorf(driver.CodeStreamContext, f.name, "the stream is of another context")
	}
	return s, err
}

// openMain makes the stream of the library behind s, the default stream of the current context.
func (d *Driver) openMain(s *stream) error {
	if err := d.call(&d.createStream, d.out.at(0), 0, 0); err != nil {
		return err
	}
	s.raw = uintptr(d.out[0])
	s.id = d.numberOf(s.raw)
	return nil
}

// CreateStream implements driver.Driver.
func (d *Driver) CreateStream(cfg driver.StreamConfig) (driver.Stream, error) {
	if d.current == nil {
		return 0, d.noContext(&d.createStream)
	}
	if err := d.call(&d.createStream, d.out.at(0), uintptr(uint32(min(max(cfg.Priority, 0), 7))), 0); err != nil {
		return 0, err
	}
	s := &stream{h: driver.Stream(d.handle()), raw: uintptr(d.out[0]), ctx: d.current}
	s.id = d.numberOf(s.raw)
	d.streams[s.h] = s
	return s.h, nil
}

// numberOf is the library's number of a stream, -1 where it tells none.
func (d *Driver) numberOf(raw uintptr) int32 {
	if d.call(&d.streamID, raw, d.out.at(0)) != nil {
		return -1
	}
	return d.out.int32(0)
}

// StreamID implements driver.Prober.
func (d *Driver) StreamID(h driver.Stream) (int, error) {
	s, err := d.stream(&d.streamID, h)
	if err != nil {
		return 0, err
	}
	err = d.call(&d.streamID, s.raw, d.out.at(0))
	return int(d.out.int32(0)), err
}

// DestroyStream implements driver.Driver.
func (d *Driver) DestroyStream(h driver.Stream, force bool) error {
	f := &d.destroyStream
	if force {
		f = &d.destroyStreamForce
	}
	if h == 0 {
		return driver.Errorf(driver.CodeInvalidParam, f.name, "the stream is NULL")
	}
	s, err := d.ownStream(f, h)
	if err != nil {
		return err
	}
	if s.ctx.stopped != nil { // nothing of it runs any more, and what waits for an event may do so for ever
		f = &d.destroyStreamForce
	}
	if err := d.call(f, s.raw); err != nil {
		return err
	}
	d.deliver() // what failed on it is told while it is known: its number may be that of the next stream
	d.dropWorkspaces(&s.workspaces)
	delete(d.streams, h)
	d.lastStream = nil
	return nil
}

// SetStreamFailureMode implements driver.Driver.
func (d *Driver) SetStreamFailureMode(h driver.Stream, m driver.FailureMode) error {
	s, err := d.ownStream(&d.setFailureMode, h)
	if err != nil {
		return err
	}
	if err := d.call(&d.setFailureMode, s.raw, uintptr(m)); err != nil {
		return err
	}
	s.ctx.stops = s.ctx.stops || m == driver.StopOnFailure // continue, of another stream, changes nothing
	return nil
}

// QueryStream implements driver.Driver.
func (d *Driver) QueryStream(h driver.Stream) (bool, error) {
	s, err := d.stream(&d.queryStream, h)
	if err != nil {
		return false, err
	}
	const complete = 0
	err = d.call(&d.queryStream, s.raw, d.out.at(0))
	switch {
	case err != nil && s.ctx.stops && isFault(code(err)):
		return true, nil // the context has stopped: a wait says so
	case err != nil:
		return false, err
	case d.out.int32(0) == complete:
		return true, nil
	}
	return d.over(s, &s.late, driver.CodeStreamSyncTimeout, func() error { return d.call(&d.syncStreamTimeout, s.raw, milliseconds(lateMoment)) })
}

// SynchronizeStream implements driver.Driver. Only the last look at a stream comes from the executor, which waits
// by asking; then nothing is left to wait for.
func (d *Driver) SynchronizeStream(h driver.Stream, timeout time.Duration) error {
	s, err := d.stream(&d.syncStream, h)
	if err != nil {
		return err
	}
	return d.settled(s, d.until(timeout, driver.CodeStreamSyncTimeout, func(ms uintptr) error { return d.call(&d.syncStreamTimeout, s.raw, ms) }))
}

// until calls wait, which waits so many milliseconds and answers expired then, until timeout is over. One that has no
// end is cut in pieces, so that Stop can end it.
func (d *Driver) until(timeout time.Duration, expired driver.Code, wait func(ms uintptr) error) error {
	if timeout >= 0 {
		return wait(milliseconds(timeout))
	}
	for {
		if err := wait(milliseconds(waitPiece)); code(err) != expired || d.stopped.Load() {
			return err
		}
	}
}

// waitPiece is how long a wait of the library's lasts at most before it is looked at who wants it.
const waitPiece = 100 * time.Millisecond

// Stop implements driver.Stopper: waits in the library end with the code of a timeout.
func (d *Driver) Stop() { d.stopped.Store(true) }

// SynchronizeDevice implements driver.Driver.
func (d *Driver) SynchronizeDevice(timeout time.Duration) (err error) {
	if d.current == nil {
		return d.noContext(&d.syncDevice)
	}
	if timeout < 0 {
		err = d.call(&d.syncDevice)
	} else {
		err = d.call(&d.syncDeviceTimeout, milliseconds(timeout))
	}
	if err != nil && code(err) == driver.CodeStreamSyncTimeout {
		return err
	}
	first := d.settled(d.current.main, err)
	for _, s := range d.streams {
		if s.ctx == d.current {
			if e := d.settled(s, err); first == nil || first == err && e != err {
				first = e
			}
		}
	}
	return first
}

// milliseconds is a timeout as the library takes it; zero stays zero, which it refuses.
func milliseconds(timeout time.Duration) uintptr {
	ms := (timeout + time.Millisecond - 1) / time.Millisecond
	return uintptr(min(ms, math.MaxInt32))
}
