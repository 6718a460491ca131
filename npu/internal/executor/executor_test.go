package executor_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"npulua/npu/internal/driver"
	"npulua/npu/internal/executor"
)

func TestCommandsKeepTheirOrder(t *testing.T) {
	for _, size := range []int{2, 3, 4096} {
		t.Run(fmt.Sprint("ring ", size), func(t *testing.T) {
			f, e := newFake(t, executor.Options{RingSize: size})
			c := e.NewCaller(background)
			defer c.Close()
			const n = 10000
			for i := range uint64(n) {
				submit(c, 1, driver.Stream(i%3), i)
				if i%1000 == 0 {
					look(t, c, func() {
						if len(f.log) != int(i)+1 {
							t.Errorf("%d commands before call %d, want %d", len(f.log), i, i+1)
						}
					})
				}
			}
			look(t, c, func() {
				if len(f.log) != n || !slices.IsSorted(f.log) {
					t.Errorf("%d commands, sorted %v", len(f.log), slices.IsSorted(f.log))
				}
			})
		})
	}
}

// Many callers through a ring of two places: each finds its own commands in order, and none is lost.
func TestFullRingServesAll(t *testing.T) {
	f, e := newFake(t, executor.Options{RingSize: 2})
	const callers, n = 8, 2000
	var wg sync.WaitGroup
	for k := range uint64(callers) {
		wg.Go(func() {
			c := e.NewCaller(background)
			defer c.Close()
			for i := range uint64(n) {
				submit(c, 1, 1, k<<32|i)
			}
			if err := c.Wait(&executor.Target{Context: 1, Stream: 1, Timeout: -1}); err != nil {
				t.Error(err)
			}
		})
	}
	within(t, "the callers", wg.Wait)
	c := e.NewCaller(background)
	defer c.Close()
	look(t, c, func() {
		var next [callers]uint64
		for _, v := range f.log {
			if k := v >> 32; v&0xffffffff != next[k] {
				t.Fatalf("caller %d: command %d, want %d", k, v&0xffffffff, next[k])
			}
			next[v>>32]++
		}
		if len(f.log) != callers*n {
			t.Errorf("%d commands, want %d", len(f.log), callers*n)
		}
	})
}

func TestOneCPU(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	f, e := newFake(t, executor.Options{RingSize: 4})
	c := e.NewCaller(background)
	defer c.Close()
	within(t, "one CPU", func() {
		for i := range uint64(500) {
			submit(c, 1, 1, i)
			if err := c.Wait(&executor.Target{Context: 1, Stream: 1, Timeout: -1}); err != nil {
				t.Error(err)
			}
		}
	})
	look(t, c, func() {
		if len(f.log) != 500 {
			t.Errorf("%d commands", len(f.log))
		}
	})
}

// Callers and executor park and wake each other at every possible moment.
func TestParkAndWake(t *testing.T) {
	_, e := newFake(t, executor.Options{RingSize: 2})
	var wg sync.WaitGroup
	for k := range 4 {
		wg.Go(func() {
			c := e.NewCaller(background)
			defer c.Close()
			for i := range 3000 {
				if err := c.Call(0, func(driver.Driver) error { return nil }); err != nil {
					t.Error(err)
				}
				for range (i * k) % 7 {
					runtime.Gosched()
				}
				if i%500 == 0 { // long enough for the executor to park
					timer := time.NewTimer(200 * time.Microsecond)
					<-timer.C
				}
			}
		})
	}
	within(t, "the callers", wg.Wait)
}

func TestContextSwitchesAreLazy(t *testing.T) {
	f, e := newFake(t, executor.Options{})
	c := e.NewCaller(background)
	defer c.Close()
	for i, ctx := range []driver.Context{1, 1, 2, 2, 2, 1, 1} {
		submit(c, ctx, 0, uint64(i))
	}
	look(t, c, func() { // works in context 1
		if want := []driver.Context{1, 2, 1}; !slices.Equal(f.contexts, want) {
			t.Errorf("contexts made current: %v, want %v", f.contexts, want)
		}
		if n := e.Stats().ContextSwitches; n != 3 {
			t.Errorf("%d switches counted, want 3", n)
		}
	})
	// A call without a context may change the current one: the next command makes its own current.
	if err := c.Call(0, func(d driver.Driver) error { return nil }); err != nil {
		t.Fatal(err)
	}
	submit(c, 1, 0, 9)
	look(t, c, func() {
		if len(f.contexts) != 4 {
			t.Errorf("contexts made current: %v", f.contexts)
		}
	})
}

func TestRefusedCommandIsToldOnce(t *testing.T) {
	f, e := newFake(t, executor.Options{})
	f.enqueue = func(c *driver.Command) error {
		if c.Value%2 == 1 {
			return driver.Errorf(driver.CodeInvalidHandle, "call", "value %d", c.Value)
		}
		return nil
	}
	c := e.NewCaller(background)
	defer c.Close()
	wait := func(s driver.Stream) error {
		return c.Wait(&executor.Target{Context: 1, Stream: s, Timeout: -1})
	}
	for i := range uint64(30) {
		submit(c, 1, 1, i)
	}
	if err := wait(2); err != nil {
		t.Errorf("another stream: %v", err)
	}
	if err := c.Wait(&executor.Target{Context: 1, Stream: 1, Timeout: -1, KeepFaults: true}); err != nil {
		t.Errorf("a wait that leaves faults: %v", err)
	}
	var e1 *driver.Error
	if err := wait(1); !errors.As(err, &e1) || e1.Code != driver.CodeInvalidHandle || e1.Site != 1 || e1.Op != "fill" {
		t.Errorf("first wait: %#v", err)
	} else if want := []driver.Site{3, 5, 7, 9, 11, 13, 15, 17}; !slices.Equal(e1.Affected, want) {
		t.Errorf("affected %v, want %v", e1.Affected, want)
	}
	if err := wait(1); err != nil {
		t.Errorf("second wait: %v", err)
	}
}

// A fault of the device and a refused command are two errors: one wait tells both.
func TestFaultAndRefusalAreBothTold(t *testing.T) {
	f, e := newFake(t, executor.Options{})
	f.enqueue = func(c *driver.Command) error {
		f.fault = &driver.Error{Code: driver.CodeVectorException, Site: 5}
		return driver.CodeStreamContext
	}
	c := e.NewCaller(background)
	defer c.Close()
	submit(c, 1, 1, 6)
	err := c.Wait(&executor.Target{Context: 1, Stream: 1, Timeout: -1})
	if !errors.Is(err, driver.CodeVectorException) || !errors.Is(err, driver.CodeStreamContext) {
		t.Errorf("got %v", err)
	}
	if err := c.Wait(&executor.Target{Context: 1, Stream: 1, Timeout: -1}); err != nil {
		t.Errorf("second wait: %v", err)
	}
}

func TestWaitIsInterrupted(t *testing.T) {
	f, e := newFake(t, executor.Options{})
	f.query = func(driver.Stream) (bool, error) { return false, nil }
	why := errors.New("why")
	ctx, cancel := context.WithCancelCause(background)
	c, other := e.NewCaller(ctx), e.NewCaller(background)
	defer c.Close()
	defer other.Close()
	errs := make(chan error)
	go func() { errs <- c.Wait(&executor.Target{Context: 1, Stream: 1, Timeout: -1}) }()
	look(t, other, func() {}) // others are served meanwhile
	cancel(why)
	within(t, "the wait", func() {
		if err := <-errs; err != why {
			t.Errorf("got %v", err)
		}
	})
	// and one that was cancelled before it began
	within(t, "the second wait", func() {
		if err := c.Wait(&executor.Target{Context: 1, Stream: 1, Timeout: -1}); err != why {
			t.Errorf("got %v", err)
		}
	})
}

func TestTimeoutsWithoutClock(t *testing.T) {
	f, e := newFake(t, executor.Options{})
	f.query = func(driver.Stream) (bool, error) { return false, nil }
	c := e.NewCaller(background)
	defer c.Close()
	for _, d := range []time.Duration{0, time.Microsecond, time.Millisecond} {
		begin := time.Now()
		err := c.Wait(&executor.Target{Context: 1, Stream: 1, Timeout: d})
		if codeOf(err) != driver.CodeStreamSyncTimeout || time.Since(begin) < d {
			t.Errorf("timeout %v: %v after %v", d, err, time.Since(begin))
		}
	}
	if err := c.Wait(&executor.Target{Kind: executor.WaitTimer, Timeout: time.Millisecond}); err != nil {
		t.Error(err)
	}
}

// The longest time is no time in the past.
func TestLongestTimeout(t *testing.T) {
	f, e := newClockFake(t)
	f.now = time.Hour
	done := false
	f.query = func(driver.Stream) (bool, error) { return done, nil }
	f.todo = []todo{{2 * time.Hour, func() { done = true }}}
	c := e.NewCaller(background)
	defer c.Close()
	if err := c.Wait(&executor.Target{Context: 1, Stream: 1, Timeout: math.MaxInt64}); err != nil {
		t.Error(err)
	}
	if err := c.Wait(&executor.Target{Kind: executor.WaitTimer, Timeout: math.MaxInt64}); err != nil {
		t.Error(err)
	}
	look(t, c, func() {
		if f.now != math.MaxInt64 {
			t.Errorf("time is %v", f.now)
		}
	})
}

func TestDeadlockIsToldWithClock(t *testing.T) {
	f, e := newClockFake(t)
	f.query = func(driver.Stream) (bool, error) { return false, nil }
	c := e.NewCaller(background)
	defer c.Close()
	within(t, "the wait", func() {
		err := c.Wait(&executor.Target{Context: 1, Stream: 1, Timeout: -1})
		if codeOf(err) != driver.CodeStreamSyncTimeout || !strings.Contains(err.Error(), "deadlock") {
			t.Errorf("got %v", err)
		}
	})
}

func TestTimeJumpsOnlyWhenAllWait(t *testing.T) {
	f, e := newClockFake(t)
	a, b := e.NewCaller(background), e.NewCaller(background)
	errs := make(chan error, 1)
	go func() { errs <- a.Wait(&executor.Target{Kind: executor.WaitTimer, Timeout: time.Second}) }()
	for range 100 {
		look(t, b, func() {
			if f.now != 0 {
				t.Errorf("time is %v while a caller works", f.now)
			}
		})
	}
	b.Close()
	within(t, "the timer", func() {
		if err := <-errs; err != nil {
			t.Error(err)
		}
	})
	a.Close()
}

func TestQueueFull(t *testing.T) {
	t.Run("room comes with time", func(t *testing.T) {
		f, e := newClockFake(t)
		room := 2
		f.enqueue = func(*driver.Command) error {
			if room == 0 {
				return driver.CodeQueueFull
			}
			room--
			return nil
		}
		for i := range 100 {
			f.todo = append(f.todo, todo{time.Duration(i), func() { room++ }})
		}
		c := e.NewCaller(background)
		defer c.Close()
		for i := range uint64(50) {
			submit(c, 1, 1, i)
		}
		if err := c.Wait(&executor.Target{Context: 1, Stream: 1, Timeout: -1}); err != nil {
			t.Error(err)
		}
		look(t, c, func() {
			if len(f.log) != 50 || !slices.IsSorted(f.log) {
				t.Errorf("got %v", f.log)
			}
		})
	})
	t.Run("nothing can make room", func(t *testing.T) {
		f, e := newClockFake(t)
		f.enqueue = func(*driver.Command) error { return driver.CodeQueueFull }
		c := e.NewCaller(background)
		defer c.Close()
		submit(c, 1, 1, 7)
		err := c.Wait(&executor.Target{Context: 1, Stream: 1, Timeout: -1})
		if codeOf(err) != driver.CodeResourceStream || !strings.Contains(err.Error(), "queue is full") {
			t.Errorf("got %v", err)
		}
	})
	t.Run("without a clock", func(t *testing.T) {
		f, e := newFake(t, executor.Options{})
		n := 0
		f.enqueue = func(*driver.Command) error {
			if n++; n%3 != 0 {
				return driver.CodeQueueFull
			}
			return nil
		}
		c := e.NewCaller(background)
		defer c.Close()
		for i := range uint64(20) {
			submit(c, 1, 1, i)
		}
		look(t, c, func() {
			if len(f.log) != 20 || !slices.IsSorted(f.log) {
				t.Errorf("got %v", f.log)
			}
		})
	})
	t.Run("abort", func(t *testing.T) {
		f, e := newFake(t, executor.Options{})
		f.enqueue = func(*driver.Command) error { return driver.CodeQueueFull }
		c := e.NewCaller(background)
		defer c.Close()
		submit(c, 1, 1, 1)
		e.Abort()
		within(t, "the call", func() { look(t, c, func() {}) })
	})
}

func TestDriverPanics(t *testing.T) {
	f, e := newFake(t, executor.Options{})
	c := e.NewCaller(background)
	defer c.Close()
	want := func(what string, err error) {
		t.Helper()
		var p *executor.PanicError
		if !errors.As(err, &p) || p.Value != "broken" || !strings.Contains(string(p.Stack), "executor_test.go") {
			t.Errorf("%s: %v", what, err)
		}
	}
	want("call", c.Call(1, func(driver.Driver) error { panic("broken") }))
	f.query = func(driver.Stream) (bool, error) { panic("broken") }
	want("wait", c.Wait(&executor.Target{Context: 1, Stream: 1, Timeout: -1}))
	f.query = nil
	f.enqueue = func(*driver.Command) error { panic("broken") }
	submit(c, 1, 1, 1)
	if err := c.Wait(&executor.Target{Context: 1, Stream: 1, Timeout: -1}); err == nil || !strings.Contains(err.Error(), "broken") {
		t.Errorf("command: %v", err)
	}
	look(t, c, func() {})
}

func TestPanicInTimeEndsTheWait(t *testing.T) {
	f, e := newClockFake(t)
	f.query = func(driver.Stream) (bool, error) { return false, nil }
	f.todo = []todo{{1, func() { panic("broken") }}}
	c := e.NewCaller(background)
	defer c.Close()
	within(t, "the wait", func() {
		var p *executor.PanicError
		if err := c.Wait(&executor.Target{Context: 1, Stream: 1, Timeout: -1}); !errors.As(err, &p) {
			t.Errorf("got %v", err)
		}
	})
}

func TestReleases(t *testing.T) {
	f, e := newFake(t, executor.Options{})
	c := e.NewCaller(background)
	defer c.Close()

	// Tried again after each wait until it says yes; the current context is as before.
	tries := 0
	submit(c, 1, 1, 0)
	e.Release(func(d driver.Driver) bool {
		_ = d.SetCurrentContext(7)
		tries++
		return tries == 3
	})
	for range 5 {
		if err := c.Wait(&executor.Target{Context: 1, Stream: 1, Timeout: -1}); err != nil {
			t.Fatal(err)
		}
		look(t, c, func() { _ = e.Again(func() error { return nil }) })
	}
	look(t, c, func() {
		if tries != 3 {
			t.Errorf("tried %d times, want 3", tries)
		}
		if last := f.contexts[len(f.contexts)-1]; last != 1 {
			t.Errorf("current context is %d", last)
		}
	})

	// A panic in one does not keep the next from running.
	ran := make(chan struct{})
	e.Release(func(driver.Driver) bool { panic("broken") })
	e.Release(func(driver.Driver) bool { close(ran); return true })
	within(t, "the release", func() { <-ran })
}

// What is released reaches the driver after the commands that were published before: they may use it.
func TestReleaseComesAfterTheCommands(t *testing.T) {
	f, e := newFake(t, executor.Options{})
	hold := make(chan struct{})
	f.enqueue = func(c *driver.Command) error {
		if c.Value == 0 {
			<-hold
		}
		return nil
	}
	c := e.NewCaller(background)
	defer c.Close()
	const n = 1000 // more than the executor takes at once
	for i := range uint64(n) {
		submit(c, 1, 1, i)
	}
	got := -1
	e.Release(func(driver.Driver) bool { got = len(f.log); return true })
	close(hold)
	look(t, c, func() { _ = e.Again(func() error { return nil }) })
	look(t, c, func() {
		if got != n {
			t.Errorf("released after %d commands, want %d", got, n)
		}
	})
}

func TestAfterClose(t *testing.T) {
	f, e := newClockFake(t)
	f.query = func(driver.Stream) (bool, error) { return true, nil }
	c := e.NewCaller(background)
	within(t, "Close", e.Close)
	within(t, "a call", func() {
		if err := c.Call(0, func(driver.Driver) error { return nil }); codeOf(err) != driver.CodeUninitialized {
			t.Errorf("call: %v", err)
		}
		if err := c.Wait(&executor.Target{Context: 1, Stream: 1, Timeout: -1}); codeOf(err) != driver.CodeUninitialized {
			t.Errorf("wait: %v", err)
		}
	})
}
