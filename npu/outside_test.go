package npu_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"npulua/npu"
)

// newWallCrew is a crew in real time.
func newWallCrew(tb testing.TB) *crew {
	tb.Helper()
	s := open(tb, npu.Options{Backend: "sim", Wall: true})
	return onThread(tb, s, s.Main())
}

// untilEnd waits for the end of its context.
func untilEnd(ctx context.Context) error {
	<-ctx.Done()
	return errors.New("ended")
}

// In real time other tasks go on, and may be what ends the wait.
func TestOutsideLetsOthersRun(t *testing.T) {
	for _, backend := range []string{"sim", "null"} {
		t.Run(backend, func(t *testing.T) {
			s := open(t, npu.Options{Backend: backend, Wall: true})
			c := onThread(t, s, s.Main())
			if s.VirtualTime() {
				t.Skip("the time of this backend is virtual")
			}
			answer, boom := make(chan bool), errors.New("boom")
			waiting := c.spawn(func(th *npu.Thread) {
				c.note("wait")
				err := th.Outside("an answer", func(context.Context) error {
					<-answer
					return boom
				})
				if err != boom {
					t.Errorf("got %v", err)
				}
				c.note("answered")
			})
			c.spawn(func(th *npu.Thread) {
				c.note("%v", waiting.State())
				answer <- true
			})
			c.finish()
			c.wantLog("wait", "waiting", "answered")
		})
	}
}

// Where time is virtual nothing else runs, and no time passes.
func TestOutsideHoldsVirtualTime(t *testing.T) {
	c := newCrew(t)
	c.spawn(func(th *npu.Thread) {
		before := now(t, th)
		check(t, th.Outside("an answer", func(context.Context) error {
			c.note("asked")
			return nil
		}))
		if got := now(t, th); got != before {
			t.Errorf("it is %v, and was %v", got, before)
		}
	})
	c.spawn(func(*npu.Thread) { c.note("next") })
	other := c.s.NewThread(t.Context()) // of a worker, say: time does not jump for it
	slept := make(chan error, 1)
	check(t, c.t.Outside("an answer", func(context.Context) error {
		go func() {
			err := other.Sleep(time.Second)
			other.Close()
			slept <- err
		}()
		return nil
	}))
	c.finish()
	c.wantLog("asked", "next")
	within(t, "the other thread", func() {
		check(t, c.t.Sleep(2*time.Second))
		check(t, <-slept)
	})
}

// The end of the thread's context, of that of the first task, and of the task end a wait, in both kinds of time.
func TestOutsideIsInterrupted(t *testing.T) {
	for name, newCrew := range map[string]func(testing.TB) *crew{"virtual": newCrew, "wall": newWallCrew} {
		t.Run(name, func(t *testing.T) {
			c := newCrew(t)
			ctx, cancel := context.WithCancelCause(t.Context())
			c.SetContext(ctx)
			within(t, "the wait", func() {
				err := c.t.Outside("an answer", func(ctx context.Context) error {
					cancel(errStop)
					return untilEnd(ctx)
				})
				if !errors.Is(err, errStop) {
					t.Errorf("own context: %v", err)
				}
			})
			called := false
			if err := c.t.Outside("an answer", func(context.Context) error { called = true; return nil }); !errors.Is(err, errStop) || called {
				t.Errorf("a later wait: %v, called %v", err, called)
			}
			c.SetContext(context.Background())

			th, stop := context.WithCancelCause(t.Context())
			c.t.SetContext(th)
			within(t, "the wait", func() {
				err := c.t.Outside("the program x", func(ctx context.Context) error {
					stop(errStop)
					return untilEnd(ctx)
				})
				if !errors.Is(err, errStop) {
					t.Errorf("context of the thread: %v", err)
				}
			})
			if lines := c.s.HangReport(); len(lines) != 1 || lines[0] != "main waits for the program x" {
				t.Errorf("reported %q", lines)
			}
		})
	}
}

func TestOutsideIsCancelled(t *testing.T) {
	c := newWallCrew(t)
	begun, ended := make(chan bool), false
	task := must(c.Spawn(c.t, func(th *npu.Thread) error {
		return th.Outside("an answer", func(ctx context.Context) error {
			close(begun)
			defer func() { ended = true }()
			return untilEnd(ctx)
		})
	}))(t)
	c.turn()
	<-begun
	task.Cancel(c.t)
	within(t, "Join", func() { want(t, task.Join(c.t, -1), npu.ErrTaskAbort) })
	if !ended || task.State() != npu.TaskCancelled {
		t.Errorf("ended: %v, state %v", ended, task.State())
	}
}

// A wait for something outside is no deadlock, and what can really not end is one once it is over.
func TestOutsideIsNoDeadlock(t *testing.T) {
	c := newWallCrew(t)
	ch := must(c.t.NewChannel(0))(t)
	answer := make(chan bool)
	c.spawn(func(th *npu.Thread) {
		check(t, th.Outside("an answer", func(context.Context) error { <-answer; return nil }))
		c.note("answered")
	})
	other := c.s.NewThread(t.Context())
	looked := make(chan error, 1)
	go func() {
		err := other.Sleep(20 * time.Millisecond) // meanwhile all others wait
		other.Close()
		close(answer)
		looked <- err
	}()
	within(t, "the deadlock", func() {
		_, _, err := ch.Receive(c.t, -1)
		var e *npu.Error
		if !errors.As(err, &e) || !npu.IsDeadlock(e) {
			t.Errorf("got %v", err)
		}
	})
	check(t, <-looked)
	c.wantLog("answered")
}

func TestOutsidePanics(t *testing.T) {
	for name, newCrew := range map[string]func(testing.TB) *crew{"virtual": newCrew, "wall": newWallCrew} {
		t.Run(name, func(t *testing.T) {
			var p *npu.PanicError
			if err := newCrew(t).t.Outside("an answer", func(context.Context) error { panic("broken") }); !errors.As(err, &p) || p.Value != "broken" {
				t.Errorf("got %v", err)
			}
		})
	}
}

// Close ends the waits of tasks that the end of the program has left where they were.
func TestCloseEndsOutside(t *testing.T) {
	c := newWallCrew(t)
	begun, ended := make(chan bool), make(chan bool)
	must(c.Spawn(c.t, func(th *npu.Thread) error {
		return th.Outside("an answer", func(ctx context.Context) error {
			close(begun)
			<-ctx.Done()
			close(ended)
			return nil
		})
	}))(t)
	c.turn()
	<-begun
	within(t, "Close", func() { check(t, c.s.Close(false)) })
	select {
	case <-ended:
	default:
		t.Error("the wait goes on")
	}
}
