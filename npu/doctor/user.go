package doctor

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"npulua/npu"
)

// user uses the library, on a goroutine of its own, and sends what it finds.
type user struct {
	options   Options
	simulated bool
	send      func(event)
}

func (u *user) begin(limit time.Duration, format string, args ...any) {
	u.send(event{doing: fmt.Sprintf(format, args...), limit: limit})
}

func (u *user) tell(apply func(x *examination)) { u.send(event{apply: apply}) }

// run loads the library, opens a session and tests the devices.
func (u *user) run(ctx context.Context) {
	opts := u.options.Session
	opts.Backend = "sim"
	if !u.simulated {
		opts.Backend = "acl"
		u.begin(u.options.Start, "loading the library")
		l, err := npu.InspectLibrary()
		u.tell(func(x *examination) { x.library(l) })
		if err != nil {
			u.tell(func(x *examination) { x.unopened(err) })
			u.sensorLibrary()
			return
		}
	}
	u.begin(u.options.Start, "starting the runtime")
	s, err := npu.Open(ctx, opts)
	if err != nil {
		u.tell(func(x *examination) { x.unopened(err) })
		u.sensorLibrary()
		return
	}
	u.tell(func(x *examination) { x.opened(s.Info()) })
	u.describe(s)
	hung := false
	for id := range s.DeviceCount() {
		hung = u.test(s, id) == Hung || hung
		if ctx.Err() != nil {
			return
		}
	}
	u.sensorLibrary()
	for id := range s.DeviceCount() {
		u.sensors(s, id)
	}
	if hung { // the end of a session waits for its work
		return
	}
	u.begin(u.options.Start, "giving the devices back")
	if err := s.Close(false); err != nil {
		u.tell(func(x *examination) { x.find(Warn, "at the end: "+plain(err), "npulua help CODE explains the code") })
	}
}

// describe lists the devices, untested.
func (u *user) describe(s *npu.Session) {
	u.begin(u.options.Start, "asking for the devices")
	var list []Device
	for id := range s.DeviceCount() {
		d := Device{User: id, Logical: -1, Physical: -1, Steps: []Step{}}
		if ids, err := s.DeviceIDs(s.Main(), id); err == nil {
			d.Logical, d.Physical = ids.Logical, ids.Physical
		}
		if info, err := s.DeviceInfo(s.Main(), id); err == nil {
			d.Name, d.Memory = info.Name, info.Memory
		}
		list = append(list, d)
	}
	u.tell(func(x *examination) { x.report.Devices = append(x.report.Devices, list...) })
}

// test runs the steps of the self-test on a device, up to the first that fails, and returns its state.
func (u *user) test(s *npu.Session, id int) string {
	t := &tester{s: s, t: s.Main(), id: id}
	u.begin(u.options.Start, "opening device %d", id)
	state := Passed
	for i, step := range steps {
		if i == 1 { // the device is open
			u.begin(u.options.Limit, "testing device %d", id)
			t.deadline = t.now() + u.options.Limit
		}
		began := t.now()
		detail, err := step.run(t)
		done := Step{step.name, Passed, (t.now() - began).Seconds(), detail}
		switch {
		case err == nil:
		case errors.Is(err, npu.ErrNotSupported):
			done.State, done.Detail = Skipped, plain(err)
		case errors.Is(err, npu.ErrStreamTimeout), errors.Is(err, npu.ErrEventTimeout):
			done.State, done.Detail = Hung, plain(err)
		default:
			done.State, done.Detail = Failed, plain(err)
		}
		u.tell(func(x *examination) { x.stepped(id, done, err) })
		if done.State == Hung || done.State == Failed {
			state = done.State
			break
		}
	}
	u.tell(func(x *examination) { x.report.Devices[id].State = state })
	return state
}

// stepped notes a step of the self-test.
func (x *examination) stepped(id int, s Step, err error) {
	d := &x.report.Devices[id]
	d.Steps = append(d.Steps, s)
	switch s.State {
	case Skipped:
		x.find(Warn, fmt.Sprintf("device %d: %s was not tested: %s", id, s.Name, s.Detail), remedyOf(err, "it needs a newer release of CANN, or its operator package"))
	case Hung:
		x.find(Fail, fmt.Sprintf("device %d hangs: %s did not end in time", id, s.Name), x.hangRemedy())
	case Failed:
		x.find(Fail, fmt.Sprintf("device %d: %s failed: %s", id, s.Name, s.Detail), remedyOf(err, "npulua help CODE explains the code; npu-smi info shows the state of the device"))
	}
}

// remedyOf is the hint of an error, or otherwise what is given.
func remedyOf(err error, otherwise string) string {
	var e *npu.Error
	if errors.As(err, &e) && e.Hint != "" {
		return e.Hint
	}
	return otherwise
}

// plain is the text of an error without the name of the module.
func plain(err error) string { return strings.TrimPrefix(err.Error(), "npu: ") }
