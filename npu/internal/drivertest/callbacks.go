package drivertest

import (
	"bytes"
	"errors"

	"npulua/npu/internal/driver"
)

func callbackCases() []testCase {
	return []testCase{
		{"host functions run in order, each once", 0, func(t *tester) {
			s := t.stream()
			var ran order
			for i := range 100 {
				t.callback(s, ran.add(i))
			}
			t.sync(s)
			ran.wantUpTo(t, 100)
			t.sync(s)
			ran.wantUpTo(t, 100)
		}},
		{"host function: not before the work in front of it", loader, func(t *tester) {
			s, p := t.stream(), t.filled(64, 1)
			h, host := t.host(64)
			var ran order
			var saw []byte
			t.spin(s, pause)
			t.copy(s, h, p, 64)
			t.callback(s, func() error {
				saw = bytes.Clone(host)
				return ran.add(0)()
			})
			ran.wantUpTo(t, 0)
			t.sync(s)
			ran.wantUpTo(t, 1)
			t.same(saw, bytes.Repeat([]byte{1}, 64), "what the host function saw")
		}},
		{"host function: later commands wait for it", 0, func(t *tester) {
			s, p := t.stream(), t.filled(64, 0)
			h, host := t.host(64)
			t.callback(s, func() error {
				copy(host, bytes.Repeat([]byte{8}, 64))
				return nil
			})
			t.copy(s, p, h, 64)
			t.sync(s)
			t.wantFill(p, 64, 8, "memory copied after the host function")
		}},
		{"host function: other streams wait for it by an event", loader, func(t *tester) {
			s, other, e, p := t.stream(), t.stream(), t.event(driver.EventSync), t.filled(64, 0)
			h, host := t.host(64)
			t.spin(s, pause)
			t.callback(s, func() error {
				copy(host, bytes.Repeat([]byte{8}, 64))
				return nil
			})
			t.record(s, e)
			t.wait(other, e)
			t.copy(other, p, h, 64)
			t.sync(other)
			t.wantFill(p, 64, 8, "memory copied after the host function")
		}},
		{"host function on the default stream", 0, func(t *tester) {
			var ran order
			t.callback(0, ran.add(0))
			t.sync(0)
			ran.wantUpTo(t, 1)
		}},
		{"host function: pending until it ran", loader, func(t *tester) {
			s := t.stream()
			var ran order
			t.spin(s, pause)
			t.callback(s, ran.add(0))
			t.wantDone(s, false, "with a host function pending")
			t.must(t.DestroyStream(s, false), "DestroyStream")
			ran.wantUpTo(t, 1)
		}},
		{"error in a host function: 507000 at synchronize, once", 0, func(t *tester) {
			s := t.stream()
			var ran order
			t.callback(s, ran.add(0))
			t.enqueue(driver.Command{Op: driver.OpHostFunc, Stream: s, Site: 41, Func: func() error { return errors.New("no") }})
			t.callback(s, ran.add(1))
			err := t.SynchronizeStream(s, forever)
			t.want(driver.CodeInternal, err, "SynchronizeStream")
			t.wantSite(err, 41)
			ran.wantUpTo(t, 2)
			t.want(driver.OK, t.SynchronizeStream(s, forever), "second SynchronizeStream")
		}},
	}
}
