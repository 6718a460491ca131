package npu_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"npulua/npu"
)

// rig is a session on the simulator with two devices, of which device 0 is open.
type rig struct {
	*npu.Session
	tb  testing.TB
	t   *npu.Thread
	dev *npu.Device
	ctx *npu.Context
	s   *npu.Stream
}

// where makes places readable: site 12 is "here:12".
func where(s npu.Site) string { return fmt.Sprintf("here:%d", s) }

// open starts a session that the test closes; cleanup checks that nothing of it is left.
func open(tb testing.TB, opts npu.Options) *npu.Session {
	tb.Helper()
	if opts.Backend == "" {
		opts.Backend, opts.Sim = "sim", "910b:2"
	}
	opts.Where = where
	s, err := npu.Open(tb.Context(), opts)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		within(tb, "Close", func() { _ = s.Close(true) })
		noExecutor(tb)
	})
	return s
}

func newRig(tb testing.TB) *rig {
	tb.Helper()
	r := &rig{Session: open(tb, npu.Options{}), tb: tb}
	r.t = r.Main()
	r.dev = must(r.t.Device(0))(tb)
	r.ctx = must(r.dev.CreateContext(r.t))(tb)
	r.s = r.stream()
	return r
}

func (r *rig) stream() *npu.Stream {
	r.tb.Helper()
	return must(r.ctx.CreateStream(r.t, npu.StreamOptions{}))(r.tb)
}

func (r *rig) alloc(count int64) *npu.Buffer {
	r.tb.Helper()
	return must(r.ctx.Alloc(r.t, float32Type, count, ""))(r.tb)
}

func (r *rig) host(count int64) *npu.Buffer {
	r.tb.Helper()
	return must(r.t.Host(float32Type, count, true))(r.tb)
}

func (r *rig) kernel(name string) *npu.Kernel {
	r.tb.Helper()
	return must(r.Session.Kernel(name))(r.tb)
}

// spin queues work of the given length.
func (r *rig) spin(s *npu.Stream, d time.Duration) {
	r.tb.Helper()
	check(r.tb, s.Launch(r.t, r.kernel("spin"), 1, []npu.Arg{{Number: d.Seconds()}}))
}

// fault queues a launch that fails on the device, from site.
func (r *rig) fault(s *npu.Stream, site npu.Site) {
	r.tb.Helper()
	x := r.alloc(4)
	r.t.Site = site
	check(r.tb, s.Launch(r.t, r.kernel("relu"), 1, []npu.Arg{{Buffer: x}, {Buffer: x}, {Number: 5}}))
	r.t.Site = 0
}

var float32Type, _ = npu.ParseDType("float32")

func must[T any](v T, err error) func(testing.TB) T {
	return func(tb testing.TB) T {
		tb.Helper()
		check(tb, err)
		return v
	}
}

func check(tb testing.TB, err error) {
	tb.Helper()
	if err != nil {
		tb.Fatal(err)
	}
}

// want checks the code of an error.
func want(tb testing.TB, err error, code npu.Code) {
	tb.Helper()
	var e *npu.Error
	if !errors.As(err, &e) || e.Code != code {
		tb.Errorf("got %v, want %v", err, code)
	}
}

// wantSite checks that err is the fault of the command from site.
func wantSite(tb testing.TB, err error, site npu.Site) {
	tb.Helper()
	var e *npu.Error
	if !errors.As(err, &e) || e.Site != site {
		tb.Errorf("got %v (sites %v), want a fault from site %d", err, sites(err), site)
	}
}

// within fails the test where fn takes so long that it must hang.
func within(tb testing.TB, what string, fn func()) {
	tb.Helper()
	done := make(chan struct{})
	go func() {
		defer close(done)
		fn()
	}()
	select {
	case <-done:
	case <-time.After(30 * time.Second):
		buf := make([]byte, 1<<20)
		tb.Fatalf("%s hangs\n%s", what, buf[:runtime.Stack(buf, true)])
	}
}

// noExecutor checks that no executor is left. A goroutine ends a moment after the call that ended it.
func noExecutor(tb testing.TB) {
	tb.Helper()
	buf := make([]byte, 1<<20)
	for end := time.Now().Add(10 * time.Second); ; runtime.Gosched() {
		stacks := string(buf[:runtime.Stack(buf, true)])
		if !strings.Contains(stacks, "executor.(*Executor).run") {
			return
		}
		if time.Now().After(end) {
			tb.Fatalf("an executor is left:\n%s", stacks)
		}
	}
}

func TestOpen(t *testing.T) {
	for range 20 {
		s, err := npu.Open(t.Context(), npu.Options{Backend: "sim"})
		check(t, err)
		must(s.Main().Device(0))(t)
		check(t, s.Close(false))
		check(t, s.Close(false))
		check(t, s.Close(true))
	}
	noExecutor(t)
	for _, opts := range []npu.Options{{Backend: "smi"}, {Backend: "sim", Sim: "911"}, {Backend: "sim", Sim: "910b:9999"}, {Backend: "acl"}} {
		s, err := npu.Open(t.Context(), opts)
		var e *npu.Error
		if s != nil || !errors.As(err, &e) || e.Code.Name() == "" {
			t.Errorf("Open(%+v) = %v, %v", opts, s, err)
		}
	}
	noExecutor(t)
}

func TestCloseInEveryOrder(t *testing.T) {
	names := []string{"buffer", "host", "event", "stream", "context", "device"}
	var permute func(order []int, rest []int)
	permute = func(order, rest []int) {
		if len(rest) > 0 {
			for i := range rest {
				next := append(append([]int{}, rest[:i]...), rest[i+1:]...)
				permute(append(order, rest[i]), next)
			}
			return
		}
		r := newRig(t)
		x, h, s := r.alloc(1024), r.host(1024), r.s
		e := must(r.ctx.CreateEvent(r.t, true))(t)
		check(t, s.Copy(r.t, x, h))
		r.spin(s, time.Millisecond)
		check(t, s.Record(r.t, e))
		check(t, s.Copy(r.t, h, x))
		closers := []func() error{
			func() error { return x.Close(r.t) }, func() error { return h.Close(r.t) }, func() error { return e.Close(r.t) },
			func() error { return s.Close(r.t) }, func() error { return r.ctx.Close(r.t) }, func() error { return r.dev.Close(r.t) },
		}
		for _, i := range order {
			for range 2 { // idempotent
				if err := closers[i](); err != nil {
					t.Fatalf("order %v: %s: %v", order, names[i], err)
				}
			}
		}
		if n := len(r.Leaks()); n != 0 {
			t.Fatalf("order %v: %d handles left", order, n)
		}
		check(t, r.Session.Close(false))
	}
	permute(nil, []int{0, 1, 2, 3, 4, 5})
}

func TestClosedHandles(t *testing.T) {
	r := newRig(t)
	x := r.alloc(4)
	e := must(r.ctx.CreateEvent(r.t, false))(t)
	r.t.Site = 7
	check(t, r.ctx.Close(r.t))
	check(t, x.Close(r.t))
	for what, err := range map[string]error{
		"stream was closed with its context at here:7": r.s.Synchronize(r.t, -1),
		"event was closed with its context at here:7":  e.Synchronize(r.t, -1),
		"context was closed at here:7":                 r.ctx.Synchronize(r.t, -1),
		"buffer was closed at here:7":                  npu.Copy(r.t, x, x),
	} {
		want(t, err, npu.ErrInvalidHandle)
		if err == nil || !strings.Contains(err.Error(), what) {
			t.Errorf("got %v, want %q", err, what)
		}
	}
	if !r.s.Closed() || !e.Closed() || !r.ctx.Closed() || !x.Closed() || r.dev.Closed() {
		t.Error("Closed is wrong")
	}
	// the thread is back in the context of before
	if c := must(r.t.CurrentContext())(t); c != r.dev.DefaultContext() {
		t.Error("another current context")
	}
	check(t, r.dev.Close(r.t))
	_, err := r.t.CurrentContext()
	want(t, err, npu.ErrContextNull)
	dev := must(r.t.Device(0))(t)
	if dev == r.dev || dev.Closed() {
		t.Error("the device was not opened again")
	}
}

func TestUseAfterSession(t *testing.T) {
	r := newRig(t)
	check(t, r.Session.Close(false))
	within(t, "a call", func() {
		if _, err := r.t.Now(); err == nil {
			t.Error("Now worked")
		}
		if err := r.t.Busy(time.Second); err == nil {
			t.Error("Busy worked")
		}
		want(t, r.s.Synchronize(r.t, -1), npu.ErrInvalidHandle)
		if _, err := r.t.Device(1); err == nil {
			t.Error("Device worked")
		}
	})
}

func TestScope(t *testing.T) {
	r := newRig(t)
	boom := errors.New("boom")
	var inner, kept, lost *npu.Buffer
	err := r.t.Scope(func() error {
		lost = r.alloc(4)
		kept = r.alloc(4)
		if !r.t.Keep(kept) || r.t.Keep(r.dev) || r.t.Keep(3) {
			t.Error("Keep is wrong")
		}
		err := r.t.Scope(func() error {
			inner = r.alloc(4)
			r.t.Keep(must(inner.Slice(0, 2))(t)) // a slice stands for its allocation: to the scope around
			return boom
		})
		if inner.Closed() {
			t.Error("what was kept is closed")
		}
		return err
	})
	if err != boom {
		t.Errorf("got %v", err)
	}
	if !inner.Closed() || !lost.Closed() || kept.Closed() {
		t.Errorf("closed: %v %v %v", inner.Closed(), lost.Closed(), kept.Closed())
	}
	func() {
		defer func() { _ = recover() }()
		_ = r.t.Scope(func() error { lost = r.alloc(4); panic("out") })
	}()
	if !lost.Closed() {
		t.Error("a panic left the buffer open")
	}

	// The error of fn wins; the fault of closing is told by Close.
	err = r.t.Scope(func() error {
		s := r.stream()
		r.fault(s, 3)
		return boom
	})
	if err != boom {
		t.Errorf("got %v", err)
	}
	wantSite(t, r.Session.Close(false), 3)
}

func TestUse(t *testing.T) {
	r := newRig(t)
	other := must(r.dev.CreateContext(r.t))(t)
	boom := errors.New("boom")
	check(t, r.ctx.SetCurrent(r.t))
	err := r.t.Use(other, func() error {
		if c := must(r.t.CurrentContext())(t); c != other {
			t.Error("not current inside")
		}
		return boom
	})
	if c := must(r.t.CurrentContext())(t); err != boom || c != r.ctx {
		t.Errorf("got %v", err)
	}
	check(t, r.t.Use(other, func() error { return other.Close(r.t) }))
	if c := must(r.t.CurrentContext())(t); c != r.ctx {
		t.Error("another current context")
	}
	want(t, r.t.Use(other, func() error { return nil }), npu.ErrInvalidHandle)
}

func TestWaitIsInterrupted(t *testing.T) {
	why := errors.New("why")
	ctx, cancel := context.WithCancelCause(context.Background())
	s, err := npu.Open(context.Background(), npu.Options{Backend: "sim", Wall: true})
	check(t, err)
	th := s.NewThread(ctx)
	var st *npu.Stream
	within(t, "opening", func() {
		dev := must(th.Device(0))(t)
		st = must(dev.DefaultContext().CreateStream(th, npu.StreamOptions{}))(t)
		check(t, st.Launch(th, must(s.Kernel("spin"))(t), 1, []npu.Arg{{Number: 1000}}))
	})
	errs := make(chan error)
	go func() { errs <- st.Synchronize(th, -1) }()
	cancel(why)
	within(t, "the wait", func() {
		if err := <-errs; err != why {
			t.Errorf("got %v", err)
		}
	})
	within(t, "Close by force", func() {
		th.Close()
		check(t, s.Close(true))
	})
	noExecutor(t)
}
