package drivertest

import (
	"slices"

	"npulua/npu/internal/driver"
)

func contextCases() []testCase {
	allCalls := slices.Concat(contextCalls, syncCalls, queueCalls)
	streamCalls := slices.Concat(syncCalls, queueCalls, ownerCalls, []call{streamIDCall})
	return slices.Concat(
		[]testCase{
			{"CreateContext: 0, and the new context is current", 0, func(t *tester) {
				before := t.current()
				c := t.context(0)
				if c == 0 || c == before {
					t.Fatalf("CreateContext() = %#x, the default context is %#x", c, before)
				}
				t.wantCurrent(c)
				t.wantDevice(0)
			}},
			{"CreateContext without SetDevice: 0", fresh, func(t *tester) {
				c := t.context(0)
				t.wantCurrent(c)
				t.wantDevice(0)
				p := t.malloc(64)
				t.fill(0, p, 64, 4)
				t.sync(0)
				t.wantFill(p, 64, 4, "memory")
			}},
			{"CreateContext on another device: the device follows", twoDevices, func(t *tester) {
				zero := t.current()
				one := t.context(1)
				t.wantDevice(1)
				t.setCurrent(zero)
				t.wantDevice(0)
				t.setCurrent(one)
				t.wantDevice(1)
			}},
			{"CreateContext that fails: current context unchanged", 0, func(t *tester) {
				before := t.current()
				_, err := t.CreateContext(-1)
				t.want(driver.CodeInvalidDevice, err, "CreateContext(-1)")
				t.wantCurrent(before)
			}},
			{"SetCurrentContext(NULL): 100000, current context unchanged", 0, func(t *tester) {
				before := t.current()
				t.want(driver.CodeInvalidParam, t.SetCurrentContext(0), "SetCurrentContext(0)")
				t.wantCurrent(before)
			}},
			{"SetCurrentContext to the default context: 0", 0, func(t *tester) {
				before := t.current()
				t.context(0)
				t.want(driver.OK, t.SetCurrentContext(before), "SetCurrentContext")
				t.wantCurrent(before)
			}},
			{"SetCurrentContext to a destroyed context: 107000, current context unchanged", 0, func(t *tester) {
				before := t.current()
				c := t.context(0)
				t.setCurrent(before)
				t.destroyContext(c)
				t.want(driver.CodeRtParamInvalid, t.SetCurrentContext(c), "SetCurrentContext")
				t.wantCurrent(before)
			}},
			{"SetCurrentContext to garbage: 107000, current context unchanged", 0, func(t *tester) {
				before := t.current()
				t.want(driver.CodeRtParamInvalid, t.SetCurrentContext(driver.Context(t.garbage())), "SetCurrentContext")
				t.wantCurrent(before)
			}},
			{"DestroyContext(NULL): 100000", 0, func(t *tester) {
				t.want(driver.CodeInvalidParam, t.DestroyContext(0), "DestroyContext(0)")
			}},
			{"destroy the default context: 107002", 0, func(t *tester) {
				c := t.current()
				t.want(driver.CodeContextNull, t.DestroyContext(c), "DestroyContext")
				t.wantCurrent(c)
				t.sync(t.stream())
			}},
			{"destroy a context twice: 107002", 0, func(t *tester) {
				c := t.context(0)
				t.destroyContext(c)
				t.want(driver.CodeContextNull, t.DestroyContext(c), "second DestroyContext")
			}},
			{"stale context handle does not hit a new context: 107002", prober, func(t *tester) {
				t.simulated()
				stale := t.context(0)
				t.destroyContext(stale)
				c := t.context(0)
				t.want(driver.CodeContextNull, t.DestroyContext(stale), "DestroyContext of the stale handle")
				t.wantCurrent(c)
			}},
			{"destroy garbage: 107002", 0, func(t *tester) {
				t.want(driver.CodeContextNull, t.DestroyContext(driver.Context(t.garbage())), "DestroyContext")
			}},
			{"destroy another context: current context unchanged", 0, func(t *tester) {
				c := t.context(0)
				d := t.context(0)
				t.destroyContext(c)
				t.wantCurrent(d)
				t.sync(t.stream())
			}},
			{"DestroyContext drops its work, and does not wait", loader, func(t *tester) {
				p := t.filled(64, 0)
				before := t.current()
				c := t.context(0)
				s := t.stream()
				for _, s := range []driver.Stream{s, 0} {
					t.spin(s, endless)
					t.fill(s, p, 64, 1)
				}
				t.destroyContext(c)
				t.setCurrent(before)
				t.wantFill(p, 64, 0, "memory that dropped commands would fill")
			}},
			{"device memory survives DestroyContext", 0, func(t *tester) {
				before := t.current()
				c := t.context(0)
				p := t.filled(4096, 6)
				t.destroyContext(c)
				t.setCurrent(before)
				t.wantFill(p, 4096, 6, "memory of a destroyed context")
				t.want(driver.OK, t.Free(p), "Free")
			}},
			{"memory of one context is usable in another of the device", 0, func(t *tester) {
				p := t.filled(64, 1)
				t.context(0)
				t.fill(0, p, 64, 2)
				t.sync(0)
				t.wantFill(p, 64, 2, "memory")
			}},
			{"destroy the current context: Free, FreeHost, DestroyEvent: 0", 0, func(t *tester) {
				p, e := t.malloc(64), t.event(driver.EventLegacy)
				h, err := t.MallocHost(64)
				t.must(err, "MallocHost")
				t.destroyContext(t.context(0))
				t.want(driver.OK, t.Free(p), "Free")
				t.want(driver.OK, t.FreeHost(h), "FreeHost")
				t.gone[e] = true
				t.want(driver.OK, t.DestroyEvent(e), "DestroyEvent")
			}},
			{"destroy the current context: SynchronizeStream of a live stream: 107002", 0, func(t *tester) {
				s := t.stream()
				t.destroyContext(t.context(0))
				t.want(driver.CodeContextNull, t.SynchronizeStream(s, forever), "SynchronizeStream")
			}},
		},
		inSituation("no context", fresh, driver.CodeContextNull, allCalls, true, (*tester).plainObjects),
		inSituation("destroy the current context", 0, driver.CodeContextNull, allCalls, false, func(t *tester) *objects {
			o := t.objects()
			t.destroyContext(t.context(0))
			return o
		}),
		inSituation("stream of a destroyed context", 0, driver.CodeInvalidHandle, streamCalls, false, func(t *tester) *objects {
			o := t.objects()
			before := t.current()
			c := t.context(0)
			o.stream = t.stream()
			t.destroyContext(c)
			t.setCurrent(before)
			return o
		}),
		threadCases(allCalls, streamCalls),
	)
}

func threadCases(allCalls, streamCalls []call) []testCase {
	// lose makes the context that is current here vanish from another thread, and returns operands
	// of the default context with a stream of the vanished one.
	lose := func(t *tester) *objects {
		o := t.objects()
		c := t.context(0)
		o.stream = t.stream()
		t.gone[c] = true
		t.otherThread(func() { t.want(driver.OK, t.DestroyContext(c), "DestroyContext on another thread") })
		return o
	}
	out := slices.Concat(
		[]testCase{
			{"another thread without a context, valid stream: SynchronizeStream: 107002", threads, func(t *tester) {
				s := t.stream()
				t.otherThread(func() {
					t.want(driver.CodeContextNull, t.SynchronizeStream(s, forever), "SynchronizeStream")
				})
				t.sync(s)
			}},
			{"another thread can take over a context", threads, func(t *tester) {
				c, s, p := t.current(), t.stream(), t.filled(64, 1)
				t.otherThread(func() {
					t.want(driver.OK, t.SetCurrentContext(c), "SetCurrentContext on another thread")
					t.want(driver.OK, t.issue(fillCommand(s, p, 64, 2)), "fill on another thread")
					t.want(driver.OK, t.SynchronizeStream(s, forever), "SynchronizeStream on another thread")
				})
				t.wantFill(p, 64, 2, "memory filled on another thread")
			}},
			{"SetDevice and CreateContext on another thread: current context here unchanged", threads, func(t *tester) {
				before := t.current()
				t.otherThread(func() {
					t.want(driver.OK, t.SetDevice(0), "SetDevice on another thread")
					c, err := t.CreateContext(0)
					t.want(driver.OK, err, "CreateContext on another thread")
					t.want(driver.OK, t.DestroyContext(c), "DestroyContext on another thread")
				})
				t.wantCurrent(before)
				t.wantDevice(0)
			}},
			{"each new thread starts without a context", threads, func(t *tester) {
				c := t.current()
				for range 2 {
					t.otherThread(func() {
						_, err := t.CurrentContext()
						t.want(driver.CodeContextNull, err, "CurrentContext on a new thread")
						t.want(driver.OK, t.SetCurrentContext(c), "SetCurrentContext")
					})
				}
			}},
			{"context destroyed by another thread while current here: SetCurrentContext to another: 0", threads, func(t *tester) {
				before := t.current()
				lose(t)
				t.want(driver.OK, t.SetCurrentContext(before), "SetCurrentContext")
				t.sync(t.stream())
			}},
		},
		inSituation("context destroyed by another thread while current here", threads, driver.CodeContextNull, allCalls, false,
			func(t *tester) *objects {
				o := lose(t)
				o.stream = 0
				return o
			}),
		inSituation("stream of a context destroyed by another thread while current here", threads, driver.CodeInvalidHandle,
			streamCalls, false, lose),
	)
	for _, c := range allCalls {
		out = append(out, testCase{situationName("another thread without a context", c.name, driver.CodeContextNull),
			threads | c.needs, func(t *tester) {
				o := t.objects()
				t.otherThread(func() { t.want(driver.CodeContextNull, c.do(t, o), c.name) })
			}})
	}
	return out
}
