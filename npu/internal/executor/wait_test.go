package executor_test

import (
	"context"
	"errors"
	"math"
	"testing"
	"time"

	"npulua/npu/internal/driver"
	"npulua/npu/internal/executor"
)

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
		if err != executor.ErrDeadlock {
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
