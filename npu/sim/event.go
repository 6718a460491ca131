package sim

import (
	"time"

	"npulua/npu/internal/driver"
)

// event remembers its last record only; a wait holds on to the record of its own moment.
type event struct {
	h     driver.Event
	dev   *device
	flags driver.EventFlags
	last  *record

	captured *eventCapture // recorded in a capture that is under way
	was      *graph        // recorded outside since
}

// record is one OpRecord on its way or done.
type record struct {
	s       *stream
	done    bool
	skipped bool // it was not reached: a failure had stopped the context
	at      time.Duration
	waiters []*stream // streams whose first command waits for it
}

// complete marks r done at time now and lets its waiters go on.
func (d *Driver) complete(r *record) {
	r.done, r.at = true, d.now
	d.progress++
	waiters := r.waiters
	r.waiters = nil
	for _, s := range waiters {
		s.blocked = false
		d.pump(s)
	}
}

const eventFlags = 0x1 | 0x2 | 0x8 | 0x40

// CreateEvent implements driver.Driver.
func (d *Driver) CreateEvent(flags driver.EventFlags) (driver.Event, error) {
	const call = "aclrtCreateEventExWithFlag"
	if flags&^eventFlags != 0 {
		return 0, driver.Errorf(driver.CodeRtParamInvalid, call, "there is no event flag %#x", uint32(flags&^eventFlags))
	}
	ctx, err := d.needContext(call)
	if err != nil {
		return 0, err
	}
	if ctx.dev.events >= ctx.dev.profile.Events {
		return 0, driver.Errorf(driver.CodeResourceEvent, call, "device %d has no more than %d events", ctx.dev.id, ctx.dev.profile.Events)
	}
	d.host(costQuery)
	ctx.dev.events++
	e := &event{h: driver.Event(d.newHandle()), dev: ctx.dev, flags: flags}
	d.events[e.h] = e
	return e.h, nil
}

// DestroyEvent implements driver.Driver.
func (d *Driver) DestroyEvent(h driver.Event) error {
	const call = "aclrtDestroyEvent"
	e, err := d.event(call, h)
	if err != nil {
		return err
	}
	d.host(costQuery)
	e.dev.events--
	delete(d.events, h)
	d.progress++
	return nil
}

func (d *Driver) event(call string, h driver.Event) (*event, error) {
	if h == 0 {
		return nil, driver.Errorf(driver.CodeInvalidParam, call, "event is NULL")
	}
	e := d.events[h]
	if e == nil {
		return nil, driver.Errorf(driver.CodeInvalidHandle, call, "%#x is no live event", uintptr(h))
	}
	return e, nil
}

// QueryEvent implements driver.Driver.
func (d *Driver) QueryEvent(h driver.Event) (bool, error) {
	e, err := d.event("aclrtQueryEventStatus", h)
	if err != nil {
		return false, err
	}
	if e.inCapture() {
		return false, eventCaptured("aclrtQueryEventStatus")
	}
	d.host(costQuery)
	if e.last == nil {
		return e.flags != driver.EventLegacy, nil
	}
	return e.last.done, nil
}

// SynchronizeEvent implements driver.Driver.
func (d *Driver) SynchronizeEvent(h driver.Event, timeout time.Duration) error {
	const call = "aclrtSynchronizeEventWithTimeout"
	e, err := d.event(call, h)
	if err != nil {
		return err
	}
	if timeout == 0 {
		return driver.Errorf(driver.CodeRtParamInvalid, call, "a timeout of 0 is not allowed")
	}
	if _, err := d.needContext(call); err != nil {
		return err
	}
	if e.inCapture() {
		return eventCaptured(call)
	}
	d.host(costSynchronize)
	r := e.last
	if r == nil {
		return nil
	}
	if !d.waitUntil(func() bool { return r.done }, timeout) {
		return driver.Errorf(driver.CodeEventSyncTimeout, call, "not done after %v", timeout)
	}
	stopped := r.s.ctx.stopped
	switch {
	case stopped == nil || r.skipped:
		return r.s.takeFault()
	case r.s.fault == stopped: // it was reached before that
		return nil
	}
	return r.s.takeOwn()
}

// ElapsedTime implements driver.Driver.
func (d *Driver) ElapsedTime(start, stop driver.Event) (time.Duration, error) {
	const call = "aclrtEventElapsedTime"
	var at [2]time.Duration
	for i, h := range []driver.Event{start, stop} {
		name := [...]string{"start", "stop"}[i]
		e, err := d.event(call, h)
		switch {
		case err != nil:
			return 0, err
		case e.last == nil:
			return 0, driver.Errorf(driver.CodeInternal, call, "the %s event was never recorded", name)
		case !e.last.done:
			return 0, driver.Errorf(driver.CodeEventNotComplete, call, "the %s event is recorded but not done", name)
		}
		at[i] = e.last.at
	}
	d.host(costQuery)
	return at[1] - at[0], nil
}

// inCapture reports whether the host may not ask for e: it was recorded in a capture that is under way.
func (e *event) inCapture() bool { return e.captured != nil || e.was != nil }

func eventCaptured(call string) error {
	return driver.Errorf(driver.CodeEventCaptured, call, "the event was recorded in a capture that is under way")
}
