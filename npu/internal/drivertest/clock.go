package drivertest

import (
	"time"

	"npulua/npu/internal/driver"
)

func clockCases() []testCase {
	return []testCase{
		{"clock: nothing pending: Next is false, Advance is false, time goes to the limit", clock, func(t *tester) {
			t.settle()
			if at, ok := t.clock.Next(); ok {
				t.Errorf("Next() = %v, true with nothing pending", at)
			}
			start := t.clock.Now()
			if t.clock.Advance(-1) {
				t.Error("Advance(-1) = true with nothing pending")
			}
			if now := t.clock.Now(); now != start {
				t.Errorf("Advance(-1) with nothing pending moved time from %v to %v", start, now)
			}
			if t.clock.Advance(start + time.Second) {
				t.Error("Advance(limit) = true with nothing pending")
			}
			if now := t.clock.Now(); now != start+time.Second {
				t.Errorf("Advance(limit) moved time to %v, want %v", now, start+time.Second)
			}
			t.clock.Advance(start)
			if now := t.clock.Now(); now != start+time.Second {
				t.Errorf("Advance to the past moved time to %v", now)
			}
		}},
		{"clock: Advance does not pass the limit, nor what happens next", clock | loader, func(t *tester) {
			s := t.stream()
			t.spin(s, pause)
			limit := t.clock.Now() + pause/2
			for t.clock.Advance(limit) {
			}
			if now := t.clock.Now(); now != limit {
				t.Errorf("Advance moved time to %v, want the limit %v", now, limit)
			}
			t.wantDone(s, false, "half way through its work")
			for !t.done(s) {
				next, ok := t.clock.Next()
				if !ok {
					t.Fatal("Next() = false with work pending")
				}
				if !t.clock.Advance(-1) {
					t.Fatal("Advance(-1) = false with work pending")
				}
				if now := t.clock.Now(); now != next {
					t.Fatalf("Advance moved time to %v, Next said %v", now, next)
				}
			}
			if now := t.clock.Now(); now > limit+pause/2+slack {
				t.Errorf("work of %v was done %v too late", pause, now-limit-pause/2)
			}
		}},
		{"clock: time stands still between calls, and synchronize moves it to the end of the work", clock | loader, func(t *tester) {
			s := t.stream()
			start := t.clock.Now()
			t.spin(s, pause)
			t.wantDone(s, false, "before time has passed")
			t.sync(s)
			t.wantTook(t.clock.Now()-start, pause, "synchronize")
			if first, second := t.clock.Now(), t.clock.Now(); first != second {
				t.Error("Now changes by itself")
			}
		}},
		{"clock: two runs take the same time", clock | loader, func(t *tester) {
			run := func() time.Duration {
				d := t.harness.Open(t.T)
				if c, ok := d.(driver.Closer); ok {
					defer c.Close()
				}
				other := &tester{T: t.T, Driver: d, clock: d.(driver.Clock), loader: d.(driver.Loader),
					harness: t.harness, kernels: map[kernelKey]driver.Kernel{}, gone: map[any]bool{}}
				other.must(d.SetDevice(0), "SetDevice")
				a, b := other.stream(), other.stream()
				p, q := other.malloc(1<<20), other.malloc(1<<20)
				e, err := d.CreateEvent(driver.EventSync)
				other.must(err, "CreateEvent")
				for range 20 {
					other.fill(a, p, 1<<20, 1)
					other.record(a, e)
					other.spin(a, pause)
					other.wait(b, e)
					other.copy(b, q, p, 1<<20)
				}
				other.must(d.SynchronizeDevice(forever), "SynchronizeDevice")
				return other.clock.Now()
			}
			if first, second := run(), run(); first != second {
				t.Errorf("the same calls took %v, then %v", first, second)
			}
		}},
	}
}
