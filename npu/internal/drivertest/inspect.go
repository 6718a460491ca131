package drivertest

import (
	"slices"

	"npulua/npu/internal/driver"
)

func inspectCases() []testCase {
	const needs = inspector | loader
	return []testCase{
		{"commands: in order with their places, what is over first, then what is pending", needs, func(t *tester) {
			s, p := t.stream(), t.filled(64, 0)
			t.wantCommands(s)
			t.fillAt(s, p, 1)
			t.sync(s)
			t.spinAt(s, 2)
			t.fillAt(s, p, 3)
			t.wantCommands(s, command{driver.OpFill, 1, driver.CommandDone}, command{driver.OpLaunch, 2, driver.CommandRunning},
				command{driver.OpFill, 3, driver.CommandQueued})
			if name := t.commands(s)[1].Name; name != "spin" {
				t.Errorf("name of the launch is %q, want spin", name)
			}
			t.sync(s)
			t.wantCommands(s, command{driver.OpFill, 1, driver.CommandDone}, command{driver.OpLaunch, 2, driver.CommandDone},
				command{driver.OpFill, 3, driver.CommandDone})
		}},
		{"commands: of the default stream, and 107003 for a stream of another context", needs, func(t *tester) {
			before, s := t.current(), t.stream()
			t.fillAt(0, t.filled(64, 0), 1)
			t.sync(0)
			t.wantCommands(0, command{driver.OpFill, 1, driver.CommandDone})
			c := t.context(0)
			t.wantCommands(0)
			_, err := t.inspect.Commands(s)
			t.want(driver.CodeStreamContext, err, "Commands")
			t.destroyContext(c)
			t.setCurrent(before)
		}},
		{"commands: a failed one has its code and fault, later ones are done", needs, func(t *tester) {
			s, p := t.stream(), t.filled(64, 0)
			t.fault(s, 1)
			t.fillAt(s, p, 2)
			err := t.SynchronizeStream(s, forever)
			t.want(driver.CodeVectorException, err, "SynchronizeStream")
			t.wantCommands(s, command{driver.OpLaunch, 1, driver.CommandFailed}, command{driver.OpFill, 2, driver.CommandDone})
			c := t.commands(s)[0]
			if e, _ := err.(*driver.Error); e == nil || c.Code != e.Code || c.Fault != e.Fault || c.Fault == 0 {
				t.Errorf("failed command %+v, want code and fault of %+v", c, err)
			}
		}},
		{"commands: stop mode skips what was queued, and what comes later", needs, func(t *tester) {
			before, p := t.current(), t.filled(64, 0)
			c := t.context(0)
			s, other := t.stream(), t.stream()
			t.must(t.SetStreamFailureMode(s, driver.StopOnFailure), "SetStreamFailureMode")
			t.spin(s, pause) // so that all is queued before the first fails
			t.fault(s, 1)
			t.fillAt(s, p, 2)
			t.want(driver.CodeVectorException, t.SynchronizeStream(s, forever), "SynchronizeStream")
			for _, x := range []driver.Stream{s, other} {
				f := fillCommand(x, p, 64, 1)
				f.Site = 3
				t.want(driver.CodeVectorException, t.issue(f), "fill after the stop")
			}
			t.wantCommands(s, command{driver.OpLaunch, 0, driver.CommandDone}, command{driver.OpLaunch, 1, driver.CommandFailed},
				command{driver.OpFill, 2, driver.CommandSkipped}, command{driver.OpFill, 3, driver.CommandSkipped})
			t.wantCommands(other, command{driver.OpFill, 3, driver.CommandSkipped})
			t.destroyContext(c)
			t.setCurrent(before)
		}},
		{"commands: they tell when they began and ended", needs, func(t *tester) {
			s, p := t.stream(), t.filled(64, 0)
			t.spinAt(s, 1)
			t.fillAt(s, p, 2)
			if c := t.commands(s)[1]; c.Start != 0 || c.End != 0 {
				t.Errorf("a queued command %+v, want no times", c)
			}
			t.sync(s)
			list := t.commands(s)
			a, b := list[0], list[1]
			if a.Start >= a.End || b.Start < a.End || b.End < b.Start {
				t.Errorf("%v to %v, then %v to %v, want one after the other", a.Start, a.End, b.Start, b.End)
			}
		}},
		{"commands: one that is refused failed", needs, func(t *tester) {
			s, p := t.stream(), t.filled(64, 0)
			f := fillCommand(s, p, 64, 1)
			f.Width, f.Site = 3, 1
			t.want(driver.CodeRtParamInvalid, t.issue(f), "fill of three bytes")
			t.wantCommands(s, command{driver.OpFill, 1, driver.CommandFailed})
			if c := t.commands(s)[0]; c.Code != driver.CodeRtParamInvalid || c.Fault != 0 {
				t.Errorf("refused command %+v, want its code and no fault", c)
			}
		}},
		{"commands: a wait tells the record that it waits for", needs, func(t *tester) {
			s, other, e := t.stream(), t.stream(), t.event(driver.EventSync)
			t.spinAt(s, 1)
			t.enqueue(driver.Command{Op: driver.OpRecord, Stream: s, Event: e, Site: 2})
			t.enqueue(driver.Command{Op: driver.OpWait, Stream: other, Event: e, Site: 3})
			t.fillAt(other, t.filled(64, 0), 4)
			t.wantCommands(other, command{driver.OpWait, 3, driver.CommandQueued}, command{driver.OpFill, 4, driver.CommandQueued})
			want := driver.Hold{Kind: driver.HoldRecord, Context: t.current(), Stream: s, Site: 2}
			list := t.commands(other)
			if list[0].Hold != want || list[1].Hold.Kind != driver.HoldNone {
				t.Errorf("held back by %+v and %+v, want %+v and nothing", list[0].Hold, list[1].Hold, want)
			}
			t.sync(other)
			t.wait(other, e) // is done: no wait
			t.wantCommands(other, command{driver.OpWait, 3, driver.CommandDone}, command{driver.OpFill, 4, driver.CommandDone},
				command{driver.OpWait, 0, driver.CommandDone})
		}},
		{"commands: a launch tells that it waits for cores", needs, func(t *tester) {
			s, other := t.stream(), t.stream()
			all := uint32(1 << 15)
			for _, x := range []driver.Stream{s, other} {
				c := t.spinCommand(x, pause)
				c.Blocks = all
				t.enqueue(c)
			}
			list := t.commands(other)
			if h := list[0].Hold; h.Kind != driver.HoldCores || h.Want <= h.Free || list[0].State != driver.CommandQueued {
				t.Errorf("%+v, want a wait for cores", list[0])
			}
			t.sync(s)
			t.sync(other)
		}},
		{"commands: a replay is one, and what a capture records is none", needs | capturer, func(t *tester) {
			s, p := t.stream(), t.filled(64, 0)
			g := t.captured(s, func() {
				t.fillAt(s, p, 1)
				t.fillAt(s, p, 2)
			})
			t.wantCommands(s)
			t.enqueue(driver.Command{Op: driver.OpReplay, Stream: s, Graph: g, Site: 3})
			t.wantCommands(s, command{driver.OpReplay, 3, driver.CommandRunning})
			t.sync(s)
			t.wantCommands(s, command{driver.OpReplay, 3, driver.CommandDone})
		}},
		{"commands: the last ones that are over are kept, and progress counts all", needs, func(t *tester) {
			const n = 3 * driver.MaxCommandsOver / 2
			s, p := t.stream(), t.filled(64, 0)
			for i := range n {
				t.fillAt(s, p, driver.Site(i+1))
			}
			t.sync(s)
			t.spinAt(s, n+1)
			t.fillAt(s, p, n+2)
			list := t.commands(s)
			if first, last := list[0].Site, list[len(list)-1].Site; len(list) < 100+2 || last != n+2 || int(first) != n+3-len(list) {
				t.Errorf("%d commands from place %d to %d", len(list), first, last)
			}
			got, err := t.inspect.Progress(s)
			t.must(err, "Progress")
			if got.Over != n || got.Pending != 2 || got.Last.Site != n || got.Head.Site != n+1 || got.Head.State != driver.CommandRunning {
				t.Errorf("Progress = %+v", got)
			}
		}},
		{"commands: neither call takes time", needs | clock, func(t *tester) {
			s := t.stream()
			t.spinAt(s, 1)
			took := t.took(func() {
				for range 1000 {
					t.commands(s)
					_, err := t.inspect.Progress(s)
					t.must(err, "Progress")
				}
			})
			if took != 0 {
				t.Errorf("inspecting took %v", took)
			}
			t.wantDone(s, false, "after inspecting")
		}},
	}
}

// command is what matters of a driver.CommandInfo.
type command struct {
	op    driver.Op
	site  driver.Site
	state driver.CommandState
}

func (t *tester) commands(s driver.Stream) []driver.CommandInfo {
	t.Helper()
	list, err := t.inspect.Commands(s)
	t.must(err, "Commands")
	return list
}

func (t *tester) wantCommands(s driver.Stream, want ...command) {
	t.Helper()
	var got []command
	for _, c := range t.commands(s) {
		got = append(got, command{c.Op, c.Site, c.State})
	}
	if !slices.Equal(got, want) {
		t.Errorf("commands %v, want %v", got, want)
	}
}

// fillAt queues a fill of 64 B with a place.
func (t *tester) fillAt(s driver.Stream, p driver.Ptr, site driver.Site) {
	t.Helper()
	c := fillCommand(s, p, 64, 1)
	c.Site = site
	t.enqueue(c)
}

// spinAt queues a pause with a place.
func (t *tester) spinAt(s driver.Stream, site driver.Site) {
	t.Helper()
	c := t.spinCommand(s, pause)
	c.Site = site
	t.enqueue(c)
}
