package drivertest

import (
	"time"

	"npulua/npu/internal/driver"
	"npulua/npu/internal/dtype"
)

func graphCases() []testCase {
	const needs = capturer
	return []testCase{
		{"capture: commands are recorded, not run, and each replay runs them in order", needs, func(t *tester) {
			s, p, q := t.stream(), t.filled(64, 1), t.filled(64, 2)
			g := t.captured(s, func() {
				t.fill(s, p, 64, 7)
				t.copy(s, q, p, 64)
			})
			t.wantFill(q, 64, 2, "before a replay")
			for range 2 {
				t.must(t.Memset(q, 64, 2, 64), "Memset")
				t.replay(s, g)
				t.sync(s)
				t.wantFill(q, 64, 7, "after a replay")
			}
		}},
		{"capture: a stream is drawn in by an event and joined back", needs, func(t *tester) {
			s, side, p, q := t.stream(), t.stream(), t.filled(64, 1), t.filled(64, 2)
			fork, join := t.event(driver.EventSync), t.event(driver.EventSync)
			g := t.captured(s, func() {
				t.fill(s, p, 64, 5)
				t.record(s, fork)
				t.wait(side, fork)
				t.copy(side, q, p, 64)
				t.record(side, join)
				t.wait(s, join)
			})
			t.fill(side, p, 64, 6) // an ordinary stream again
			t.sync(side)
			t.wantFill(p, 64, 6, "side stream after the capture")
			t.replay(s, g)
			t.sync(s)
			t.wantFill(q, 64, 5, "copied on the side stream")
		}},
		{"BeginCapture of a default stream: 107031", needs, func(t *tester) {
			t.want(driver.CodeCaptureImplicit, t.graphs.BeginCapture(0), "BeginCapture(0)")
		}},
		{"BeginCapture of a stream that captures: 107027", needs, func(t *tester) {
			s := t.capturing()
			t.want(driver.CodeStreamCaptured, t.graphs.BeginCapture(s), "BeginCapture")
			t.end(s)
		}},
		{"capturing stream: query, synchronize, destroy: 107027, and the capture is intact", needs, func(t *tester) {
			s := t.capturing()
			_, err := t.QueryStream(s)
			t.want(driver.CodeStreamCaptured, err, "QueryStream")
			t.want(driver.CodeStreamCaptured, t.SynchronizeStream(s, forever), "SynchronizeStream")
			t.want(driver.CodeStreamCaptured, t.SynchronizeDevice(forever), "SynchronizeDevice")
			t.want(driver.CodeStreamCaptured, t.DestroyStream(s, false), "DestroyStream")
			t.end(s)
		}},
		{"captured event: query, synchronize: 107028, and the capture is intact", needs, func(t *tester) {
			s, e := t.capturing(), t.event(driver.EventSync)
			t.record(s, e)
			_, err := t.QueryEvent(e)
			t.want(driver.CodeEventCaptured, err, "QueryEvent")
			t.want(driver.CodeEventCaptured, t.SynchronizeEvent(e, forever), "SynchronizeEvent")
			t.end(s)
		}},
		{"Memcpy, Memset during a capture: 107030, and the capture is intact", needs, func(t *tester) {
			p, q := t.filled(64, 1), t.filled(64, 2)
			s := t.capturing()
			t.want(driver.CodeCaptureMode, t.Memcpy(q, 64, p, 64, driver.DeviceToDevice), "Memcpy")
			t.want(driver.CodeCaptureMode, t.Memset(q, 64, 3, 64), "Memset")
			t.end(s)
			t.wantFill(q, 64, 2, "destination")
		}},
		{"capturing stream: wait for an event from outside: 107024, and the capture is intact", needs, func(t *tester) {
			outside, e := t.stream(), t.event(driver.EventSync)
			t.record(outside, e)
			s := t.capturing()
			t.want(driver.CodeCaptureDependency, t.issue(driver.Command{Op: driver.OpWait, Stream: s, Event: e}), "wait")
			t.end(s)
			t.sync(s) // an ordinary stream again
		}},
		{"capturing stream: a replay: 107027; a copy with pageable memory: 107041; the capture is intact", needs, func(t *tester) {
			g := t.captured(t.stream(), func() {})
			p := t.filled(64, 1)
			s := t.capturing()
			t.want(driver.CodeStreamCaptured, t.issue(driver.Command{Op: driver.OpReplay, Stream: s, Graph: g}), "replay")
			h, _ := t.plain(64)
			t.want(driver.CodeCaptureAsync, t.issue(driver.Command{Op: driver.OpCopy, Stream: s, Dst: p, Src: h, Size: 64, Kind: driver.HostToDevice}), "copy")
			t.end(s)
		}},
		{"captured event: destroy: 0, and the capture is intact", needs, func(t *tester) {
			p := t.filled(64, 0)
			s, e := t.capturing(), t.event(driver.EventSync)
			t.record(s, e)
			t.destroyEvent(e)
			t.fill(s, p, 64, 3)
			t.replay(s, t.end(s))
			t.sync(s)
			t.wantFill(p, 64, 3, "memory filled by the replay")
		}},
		{"captured event: wait on a default stream: 107031, record: 0, and the capture is intact", needs, func(t *tester) {
			s, e := t.capturing(), t.event(driver.EventSync)
			t.record(s, e)
			t.want(driver.CodeCaptureImplicit, t.issue(driver.Command{Op: driver.OpWait, Event: e}), "wait")
			t.want(driver.OK, t.issue(driver.Command{Op: driver.OpRecord, Event: e}), "record")
			t.end(s)
		}},
		{"captured event: recorded again outside it is an ordinary one for streams, for the host once the capture is over", needs, func(t *tester) {
			s, other, e := t.capturing(), t.stream(), t.event(driver.EventSync)
			t.record(s, e)
			t.record(other, e)
			t.want(driver.CodeEventCaptured, t.SynchronizeEvent(e, forever), "SynchronizeEvent")
			t.wait(other, e)
			t.sync(other)
			t.end(s)
			t.must(t.SynchronizeEvent(e, forever), "SynchronizeEvent after the capture")
		}},
		{"EndCapture of a stream that captures nothing: 107029", needs, func(t *tester) {
			_, err := t.graphs.EndCapture(t.stream())
			t.want(driver.CodeStreamNotCaptured, err, "EndCapture")
		}},
		{"EndCapture of a stream that was drawn in: 107036", needs, func(t *tester) {
			s, side, fork, join := t.capturing(), t.stream(), t.event(driver.EventSync), t.event(driver.EventSync)
			t.record(s, fork)
			t.wait(side, fork)
			_, err := t.graphs.EndCapture(side)
			t.want(driver.CodeCaptureUnmatched, err, "EndCapture(side)")
			t.record(side, join)
			t.wait(s, join)
			t.end(s)
		}},
		{"EndCapture with a stream that was not joined back: 107025", needs, func(t *tester) {
			s, side, fork := t.capturing(), t.stream(), t.event(driver.EventSync)
			t.record(s, fork)
			t.wait(side, fork)
			_, err := t.graphs.EndCapture(s)
			t.want(driver.CodeStreamUnjoined, err, "EndCapture")
			t.sync(side)
		}},
		{"a fault of a recorded command: at synchronize, once, with the place where it was recorded", needs | loader, func(t *tester) {
			s := t.stream()
			y, a, b, _ := t.sum(4)
			g := t.captured(s, func() {
				c := t.vectorAdd(s, y, a, b, 16, 8, 1)
				c.Site = 77
				t.enqueue(c)
			})
			t.replay(s, g)
			err := t.SynchronizeStream(s, forever)
			if t.harness.Hardware { // the code of the replay, where the library does not tell what failed
				t.wantAny(err, "SynchronizeStream", driver.CodeVectorException, driver.CodeGraphFailed)
			} else {
				t.want(driver.CodeVectorException, err, "SynchronizeStream")
			}
			t.wantSite(err, 77)
			t.sync(s)
		}},
		{"UpdateGraph: later replays use the new arguments", needs | loader, func(t *tester) {
			s := t.stream()
			y, a, b, want := t.sum(4)
			g := t.captured(s, func() { t.enqueue(t.vectorAdd(s, y, a, a, 16, 4, 1)) })
			c := t.vectorAdd(s, y, a, b, 16, 4, 1)
			t.must(t.graphs.UpdateGraph(g, 0, c.Args), "UpdateGraph")
			t.replay(s, g)
			t.sync(s)
			t.wantBytes(y, want, "sum")
			t.want(driver.CodeRtParamInvalid, t.graphs.UpdateGraph(g, 1, c.Args), "UpdateGraph of no command")
			t.want(driver.CodeRtParamInvalid, t.graphs.UpdateGraph(g, 0, c.Args[1:]), "UpdateGraph with too few words")
		}},
		{"UpdateGraph while a replay is queued: that one keeps its arguments", needs | loader, func(t *tester) {
			s := t.stream()
			y, a, b, want := t.sum(4)
			t.kernel("spin", dtype.Float64)
			g := t.captured(s, func() { t.enqueue(t.vectorAdd(s, y, a, b, 16, 4, 1)) })
			other := t.captured(s, func() { t.enqueue(t.vectorAdd(s, y, a, b, 16, 4, 1)) })
			for on, g := range map[driver.Stream]driver.Graph{s: g, 0: other} {
				t.spin(on, pause)
				t.replay(on, g)
				t.must(t.graphs.UpdateGraph(g, 0, t.vectorAdd(s, y, a, a, 16, 4, 1).Args), "UpdateGraph")
				t.sync(on)
				t.wantBytes(y, want, "sum")
			}
		}},
		{"replays of one graph on two streams: one after the other", needs | loader | clock, func(t *tester) {
			s, other := t.stream(), t.stream()
			t.kernel("spin", dtype.Float64)
			g := t.captured(s, func() { t.spin(s, pause) })
			run := func(streams ...driver.Stream) time.Duration {
				return t.took(func() {
					for _, s := range streams {
						t.replay(s, g)
					}
					t.sync(s)
					t.sync(other)
				})
			}
			if one, two := run(s), run(s, other); two < one+pause*9/10 {
				t.Errorf("one replay took %v, two on two streams %v", one, two)
			}
		}},
		{"a replay that waits for another is dropped with its stream", needs | loader, func(t *tester) {
			s, other := t.stream(), t.stream()
			t.kernel("spin", dtype.Float64)
			g := t.captured(s, func() { t.spin(s, pause) })
			t.replay(s, g)
			t.replay(other, g)
			t.must(t.DestroyStream(other, true), "DestroyStream")
			t.sync(s)
			t.must(t.graphs.DestroyGraph(g), "DestroyGraph")
		}},
		{"a replay runs kernels that were unloaded after the capture", needs | loader | prober, func(t *tester) {
			t.simulated()
			s := t.stream()
			ran := false
			k := t.hostKernel(func(*driver.HostLaunch) error { ran = true; return nil })
			y, x := t.malloc(64), t.filled(64, 1)
			g := t.captured(s, func() { t.enqueue(hostLaunch(s, k, 1, y, x)) })
			t.replay(s, g)
			t.must(t.loader.UnloadKernel(k), "UnloadKernel")
			t.sync(s)
			if !ran {
				t.Error("the kernel did not run")
			}
		}},
		{"a graph of another context: refused at the replay: 107004", needs, func(t *tester) {
			before := t.current()
			g := t.captured(t.stream(), func() {})
			c := t.context(0)
			for _, s := range []driver.Stream{t.stream(), 0} {
				t.want(driver.CodeModelContext, t.issue(driver.Command{Op: driver.OpReplay, Stream: s, Graph: g}), "replay")
				t.sync(s)
			}
			t.destroyContext(c)
			t.setCurrent(before)
			t.replay(0, g)
			t.sync(0)
		}},
		{"a fault of one of several recorded commands: with the place where that one was recorded", needs | loader, func(t *tester) {
			s := t.stream()
			y, a, b, _ := t.sum(4)
			command := func(n int, site driver.Site) driver.Command {
				c := t.vectorAdd(s, y, a, b, 16, n, 1)
				c.Site = site
				return c
			}
			t.kernel("vector_add", dtype.Float32)
			g := t.captured(s, func() {
				t.enqueue(command(4, 76))
				t.fill(s, y, 16, 0)
				t.enqueue(command(8, 77))
				t.enqueue(command(4, 78))
			})
			t.replay(s, g)
			err := t.SynchronizeStream(s, forever)
			t.wantAny(err, "SynchronizeStream", driver.CodeVectorException, driver.CodeGraphFailed)
			t.wantSite(err, 77)
			t.sync(s)
		}},
		{"a failed command of a replay: what comes after it runs", needs | loader, func(t *tester) {
			s, p := t.stream(), t.filled(128, 0)
			g := t.failing(s, p)
			t.replay(s, g)
			t.fill(s, p+64, 64, 2)
			t.wantAny(t.SynchronizeStream(s, forever), "SynchronizeStream", driver.CodeVectorException, driver.CodeGraphFailed)
			t.wantFill(p, 64, 1, "memory that the replay fills")
			t.wantFill(p+64, 64, 2, "memory filled behind it")
		}},
		{"stop mode: nothing after a failed command of a replay runs, in it, behind it, or in other replays", needs | loader, func(t *tester) {
			before := t.current()
			c := t.context(0)
			s, other, p := t.stream(), t.stream(), t.filled(192, 0)
			t.must(t.SetStreamFailureMode(s, driver.StopOnFailure), "SetStreamFailureMode")
			t.kernel("spin", dtype.Float64)
			g := t.failing(s, p)
			slow := t.captured(other, func() {
				t.spin(other, long)
				t.fill(other, p+128, 64, 3)
			})
			t.replay(other, slow)
			t.replay(s, g)
			t.fill(s, p+64, 64, 2)
			t.wantAny(t.SynchronizeStream(s, forever), "SynchronizeStream", driver.CodeVectorException, driver.CodeGraphFailed)
			t.wantAny(t.SynchronizeStream(other, forever), "SynchronizeStream of another stream", driver.CodeVectorException, driver.CodeGraphFailed)
			t.setCurrent(before)
			t.destroyContext(c)
			t.wantFill(p, 192, 0, "memory that skipped commands would fill")
		}},
		{"stop mode: what a replay has running beside the failed command ends, and no more of it runs", needs | loader, func(t *tester) {
			before := t.current()
			c := t.context(0)
			s, side, p := t.stream(), t.stream(), t.filled(128, 0)
			fork, join := t.event(driver.EventSync), t.event(driver.EventSync)
			t.must(t.SetStreamFailureMode(s, driver.StopOnFailure), "SetStreamFailureMode")
			t.kernel("spin", dtype.Float64)
			bad := t.vectorAdd(s, p, p, p, 64, 1<<20, 1)
			g := t.captured(s, func() {
				t.record(s, fork)
				t.wait(side, fork)
				t.enqueue(bad)
				t.spin(side, pause)
				t.fill(side, p, 64, 1)
				t.record(side, join)
				t.wait(s, join)
				t.fill(s, p+64, 64, 1)
			})
			t.replay(s, g)
			t.wantAny(t.SynchronizeStream(s, forever), "SynchronizeStream", driver.CodeVectorException, driver.CodeGraphFailed)
			t.destroyEvent(fork)
			t.destroyEvent(join)
			t.setCurrent(before)
			t.destroyContext(c)
			t.wantFill(p, 128, 0, "memory that skipped commands would fill")
		}},
		{"stop mode: after the failure a capture neither begins, nor records, nor ends with a graph, and none changes: 507035", needs | loader, func(t *tester) {
			before := t.current()
			c := t.context(0)
			s, p := t.stream(), t.filled(64, 0)
			t.must(t.SetStreamFailureMode(s, driver.StopOnFailure), "SetStreamFailureMode")
			bad := t.vectorAdd(s, p, p, p, 64, 1<<20, 1)
			g := t.captured(s, func() { t.enqueue(bad) })
			x := t.capturing()
			t.fill(x, p, 64, 1)
			t.enqueue(bad)
			t.want(driver.CodeVectorException, t.SynchronizeStream(s, forever), "SynchronizeStream")
			t.want(driver.CodeVectorException, t.issue(fillCommand(x, p, 64, 2)), "fill in a capture")
			_, err := t.graphs.EndCapture(x)
			t.want(driver.CodeVectorException, err, "EndCapture")
			t.want(driver.CodeVectorException, t.SynchronizeStream(x, forever), "SynchronizeStream of an ordinary stream again")
			t.want(driver.CodeVectorException, t.graphs.BeginCapture(s), "BeginCapture")
			t.want(driver.CodeVectorException, t.graphs.UpdateGraph(g, 0, bad.Args), "UpdateGraph")
			t.want(driver.CodeVectorException, t.issue(driver.Command{Op: driver.OpReplay, Stream: s, Graph: g}), "replay")
			t.must(t.graphs.DestroyGraph(g), "DestroyGraph")
			t.setCurrent(before)
			t.destroyContext(c)
		}},
		{"DestroyGraph while a replay is queued: 0, and the replay runs; destroyed graph: 107017", needs | loader, func(t *tester) {
			s, p := t.stream(), t.filled(64, 0)
			t.kernel("spin", dtype.Float64)
			g := t.captured(s, func() {
				t.spin(s, pause)
				t.fill(s, p, 64, 1)
			})
			t.replay(s, g)
			t.must(t.graphs.DestroyGraph(g), "DestroyGraph")
			t.sync(s)
			t.wantFill(p, 64, 1, "memory filled by the replay")
			t.want(driver.CodeInvalidHandle, t.graphs.DestroyGraph(g), "DestroyGraph again")
			t.want(driver.CodeInvalidHandle, t.issue(driver.Command{Op: driver.OpReplay, Stream: s, Graph: g}), "replay")
		}},
	}
}

// capturing is a new stream that captures.
func (t *tester) capturing() driver.Stream {
	t.Helper()
	s := t.stream()
	t.must(t.graphs.BeginCapture(s), "BeginCapture")
	return s
}

func (t *tester) end(s driver.Stream) driver.Graph {
	t.Helper()
	g, err := t.graphs.EndCapture(s)
	t.must(err, "EndCapture")
	return g
}

// captured is the graph of what fn queues on s.
func (t *tester) captured(s driver.Stream, fn func()) driver.Graph {
	t.Helper()
	t.must(t.graphs.BeginCapture(s), "BeginCapture")
	fn()
	return t.end(s)
}

// failing is a graph with a kernel that reads past its operands, then a fill of 64 B at p with 1.
func (t *tester) failing(s driver.Stream, p driver.Ptr) driver.Graph {
	t.Helper()
	q := t.filled(64, 0)
	bad := t.vectorAdd(s, q, q, q, 64, 1<<20, 1)
	return t.captured(s, func() {
		t.enqueue(bad)
		t.fill(s, p, 64, 1)
	})
}

func (t *tester) replay(s driver.Stream, g driver.Graph) {
	t.Helper()
	t.enqueue(driver.Command{Op: driver.OpReplay, Stream: s, Graph: g})
}
