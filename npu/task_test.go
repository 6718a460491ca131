package npu_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"npulua/npu"
)

// Join returns what the task ended with, whenever it did.
func TestJoin(t *testing.T) {
	boom := errors.New("boom")
	for _, row := range []struct {
		name  string
		fn    func(th *npu.Thread) error
		state npu.TaskState
		want  error
	}{
		{"done at once", func(*npu.Thread) error { return nil }, npu.TaskDone, nil},
		{"done later", func(th *npu.Thread) error { return th.Sleep(time.Second) }, npu.TaskDone, nil},
		{"failed at once", func(*npu.Thread) error { return boom }, npu.TaskFailed, boom},
		{"failed later", func(th *npu.Thread) error { return errors.Join(th.Sleep(1), boom) }, npu.TaskFailed, boom},
	} {
		for _, before := range []bool{true, false} { // joined before its end
			t.Run(fmt.Sprint(row.name, ", joined before: ", before), func(t *testing.T) {
				c := newCrew(t)
				task := must(c.Spawn(c.t, row.fn))(t)
				if got := task.State(); got != npu.TaskReady || task.Ended() {
					t.Errorf("%s: a new task is %v", row.name, got)
				}
				if !before {
					c.finish()
					if failed := len(c.Failures()); (failed == 1) != (row.want != nil) {
						t.Errorf("%s: %d failures before the join", row.name, failed)
					}
				}
				for range 2 {
					within(t, "Join", func() {
						if err := task.Join(c.t, -1); !errors.Is(err, row.want) || (err == nil) != (row.want == nil) {
							t.Errorf("%s: Join() = %v, want %v", row.name, err, row.want)
						}
					})
				}
				if got := task.State(); got != row.state || !task.Ended() || len(c.Failures()) != 0 {
					t.Errorf("%s: state %v, want %v; failures %v", row.name, got, row.state, c.Failures())
				}
			})
		}
	}
}

// A join whose time is over leaves the task alone; several may join one task.
func TestJoinTimeout(t *testing.T) {
	c := newCrew(t)
	task := c.spawn(func(th *npu.Thread) { check(t, th.Sleep(10*time.Millisecond)) })
	want(t, task.Join(c.t, 0), npu.ErrStreamTimeout)
	want(t, task.Join(c.t, 4*time.Millisecond), npu.ErrStreamTimeout)
	if got := now(t, c.t); got != 4*time.Millisecond || task.State() != npu.TaskWaiting {
		t.Errorf("after the timeout it is %v, the task %v", got, task.State())
	}
	for i := range 3 {
		c.spawn(func(th *npu.Thread) {
			check(t, task.Join(th, time.Second))
			c.note("%d", i)
		})
	}
	c.finish()
	c.wantLog("0", "1", "2")
	if got := now(t, c.t); got != 10*time.Millisecond {
		t.Errorf("it is %v, want 10ms", got)
	}
}

// A task cannot join itself, nor one of another scheduler; without a scheduler nobody waits for tasks.
func TestJoinRefused(t *testing.T) {
	c := newCrew(t)
	var self *npu.Task
	self = c.spawn(func(th *npu.Thread) {
		want(t, self.Join(th, -1), npu.ErrInvalidParam)
		want(t, self.Join(th, 1), npu.ErrInvalidParam)
	})
	c.finish()
	alone := c.s.NewThread(t.Context())
	defer alone.Close()
	want(t, self.Join(alone, -1), npu.ErrInvalidParam)
	th := c.s.NewThread(t.Context())
	defer th.Close()
	other := onThread(t, c.s, th)
	want(t, self.Join(th, -1), npu.ErrInvalidParam)
	_, err := npu.Select(th, []npu.Case{{Task: self}}, -1, false)
	want(t, err, npu.ErrInvalidParam)
	_ = other
}

// A panic in a task is its error.
func TestTaskPanics(t *testing.T) {
	c := newCrew(t)
	task := c.spawn(func(*npu.Thread) { panic("broken") })
	var p *npu.PanicError
	if err := task.Join(c.t, -1); !errors.As(err, &p) || p.Value != "broken" || !strings.Contains(string(p.Stack), "task_test.go") {
		t.Errorf("Join() = %v, want the panic", err)
	}
}

// Cancel ends every wait at once; before the first turn the task never begins.
func TestCancel(t *testing.T) {
	for name, wait := range map[string]func(c *crew, th *npu.Thread) error{
		"sleep": func(_ *crew, th *npu.Thread) error { return th.Sleep(time.Hour) },
		"receive": func(c *crew, th *npu.Thread) error {
			_, _, err := c.channel(0).Receive(th, -1)
			return err
		},
		"receive with timeout": func(c *crew, th *npu.Thread) error {
			_, _, err := c.channel(0).Receive(th, time.Hour)
			return err
		},
		"send": func(c *crew, th *npu.Thread) error { return c.channel(0).Send(th, 1, -1) },
		"select": func(c *crew, th *npu.Thread) error {
			_, err := npu.Select(th, []npu.Case{{Channel: c.channel(0)}, {Channel: c.channel(0), Send: true}}, -1, false)
			return err
		},
		"join": func(c *crew, th *npu.Thread) error {
			return c.spawn(func(th *npu.Thread) { check(t, th.Sleep(time.Second)) }).Join(th, -1)
		},
		"stream": func(c *crew, th *npu.Thread) error {
			st := must(must(th.Device(0))(t).DefaultContext().CreateStream(th, npu.StreamOptions{}))(t)
			check(t, st.Launch(th, must(c.s.Kernel("spin"))(t), 1, []npu.Arg{{Number: 2}}))
			return st.Synchronize(th, -1)
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCrew(t)
			cancels := 0
			task := c.spawn(func(th *npu.Thread) {
				err := wait(c, th)
				want(t, err, npu.ErrTaskAbort)
				if err == nil || !strings.Contains(err.Error(), "here:7") {
					t.Errorf("got %v, want the place of the cancel", err)
				}
				want(t, wait(c, th), npu.ErrTaskAbort) // and every later one
			})
			task.OnCancel = func() { cancels++ }
			check(t, c.t.Sleep(time.Second))
			if task.State() != npu.TaskWaiting {
				t.Fatalf("the task is %v", task.State())
			}
			begin := now(t, c.t)
			c.t.Site = 7
			task.Cancel(c.t)
			task.Cancel(c.t)
			if task.Ended() {
				t.Error("it has ended before its turn")
			}
			want(t, task.Join(c.t, -1), npu.ErrTaskAbort)
			if got := now(t, c.t); got-begin > time.Millisecond || task.State() != npu.TaskCancelled || cancels != 1 {
				t.Errorf("after %v the task is %v, told %d times", got-begin, task.State(), cancels)
			}
			task.Cancel(c.t)
			c.finish()
			if len(c.Failures()) != 0 {
				t.Errorf("failures: %v", c.Failures())
			}
		})
	}
}

func TestCancelOfReadyTasks(t *testing.T) {
	c := newCrew(t)
	fresh := c.spawn(func(*npu.Thread) { t.Error("began") })
	fresh.Cancel(c.t)
	want(t, fresh.Join(c.t, -1), npu.ErrTaskAbort)

	ready := c.spawn(func(th *npu.Thread) {
		c.turn()
		want(t, th.Sleep(1), npu.ErrTaskAbort)
	})
	c.turn()
	ready.Cancel(c.t)
	want(t, ready.Join(c.t, -1), npu.ErrTaskAbort)

	var self *npu.Task
	self = c.spawn(func(th *npu.Thread) {
		self.Cancel(th)
		want(t, th.Sleep(1), npu.ErrTaskAbort)
	})
	want(t, self.Join(c.t, -1), npu.ErrTaskAbort)

	// a value that was handed over before stays handed over
	ch := c.channel(0)
	got := any(nil)
	receiver := c.spawn(func(th *npu.Thread) { got, _, _ = ch.Receive(th, -1) })
	c.turn()
	check(t, ch.Send(c.t, "x", -1))
	receiver.Cancel(c.t)
	want(t, receiver.Join(c.t, -1), npu.ErrTaskAbort)
	if got != "x" {
		t.Errorf("received %v, want x", got)
	}
}

// Cancel does not interrupt a scope that closes: what it holds is given back.
func TestCancelWhileAScopeCloses(t *testing.T) {
	c := newCrew(t)
	task := must(c.Spawn(c.t, func(th *npu.Thread) error {
		return th.Scope(func() error {
			ctx := must(must(th.Device(0))(t).CreateContext(th))(t)
			st := must(ctx.CreateStream(th, npu.StreamOptions{}))(t)
			check(t, st.Launch(th, must(c.s.Kernel("spin"))(t), 1, []npu.Arg{{Number: 5}}))
			return nil
		})
	}))(t)
	check(t, c.t.Sleep(2*time.Second)) // now it waits for the stream, to close it
	begin := now(t, c.t)
	task.Cancel(c.t)
	want(t, task.Join(c.t, -1), npu.ErrTaskAbort)
	if d := now(t, c.t) - begin; d < 2*time.Second {
		t.Errorf("it ended after %v", d)
	}
	if left := c.s.Leaks(); len(left) != 0 {
		t.Errorf("left: %v", left)
	}
}

// A host function may make tasks ready; they run before the device does anything else.
func TestHostFunctionsMakeTasksReady(t *testing.T) {
	c := newCrew(t)
	st := must(must(c.t.Device(0))(t).DefaultContext().CreateStream(c.t, npu.StreamOptions{}))(t)
	spin := must(c.s.Kernel("spin"))(t)
	ch, never := c.channel(0), c.channel(0)
	check(t, st.Launch(c.t, spin, 1, []npu.Arg{{Number: 1}}))
	begin := now(t, c.t)
	at := func(th *npu.Thread) time.Duration { return (now(t, th) - begin).Round(100 * time.Millisecond) }
	sleeper := c.spawn(func(th *npu.Thread) {
		want(t, th.Sleep(time.Hour), npu.ErrTaskAbort)
		c.note("cancelled at %v", at(th))
	})
	check(t, st.Callback(c.t, func() error {
		if ok, err := ch.TrySend(c.t, 0); ok || err != nil {
			t.Errorf("TrySend inside = %v, %v, want false: nobody receives yet", ok, err)
		}
		_, _, err := never.Receive(c.t, -1)
		if err == nil || !strings.Contains(err.Error(), "no NPU call inside") {
			t.Errorf("Receive inside = %v", err)
		}
		_, err = npu.Select(c.t, []npu.Case{{Channel: never}}, -1, false)
		if err == nil || !strings.Contains(err.Error(), "no NPU call inside") {
			t.Errorf("Select inside = %v", err)
		}
		if err := sleeper.Join(c.t, -1); err == nil || !strings.Contains(err.Error(), "no NPU call inside") {
			t.Errorf("Join inside = %v", err)
		}
		sleeper.Cancel(c.t)
		c.spawn(func(th *npu.Thread) { c.note("spawned at %v", at(th)) })
		return nil
	}))
	check(t, st.Launch(c.t, spin, 1, []npu.Arg{{Number: 1}}))
	check(t, st.Callback(c.t, func() error { return ch.Send(c.t, "x", -1) }))
	c.spawn(func(th *npu.Thread) {
		check(t, th.Sleep(begin+1500*time.Millisecond-now(t, th)))
		v, _, err := ch.Receive(th, -1)
		c.note("%v, %v at %v", v, err, at(th))
	})
	c.finish()
	c.wantLog("cancelled at 1s", "spawned at 1s", "x, <nil> at 2s")
	if ok, err := never.TrySend(c.t, 1); ok || err != nil {
		t.Errorf("TrySend = %v, %v: a wait that was refused is still there", ok, err)
	}
}
