package npu_test

import (
	"errors"
	"runtime"
	"strings"
	"testing"
	"time"

	"npulua/npu"
)

// sites are the places of all the errors that were joined into err.
func sites(err error) []npu.Site {
	if err == nil {
		return nil
	}
	if e, ok := err.(*npu.Error); ok {
		return []npu.Site{e.Site}
	}
	if j, ok := err.(interface{ Unwrap() []error }); ok {
		var out []npu.Site
		for _, e := range j.Unwrap() {
			out = append(out, sites(e)...)
		}
		return out
	}
	return []npu.Site{0}
}

func TestFaultIsToldOnce(t *testing.T) {
	tell := map[string]func(r *rig) error{
		"stream":  func(r *rig) error { return r.s.Synchronize(r.t, -1) },
		"context": func(r *rig) error { return r.ctx.Synchronize(r.t, -1) },
		"device":  func(r *rig) error { return r.dev.Synchronize(r.t, time.Second) },
		"query": func(r *rig) error {
			for {
				if done, err := r.s.Query(r.t); done || err != nil {
					return err
				}
			}
		},
		"event": func(r *rig) error {
			e := must(r.ctx.CreateEvent(r.t, false))(t)
			check(t, r.s.Record(r.t, e))
			return e.Synchronize(r.t, -1)
		},
		"stream close":  func(r *rig) error { return r.s.Close(r.t) },
		"context close": func(r *rig) error { return r.ctx.Close(r.t) },
		"device close":  func(r *rig) error { return r.dev.Close(r.t) },
		"scope":         func(r *rig) error { return r.t.Scope(func() error { s := r.stream(); r.fault(s, 4); return nil }) },
	}
	for name, fn := range tell {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			if name != "scope" {
				r.fault(r.s, 4)
			}
			err := fn(r)
			wantSite(t, err, 4)
			want(t, err, 507035)
			if !r.s.Closed() {
				check(t, r.s.Synchronize(r.t, -1))
			}
			check(t, r.Session.Close(false))
		})
	}
	t.Run("session close", func(t *testing.T) {
		r := newRig(t)
		r.fault(r.s, 4)
		wantSite(t, r.Session.Close(false), 4)
	})
	t.Run("forced close", func(t *testing.T) {
		r := newRig(t)
		r.fault(r.s, 4)
		check(t, r.Session.Close(true))
	})
}

// waitsForSeveral are the calls that wait for several streams.
var waitsForSeveral = map[string]func(r *rig) error{
	"context":       func(r *rig) error { return r.ctx.Synchronize(r.t, -1) },
	"device":        func(r *rig) error { return r.dev.Synchronize(r.t, -1) },
	"context close": func(r *rig) error { return r.ctx.Close(r.t) },
	"session close": func(r *rig) error { return r.Session.Close(false) },
}

// Faults of several streams are all told, by whatever waits for several.
func TestFaultsOfSeveralStreams(t *testing.T) {
	for name, fn := range waitsForSeveral {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			r.fault(r.s, 3)
			r.fault(r.ctx.DefaultStream(), 5)
			r.fault(r.stream(), 7)
			err := fn(r)
			sum := npu.Site(0)
			for _, s := range sites(err) {
				sum += s
			}
			if len(sites(err)) != 3 || sum != 15 {
				t.Errorf("sites %v of %v", sites(err), err)
			}
			check(t, r.Session.Close(false))
		})
	}
}

func TestAffected(t *testing.T) {
	r := newRig(t)
	x := r.alloc(4)
	r.fault(r.s, 1)
	for i := range npu.Site(20) {
		r.t.Site = 10 + i
		check(t, r.s.Fill(r.t, x, 1))
	}
	var e *npu.Error
	if err := r.s.Synchronize(r.t, -1); !errors.As(err, &e) || len(e.Affected) != npu.MaxAffected || e.Affected[0] != 10 {
		t.Errorf("got %#v", err)
	}
}

// Where a context stops at a fault, every wait says so, but the end of the program does not again.
func TestStopOnFailure(t *testing.T) {
	r := newRig(t)
	s := must(r.ctx.CreateStream(r.t, npu.StreamOptions{Failure: "stop"}))(t)
	r.fault(s, 3)
	wantSite(t, s.Synchronize(r.t, -1), 3)
	for range 3 {
		wantSite(t, r.s.Synchronize(r.t, -1), 3)
	}
	check(t, r.Session.Close(false))

	r = newRig(t)
	s = must(r.ctx.CreateStream(r.t, npu.StreamOptions{Failure: "stop"}))(t)
	r.fault(s, 3)
	if err := r.Session.Close(false); err == nil {
		t.Error("a fault that nobody asked for was lost")
	}
}

func TestBlocking(t *testing.T) {
	s := open(t, npu.Options{Blocking: true})
	th := s.Main()
	ctx := must(th.Device(0))(t).DefaultContext()
	x := must(ctx.Alloc(th, float32Type, 4, ""))(t)
	relu := must(s.Kernel("relu"))(t)
	th.Site = 9
	err := ctx.DefaultStream().Launch(th, relu, 1, []npu.Arg{{Buffer: x}, {Buffer: x}, {Number: 5}})
	wantSite(t, err, 9)
	check(t, ctx.DefaultStream().Launch(th, relu, 1, []npu.Arg{{Buffer: x}, {Buffer: x}, {Number: 4}}))
	check(t, s.Close(false))
}

// After a reset nothing of the work before is left: not its faults, not its hold on host memory.
func TestReset(t *testing.T) {
	r := newRig(t)
	h, x := r.host(4), r.alloc(4)
	check(t, r.s.Copy(r.t, h, x))
	deflt := r.dev.DefaultContext()
	s := must(deflt.CreateStream(r.t, npu.StreamOptions{Failure: "stop"}))(t)
	r.fault(s, 3)
	wantSite(t, s.Synchronize(r.t, -1), 3)
	r.fault(deflt.DefaultStream(), 4) // refused by the driver
	check(t, r.dev.Reset(r.t))
	if _, err := h.Element(0); err != nil {
		t.Error(err)
	}
	check(t, h.SetElement(0, 1))
	dev := must(r.t.Device(0))(t)
	check(t, dev.Synchronize(r.t, -1))
	check(t, h.Close(r.t))
	check(t, r.Session.Close(false))
}

// collect lets the collector find what is unreachable, and the executor give it back.
func collect(t *testing.T, r *rig, kind string, left int) {
	t.Helper()
	for end := time.Now().Add(10 * time.Second); ; {
		runtime.GC()
		check(t, r.ctx.DefaultStream().Synchronize(r.t, -1)) // releases are tried after a wait
		st := must(r.Stats(r.t))(t)
		if st.Live[kind] == left {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("%d x %s live, want %d", st.Live[kind], kind, left)
		}
	}
}

// A stream that is dropped tells its fault to whoever waits for its context, or to the end.
func TestFaultOfDroppedStream(t *testing.T) {
	for name, fn := range waitsForSeveral {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			h := r.host(4)
			func() {
				s := r.stream()
				check(t, s.Copy(r.t, h, r.alloc(4)))
				r.fault(s, 3)
			}()
			check(t, r.t.Busy(time.Second))
			collect(t, r, "stream", 1)
			if _, err := h.Element(0); err == nil || !strings.Contains(err.Error(), "still writes") {
				t.Errorf("nobody waited, but the buffer can be read: %v", err)
			}
			wantSite(t, fn(r), 3)
			if !h.Closed() {
				if _, err := h.Element(0); err != nil {
					t.Error(err)
				}
			}
			check(t, r.Session.Close(false))
		})
	}
	t.Run("buffer close", func(t *testing.T) {
		r := newRig(t)
		h := r.host(4)
		func() { check(t, r.stream().Copy(r.t, h, r.alloc(4))) }()
		check(t, r.t.Busy(time.Second))
		collect(t, r, "stream", 1)
		check(t, h.Close(r.t))
	})
}

// Dropped buffers come back where memory is short, also while queued work still uses them.
func TestDroppedBuffersComeBack(t *testing.T) {
	r := newRig(t)
	_, total, err := r.dev.Memory(r.t)
	check(t, err)
	const n = 8
	for range 5 * n {
		x := r.alloc(total / n / 4)
		check(t, r.s.Fill(r.t, must(x.Slice(0, 8))(t), 1))
	}
	check(t, r.s.Synchronize(r.t, -1))
	collect(t, r, "device memory", 0)
	if free, _, err := r.dev.Memory(r.t); free != total || err != nil {
		t.Errorf("%d of %d B free, %v", free, total, err)
	}
	leaks := 0
	for _, l := range r.Leaks() {
		leaks += l.Count
	}
	if leaks < 4*n {
		t.Errorf("%d leaks listed", leaks)
	}
}
