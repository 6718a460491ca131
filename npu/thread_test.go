package npu_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"npulua/npu"
)

// Each thread has its own current context; the handles of one work whatever the others do.
func TestThreadsHaveTheirOwnContext(t *testing.T) {
	s := open(t, npu.Options{})
	var wg sync.WaitGroup
	main := s.Main()
	for id := range 8 {
		th := s.NewThread(t.Context())
		wg.Go(func() {
			defer th.Close()
			dev, err := th.Device(id % 2)
			if err != nil {
				t.Error(err)
				return
			}
			ctx, err := dev.CreateContext(th)
			if err != nil {
				t.Error(err)
				return
			}
			k, err := s.Kernel("axpy")
			if err != nil {
				t.Error(err)
				return
			}
			st := must(ctx.CreateStream(th, npu.StreamOptions{}))(t)
			x := must(ctx.Alloc(th, float32Type, 64, ""))(t)
			h := must(th.Host(float32Type, 64, true))(t)
			if err := st.Fill(th, x, 1); err != nil {
				t.Error(err)
			}
			for range 10 { // x = x + x
				if err := st.Launch(th, k, 2, []npu.Arg{{Buffer: x}, {Buffer: x}, {Number: 1}, {Number: 64}}); err != nil {
					t.Error(err)
				}
				if c, err := th.CurrentContext(); c != ctx || err != nil {
					t.Errorf("thread %d: another current context", id)
				}
			}
			if err := st.Copy(th, h, x); err != nil {
				t.Error(err)
			}
			if err := st.Synchronize(th, -1); err != nil {
				t.Error(err)
			}
			if v, err := h.Sum(); v != 64*1024 || err != nil {
				t.Errorf("thread %d: sum %v, %v", id, v, err)
			}
			if err := ctx.Close(th); err != nil {
				t.Error(err)
			}
		})
	}
	main.Close() // it does not wait: time could not pass
	within(t, "the threads", wg.Wait)
}

// Callbacks run on the goroutine that queued them, in order of their stream.
func TestCallbacksOfSeveralThreads(t *testing.T) {
	s := open(t, npu.Options{})
	main := s.Main()
	dev := must(main.Device(0))(t)
	const threads, n = 6, 200
	var wg sync.WaitGroup
	for id := range threads {
		th := s.NewThread(t.Context())
		st := must(dev.DefaultContext().CreateStream(th, npu.StreamOptions{}))(t)
		wg.Go(func() {
			defer th.Close()
			var got []int // no lock: all on this goroutine, as -race can tell
			for i := range n {
				if err := st.Callback(th, func() error { got = append(got, i); return nil }); err != nil {
					t.Error(err)
				}
				if i%50 == 49 {
					if err := st.Synchronize(th, -1); err != nil {
						t.Error(err)
					}
				}
			}
			if len(got) != n || !slices.IsSorted(got) {
				t.Errorf("thread %d: %d callbacks, in order %v", id, len(got), slices.IsSorted(got))
			}
		})
	}
	done := make(chan struct{})
	go func() { wg.Wait(); close(done) }()
	within(t, "the threads", func() {
		for {
			select {
			case <-done:
				return
			default:
				if err := main.Busy(time.Millisecond); err != nil { // a thread that does not wait holds time back
					t.Error(err)
					return
				}
			}
		}
	})
}

func TestCallbackErrors(t *testing.T) {
	r := newRig(t)
	boom := errors.New("boom")
	r.t.Site = 5
	check(t, r.s.Callback(r.t, func() error { return boom }))
	r.t.Site = 6
	err := r.s.Synchronize(r.t, -1)
	wantSite(t, err, 5)
	if !errors.Is(err, boom) || !strings.Contains(err.Error(), "boom") {
		t.Errorf("got %v", err)
	}
	check(t, r.s.Synchronize(r.t, -1))

	// No NPU call inside, of whatever kind; it is refused at once and harms nothing.
	x, h, d := r.alloc(4), r.host(4), must(r.t.Device(1))(t)
	e := must(r.ctx.CreateEvent(r.t, true))(t)
	relu := r.kernel("relu")
	for name, fn := range map[string]func() error{
		"synchronize":   func() error { return r.s.Synchronize(r.t, -1) },
		"query":         func() error { _, err := r.s.Query(r.t); return err },
		"copy":          func() error { return r.s.Copy(r.t, x, h) },
		"fill":          func() error { return r.s.Fill(r.t, x, 0) },
		"launch":        func() error { return r.s.Launch(r.t, relu, 1, []npu.Arg{{Buffer: x}, {Buffer: x}, {Number: 4}}) },
		"record":        func() error { return r.s.Record(r.t, e) },
		"wait":          func() error { return r.s.Wait(r.t, e) },
		"callback":      func() error { return r.s.Callback(r.t, func() error { return nil }) },
		"blocking copy": func() error { return npu.Copy(r.t, x, h) },
		"stream close":  func() error { return r.s.Close(r.t) },
		"buffer close":  func() error { return x.Close(r.t) },
		"event close":   func() error { return e.Close(r.t) },
		"context close": func() error { return r.ctx.Close(r.t) },
		"device close":  func() error { return r.dev.Close(r.t) },
		"device reset":  func() error { return r.dev.Reset(r.t) },
		"new stream":    func() error { _, err := r.ctx.CreateStream(r.t, npu.StreamOptions{}); return err },
		"new event":     func() error { _, err := r.ctx.CreateEvent(r.t, false); return err },
		"new context":   func() error { _, err := r.dev.CreateContext(r.t); return err },
		"alloc":         func() error { _, err := r.ctx.Alloc(r.t, float32Type, 4, ""); return err },
		"host":          func() error { _, err := r.t.Host(float32Type, 4, true); return err },
		"busy":          func() error { return r.t.Busy(1) },
		"now":           func() error { _, err := r.t.Now(); return err },
		"memory":        func() error { _, _, err := r.dev.Memory(r.t); return err },
		"elapsed":       func() error { _, err := npu.Elapsed(r.t, e, e); return err },
		"peers":         func() error { return r.dev.EnablePeerAccess(r.t, d) },
		"scope": func() error {
			return r.t.Scope(func() error { _, err := r.ctx.Alloc(r.t, float32Type, 4, ""); return err })
		},
	} {
		if name == "elapsed" {
			check(t, r.s.Record(r.t, e))
		}
		check(t, r.s.Callback(r.t, func() error {
			if !r.t.Inside() {
				t.Error("not inside")
			}
			return fn()
		}))
		within(t, name, func() {
			err := r.s.Synchronize(r.t, -1)
			if err == nil || !strings.Contains(err.Error(), "no NPU call inside") {
				t.Errorf("%s: %v", name, err)
			}
		})
	}
	for what, closed := range map[string]bool{"stream": r.s.Closed(), "buffer": x.Closed(), "event": e.Closed(), "context": r.ctx.Closed(), "device": r.dev.Closed()} {
		if closed {
			t.Errorf("%s was closed", what)
		}
	}
}

func TestPanicsOfHostFunctions(t *testing.T) {
	r := newRig(t)
	check(t, r.s.Callback(r.t, func() error { panic("broken") }))
	var p *npu.PanicError
	within(t, "the wait", func() {
		if err := r.s.Synchronize(r.t, -1); !errors.As(err, &p) || p.Value != "broken" || !strings.Contains(string(p.Stack), "thread_test.go") {
			t.Errorf("callback: %v", err)
		}
	})
	k := must(r.NewKernel(npu.KernelOptions{Name: "bad", Signature: "uint32 n", Sim: func(*npu.HostLaunch) error { panic("worse") }}))(t)
	check(t, r.s.Launch(r.t, k, 1, []npu.Arg{{Number: 1}}))
	within(t, "the wait", func() {
		if err := r.s.Synchronize(r.t, -1); !errors.As(err, &p) || p.Value != "worse" {
			t.Errorf("kernel: %v", err)
		}
	})
	check(t, r.s.Synchronize(r.t, -1))
}

// A callback whose thread has ended fails; the session ends all the same.
func TestCallbackOfEndedThread(t *testing.T) {
	r := newRig(t)
	th := r.NewThread(t.Context())
	check(t, r.s.Callback(th, func() error { t.Error("ran"); return nil }))
	th.Close()
	within(t, "the wait", func() {
		err := r.s.Synchronize(r.t, -1)
		want(t, err, npu.ErrInternal)
		if err == nil || !strings.Contains(err.Error(), "has ended") {
			t.Errorf("got %v", err)
		}
	})
	// and one that was never closed, and has work queued
	idle := r.NewThread(t.Context())
	check(t, r.s.Callback(idle, func() error { t.Error("ran"); return nil }))
	r.spin(r.s, time.Second)
	within(t, "Close", func() {
		if err := r.Session.Close(false); err == nil {
			t.Error("a callback was dropped without a word")
		}
	})
}

// A kernel in Go runs on the thread that queued the launch, also where another one launched it first.
func TestKernelRunsOnItsThread(t *testing.T) {
	r := newRig(t)
	var on []bool
	var second *npu.Thread
	k := must(r.NewKernel(npu.KernelOptions{Name: "k", Signature: "uint32 n", Sim: func(*npu.HostLaunch) error {
		on = append(on, r.t.Inside(), second != nil && second.Inside())
		return nil
	}}))(t)
	launch := func(th *npu.Thread) {
		check(t, r.s.Launch(th, k, 1, []npu.Arg{{Number: 1}}))
		check(t, r.s.Synchronize(th, -1))
	}
	launch(r.t)
	second = r.NewThread(t.Context())
	defer second.Close()
	r.t.Close()
	within(t, "the second thread", func() { launch(second) })
	if wanted := []bool{true, false, false, true}; !slices.Equal(on, wanted) {
		t.Errorf("ran on %v, want %v", on, wanted)
	}
}

func TestCancelledThread(t *testing.T) {
	r := newRig(t)
	why := errors.New("why")
	ctx, cancel := context.WithCancelCause(t.Context())
	r.t.SetContext(ctx)
	r.spin(r.s, time.Second)
	cancel(why)
	if err := r.s.Synchronize(r.t, -1); err != why {
		t.Errorf("got %v", err)
	}
	x := r.host(4)
	check(t, x.SetElement(0, 1))
	r.t.SetContext(t.Context())
	check(t, r.s.Synchronize(r.t, -1)) // the work went on
	check(t, r.Session.Close(false))
}

// launches queues n launches without a wait.
func launches(tb testing.TB, r *rig, n int) {
	x := r.alloc(64)
	k := r.kernel("relu")
	args := []npu.Arg{{Buffer: x}, {Buffer: x}, {Number: 64}}
	for range n {
		if err := r.s.Launch(r.t, k, 1, args); err != nil {
			tb.Fatal(err)
		}
	}
	check(tb, r.s.Synchronize(r.t, -1))
}

// A program that queues faster than the device works waits for room: memory stays bounded.
func TestBackpressure(t *testing.T) {
	r := newRig(t)
	n := 100_000
	if testing.Short() {
		n = 20_000
	}
	launches(t, r, n)
	st := must(r.Stats(r.t))(t)
	if st.Commands != int64(n) || st.Errors != 0 {
		t.Errorf("%+v", st.Stats)
	}
}

func BenchmarkBackpressure(b *testing.B) {
	const n = 1_000_000
	for b.Loop() {
		r := newRig(b)
		launches(b, r, n)
		check(b, r.Session.Close(false))
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/n, "ns/launch")
}

// Ten threads that open and close everything at once.
func TestThreadsStorm(t *testing.T) {
	s := open(t, npu.Options{})
	var wg sync.WaitGroup
	var live atomic.Int64
	for id := range 10 {
		th := s.NewThread(t.Context())
		wg.Go(func() {
			defer th.Close()
			for i := range 30 {
				err := th.Scope(func() error {
					dev, err := th.Device((id + i) % 2)
					if err != nil {
						return err
					}
					ctx, err := dev.CreateContext(th)
					if err != nil {
						return err
					}
					st, err := ctx.CreateStream(th, npu.StreamOptions{Priority: i % 8})
					if err != nil {
						return err
					}
					x, err := ctx.Alloc(th, float32Type, 1<<16, "")
					if err != nil {
						return err
					}
					live.Add(1)
					return st.Fill(th, x, float64(i))
				})
				if err != nil {
					t.Error(fmt.Errorf("thread %d, round %d: %w", id, i, err))
					return
				}
			}
		})
	}
	s.Main().Close()
	within(t, "the threads", wg.Wait)
	if n := len(s.Leaks()); n != 0 || live.Load() != 300 {
		t.Errorf("%d handles left, %d rounds", n, live.Load())
	}
}
