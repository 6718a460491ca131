package executor_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"npulua/npu/internal/driver"
	"npulua/npu/internal/executor"
)

// A host function runs on the goroutine of its caller, inside a wait of it, while others wait.
func TestUpcallRunsOnItsCaller(t *testing.T) {
	f, e := newClockFake(t)
	a, b := e.NewCaller(background), e.NewCaller(background)
	defer a.Close()
	defer b.Close()
	done := false
	inside := [2]bool{}
	f.query = func(driver.Stream) (bool, error) { return done, nil }
	f.todo = []todo{
		{1, func() {
			if err := e.Upcall(a, func() error { inside = [2]bool{a.Inside(), b.Inside()}; return nil }); err != nil {
				t.Error(err)
			}
		}},
		{2, func() {
			if err := e.Upcall(b, func() error { return errors.New("from b") }); err == nil || err.Error() != "from b" {
				t.Error(err)
			}
			done = true
		}},
	}
	errs := make(chan error, 2)
	for _, c := range []*executor.Caller{a, b} {
		go func() { errs <- c.Wait(&executor.Target{Context: 1, Stream: 1, Timeout: -1}) }()
	}
	within(t, "the waits", func() {
		for range 2 {
			if err := <-errs; err != nil {
				t.Error(err)
			}
		}
	})
	if inside != [2]bool{true, false} {
		t.Errorf("inside: %v", inside)
	}
	if a.Inside() {
		t.Error("still inside")
	}
}

func TestUpcallPanics(t *testing.T) {
	f, e := newClockFake(t)
	c := e.NewCaller(background)
	defer c.Close()
	f.todo = []todo{{1, func() {
		var p *executor.PanicError
		if err := e.Upcall(c, func() error { panic("broken") }); !errors.As(err, &p) || p.Value != "broken" {
			t.Errorf("got %v", err)
		}
	}}}
	if err := c.Wait(&executor.Target{Kind: executor.WaitTimer, Timeout: time.Second}); err != nil {
		t.Error(err)
	}
	if c.Inside() {
		t.Error("still inside")
	}
}

// A host function of a caller that has ended, ends meanwhile, or was interrupted fails; nothing hangs.
func TestUpcallOfNobody(t *testing.T) {
	never := func() error { return errors.New("ran") }
	t.Run("ended before", func(t *testing.T) {
		f, e := newClockFake(t)
		c, gone := e.NewCaller(background), e.NewCaller(background)
		defer c.Close()
		gone.Close()
		gone.Close() // counts once
		f.todo = []todo{{1, func() {
			if err := e.Upcall(gone, never); err != executor.ErrGone {
				t.Errorf("got %v", err)
			}
		}}}
		within(t, "the wait", func() {
			if err := c.Wait(&executor.Target{Kind: executor.WaitTimer, Timeout: time.Second}); err != nil {
				t.Error(err)
			}
		})
	})
	t.Run("ends meanwhile", func(t *testing.T) {
		_, e := newClockFake(t)
		c, gone := e.NewCaller(background), e.NewCaller(background)
		defer c.Close()
		began := make(chan struct{})
		errs := make(chan error, 1)
		go func() {
			errs <- c.Call(0, func(driver.Driver) error {
				close(began)
				return e.Upcall(gone, never)
			})
		}()
		<-began
		gone.Close()
		within(t, "the call", func() {
			if err := <-errs; err != executor.ErrGone {
				t.Errorf("got %v", err)
			}
		})
	})
	t.Run("interrupted", func(t *testing.T) {
		_, e := newClockFake(t)
		ctx, cancel := context.WithCancel(background)
		c, busy := e.NewCaller(background), e.NewCaller(ctx)
		defer c.Close()
		defer busy.Close()
		began := make(chan struct{})
		errs := make(chan error, 1)
		go func() {
			errs <- c.Call(0, func(driver.Driver) error {
				close(began)
				return e.Upcall(busy, never)
			})
		}()
		<-began
		cancel()
		within(t, "the call", func() {
			if err := <-errs; !errors.Is(err, context.Canceled) {
				t.Errorf("got %v", err)
			}
		})
	})
	t.Run("left alone", func(t *testing.T) {
		f, e := newClockFake(t)
		c, idle := e.NewCaller(background), e.NewCaller(background)
		defer idle.Close()
		defer c.Close()
		f.todo = []todo{{1, func() {
			if err := e.Upcall(idle, never); err != executor.ErrGone {
				t.Errorf("got %v", err)
			}
		}}}
		e.Last(c)
		within(t, "the wait", func() {
			if err := c.Wait(&executor.Target{Kind: executor.WaitTimer, Timeout: time.Second}); err != nil {
				t.Error(err)
			}
		})
	})
}

// A caller that waits for room in the ring runs its host functions meanwhile.
func TestUpcallWhileTheRingIsFull(t *testing.T) {
	f := &clockFake{fake: &fake{Driver: nil}}
	e := start(t, f, executor.Options{RingSize: 2})
	c := e.NewCaller(background)
	defer c.Close()
	ran := 0
	f.enqueue = func(*driver.Command) error {
		return e.Upcall(c, func() error { ran++; return nil })
	}
	within(t, "the commands", func() {
		for i := range uint64(100) {
			submit(c, 1, 1, i)
		}
		if err := c.Wait(&executor.Target{Context: 1, Stream: 1, Timeout: -1}); err != nil {
			t.Error(err)
		}
	})
	if ran != 100 {
		t.Errorf("%d host functions ran", ran)
	}
}

// Threads of a library that call at once are served one after the other.
func TestUpcallsOfSeveralThreads(t *testing.T) {
	f, e := newFake(t, executor.Options{})
	c := e.NewCaller(background)
	defer c.Close()
	const n = 8
	left := make(chan error, n)
	ran := 0 // on the goroutine of c alone
	for range n {
		go func() { left <- e.Upcall(c, func() error { ran++; return nil }) }()
	}
	over := make(chan struct{})
	go func() {
		defer close(over)
		for range n {
			if err := <-left; err != nil {
				t.Error(err)
			}
		}
	}()
	f.query = func(driver.Stream) (bool, error) {
		select {
		case <-over:
			return true, nil
		default:
			return false, nil
		}
	}
	within(t, "the wait", func() {
		if err := c.Wait(&executor.Target{Context: 1, Stream: 1, Timeout: -1}); err != nil {
			t.Error(err)
		}
	})
	if ran != n {
		t.Errorf("%d functions ran, want %d", ran, n)
	}
}
