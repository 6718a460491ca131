package doctor

import (
	"context"
	"errors"
	"fmt"
	"time"

	"npulua/npu"
)

// event is news of the goroutine that uses the library. Only that one calls it, and may not come back from a call.
type event struct {
	doing string             // what begins now; "" where nothing does
	limit time.Duration      // how long until the next beginning
	apply func(*examination) // nil, or what to put into the report
}

// slack is how much longer than its limit a part of the examination may take: what is waited for inside ends by
// itself at the limit, with more to tell.
const slack = 500 * time.Millisecond

// devices uses the library: loads it, opens a session and tests every device.
func (x *examination) devices(ctx context.Context) {
	events, quit := make(chan event), make(chan struct{})
	defer close(quit)
	user := &user{options: x.Options, simulated: x.simulated(), send: func(e event) {
		select {
		case events <- e:
		case <-quit:
		}
	}}
	go func() {
		defer close(events)
		user.run(ctx)
	}()
	timer := time.NewTimer(x.Start + slack)
	defer timer.Stop()
	late := timer.C
	if x.simulated() { // the simulator always answers; on a busy machine it only takes its time
		late = nil
	}
	doing := "opening the library"
	for ended := false; !ended; {
		select {
		case e, more := <-events:
			if e.apply != nil {
				e.apply(x)
			}
			if e.doing != "" {
				doing = e.doing
				timer.Reset(e.limit + slack)
			}
			ended = !more
		case <-late:
			x.stuck(doing)
			ended = true
		case <-ctx.Done():
			x.find(Fail, "interrupted while "+doing, "")
			ended = true
		}
	}
	x.conclude()
}

// stuck notes that the library does not come back.
func (x *examination) stuck(doing string) {
	for i := range x.report.Devices {
		d := &x.report.Devices[i]
		if d.State == "" {
			d.State = Hung
			break
		}
	}
	x.find(Fail, "no answer while "+doing, resetRemedy)
}

// resetRemedy is what to do with a device that does not answer.
const resetRemedy = "npu-smi info shows its state and who uses it; npu-smi set -t reset -i ID -c 0 resets it (as root, with nothing running)"

// hangRemedy is what to do about work that does not end.
func (x *examination) hangRemedy() string {
	if x.simulated() {
		return "the device is simulated, and does what --fault and --scenario say"
	}
	return resetRemedy
}

// conclude says what a script gets, and whether hardware can be used.
func (x *examination) conclude() {
	b := &x.report.Backend
	passed := 0
	for i := range x.report.Devices {
		d := &x.report.Devices[i]
		switch d.State {
		case Passed:
			passed++
			x.ok(fmt.Sprintf("device %d passed the self-test", d.User))
		case "":
			d.State = NotTested
		}
	}
	opened := b.Error == "" && b.Detail != ""
	x.report.Usable = opened && len(x.report.Devices) > 0 && passed == len(x.report.Devices)
	if opened && len(x.report.Devices) == 0 {
		remedy := "--sim=910b:1 simulates one"
		if x.report.Visible != nil {
			remedy = "unset " + npu.VisibleVariable + ", which hides them"
		}
		x.find(Fail, "there is no device", remedy)
	}
	if x.report.Usable {
		for i, f := range x.report.Findings {
			if f.Level == Fail { // the devices answer all the same
				x.report.Findings[i].Level = Warn
			}
		}
	}
}

// opened notes that there is a session.
func (x *examination) opened(info npu.Info) {
	b := &x.report.Backend
	b.Name, b.Simulated, b.Detail = info.Name, info.Simulated, info.Detail
	x.within("backend", func() {
		switch {
		case x.simulated():
			b.Why = "the simulator was asked for"
		case b.Asked == "auto":
			b.Why = "the runtime library loads and sees devices"
		default:
			b.Why = "it was asked for"
		}
		x.ok(b.Name + ", because " + b.Why + ": " + b.Detail)
	})
}

// unopened notes why there is none.
func (x *examination) unopened(err error) {
	b := &x.report.Backend
	b.Error = err.Error()
	hint, short := "", plain(err)
	var e *npu.Error
	if errors.As(err, &e) {
		hint, b.Code = e.Hint, int(e.Code)
	}
	var unloaded *npu.LoadError
	if errors.As(err, &unloaded) {
		b.Error = unloaded.Error()
		if short = unloaded.Short(); short == "" {
			short = "no runtime library is installed"
		}
	}
	x.within("backend", func() {
		if x.simulated() {
			x.find(Fail, "the simulator cannot be used: "+short, hint)
			return
		}
		x.find(Fail, "no hardware can be used: "+short, hint)
		if b.Asked != "auto" {
			b.Why = "it was asked for, and no other is taken in its place"
			return
		}
		b.Name, b.Simulated, b.Why = "sim", true, "no hardware can be used"
		x.note("scripts run on the simulator, whose figures and timing are modelled")
	})
}
