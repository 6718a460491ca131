package drivertest

import (
	"fmt"
	"slices"
	"time"

	"npulua/npu/internal/driver"
)

// eventKinds are the kinds that a stream can wait for.
var eventKinds = []struct {
	name  string
	flags driver.EventFlags
}{
	{"legacy event", driver.EventLegacy},
	{"event with flags", driver.EventSync | driver.EventTiming},
}

func eventCases() []testCase {
	var out []testCase
	for _, k := range eventKinds {
		out = append(out, eventKindCases(k.name, k.flags)...)
	}
	return slices.Concat(out, destroyedEventCases(), eventFlagCases(), elapsedCases(), []testCase{
		{"RecordEvent(NULL, s): 100000", 0, func(t *tester) {
			t.want(driver.CodeInvalidParam, t.issue(driver.Command{Op: driver.OpRecord, Stream: t.stream()}), "record")
		}},
		{"StreamWaitEvent(s, NULL): 100000", 0, func(t *tester) {
			t.want(driver.CodeInvalidParam, t.issue(driver.Command{Op: driver.OpWait, Stream: t.stream()}), "wait")
		}},
		{"DestroyEvent(NULL): 100000", 0, func(t *tester) {
			t.want(driver.CodeInvalidParam, t.DestroyEvent(0), "DestroyEvent(0)")
		}},
		{"legacy event: StreamWaitEvent, never recorded: 107000", 0, func(t *tester) {
			s, e := t.stream(), t.event(driver.EventLegacy)
			t.want(driver.CodeRtParamInvalid, t.issue(driver.Command{Op: driver.OpWait, Stream: s, Event: e}), "wait")
			t.sync(s)
		}},
		{"event with flags: StreamWaitEvent, never recorded: 0, and no wait", 0, func(t *tester) {
			s, e := t.stream(), t.event(driver.EventSync)
			t.want(driver.OK, t.issue(driver.Command{Op: driver.OpWait, Stream: s, Event: e}), "wait")
			t.sync(s)
		}},
		{"event with flags: a wait before the record does not wait for it", loader, func(t *tester) {
			slow, fast, e := t.stream(), t.stream(), t.event(driver.EventSync)
			t.wait(fast, e)
			t.spin(slow, long)
			t.record(slow, e)
			t.sync(fast)
			t.wantDone(slow, false, "of the recording stream")
			t.sync(slow)
		}},
		{"event with flags: a wait takes the record of that moment, a later one does not move it", loader, func(t *tester) {
			slow, fast, e := t.stream(), t.stream(), t.event(driver.EventSync)
			t.spin(slow, pause)
			t.record(slow, e)
			t.wait(fast, e)
			t.spin(slow, long)
			t.record(slow, e)
			t.sync(fast)
			t.wantDone(slow, false, "after the first record")
			done, err := t.QueryEvent(e)
			if err != nil || done {
				t.Errorf("QueryEvent after the second record = %v, %v, want false", done, err)
			}
			t.must(t.SynchronizeEvent(e, forever), "SynchronizeEvent")
			t.wantDone(slow, true, "after the second record")
		}},
		{"legacy event: query before any record: false", 0, func(t *tester) {
			wantQuery(t, t.event(driver.EventLegacy), false)
		}},
		{"event with flags: query before any record: true", 0, func(t *tester) {
			wantQuery(t, t.event(driver.EventSync), true)
			wantQuery(t, t.event(driver.EventTiming), true)
		}},
		{"legacy event: ResetEvent: 0, and it can be recorded again", 0, func(t *tester) {
			s, e := t.stream(), t.event(driver.EventLegacy)
			t.record(s, e)
			t.wait(t.stream(), e)
			t.must(t.SynchronizeDevice(forever), "SynchronizeDevice")
			t.want(driver.OK, t.issue(driver.Command{Op: driver.OpResetEvent, Stream: s, Event: e}), "reset")
			t.sync(s)
			t.record(s, e)
			t.sync(s)
			wantQuery(t, e, true)
		}},
		{"event with flags: ResetEvent: 207000", 0, func(t *tester) {
			s, e := t.stream(), t.event(driver.EventSync)
			t.record(s, e)
			t.sync(s)
			t.want(driver.CodeNotSupported, t.issue(driver.Command{Op: driver.OpResetEvent, Stream: s, Event: e}), "reset")
			wantQuery(t, e, true)
		}},
		{"event without the sync flag: StreamWaitEvent: 207000", 0, func(t *tester) {
			s, e := t.stream(), t.event(driver.EventTiming)
			t.record(s, e)
			t.want(driver.CodeNotSupported, t.issue(driver.Command{Op: driver.OpWait, Stream: t.stream(), Event: e}), "wait")
			t.sync(s)
		}},
		{"record on a stream of another device than the event's: 0", twoDevices, func(t *tester) {
			e := t.event(driver.EventSync)
			t.context(1)
			t.record(t.stream(), e)
			t.must(t.SynchronizeEvent(e, forever), "SynchronizeEvent")
		}},
		{"DestroyEvent needs no context and does not wait; a queued wait holds", loader, func(t *tester) {
			slow, fast, e := t.stream(), t.stream(), t.event(driver.EventSync)
			p, q := t.filled(64, 0), t.filled(64, 0)
			t.spin(slow, pause)
			t.fill(slow, p, 64, 1)
			t.record(slow, e)
			t.wait(fast, e)
			t.copy(fast, q, p, 64)
			t.destroyEvent(e)
			t.wantDone(slow, false, "after DestroyEvent")
			t.sync(fast)
			t.wantFill(q, 64, 1, "memory copied after the wait")
		}},
		{"stale event handle does not hit a new event: 107017", prober, func(t *tester) {
			t.simulated()
			stale := t.event(driver.EventSync)
			t.destroyEvent(stale)
			e := t.event(driver.EventSync)
			t.want(driver.CodeInvalidHandle, t.DestroyEvent(stale), "DestroyEvent of the stale handle")
			wantQuery(t, e, true)
		}},
		{"a buffer that is no event: 107017", prober, func(t *tester) {
			t.simulated()
			e := driver.Event(t.garbage())
			t.want(driver.CodeInvalidHandle, t.SynchronizeEvent(e, forever), "SynchronizeEvent")
			t.want(driver.CodeInvalidHandle, t.issue(driver.Command{Op: driver.OpRecord, Event: e}), "record")
			t.want(driver.CodeInvalidHandle, t.DestroyEvent(e), "DestroyEvent")
		}},
		{"event limit: 207007, and one more after a destroy", prober, func(t *tester) {
			info, err := t.prober.DeviceInfo(0)
			t.must(err, "DeviceInfo")
			if info.MaxEvents <= 0 || info.MaxEvents > 100_000 {
				t.Skipf("the device has %d events", info.MaxEvents)
			}
			var events []driver.Event
			for range info.MaxEvents + 1 {
				e, err := t.CreateEvent(driver.EventSync)
				if err != nil {
					t.want(driver.CodeResourceEvent, err, "CreateEvent")
					break
				}
				events = append(events, e)
			}
			if len(events) != info.MaxEvents {
				t.Errorf("created %d events, the device has %d", len(events), info.MaxEvents)
			}
			t.must(t.DestroyEvent(events[0]), "DestroyEvent")
			e, err := t.CreateEvent(driver.EventSync)
			t.must(err, "CreateEvent after DestroyEvent")
			for _, e := range append(events[1:], e) {
				t.must(t.DestroyEvent(e), "DestroyEvent")
			}
		}},
	})
}

func wantQuery(t *tester, e driver.Event, want bool) {
	t.Helper()
	got, err := t.QueryEvent(e)
	t.must(err, "QueryEvent")
	if got != want {
		t.Errorf("QueryEvent = %v, want %v", got, want)
	}
}

// eventKindCases are what both kinds of events do alike.
func eventKindCases(kind string, flags driver.EventFlags) []testCase {
	// ordered fills memory late on one stream, copies it on another, of a context that other makes or
	// of the same one, and has the event order the two.
	ordered := func(t *tester, other func()) {
		here := t.current()
		slow := t.stream()
		p := t.filled(64, 0)
		other()
		there := t.current()
		fast := t.stream()
		h, _ := t.host(64)
		t.setCurrent(here)
		e := t.event(flags)
		t.spin(slow, pause)
		t.fill(slow, p, 64, 1)
		t.copy(slow, h, p, 64)
		t.record(slow, e)
		t.setCurrent(there)
		q := t.filled(64, 0)
		t.wait(fast, e)
		t.copy(fast, q, h, 64)
		t.sync(fast)
		t.wantFill(q, 64, 1, "memory copied after the wait")
	}
	rows := []testCase{
		{"SynchronizeEvent, never recorded: 0", 0, func(t *tester) {
			e := t.event(flags)
			t.want(driver.OK, t.SynchronizeEvent(e, forever), "SynchronizeEvent")
			t.want(driver.OK, t.SynchronizeEvent(e, time.Second), "SynchronizeEvent with timeout")
		}},
		{"query is false until the recorded work is done", loader, func(t *tester) {
			s, e := t.stream(), t.event(flags)
			for range 2 { // again: a new record starts over
				t.spin(s, pause)
				t.record(s, e)
				wantQuery(t, e, false)
				t.sync(s)
				wantQuery(t, e, true)
			}
		}},
		{"SynchronizeEvent waits for the work before the record only", loader, func(t *tester) {
			s, e, p := t.stream(), t.event(flags), t.filled(64, 0)
			t.spin(s, pause)
			t.fill(s, p, 64, 1)
			t.record(s, e)
			t.spin(s, long)
			t.must(t.SynchronizeEvent(e, forever), "SynchronizeEvent")
			t.wantFill(p, 64, 1, "memory filled before the record")
			t.wantDone(s, false, "with work after the record")
			t.sync(s)
		}},
		{"orders two streams", loader, func(t *tester) { ordered(t, func() {}) }},
		{"orders streams of two contexts", loader, func(t *tester) { ordered(t, func() { t.context(0) }) }},
		{"orders streams of two devices", loader | twoDevices, func(t *tester) { ordered(t, func() { t.context(1) }) }},
		{"many streams can wait for one record", loader, func(t *tester) {
			slow, e, p := t.stream(), t.event(flags), t.filled(64, 0)
			t.spin(slow, pause)
			t.fill(slow, p, 64, 1)
			t.record(slow, e)
			q := t.filled(10*64, 0)
			for i := range 10 {
				s := t.stream()
				t.wait(s, e)
				t.copy(s, q+driver.Ptr(64*i), p, 64)
			}
			t.must(t.SynchronizeDevice(forever), "SynchronizeDevice")
			t.wantFill(q, 10*64, 1, "memory of ten copies")
		}},
		{"a wait on the recording stream itself is no wait", loader, func(t *tester) {
			s, e := t.stream(), t.event(flags)
			t.spin(s, pause)
			t.record(s, e)
			t.wait(s, e)
			t.record(s, e)
			t.wait(s, e)
			t.sync(s)
		}},
		{"a wait for a record that is done is no wait", 0, func(t *tester) {
			s, e := t.stream(), t.event(flags)
			t.record(s, e)
			t.sync(s)
			other := t.stream()
			t.wait(other, e)
			t.sync(other)
		}},
		{"on the default stream", loader, func(t *tester) {
			e, p, q := t.event(flags), t.filled(64, 0), t.filled(64, 0)
			s := t.stream()
			t.spin(0, pause)
			t.fill(0, p, 64, 1)
			t.record(0, e)
			t.wait(s, e)
			t.copy(s, q, p, 64)
			t.sync(s)
			t.wantFill(q, 64, 1, "memory")
		}},
		{"two streams wait for each other in turn", 0, func(t *tester) {
			a, b, p := t.stream(), t.stream(), t.filled(64, 0)
			h, host := t.host(100 * 64)
			e, f := t.event(flags), t.event(flags)
			for i := range 100 {
				t.fill(a, p, 64, byte(i))
				t.record(a, e)
				t.wait(b, e)
				t.copy(b, h+driver.Ptr(64*i), p, 64)
				t.record(b, f)
				t.wait(a, f)
			}
			t.must(t.SynchronizeDevice(forever), "SynchronizeDevice")
			for i := range 100 {
				t.same(host[64*i:64*i+64], slices.Repeat([]byte{byte(i)}, 64), fmt.Sprintf("copy %d", i))
			}
		}},
	}
	for i := range rows {
		rows[i].name = kind + ": " + rows[i].name
	}
	return rows
}

func destroyedEventCases() []testCase {
	var out []testCase
	for _, c := range []struct {
		name string
		do   func(t *tester, e driver.Event) error
	}{
		{"record", func(t *tester, e driver.Event) error {
			return t.issue(driver.Command{Op: driver.OpRecord, Stream: t.stream(), Event: e})
		}},
		{"wait", func(t *tester, e driver.Event) error {
			return t.issue(driver.Command{Op: driver.OpWait, Stream: t.stream(), Event: e})
		}},
		{"reset", func(t *tester, e driver.Event) error {
			return t.issue(driver.Command{Op: driver.OpResetEvent, Stream: t.stream(), Event: e})
		}},
		{"synchronize", func(t *tester, e driver.Event) error { return t.SynchronizeEvent(e, forever) }},
		{"query", func(t *tester, e driver.Event) error {
			_, err := t.QueryEvent(e)
			return err
		}},
		{"elapsed time", func(t *tester, e driver.Event) error {
			_, err := t.ElapsedTime(e, e)
			return err
		}},
		{"destroy", func(t *tester, e driver.Event) error { return t.DestroyEvent(e) }},
	} {
		out = append(out, testCase{situationName("destroyed event", c.name, driver.CodeInvalidHandle), 0, func(t *tester) {
			e := t.event(driver.EventLegacy)
			t.record(0, e)
			t.sync(0)
			t.destroyEvent(e)
			t.want(driver.CodeInvalidHandle, c.do(t, e), c.name)
		}})
	}
	return out
}

func eventFlagCases() []testCase {
	var out []testCase
	for _, flags := range []driver.EventFlags{0x20, 0x80, 0x1000, driver.EventSync | 0x80} {
		out = append(out, testCase{fmt.Sprintf("CreateEvent with flags %#x: 107000", uint32(flags)), 0, func(t *tester) {
			_, err := t.CreateEvent(flags)
			t.want(driver.CodeRtParamInvalid, err, "CreateEvent")
		}})
	}
	return out
}

func elapsedCases() []testCase {
	timed := driver.EventSync | driver.EventTiming
	var out []testCase
	for _, k := range []struct {
		name  string
		flags driver.EventFlags
	}{{"legacy event", driver.EventLegacy}, {"event with flags", timed}, {"event with the timing flag alone", driver.EventTiming}} {
		out = append(out, testCase{k.name + ": ElapsedTime: the time between two records, negative in reverse", loader, func(t *tester) {
			s, a, b := t.stream(), t.event(k.flags), t.event(k.flags)
			t.spin(s, pause/2)
			t.record(s, a)
			t.spin(s, pause)
			t.record(s, b)
			t.sync(s)
			d, err := t.ElapsedTime(a, b)
			t.must(err, "ElapsedTime")
			// The clock of a device ticks in microseconds.
			t.wantTook(d+time.Microsecond, pause, "the work between two events")
			r, err := t.ElapsedTime(b, a)
			t.must(err, "ElapsedTime in reverse")
			if r != -d {
				t.Errorf("ElapsedTime in reverse = %v, want %v", r, -d)
			}
			z, err := t.ElapsedTime(a, a)
			if err != nil || z != 0 {
				t.Errorf("ElapsedTime of one event = %v, %v, want 0", z, err)
			}
		}}, testCase{k.name + ": ElapsedTime with an unrecorded event: 507000", 0, func(t *tester) {
			a, b := t.event(k.flags), t.event(k.flags)
			t.record(0, a)
			t.sync(0)
			for _, p := range [][2]driver.Event{{a, b}, {b, a}, {b, b}} {
				_, err := t.ElapsedTime(p[0], p[1])
				t.want(driver.CodeInternal, err, "ElapsedTime")
			}
		}}, testCase{k.name + ": ElapsedTime with a record pending: 107006", loader, func(t *tester) {
			s, a, b := t.stream(), t.event(k.flags), t.event(k.flags)
			t.record(s, a)
			t.sync(s)
			t.spin(s, pause)
			t.record(s, b)
			_, err := t.ElapsedTime(a, b)
			t.want(driver.CodeEventNotComplete, err, "ElapsedTime")
			t.sync(s)
			_, err = t.ElapsedTime(a, b)
			t.must(err, "ElapsedTime after synchronize")
		}})
	}
	return append(out, testCase{"event without the timing flag: ElapsedTime: 0, and a time", 0, func(t *tester) {
		a, b := t.event(driver.EventSync), t.event(driver.EventSync)
		t.record(0, a)
		t.record(0, b)
		t.sync(0)
		_, err := t.ElapsedTime(a, b)
		t.want(driver.OK, err, "ElapsedTime")
	}})
}
