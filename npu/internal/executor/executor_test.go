package executor_test

import (
	"errors"
	"fmt"
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
