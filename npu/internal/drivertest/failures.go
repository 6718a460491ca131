package drivertest

import (
	"errors"
	"slices"

	"npulua/npu/internal/driver"
)

func failureCases() []testCase {
	return []testCase{
		{"failed kernel: 0 at the launch, 507035 at synchronize, once", loader, func(t *tester) {
			s := t.stream()
			t.fault(s, 1)
			t.want(driver.CodeVectorException, t.SynchronizeStream(s, forever), "SynchronizeStream")
			t.want(driver.OK, t.SynchronizeStream(s, forever), "second SynchronizeStream")
		}},
		{"failed kernel: SynchronizeDevice: 507035, once", loader, func(t *tester) {
			s := t.stream()
			t.fault(s, 1)
			t.want(driver.CodeVectorException, t.SynchronizeDevice(forever), "SynchronizeDevice")
			t.want(driver.OK, t.SynchronizeDevice(forever), "second SynchronizeDevice")
			t.want(driver.OK, t.SynchronizeStream(s, forever), "SynchronizeStream")
		}},
		{"failed kernel: synchronize with a timeout: 507035", loader, func(t *tester) {
			t.fault(0, 1)
			t.want(driver.CodeVectorException, t.SynchronizeStream(0, long), "SynchronizeStream")
			t.sync(0)
		}},
		{"failed kernel: query is true soon, and reports nothing", loader, func(t *tester) {
			s := t.stream()
			t.fault(s, 1)
			t.settle()
			t.soon(func() bool { return t.done(s) }, "QueryStream after a failed kernel")
			t.wantDone(s, true, "after a failed kernel, again")
			t.want(driver.CodeVectorException, t.SynchronizeStream(s, forever), "SynchronizeStream")
		}},
		{"failed kernel: the error carries the place of the launch, and what ran after it", loader, func(t *tester) {
			s, p := t.stream(), t.filled(64, 0)
			c := fillCommand(s, p, 64, 1)
			c.Site = 10
			t.enqueue(c)
			t.fault(s, 20)
			for site := driver.Site(21); site <= 23; site++ {
				c.Site = site
				t.enqueue(c)
			}
			err := t.SynchronizeStream(s, forever)
			t.want(driver.CodeVectorException, err, "SynchronizeStream")
			t.wantSite(err, 20, 21, 22, 23)
		}},
		{"failed kernel: at most so many places of what ran after it", loader, func(t *tester) {
			s, p := t.stream(), t.filled(64, 0)
			t.fault(s, 20)
			var affected []driver.Site
			for i := range driver.MaxAffected + 5 {
				c := fillCommand(s, p, 64, 1)
				c.Site = driver.Site(21 + i)
				t.enqueue(c)
				affected = append(affected, c.Site)
			}
			t.wantSite(t.SynchronizeStream(s, forever), 20, affected[:driver.MaxAffected]...)
		}},
		{"two failed kernels: the first one is reported", loader, func(t *tester) {
			s := t.stream()
			t.fault(s, 20)
			t.fault(s, 30)
			err := t.SynchronizeStream(s, forever)
			t.want(driver.CodeVectorException, err, "SynchronizeStream")
			var e *driver.Error
			if !errors.As(err, &e) || e.Site != 20 {
				t.Errorf("SynchronizeStream = %+v, want the failure of site 20", err)
			}
		}},
		{"failed kernel, later another one: each is reported at its synchronize", loader, func(t *tester) {
			s := t.stream()
			for site := driver.Site(20); site < 23; site++ {
				t.fault(s, site)
				err := t.SynchronizeStream(s, forever)
				t.want(driver.CodeVectorException, err, "SynchronizeStream")
				t.wantSite(err, site)
			}
			t.sync(s)
		}},
		{"continue mode: the next commands run", loader, func(t *tester) {
			s, p := t.stream(), t.filled(64, 0)
			y, a, b, want := t.sum(16)
			t.must(t.SetStreamFailureMode(s, driver.ContinueOnFailure), "SetStreamFailureMode")
			t.fault(s, 1)
			t.fill(s, p, 64, 1)
			t.enqueue(t.vectorAdd(s, y, a, b, 64, 16, 1))
			t.want(driver.CodeVectorException, t.SynchronizeStream(s, forever), "SynchronizeStream")
			t.wantFill(p, 64, 1, "memory filled after the failed kernel")
			t.wantBytes(y, want, "sum after the failed kernel")
		}},
		{"continue mode: other streams do not see it", loader, func(t *tester) {
			s, other, p := t.stream(), t.stream(), t.filled(64, 0)
			t.fault(s, 1)
			t.spin(other, pause)
			t.fill(other, p, 64, 1)
			t.want(driver.OK, t.SynchronizeStream(other, forever), "SynchronizeStream of another stream")
			t.wantFill(p, 64, 1, "memory")
			t.want(driver.CodeVectorException, t.SynchronizeStream(s, forever), "SynchronizeStream")
		}},
		{"continue mode: an event after the failed kernel completes", loader, func(t *tester) {
			s, other, e, p := t.stream(), t.stream(), t.event(driver.EventSync), t.filled(64, 0)
			t.fault(s, 1)
			t.record(s, e)
			t.wait(other, e)
			t.fill(other, p, 64, 1)
			t.want(driver.OK, t.SynchronizeStream(other, forever), "SynchronizeStream of the waiting stream")
			t.wantFill(p, 64, 1, "memory")
			t.want(driver.CodeVectorException, t.SynchronizeStream(s, forever), "SynchronizeStream")
		}},
		{"continue mode: a fault that a wait for an event has told is not told again", loader, func(t *tester) {
			s, e, p := t.stream(), t.event(driver.EventSync), t.filled(64, 0)
			t.fault(s, 7)
			t.fill(s, p, 64, 1)
			t.record(s, e)
			t.settle()
			err := t.SynchronizeEvent(e, forever)
			if err != nil { // where the library tells it only to who waits for the stream, that one gets it
				t.want(driver.CodeVectorException, err, "SynchronizeEvent")
				t.wantSite(err, 7)
				t.sync(s)
			} else {
				t.want(driver.CodeVectorException, t.SynchronizeStream(s, forever), "SynchronizeStream")
			}
			t.fault(s, 8)
			err = t.SynchronizeStream(s, forever)
			t.want(driver.CodeVectorException, err, "SynchronizeStream after another fault")
			t.wantSite(err, 8)
			t.sync(s)
		}},
		{"stop mode: the rest is skipped, later commands and synchronize: 507035", loader, func(t *tester) {
			before, p := t.current(), t.filled(64, 0)
			c := t.context(0)
			s, other := t.stream(), t.stream()
			t.must(t.SetStreamFailureMode(s, driver.StopOnFailure), "SetStreamFailureMode")
			t.spin(s, pause) // so that all is queued before it fails
			t.fault(s, 1)
			t.fill(s, p, 64, 1)
			t.want(driver.CodeVectorException, t.SynchronizeStream(s, forever), "SynchronizeStream")
			t.want(driver.CodeVectorException, t.SynchronizeStream(s, forever), "second SynchronizeStream")
			t.want(driver.CodeVectorException, t.SynchronizeStream(other, forever), "SynchronizeStream of another stream")
			t.want(driver.CodeVectorException, t.SynchronizeDevice(forever), "SynchronizeDevice")
			t.want(driver.CodeVectorException, t.issue(fillCommand(s, p, 64, 2)), "fill")
			t.want(driver.CodeVectorException, t.issue(fillCommand(other, p, 64, 2)), "fill on another stream")
			t.want(driver.CodeVectorException, t.issue(fillCommand(0, p, 64, 2)), "fill on the default stream")
			t.destroyContext(c)
			t.setCurrent(before)
			t.wantFill(p, 64, 0, "memory that skipped commands would fill")
		}},
		{"stop mode: work pending on other streams of the context is skipped", loader, func(t *tester) {
			before, p := t.current(), t.filled(64, 0)
			c := t.context(0)
			s, other := t.stream(), t.stream()
			t.must(t.SetStreamFailureMode(other, driver.StopOnFailure), "SetStreamFailureMode of one stream")
			t.spin(other, long)
			t.fill(other, p, 64, 1)
			t.fault(s, 1)
			t.want(driver.CodeVectorException, t.SynchronizeStream(s, forever), "SynchronizeStream")
			t.want(driver.CodeVectorException, t.SynchronizeStream(other, forever), "SynchronizeStream of another stream")
			t.destroyContext(c)
			t.setCurrent(before)
			t.wantFill(p, 64, 0, "memory that a skipped command would fill")
		}},
		{"stop mode: query is true soon, of streams and events, and reports nothing; waits for them: 507035, each time", loader, func(t *tester) {
			before, p := t.current(), t.filled(64, 0)
			c := t.context(0)
			s, e := t.stream(), t.event(driver.EventSync)
			t.must(t.SetStreamFailureMode(s, driver.StopOnFailure), "SetStreamFailureMode")
			t.spin(s, pause) // so that all is queued before it fails
			t.fault(s, 7)
			t.fill(s, p, 64, 1)
			t.record(s, e)
			t.settle()
			complete := func() bool {
				done, err := t.QueryEvent(e)
				t.must(err, "QueryEvent")
				return done
			}
			t.soon(func() bool { return t.done(s) }, "QueryStream")
			t.soon(complete, "QueryEvent")
			for range 2 {
				for what, err := range map[string]error{"SynchronizeStream": t.SynchronizeStream(s, forever), "SynchronizeEvent": t.SynchronizeEvent(e, forever)} {
					t.want(driver.CodeVectorException, err, what)
					t.wantSite(err, 7)
				}
				t.wantDone(s, true, "of a context that has stopped")
			}
			t.destroyEvent(e)
			t.destroyContext(c)
			t.setCurrent(before)
		}},
		{"stop mode: an event that was reached before the failure stays so, on whichever stream; one behind it: 507035", loader, func(t *tester) {
			before := t.current()
			c := t.context(0)
			s, other := t.stream(), t.stream()
			mine, others, behind := t.event(driver.EventSync), t.event(driver.EventSync|driver.EventTiming), t.event(driver.EventSync)
			t.must(t.SetStreamFailureMode(s, driver.StopOnFailure), "SetStreamFailureMode")
			t.record(s, mine)
			t.record(other, others)
			t.sync(s)
			t.must(t.SynchronizeEvent(others, forever), "SynchronizeEvent before the failure")
			t.spin(s, pause) // so that all is queued before it fails
			t.fault(s, 7)
			t.record(s, behind)
			t.want(driver.CodeVectorException, t.SynchronizeStream(s, forever), "SynchronizeStream")
			for range 2 {
				t.want(driver.CodeVectorException, t.SynchronizeEvent(behind, forever), "SynchronizeEvent of the one behind the failure")
				for _, e := range []driver.Event{mine, others} {
					t.want(driver.OK, t.SynchronizeEvent(e, forever), "SynchronizeEvent of one before the failure")
					done, err := t.QueryEvent(e)
					if t.want(driver.OK, err, "QueryEvent"); !done {
						t.Error("QueryEvent of an event before the failure = false")
					}
					t.want(driver.CodeVectorException, t.issue(driver.Command{Op: driver.OpRecord, Stream: s, Event: e}), "record again")
				}
				t.want(driver.CodeVectorException, t.SynchronizeStream(s, forever), "SynchronizeStream")
			}
			for _, e := range []driver.Event{mine, others, behind} {
				t.destroyEvent(e)
			}
			t.destroyContext(c)
			t.setCurrent(before)
		}},
		{"stop mode: after the failure, but before somebody waits, commands are skipped, and an event recorded then: 507035", loader, func(t *tester) {
			before, p := t.current(), t.filled(64, 0)
			c := t.context(0)
			s, other := t.stream(), t.stream()
			e, others := t.event(driver.EventSync), t.event(driver.EventSync)
			t.must(t.SetStreamFailureMode(s, driver.StopOnFailure), "SetStreamFailureMode")
			t.record(s, e)
			t.sync(s)
			t.fault(s, 7)
			t.settle()
			t.fill(s, p, 64, 1)
			t.fill(other, p, 64, 1)
			t.record(s, e)
			t.record(other, others)
			for range 2 {
				t.want(driver.CodeVectorException, t.SynchronizeEvent(e, forever), "SynchronizeEvent")
				t.want(driver.CodeVectorException, t.SynchronizeEvent(others, forever), "SynchronizeEvent of another stream")
			}
			t.want(driver.CodeVectorException, t.issue(fillCommand(other, p, 64, 2)), "fill after a wait")
			t.destroyEvent(e)
			t.destroyEvent(others)
			t.destroyContext(c)
			t.setCurrent(before)
			t.wantFill(p, 64, 0, "memory that skipped commands would fill")
		}},
		{"stop mode: a failed host function before the failure is told first", loader, func(t *tester) {
			before, mine := t.current(), errors.New("mine")
			c := t.context(0)
			s := t.stream()
			t.must(t.SetStreamFailureMode(s, driver.StopOnFailure), "SetStreamFailureMode")
			t.callback(s, func() error { return mine })
			t.fault(s, 7)
			t.settle()
			if err := t.SynchronizeStream(s, forever); !errors.Is(err, mine) {
				t.Errorf("SynchronizeStream = %v, want the error of the host function", err)
			}
			for range 2 {
				err := t.SynchronizeStream(s, forever)
				t.want(driver.CodeVectorException, err, "SynchronizeStream")
				t.wantSite(err, 7)
			}
			t.destroyContext(c)
			t.setCurrent(before)
		}},
		{"stop mode: the fault has its place where another stream is waited for first, with work of its own", loader, func(t *tester) {
			before, p := t.current(), t.filled(64, 0)
			c := t.context(0)
			s, other := t.stream(), t.stream()
			h, _ := t.host(64)
			t.must(t.SetStreamFailureMode(s, driver.StopOnFailure), "SetStreamFailureMode")
			t.copy(other, p, h, 64)
			t.fault(s, 7) // the first command of its stream
			t.copy(s, p, h, 64)
			t.settle()
			err := t.SynchronizeStream(other, forever)
			t.want(driver.CodeVectorException, err, "SynchronizeStream of another stream")
			t.wantSite(err, 7)
			t.destroyContext(c)
			t.setCurrent(before)
		}},
		{"stop mode: Memcpy, Memset, Malloc, CreateStream, CreateEvent, destroy: 0", loader, func(t *tester) {
			before, p := t.current(), t.filled(64, 0)
			c := t.context(0)
			s, e := t.stream(), t.event(driver.EventSync)
			h, host := t.host(64)
			t.must(t.SetStreamFailureMode(s, driver.StopOnFailure), "SetStreamFailureMode")
			x := t.vectorAdd(s, p, p, p, 64, 1<<20, 1) // memory that the failed kernel uses
			t.enqueue(x)
			t.want(driver.CodeVectorException, t.SynchronizeStream(s, forever), "SynchronizeStream")
			t.must(t.Memset(p, 64, 5, 64), "Memset")
			t.must(t.Memcpy(h, 64, p, 64, driver.DeviceToHost), "Memcpy")
			t.same(host, slices.Repeat([]byte{5}, 64), "copied after the failure")
			late, q := t.stream(), t.malloc(64)
			t.want(driver.CodeVectorException, t.issue(fillCommand(late, p, 64, 2)), "fill on a new stream")
			t.must(t.Free(q), "Free")
			t.destroyEvent(t.event(driver.EventSync))
			t.destroyEvent(e)
			t.must(t.DestroyStream(s, false), "DestroyStream")
			t.must(t.DestroyStream(late, false), "DestroyStream")
			t.destroyContext(c)
			t.setCurrent(before)
		}},
		{"stop mode: other contexts of the device work on, and so does a new one", loader, func(t *tester) {
			before, p := t.current(), t.filled(64, 0)
			c := t.context(0)
			s := t.stream()
			t.must(t.SetStreamFailureMode(s, driver.StopOnFailure), "SetStreamFailureMode")
			t.fault(s, 1)
			t.want(driver.CodeVectorException, t.SynchronizeStream(s, forever), "SynchronizeStream")
			t.setCurrent(before)
			t.fill(0, p, 64, 1)
			t.sync(0)
			t.wantFill(p, 64, 1, "memory")
			t.destroyContext(c)
			t.context(0)
			t.fill(0, p, 64, 2)
			t.sync(0)
			t.wantFill(p, 64, 2, "memory")
		}},
		{"stop mode: a stream that waits for an event of the failed one is skipped too", loader, func(t *tester) {
			before, p := t.current(), t.filled(64, 0)
			e := t.event(driver.EventSync)
			c := t.context(0)
			s, other := t.stream(), t.stream()
			t.must(t.SetStreamFailureMode(s, driver.StopOnFailure), "SetStreamFailureMode")
			t.spin(s, pause) // so that all is queued before it fails
			t.fault(s, 1)
			t.record(s, e)
			t.wait(other, e)
			t.fill(other, p, 64, 1)
			t.want(driver.CodeVectorException, t.SynchronizeStream(other, forever), "SynchronizeStream of the waiting stream")
			t.destroyContext(c)
			t.setCurrent(before)
			t.wantFill(p, 64, 0, "memory that a skipped command would fill")
		}},
		{"stop mode: the default context works again after the last ResetDevice", loader, func(t *tester) {
			s := t.stream()
			t.must(t.SetStreamFailureMode(s, driver.StopOnFailure), "SetStreamFailureMode")
			t.fault(s, 1)
			t.want(driver.CodeVectorException, t.SynchronizeStream(s, forever), "SynchronizeStream")
			t.must(t.ResetDevice(0, false), "ResetDevice")
			t.must(t.SetDevice(0), "SetDevice")
			p := t.filled(64, 0)
			t.fill(0, p, 64, 1)
			t.sync(0)
			t.wantFill(p, 64, 1, "memory")
		}},
		{"stop mode without a failure changes nothing", loader, func(t *tester) {
			s, p := t.stream(), t.filled(64, 0)
			t.must(t.SetStreamFailureMode(s, driver.StopOnFailure), "SetStreamFailureMode")
			t.spin(s, pause)
			t.fill(s, p, 64, 1)
			t.sync(s)
			t.wantFill(p, 64, 1, "memory")
		}},
		{"stop mode, then continue mode: 207000", 0, func(t *tester) {
			s := t.stream()
			t.want(driver.OK, t.SetStreamFailureMode(s, driver.StopOnFailure), "stop")
			t.want(driver.CodeNotSupported, t.SetStreamFailureMode(s, driver.ContinueOnFailure), "continue after stop")
			t.want(driver.OK, t.SetStreamFailureMode(t.stream(), driver.ContinueOnFailure), "continue on another stream")
			t.context(0)
			t.want(driver.OK, t.SetStreamFailureMode(t.stream(), driver.ContinueOnFailure), "continue in another context")
		}},
		{"the same failure mode again: 0", 0, func(t *tester) {
			s := t.stream()
			for _, m := range []driver.FailureMode{driver.ContinueOnFailure, driver.ContinueOnFailure,
				driver.StopOnFailure, driver.StopOnFailure} {
				t.want(driver.OK, t.SetStreamFailureMode(s, m), "SetStreamFailureMode")
			}
			t.want(driver.OK, t.SetStreamFailureMode(t.stream(), driver.StopOnFailure), "SetStreamFailureMode of another stream")
		}},
	}
}

// wantSite checks where a failure was issued, and what it affected.
func (t *tester) wantSite(err error, site driver.Site, affected ...driver.Site) {
	t.Helper()
	var e *driver.Error
	if !errors.As(err, &e) {
		t.Errorf("%v is no *driver.Error", err)
		return
	}
	if e.Site != site {
		t.Errorf("site of %q = %d, want %d", e, e.Site, site)
	}
	if affected != nil && !slices.Equal(e.Affected, affected) {
		t.Errorf("affected sites of %q = %v, want %v", e, e.Affected, affected)
	}
}
