package drivertest

import (
	"slices"
	"time"

	"npulua/npu/internal/driver"
)

// endless is work that only AbortStream ends.
const endless = time.Hour

var abortCall = call{"StreamAbort", aborter, false, func(t *tester, o *objects) error { return t.aborter.AbortStream(o.stream) }}

func abortCases() []testCase {
	const needs = aborter
	calls := []call{abortCall}
	foreign := func(device int) func(t *tester) *objects {
		return func(t *tester) *objects {
			here := t.current()
			t.context(device)
			o := &objects{stream: t.stream()}
			t.setCurrent(here)
			return o
		}
	}
	list := slices.Concat(
		inSituation("no context", fresh, driver.CodeContextNull, calls, false, func(t *tester) *objects {
			t.must(t.Init(), "Init")
			return &objects{}
		}),
		inSituation("destroyed stream", 0, driver.CodeInvalidHandle, calls, false, func(t *tester) *objects {
			o := &objects{stream: t.stream()}
			t.must(t.DestroyStream(o.stream, false), "DestroyStream")
			return o
		}),
		inSituation("stream of another context", 0, driver.CodeStreamContext, calls, false, foreign(0)),
		inSituation("stream of another device", twoDevices, driver.CodeStreamContext, calls, false, foreign(1)),
		inSituation("capturing stream", capturer, driver.CodeStreamCaptured, calls, false, func(t *tester) *objects {
			s := t.capturing()
			t.Cleanup(func() { t.end(s) }) // the capture is intact
			return &objects{stream: s}
		}),
		[]testCase{
			{"StreamAbort of an idle stream changes nothing", needs, func(t *tester) {
				for _, s := range []driver.Stream{t.stream(), 0} {
					p := t.filled(64, 1)
					t.fill(s, p, 64, 2)
					t.sync(s)
					for range 2 {
						t.abort(s)
						t.wantDone(s, true, "after StreamAbort")
					}
					t.wantFill(p, 64, 2, "what was done before")
					t.goesOn(s)
				}
			}},
			{"StreamAbort: what runs ends, and the rest is dropped", needs | loader, func(t *tester) {
				for _, s := range []driver.Stream{t.stream(), 0} {
					p := t.filled(64, 1)
					h, host := t.host(64)
					t.spin(s, endless)
					t.fill(s, p, 64, 2)
					t.copy(s, h, p, 64)
					t.callback(s, func() error { panic("a dropped host function was called") })
					t.abort(s)
					t.wantDone(s, true, "after StreamAbort")
					t.sync(s)
					t.wantFill(p, 64, 1, "memory that a dropped fill would write")
					t.same(host, make([]byte, 64), "memory that a dropped copy would write")
					t.goesOn(s)
				}
			}},
			{"StreamAbort: other streams go on", needs | loader, func(t *tester) {
				s, other, p := t.stream(), t.stream(), t.filled(64, 1)
				t.spin(s, endless)
				t.spin(other, pause)
				t.fill(other, p, 64, 2)
				t.abort(s)
				t.sync(other)
				t.wantFill(p, 64, 2, "memory of the other stream")
			}},
			{"StreamAbort of work that waits for a core: the stream that has it goes on", needs | loader | prober, func(t *tester) {
				info, err := t.prober.DeviceInfo(0)
				t.must(err, "DeviceInfo")
				s, other, p := t.stream(), t.stream(), t.filled(64, 1)
				first, second := t.spinCommand(other, pause), t.spinCommand(s, endless)
				first.Blocks = uint32(max(info.VectorCores, 1))
				second.Blocks = first.Blocks
				t.enqueue(first)
				t.enqueue(second)
				t.abort(s)
				t.fill(other, p, 64, 2)
				t.sync(other)
				t.wantFill(p, 64, 2, "memory of the other stream")
				t.goesOn(s)
			}},
			{"StreamAbort of a full queue: it takes work again", needs | loader | clock, func(t *tester) {
				s, p := t.stream(), t.filled(64, 1)
				t.spin(s, endless)
				for n := 0; t.issue(fillCommand(s, p, 64, 2)) == nil; n++ {
					if n > 1<<16 {
						t.Skip("the queue has no end")
					}
				}
				t.abort(s)
				t.wantFill(p, 64, 1, "memory that dropped fills would write")
				t.goesOn(s)
			}},
			{"StreamAbort of a replay: the graph can be replayed and destroyed", needs | loader | capturer, func(t *tester) {
				s, side, p := t.stream(), t.stream(), t.filled(64, 1)
				fork, join := t.event(driver.EventSync), t.event(driver.EventSync)
				t.kernel("spin")
				seconds := endless
				record := func() driver.Graph {
					return t.captured(s, func() {
						t.record(s, fork)
						t.wait(side, fork)
						t.spin(side, seconds)
						t.spin(s, seconds)
						t.record(side, join)
						t.wait(s, join)
						t.fill(s, p, 64, 2)
					})
				}
				g := record()
				t.replay(s, g)
				t.replay(s, g)
				t.abort(s)
				t.wantDone(s, true, "after StreamAbort")
				t.sync(s)
				t.wantFill(p, 64, 1, "memory that the replay would fill")
				t.must(t.graphs.DestroyGraph(g), "DestroyGraph")
				seconds = 0
				g = record()
				t.replay(s, g)
				t.sync(s)
				t.wantFill(p, 64, 2, "memory after a replay")
			}},
			{"StreamAbort of a replay: that of another stream, which waits for it, runs then", needs | loader | capturer, func(t *tester) {
				s, other, ran := t.stream(), t.stream(), make(chan bool, 2)
				t.kernel("spin")
				g := t.captured(s, func() {
					t.callback(s, func() error { ran <- true; return nil })
					t.spin(s, pause)
				})
				t.replay(s, g)
				t.replay(other, g)
				t.abort(s)
				t.sync(other)
				if n := len(ran); n < 1 {
					t.Errorf("%d replays ran, want that of the other stream at least", n)
				}
				t.must(t.graphs.DestroyGraph(g), "DestroyGraph")
			}},
			{"StreamAbort of a stream that waits for an event: what it waits for goes on", needs | loader, func(t *tester) {
				s, other, e, p := t.stream(), t.stream(), t.event(driver.EventSync), t.filled(64, 1)
				t.spin(other, pause)
				t.record(other, e)
				t.wait(s, e)
				t.fill(s, p, 64, 2)
				t.abort(s)
				t.wantDone(s, true, "after StreamAbort")
				t.sync(s)
				t.must(t.SynchronizeEvent(e, forever), "SynchronizeEvent")
				t.sync(other)
				t.wantFill(p, 64, 1, "memory that a dropped fill would write")
				t.wait(s, e)
				t.goesOn(s)
			}},
			{"StreamAbort: an event that was dropped can be recorded again", needs | loader, func(t *tester) {
				s, e := t.stream(), t.event(driver.EventSync)
				t.spin(s, endless)
				t.record(s, e)
				t.abort(s)
				t.record(s, e)
				t.must(t.SynchronizeEvent(e, forever), "SynchronizeEvent")
				t.goesOn(s)
			}},
			{"StreamAbort forgets faults, those of before and that of what it ended", needs | loader, func(t *tester) {
				s, failed := t.stream(), make(chan bool)
				t.fault(s, 1)
				t.callback(s, func() error { close(failed); return nil })
				t.spin(s, endless)
				if t.clock != nil {
					t.pass(pause)
				}
				<-failed
				t.abort(s)
				t.sync(s)
				t.must(t.SynchronizeDevice(forever), "SynchronizeDevice")
				t.goesOn(s)
				t.fault(s, 2)
				err := t.SynchronizeStream(s, forever)
				t.want(driver.CodeVectorException, err, "SynchronizeStream of a later fault")
				t.wantSite(err, 2)
			}},
			{"StreamAbort is told to nobody as a failed command", needs | loader | watcher, func(t *tester) {
				s, seen := t.stream(), t.exceptions()
				t.spin(s, endless)
				t.abort(s)
				t.goesOn(s)
				if len(*seen) > 0 {
					t.Errorf("told of %v", *seen)
				}
			}},
			{"StreamAbort: what was broken off and dropped counts as skipped", needs | loader | inspector, func(t *tester) {
				s, p := t.stream(), t.filled(64, 1)
				t.fillAt(s, p, 1)
				t.sync(s)
				c := t.spinCommand(s, endless)
				c.Site = 2
				t.enqueue(c)
				t.fillAt(s, p, 3)
				t.abort(s)
				t.fillAt(s, p, 4)
				t.sync(s)
				t.wantCommands(s, command{driver.OpFill, 1, driver.CommandDone}, command{driver.OpLaunch, 2, driver.CommandSkipped},
					command{driver.OpFill, 3, driver.CommandSkipped}, command{driver.OpFill, 4, driver.CommandDone})
			}},
			{"StreamAbort in a context that has stopped on a failure: it stays so", needs | loader, func(t *tester) {
				c := t.current()
				t.context(0)
				s := t.stream()
				t.must(t.SetStreamFailureMode(s, driver.StopOnFailure), "SetStreamFailureMode")
				t.fault(s, 1)
				t.want(driver.CodeVectorException, t.SynchronizeStream(s, forever), "SynchronizeStream")
				t.abort(s)
				t.want(driver.CodeVectorException, t.SynchronizeStream(s, forever), "SynchronizeStream after StreamAbort")
				t.setCurrent(c)
			}},
			{"StreamAbort in a context that stops on failure: it goes on", needs | loader, func(t *tester) {
				c := t.current()
				t.context(0)
				s := t.stream()
				t.must(t.SetStreamFailureMode(s, driver.StopOnFailure), "SetStreamFailureMode")
				t.spin(s, endless)
				t.abort(s)
				t.goesOn(s)
				t.setCurrent(c)
			}},
		},
	)
	for i, c := range list {
		list[i].run = func(t *tester) {
			if err := t.aborter.AbortStream(0); t.harness.Hardware && t.code(err) == driver.CodeNotSupported {
				t.Skip(err) // not every device can
			}
			c.run(t)
		}
	}
	return list
}

func (t *tester) abort(s driver.Stream) {
	t.Helper()
	t.must(t.aborter.AbortStream(s), "AbortStream")
}

// goesOn checks that s does what is queued now.
func (t *tester) goesOn(s driver.Stream) {
	t.Helper()
	p := t.filled(64, 1)
	h, host := t.host(64)
	want := make([]byte, 64)
	for i := range want {
		want[i] = 7
	}
	t.fill(s, p, 64, 7)
	t.copy(s, h, p, 64)
	t.sync(s)
	t.same(host, want, "what was queued after StreamAbort")
}
