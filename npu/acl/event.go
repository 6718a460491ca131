//go:build linux && (amd64 || arm64)

package acl

import (
	"time"

	"npulua/npu/internal/driver"
)

// event is an event that was not destroyed.
type event struct {
	raw   uintptr
	ctx   *ctx
	flags driver.EventFlags
	gone  bool // with its context; the library knows it no more

	// older: the library has no events of the newer kind, and this one of the legacy kind stands for it. What differs
	// is what happens before the first record.
	older bool

	captured *capture // in which it was recorded last, while that goes on
	recorded *stream  // on which it was recorded last, outside of a capture
	record   uint64   // number of that record in its stream
	skipped  bool     // that record was not queued, as a failure had stopped the context
	late     late
}

// reached reports whether the last record of e is known to have been reached. Where a failure has stopped its context the
// library may not know that any more.
func (e *event) reached() bool {
	return e.recorded != nil && !e.skipped && e.record <= e.recorded.reached
}

// reach notes that records up to that number are reached.
func (s *stream) reach(record uint64) { s.reached = max(s.reached, record) }

// event finds an event that the library may be asked about.
func (d *Driver) event(f *function, h driver.Event) (*event, error) {
	if h == 0 {
		return nil, driver.Errorf(driver.CodeInvalidParam, f.name, "the event is NULL")
	}
	e := d.events[h]
	if e == nil || e.gone {
		return nil, driver.Errorf(driver.CodeInvalidHandle, f.name, "the event is not live")
	}
	return e, nil
}

// knownFlags are those of the newer kind of events, which only its call can refuse.
const knownFlags = driver.EventSync | 0x2 | 0x4 | driver.EventTiming | 0x40

// CreateEvent implements driver.Driver.
func (d *Driver) CreateEvent(flags driver.EventFlags) (driver.Event, error) {
	f := &d.createEvent
	if flags != driver.EventLegacy {
		f = &d.createEventEx
	}
	if d.current == nil {
		return 0, d.noContext(f)
	}
	var err error
	switch {
	case flags == driver.EventLegacy:
		err = d.call(f, d.out.at(0))
	case flags&^knownFlags != 0:
		err = driver.Errorf(driver.CodeRtParamInvalid, f.name, "there are no flags %#x", uint32(flags&^knownFlags))
	case d.createEventEx.address == 0:
		err = d.call(&d.createEvent, d.out.at(0))
	default:
		err = d.call(f, d.out.at(0), uintptr(flags))
	}
	if err != nil {
		return 0, err
	}
	h := driver.Event(d.handle())
	older := flags != driver.EventLegacy && d.createEventEx.address == 0
	d.events[h] = &event{raw: uintptr(d.out[0]), ctx: d.current, flags: flags, older: older}
	return h, nil
}

// DestroyEvent implements driver.Driver.
func (d *Driver) DestroyEvent(h driver.Event) error {
	if e := d.events[h]; e != nil && e.gone {
		delete(d.events, h)
		return nil
	}
	e, err := d.event(&d.destroyEvent, h)
	if err != nil {
		return err
	}
	if err := d.call(&d.destroyEvent, e.raw); err != nil {
		return err
	}
	delete(d.events, h)
	return nil
}

// destroyRaw destroys e while its context is there; the program's handle stays, and knows that.
func (d *Driver) destroyRaw(e *event) {
	_ = d.call(&d.destroyEvent, e.raw) // it goes on with the context
	e.gone = true
}

// QueryEvent implements driver.Driver.
func (d *Driver) QueryEvent(h driver.Event) (bool, error) {
	e, err := d.event(&d.queryEvent, h)
	if err != nil {
		return false, err
	}
	if e.older && e.recorded == nil && e.captured == nil {
		return true, nil
	}
	s := e.recorded
	if e.skipped || e.reached() && s.ctx.stopped != nil {
		return true, nil
	}
	const complete = 1
	err = d.call(&d.queryEvent, e.raw, d.out.at(0))
	switch {
	case err != nil && s != nil && s.ctx.stops && isFault(code(err)):
		return true, nil // as of a stream
	case err != nil:
		return false, err
	case s == nil:
		return d.out.int32(0) == complete, nil
	case d.out.int32(0) == complete:
		s.reach(e.record)
		return true, nil
	}
	f := &d.syncEventTimeout
	if f.address == 0 { // an older library: all that is queued on the stream has to be over
		return d.over(s, &s.late, driver.CodeStreamSyncTimeout, func() error { return d.call(&d.syncStreamTimeout, s.raw, milliseconds(lateMoment)) })
	}
	return d.over(s, &e.late, driver.CodeEventSyncTimeout, func() error { return d.call(f, e.raw, milliseconds(lateMoment)) })
}

// SynchronizeEvent implements driver.Driver. A fault of the stream that was recorded is the caller's.
func (d *Driver) SynchronizeEvent(h driver.Event, timeout time.Duration) error {
	f := &d.syncEvent
	if timeout >= 0 {
		f = &d.syncEventTimeout
	}
	e, err := d.event(f, h)
	if err != nil {
		return err
	}
	s := e.recorded
	switch {
	case e.skipped:
		err = s.ctx.stopped
	case e.reached() && s.ctx.stopped != nil:
	case d.syncEventTimeout.address == 0 && timeout < 0:
		err = d.call(&d.syncEvent, e.raw)
	default:
		err = d.until(timeout, driver.CodeEventSyncTimeout, func(ms uintptr) error { return d.call(&d.syncEventTimeout, e.raw, ms) })
	}
	if s == nil || err != nil && !isFault(code(err)) {
		return err
	}
	e.late = late{}
	d.found(s, err)
	if err == nil {
		s.reach(e.record)
	}
	first, stopped := s.log.fault, s.ctx.stopped
	switch {
	case stopped == nil:
	case e.reached() && (first == nil || first == stopped): // before that
		return nil
	case !e.reached():
		s.ctx.told = true
	}
	if first != nil {
		s.log.fault, s.log.told = nil, s.log.told || first.Cause == nil
		return first
	}
	if stopped != nil && err != nil {
		return stopped
	}
	return err
}

// ElapsedTime implements driver.Driver. The library measures in milliseconds, as a float: microseconds over an
// hour are lost.
func (d *Driver) ElapsedTime(start, stop driver.Event) (time.Duration, error) {
	a, err := d.event(&d.elapsed, start)
	if err != nil {
		return 0, err
	}
	b, err := d.event(&d.elapsed, stop)
	if err != nil {
		return 0, err
	}
	err = d.call(&d.elapsed, d.out.at(0), a.raw, b.raw)
	return time.Duration(float64(d.out.float32(0)) * float64(time.Millisecond)), err
}
