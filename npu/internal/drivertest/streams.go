package drivertest

import (
	"fmt"
	"slices"
	"time"

	"npulua/npu/internal/driver"
)

func streamCases() []testCase {
	destroyed := slices.Concat(syncCalls, queueCalls, ownerCalls, []call{streamIDCall})
	// foreign gives operands of one context and a stream of another.
	foreign := func(device int) func(t *tester) *objects {
		return func(t *tester) *objects {
			here := t.current()
			t.context(device)
			s := t.stream()
			t.setCurrent(here)
			o := t.objects()
			o.stream = s
			return o
		}
	}
	owned := slices.Concat(queueCalls, ownerCalls)
	return slices.Concat(
		inSituation("destroyed stream", 0, driver.CodeInvalidHandle, destroyed, false, func(t *tester) *objects {
			o := t.objects()
			o.stream = t.stream()
			t.must(t.DestroyStream(o.stream, false), "DestroyStream")
			return o
		}),
		inSituation("stream destroyed by force", 0, driver.CodeInvalidHandle, syncCalls, false, func(t *tester) *objects {
			o := t.objects()
			o.stream = t.stream()
			t.must(t.DestroyStream(o.stream, true), "DestroyStream")
			return o
		}),
		inSituation("stream of another context", 0, driver.OK, syncCalls, false, foreign(0)),
		inSituation("stream of another context", 0, driver.CodeStreamContext, owned, false, foreign(0)),
		inSituation("stream of another device", twoDevices, driver.OK, syncCalls, false, foreign(1)),
		inSituation("stream of another device", twoDevices, driver.CodeStreamContext, owned, false, foreign(1)),
		[]testCase{
			{"a buffer that is no stream: synchronize: 107017", 0, func(t *tester) {
				t.want(driver.CodeInvalidHandle, t.SynchronizeStream(driver.Stream(t.garbage()), forever), "SynchronizeStream")
			}},
			{"a buffer that is no stream: destroy: 107017", 0, func(t *tester) {
				t.want(driver.CodeInvalidHandle, t.DestroyStream(driver.Stream(t.garbage()), false), "DestroyStream")
			}},
			{"DestroyStream(NULL): 100000", 0, func(t *tester) {
				t.want(driver.CodeInvalidParam, t.DestroyStream(0, false), "DestroyStream(0)")
				t.want(driver.CodeInvalidParam, t.DestroyStream(0, true), "DestroyStream(0) by force")
			}},
			{"stream of another context: SynchronizeStream waits for it", loader, func(t *tester) {
				here := t.current()
				t.context(0)
				s := t.stream()
				t.spin(s, pause)
				t.setCurrent(here)
				t.wantDone(s, false, "of another context")
				t.want(driver.CodeStreamSyncTimeout, t.SynchronizeStream(s, pause/5), "SynchronizeStream with timeout")
				t.sync(s)
				t.wantDone(s, true, "of another context")
				t.wantCurrent(here)
			}},
			{"CreateStream: any priority is clamped", 0, func(t *tester) {
				for _, priority := range []int{-1000, -1, 0, 3, 7, 8, 99} {
					s, err := t.CreateStream(driver.StreamConfig{Priority: priority})
					t.must(err, fmt.Sprintf("CreateStream with priority %d", priority))
					t.sync(s)
				}
			}},
			{"idle stream: query is true, synchronize is no wait", 0, func(t *tester) {
				for _, s := range []driver.Stream{0, t.stream()} {
					t.wantDone(s, true, "idle")
					t.sync(s)
					t.must(t.SynchronizeStream(s, time.Second), "SynchronizeStream with timeout")
				}
				t.must(t.SynchronizeDevice(forever), "SynchronizeDevice")
			}},
			{"query never blocks", loader | clock, func(t *tester) {
				s := t.stream()
				t.spin(s, pause)
				if got := t.took(func() { t.wantDone(s, false, "with work pending") }); got > slack {
					t.Errorf("QueryStream took %v", got)
				}
				t.sync(s)
				t.wantDone(s, true, "after synchronize")
			}},
			{"work of one stream is done in order", 0, func(t *tester) {
				s, p, q := t.stream(), t.filled(4096, 0), t.filled(4096, 0)
				h, host := t.host(256)
				for i := range 200 {
					t.fill(s, p, 4096, byte(i))
					t.copy(s, q, p, 4096)
					t.copy(s, h+driver.Ptr(i), q+driver.Ptr(i), 1)
				}
				t.sync(s)
				for i := range 200 {
					if host[i] != byte(i) {
						t.Fatalf("copy %d brought %d", i, host[i])
					}
				}
			}},
			{"work of one stream is done in order: each command waits for the one before", loader, func(t *tester) {
				s := t.stream()
				t.wantTook(t.took(func() {
					for range 3 {
						t.spin(s, pause)
					}
					t.sync(s)
				}), 3*pause, "three kernels in one stream")
			}},
			{"streams are parallel: one does not wait for another", loader, func(t *tester) {
				slow, fast, p := t.stream(), t.stream(), t.filled(64, 0)
				t.spin(slow, long)
				t.fill(fast, p, 64, 1)
				t.sync(fast)
				t.wantFill(p, 64, 1, "memory filled by the fast stream")
				t.wantDone(slow, false, "of the slow stream")
				t.sync(slow)
			}},
			{"streams are parallel: kernels run side by side", loader | prober | clock, func(t *tester) {
				if info, err := t.prober.DeviceInfo(0); err != nil || info.VectorCores < 2 {
					t.Skipf("needs two cores: %+v, %v", info, err)
				}
				a, b := t.stream(), t.stream()
				t.wantTook(t.took(func() {
					t.spin(a, pause)
					t.spin(b, pause)
					t.must(t.SynchronizeDevice(forever), "SynchronizeDevice")
				}), pause, "two kernels in two streams")
			}},
			{"NULL stream: the default stream of the current context", loader, func(t *tester) {
				here, p := t.current(), t.filled(64, 0)
				t.spin(0, pause)
				t.fill(0, p, 64, 1)
				t.wantDone(0, false, "of the default stream")
				t.context(0)
				t.wantDone(0, true, "of the default stream of a new context")
				t.sync(0)
				t.setCurrent(here)
				t.wantDone(0, false, "of the default stream, back in its context")
				t.sync(0)
				t.wantFill(p, 64, 1, "memory")
			}},
			{"NULL stream: does not synchronize with other streams", loader, func(t *tester) {
				s, p := t.stream(), t.filled(64, 0)
				t.spin(s, long)
				t.fill(0, p, 64, 1)
				t.sync(0)
				t.wantDone(s, false, "of the other stream")
				t.spin(0, 2*long)
				t.sync(s)
				t.wantDone(0, false, "of the default stream")
				t.sync(0)
			}},
			{"SynchronizeDevice: waits for every stream of the current context", loader, func(t *tester) {
				p := t.filled(192, 0)
				streams := []driver.Stream{0, t.stream(), t.stream()}
				for i, s := range streams {
					t.spin(s, pause*time.Duration(i+1))
					t.fill(s, p+driver.Ptr(64*i), 64, 1)
				}
				t.must(t.SynchronizeDevice(forever), "SynchronizeDevice")
				t.wantFill(p, 192, 1, "memory")
				for _, s := range streams {
					t.wantDone(s, true, "after SynchronizeDevice")
				}
			}},
			{"SynchronizeDevice: not for another context", loader, func(t *tester) {
				s := t.stream()
				t.spin(s, long)
				t.context(0)
				t.must(t.SynchronizeDevice(forever), "SynchronizeDevice")
				t.wantDone(s, false, "of another context")
				t.sync(s)
			}},
			{"DestroyStream with work pending: blocks until it is done", loader, func(t *tester) {
				s, p := t.stream(), t.filled(64, 0)
				t.spin(s, pause)
				t.fill(s, p, 64, 1)
				t.wantTook(t.took(func() { t.must(t.DestroyStream(s, false), "DestroyStream") }), pause, "DestroyStream")
				t.wantFill(p, 64, 1, "memory filled by a destroyed stream")
			}},
			{"DestroyStreamForce with work pending: 0, and what has not started is dropped", loader, func(t *tester) {
				s, p := t.stream(), t.filled(64, 0)
				var ran order
				t.spin(s, pause)
				t.fill(s, p, 64, 1)
				t.callback(s, ran.add(0))
				t.want(driver.OK, t.DestroyStream(s, true), "DestroyStream by force")
				t.settle()
				t.wantFill(p, 64, 0, "memory that a dropped command would fill")
				ran.wantUpTo(t, 0)
				t.must(t.SynchronizeDevice(forever), "SynchronizeDevice")
			}},
			{"DestroyStreamForce drops a command that waits for a busy engine too", prober | clock, func(t *tester) {
				t.simulated()
				const size = 256 << 20
				busy, s, p := t.stream(), t.stream(), t.filled(64, 0)
				t.fill(busy, t.malloc(size), size, 1)
				t.fill(s, p, 64, 1) // the engine is not free: not started
				t.want(driver.OK, t.DestroyStream(s, true), "DestroyStream by force")
				t.wantDone(busy, false, "of the stream that keeps the engine busy")
				t.sync(busy)
				t.wantFill(p, 64, 0, "memory that the dropped command would fill")
			}},
			{"DestroyStreamForce of a stream that waits for an event: 0, other waits hold", loader, func(t *tester) {
				slow, dropped, other, e := t.stream(), t.stream(), t.stream(), t.event(driver.EventSync)
				p, q := t.filled(64, 0), t.filled(64, 0)
				t.spin(slow, pause)
				t.fill(slow, p, 64, 1)
				t.record(slow, e)
				t.wait(dropped, e)
				t.fill(dropped, p, 64, 9)
				t.wait(other, e)
				t.copy(other, q, p, 64)
				t.want(driver.OK, t.DestroyStream(dropped, true), "DestroyStream by force")
				t.sync(other)
				t.wantFill(q, 64, 1, "memory copied after the wait")
			}},
			{"DestroyStreamForce that drops a record: a stream that waits for it may be stuck, the host is not", loader, func(t *tester) {
				s, waiting, e := t.stream(), t.stream(), t.event(driver.EventSync)
				t.spin(s, pause)
				t.record(s, e)
				t.wait(waiting, e)
				t.want(driver.OK, t.DestroyStream(s, true), "DestroyStream by force")
				t.wantAny(t.SynchronizeStream(waiting, long), "SynchronizeStream of the waiting stream",
					driver.OK, driver.CodeStreamSyncTimeout)
				t.want(driver.OK, t.DestroyStream(waiting, true), "DestroyStream of the waiting stream")
			}},
			{"stale stream handle does not hit a new stream: 107017", prober, func(t *tester) {
				t.simulated()
				stale := t.stream()
				t.must(t.DestroyStream(stale, false), "DestroyStream")
				s := t.stream()
				t.want(driver.CodeInvalidHandle, t.DestroyStream(stale, false), "DestroyStream of the stale handle")
				t.sync(s)
			}},
			{"stream limit: 207005, and one more after a destroy", prober, func(t *tester) {
				info, err := t.prober.DeviceInfo(0)
				t.must(err, "DeviceInfo")
				if info.MaxStreams <= 0 || info.MaxStreams >= 5000 {
					t.Skipf("the device has %d streams", info.MaxStreams)
				}
				free := func() int {
					n, err := t.prober.StreamsFree()
					t.must(err, "StreamsFree")
					return n
				}
				before := free()
				var streams []driver.Stream
				for range info.MaxStreams + 1 {
					s, err := t.CreateStream(driver.StreamConfig{})
					if err != nil {
						t.want(driver.CodeResourceStream, err, "CreateStream")
						break
					}
					streams = append(streams, s)
				}
				// Default streams count too; some devices have two a context.
				if n := len(streams); n > info.MaxStreams || n < info.MaxStreams-2 {
					t.Fatalf("created %d streams, the device has %d", n, info.MaxStreams)
				}
				if n := free(); n != 0 || before != len(streams) {
					t.Errorf("%d streams were free, and %d after %d were made", before, n, len(streams))
				}
				t.must(t.DestroyStream(streams[0], false), "DestroyStream")
				if n := free(); n != 1 {
					t.Errorf("%d streams are free after one was destroyed", n)
				}
				s := t.stream()
				t.sync(s)
				_, err = t.CreateStream(driver.StreamConfig{})
				t.want(driver.CodeResourceStream, err, "CreateStream at the limit")
			}},
			{"queue full: not queued, accepted once time has passed, nothing lost, order kept", loader | clock, queueFull},
		},
		timeoutCases(),
	)
}

func queueFull(t *tester) {
	const most = 1 << 17
	s, other := t.stream(), t.stream()
	var ran order
	n := 0
	try := func() driver.Code {
		return t.code(t.issue(driver.Command{Op: driver.OpHostFunc, Stream: s, Func: ran.add(n)}))
	}
	t.spin(s, pause)
	for try() == driver.OK {
		if n++; n == most {
			t.Skipf("the queue takes %d commands", most)
		}
	}
	if c := try(); c != driver.CodeQueueFull {
		t.Fatalf("Enqueue on a full queue = %v, want %v", c, driver.CodeQueueFull)
	}
	if t.prober != nil {
		info, err := t.prober.DeviceInfo(0)
		t.must(err, "DeviceInfo")
		if d := info.QueueDepth; d > 0 && (n < d-1 || n > d) {
			t.Errorf("the queue took %d commands behind a running one, QueueDepth is %d", n, d)
		}
	}
	t.spin(other, 0) // another stream has its own queue
	ran.wantUpTo(t, 0)

	for total := 2*n + 10; n < total; n++ {
		for {
			c := try()
			if c == driver.OK {
				break
			}
			if c != driver.CodeQueueFull {
				t.Fatalf("Enqueue = %v", c)
			}
			if !t.clock.Advance(-1) {
				t.Fatal("nothing is left to happen, and the queue is still full")
			}
		}
	}
	t.sync(s)
	ran.wantUpTo(t, n)
}

// timeoutCases are the waits with a timeout: of a stream, of a device and of an event.
func timeoutCases() []testCase {
	var out []testCase
	for _, w := range []struct {
		name    string
		expired driver.Code
		wait    func(t *tester, s driver.Stream, e driver.Event, timeout time.Duration) error
	}{
		{"SynchronizeStreamWithTimeout", driver.CodeStreamSyncTimeout,
			func(t *tester, s driver.Stream, _ driver.Event, timeout time.Duration) error {
				return t.SynchronizeStream(s, timeout)
			}},
		{"SynchronizeDeviceWithTimeout", driver.CodeStreamSyncTimeout,
			func(t *tester, _ driver.Stream, _ driver.Event, timeout time.Duration) error {
				return t.SynchronizeDevice(timeout)
			}},
		{"SynchronizeEventWithTimeout", driver.CodeEventSyncTimeout,
			func(t *tester, _ driver.Stream, e driver.Event, timeout time.Duration) error {
				return t.SynchronizeEvent(e, timeout)
			}},
	} {
		busy := func(t *tester) (driver.Stream, driver.Event, driver.Ptr) {
			s, e, p := t.stream(), t.event(driver.EventSync), t.filled(64, 0)
			t.spin(s, long)
			t.fill(s, p, 64, 1)
			t.record(s, e)
			return s, e, p
		}
		out = append(out,
			testCase{fmt.Sprintf("%s: work pending 200 ms: %d after 200 ms, and work goes on", w.name, w.expired), loader, func(t *tester) {
				s, e, p := busy(t)
				const timeout = 200 * time.Millisecond
				for range 2 { // the second one too: the first threw nothing away
					got := t.took(func() { t.want(w.expired, w.wait(t, s, e, timeout), w.name) })
					t.wantTook(got, timeout, w.name)
				}
				t.wantFill(p, 64, 0, "memory before the work is done")
				t.want(driver.OK, w.wait(t, s, e, 10*time.Second), w.name+" once more")
				t.wantFill(p, 64, 1, "memory after the work is done")
			}},
			testCase{w.name + ": timeout 0: 107000", loader, func(t *tester) {
				s, e, _ := busy(t)
				t.want(driver.CodeRtParamInvalid, w.wait(t, s, e, 0), w.name+" with work pending")
				t.must(w.wait(t, s, e, forever), w.name)
				t.want(driver.CodeRtParamInvalid, w.wait(t, s, e, 0), w.name+" with nothing pending")
			}},
			testCase{w.name + ": a negative timeout waits for ever", loader, func(t *tester) {
				s, e, p := busy(t)
				t.want(driver.OK, w.wait(t, s, e, -5*time.Second), w.name)
				t.wantFill(p, 64, 1, "memory")
			}},
			testCase{w.name + ": the work is done before the timeout: 0", loader, func(t *tester) {
				s, e, p := busy(t)
				got := t.took(func() { t.want(driver.OK, w.wait(t, s, e, 10*time.Second), w.name) })
				t.wantFill(p, 64, 1, "memory")
				if got >= 10*time.Second {
					t.Errorf("%s took %v, want the time of the work", w.name, got)
				}
			}})
	}
	return out
}
