package executor_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"npulua/npu/internal/driver"
	"npulua/npu/internal/executor"
)

// Wake before a wait ends the next one, once; several count as one.
func TestWakeBefore(t *testing.T) {
	f, e := newClockFake(t)
	c := e.NewCaller(background)
	defer c.Close()
	c.Post(timer(4))
	c.Wake()
	c.Wake()
	wantAwait(t, c)
	look(t, c, func() {
		if f.now != 0 {
			t.Errorf("it is %v, want 0", f.now)
		}
	})
	wantAwait(t, c, "timer 4ns")
}

// Wake ends a wait under way, from another goroutine, and no time passes for that.
func TestWakeDuring(t *testing.T) {
	f, e := newClockFake(t)
	f.query = func(driver.Stream) (bool, error) { return false, nil }
	c, other := e.NewCaller(background), e.NewCaller(background)
	defer c.Close()
	for range 200 {
		c.Post(timer(time.Second))
		woken := make(chan error)
		go func() {
			list, err := c.Await()
			if len(list) != 0 {
				err = errors.Join(err, errors.New("an answer"))
			}
			woken <- err
		}()
		look(t, other, func() {})
		c.Wake()
		within(t, "the wait", func() {
			if err := <-woken; err != nil {
				t.Error(err)
			}
		})
	}
	other.Close()
	look(t, c, func() {
		if f.now != 0 {
			t.Errorf("it is %v, want 0", f.now)
		}
	})
}

// No call of Wake is lost, whatever the caller does meanwhile.
func TestWakesAreNotLost(t *testing.T) {
	_, e := newClockFake(t)
	c, other := e.NewCaller(background), e.NewCaller(background) // other runs: nothing else ends the waits
	defer c.Close()
	defer other.Close()
	var sent, seen atomic.Int64
	const n = 5000
	var wg sync.WaitGroup
	for range 2 {
		wg.Go(func() {
			for range n {
				sent.Add(1)
				c.Wake()
				for i := 0; seen.Load() < sent.Load()-3 && i < 100; i++ {
				}
			}
		})
	}
	within(t, "the waits", func() {
		for seen.Load() < 2*n {
			if _, err := c.Await(); err != nil {
				t.Error(err)
				return
			}
			seen.Store(sent.Load())
			if seen.Load()%7 == 0 {
				if _, err := c.Poll(); err != nil {
					t.Error(err)
					return
				}
				seen.Store(sent.Load())
			}
		}
		wg.Wait()
	})
}

// A wait for one target goes on after Wake.
func TestWaitGoesOnAfterWake(t *testing.T) {
	f, e := newClockFake(t)
	c := e.NewCaller(background)
	defer c.Close()
	c.Wake()
	if err := c.Wait(timer(3)); err != nil {
		t.Error(err)
	}
	look(t, c, func() {
		if f.now != 3 {
			t.Errorf("it is %v, want 3ns", f.now)
		}
	})
}

// A deadlock is told to one caller after the other, the newest first, once none runs, and to none before.
func TestDeadlockIsToldToTheNewest(t *testing.T) {
	f, e := newClockFake(t)
	f.query = func(driver.Stream) (bool, error) { return false, nil }
	const n = 5
	told := make(chan int, n)
	for i := range n {
		c := e.NewCaller(background)
		c.Post(stream(driver.Stream(i + 1)))
		go func() {
			defer c.Close() // only then can the others be in a deadlock
			if _, err := c.Await(); err != executor.ErrDeadlock {
				t.Errorf("Await() = %v, want a deadlock", err)
			}
			told <- i
		}()
	}
	busy := e.NewCaller(background)
	for range 1000 {
		look(t, busy, func() {})
	}
	if len(told) != 0 {
		t.Fatalf("%d waits ended while a caller ran", len(told))
	}
	busy.Close()
	within(t, "the deadlock", func() {
		for i := range n {
			if got := <-told; got != n-1-i {
				t.Errorf("caller %d was told as number %d", got, i)
			}
		}
	})
}

// A deadlock ends the wait, not the targets: what somebody does later still answers them.
func TestTargetsOutliveADeadlock(t *testing.T) {
	f, e := newClockFake(t)
	done := false
	f.query = func(driver.Stream) (bool, error) { return done, nil }
	c := e.NewCaller(background)
	defer c.Close()
	c.Post(stream(1))
	for range 3 {
		if _, err := await(t, c); err != executor.ErrDeadlock {
			t.Errorf("Await() = %v, want a deadlock", err)
		}
	}
	look(t, c, func() { done = true })
	wantAwait(t, c, "stream 1")
}

// The end of the caller's context ends its waits, and leaves others and its targets alone.
func TestAwaitIsInterrupted(t *testing.T) {
	for _, clock := range []bool{true, false} {
		var f *fake
		var e *executor.Executor
		if clock {
			var cf *clockFake
			cf, e = newClockFake(t)
			f = cf.fake
		} else {
			f, e = newFake(t, executor.Options{})
		}
		done := false
		f.query = func(driver.Stream) (bool, error) { return done, nil }
		why := errors.New("why")
		ctx, cancel := context.WithCancelCause(background)
		c, other := e.NewCaller(ctx), e.NewCaller(background)
		c.Post(stream(1))
		errs := make(chan error)
		go func() {
			_, err := c.Await()
			errs <- err
		}()
		look(t, other, func() {})
		cancel(why)
		within(t, "the wait", func() {
			if err := <-errs; err != why {
				t.Errorf("clock %v: Await() = %v, want %v", clock, err, why)
			}
		})
		if err := c.Err(); err != why {
			t.Errorf("clock %v: Err() = %v, want %v", clock, err, why)
		}
		if err := c.Try(stream(1)); err != why {
			t.Errorf("clock %v: Try() = %v, want %v", clock, err, why)
		}
		look(t, other, func() { done = true })
		c.SetContext(background)
		wantAwait(t, c, "stream 1")
		c.Close()
		other.Close()
	}
}

// Posted functions run on their caller, in order, before its wait returns; that says nothing then.
func TestLaterRunsBeforeAwaitReturns(t *testing.T) {
	f, e := newClockFake(t)
	c := e.NewCaller(background)
	defer c.Close()
	var ran []int // no lock: all on this goroutine
	note := func(i int) func() {
		return func() {
			if !c.Inside() {
				t.Error("not inside")
			}
			ran = append(ran, i)
		}
	}
	f.todo = []todo{
		{1, func() { later(e, c, note(1)); later(e, c, note(2)) }},
		{2, func() {
			later(e, c, note(3))
			later(e, c, func() { panic("lost") })
			later(e, c, note(4))
		}},
	}
	c.Post(timer(2))
	wantAwait(t, c)
	if want := []int{1, 2}; !slices.Equal(ran, want) {
		t.Errorf("ran %v, want %v", ran, want)
	}
	wantAwait(t, c, "timer 2ns")
	if want := []int{1, 2, 3, 4}; !slices.Equal(ran, want) {
		t.Errorf("ran %v, want %v", ran, want)
	}
	look(t, c, func() { later(e, c, note(5)) })
	if list, err := c.Poll(); len(list) != 0 || err != nil || ran[len(ran)-1] != 5 {
		t.Errorf("Poll() = %v, %v after %v", list, err, ran)
	}
	look(t, c, func() { later(e, c, note(6)) })
	if err := c.Wait(timer(1)); err != nil || ran[len(ran)-1] != 6 {
		t.Errorf("Wait() = %v after %v", err, ran)
	}
}

// Without a clock functions come from anywhere.
func TestLaterFromAnywhere(t *testing.T) {
	f, e := newFake(t, executor.Options{})
	f.query = func(driver.Stream) (bool, error) { return false, nil }
	c := e.NewCaller(background)
	defer c.Close()
	c.Post(stream(1))
	const n = 1000
	ran := 0 // no lock: all on the caller's goroutine
	for range 4 {
		go func() {
			for range n / 4 {
				later(e, c, func() { ran++ })
			}
		}()
	}
	within(t, "the functions", func() {
		for ran < n {
			if list, err := c.Await(); len(list) != 0 || err != nil {
				t.Errorf("Await() = %v, %v", list, err)
				return
			}
		}
	})
}

// A function for a caller that has ended, or that ends before it runs, harms nobody.
func TestLaterOfClosedCaller(t *testing.T) {
	_, e := newClockFake(t)
	c, gone := e.NewCaller(background), e.NewCaller(background)
	defer c.Close()
	late := func() error {
		return e.Later(gone, func() error { t.Error("ran"); return nil }, func(error) {})
	}
	look(t, c, func() {
		if err := late(); err != nil {
			t.Error(err)
		}
	})
	gone.Close()
	look(t, c, func() {
		if err := late(); err != executor.ErrGone {
			t.Errorf("Later() = %v after Close, want %v", err, executor.ErrGone)
		}
	})
	if err := c.Wait(timer(1)); err != nil {
		t.Error(err)
	}
}

// What a caller has posted when it ends, or when only another one goes on, holds no time up.
func TestTargetsOfAbsentCallers(t *testing.T) {
	for _, row := range []struct {
		name  string
		leave func(e *executor.Executor, c, gone *executor.Caller)
	}{
		{"closed", func(_ *executor.Executor, _, gone *executor.Caller) { gone.Close() }},
		{"not the last", func(e *executor.Executor, c, _ *executor.Caller) { e.Last(c) }},
	} {
		f, e := newClockFake(t)
		f.query = func(driver.Stream) (bool, error) { return false, nil }
		c, gone := e.NewCaller(background), e.NewCaller(background)
		gone.Post(timer(1))
		gone.Post(stream(1))
		row.leave(e, c, gone)
		c.Post(timer(5))
		if got, err := await(t, c); err != nil || !slices.Equal(got, []string{"timer 5ns"}) {
			t.Errorf("%s: Await() = %q, %v, want the timer", row.name, got, err)
		}
		c.Close()
	}
}

// Time stands still until what the last caller waits for was looked at.
func TestLastCallerSkipsNoTime(t *testing.T) {
	f, e := newClockFake(t)
	c := e.NewCaller(background)
	defer c.Close()
	e.Last(c)
	for i := range 20000 {
		end := timer(time.Second)
		c.Post(end)
		c.Post(stream(1)) // done
		for range i % 1000 {
		}
		list, err := c.Await()
		c.Withdraw(end)
		if err != nil || !slices.Equal(owners(list), []string{"stream 1"}) {
			t.Fatalf("round %d: Await() = %q, %v, want the stream alone", i, owners(list), err)
		}
	}
	look(t, c, func() {
		if f.now != 0 {
			t.Errorf("it is %v, want 0", f.now)
		}
	})
}

// later has fn run by c, and forgets what it panics with.
func later(e *executor.Executor, c *executor.Caller, fn func()) {
	_ = e.Later(c, func() error { fn(); return nil }, func(error) {})
}
