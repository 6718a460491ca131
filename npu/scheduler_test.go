package npu_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"npulua/npu"
)

// turns is a machine that keeps nothing, and checks that Enter and Leave come in pairs.
type turns struct {
	tb  testing.TB
	now *npu.Task // nil: nobody's turn
}

func (m *turns) Leave(t *npu.Task) {
	if m.now != t {
		m.tb.Errorf("Leave(%v) in the turn of %v", t, m.now)
	}
	m.now = nil
}

func (m *turns) Enter(t *npu.Task) {
	if m.now != nil {
		m.tb.Errorf("Enter(%v) in the turn of %v", t, m.now)
	}
	m.now = t
}

// crew is a session with a scheduler, whose tasks note what they do.
type crew struct {
	*npu.Scheduler
	tb  testing.TB
	s   *npu.Session
	t   *npu.Thread // of the first task
	log []string
}

func newCrew(tb testing.TB) *crew {
	tb.Helper()
	s := open(tb, npu.Options{})
	return onThread(tb, s, s.Main())
}

// onThread gives th tasks of its own.
func onThread(tb testing.TB, s *npu.Session, th *npu.Thread) *crew {
	m := &turns{tb: tb}
	c := &crew{Scheduler: s.NewScheduler(th, m), tb: tb, s: s, t: th}
	m.now = c.Current()
	return c
}

// turn lets the others run that are ready: the first call of Turn after a task has got its turn does not.
func (c *crew) turn() {
	c.Turn(0)
	c.Turn(0)
}

func (c *crew) note(format string, args ...any) { c.log = append(c.log, fmt.Sprintf(format, args...)) }

// wantLog checks what was noted since the last time.
func (c *crew) wantLog(want ...string) {
	c.tb.Helper()
	if !slices.Equal(c.log, want) {
		c.tb.Errorf("noted %q, want %q", c.log, want)
	}
	c.log = nil
}

// spawn starts a task that should not fail.
func (c *crew) spawn(fn func(th *npu.Thread)) *npu.Task {
	c.tb.Helper()
	return must(c.Spawn(c.t, func(th *npu.Thread) error { fn(th); return nil }))(c.tb)
}

// finish waits for all tasks.
func (c *crew) finish() {
	c.tb.Helper()
	within(c.tb, "Finish", func() { check(c.tb, c.Finish()) })
}

func (c *crew) channel(capacity int64) *npu.Channel {
	c.tb.Helper()
	return must(c.t.NewChannel(capacity))(c.tb)
}

// now is the time; the clock advances by the cost of calls of the device only.
func now(tb testing.TB, th *npu.Thread) time.Duration {
	tb.Helper()
	return must(th.Now())(tb)
}

// Tasks run in the order in which they were spawned or became ready.
func TestOrderOfTurns(t *testing.T) {
	c := newCrew(t)
	if !c.Alone() {
		t.Error("not alone at first")
	}
	for i := range 3 {
		c.spawn(func(th *npu.Thread) {
			for j := range 3 {
				c.note("%d.%d", i, j)
				c.turn()
			}
		})
	}
	if c.Alone() {
		t.Error("alone with three tasks")
	}
	c.note("main")
	c.turn()
	c.note("main again")
	c.finish()
	c.wantLog("main", "0.0", "1.0", "2.0", "main again", "0.1", "1.1", "2.1", "0.2", "1.2", "2.2")
}

// Sleeping tasks go on in the order of their times, and of their calls at one time.
func TestOrderOfSleepers(t *testing.T) {
	c := newCrew(t)
	for i, ms := range []int{3, 1, 2, 1, 0, 3} {
		c.spawn(func(th *npu.Thread) {
			check(t, th.Sleep(time.Duration(ms)*time.Millisecond))
			c.note("%d at %d", i, now(t, th)/time.Millisecond)
		})
	}
	c.finish()
	c.wantLog("4 at 0", "1 at 1", "3 at 1", "2 at 2", "0 at 3", "5 at 3")
}

// A task that runs for long lets time pass for those who wait, and only for them.
func TestTurnTakesTime(t *testing.T) {
	c := newCrew(t)
	c.spawn(func(th *npu.Thread) {
		check(t, th.Sleep(10))
		c.note("slept")
	})
	c.spawn(func(th *npu.Thread) {
		for i := range 4 {
			c.note("round %d at %d", i, now(t, th))
			c.Turn(4)
		}
	})
	c.finish()
	c.wantLog("round 0 at 0", "round 1 at 4", "round 2 at 8", "slept", "round 3 at 12")
	c.Turn(time.Second) // alone: nothing
	if got := now(t, c.t); got != 12 {
		t.Errorf("it is %v, want 12ns", got)
	}
}

// A task that has just got its turn keeps it, whatever others have used up.
func TestTurnOfAFreshTask(t *testing.T) {
	c := newCrew(t)
	for range 2 {
		c.spawn(func(*npu.Thread) {
			id := c.Current().Number()
			c.note("%d", id)
			c.Turn(0)
			c.note("%d kept it", id)
			c.Turn(0)
			c.note("%d again", id)
		})
	}
	c.finish()
	c.wantLog("1", "1 kept it", "2", "2 kept it", "1 again", "2 again")
}

// A task has a current context of its own; synchronizing suspends it alone.
func TestTasksAndDevices(t *testing.T) {
	c := newCrew(t)
	k := must(c.s.Kernel("spin"))(t)
	for i := range 4 {
		c.spawn(func(th *npu.Thread) {
			if _, err := th.CurrentContext(); !errors.Is(err, npu.ErrContextNull) {
				t.Errorf("task %d: CurrentContext() = %v, want none", i, err)
			}
			dev := must(th.Device(i % 2))(t)
			ctx := must(dev.CreateContext(th))(t)
			st := must(ctx.CreateStream(th, npu.StreamOptions{}))(t)
			check(t, st.Launch(th, k, 1, []npu.Arg{{Number: float64(40 - 10*i)}}))
			c.note("%d waits", i)
			check(t, st.Synchronize(th, -1))
			if got := must(th.CurrentContext())(t); got != ctx {
				t.Errorf("task %d: another current context", i)
			}
			c.note("%d done", i)
			check(t, ctx.Close(th))
		})
	}
	c.finish()
	c.wantLog("0 waits", "1 waits", "2 waits", "3 waits", "3 done", "2 done", "1 done", "0 done")
	if left := c.s.Leaks(); len(left) != 0 {
		t.Errorf("left: %v", left)
	}
}

// Abandon ends all tasks: those that wait, that are ready, and that have not begun, which never do.
func TestAbandon(t *testing.T) {
	c := newCrew(t)
	ch := c.channel(0)
	c.spawn(func(th *npu.Thread) {
		_, _, err := ch.Receive(th, -1)
		want(t, err, npu.ErrTaskAbort)
		want(t, th.Sleep(1), npu.ErrTaskAbort)
		c.note("receiver")
	})
	c.spawn(func(th *npu.Thread) {
		c.turn()
		want(t, th.Sleep(1), npu.ErrTaskAbort)
		c.note("turner")
	})
	c.turn()
	c.spawn(func(*npu.Thread) { t.Error("began") })
	within(t, "Abandon", c.Abandon)
	c.wantLog("turner", "receiver")
	if !c.Alone() || len(c.Failures()) != 0 {
		t.Errorf("alone %v, failures %v", c.Alone(), c.Failures())
	}
	if _, err := c.Spawn(c.t, nil); !errors.Is(err, npu.ErrInternal) {
		t.Errorf("Spawn after Abandon = %v, want %v", err, npu.ErrInternal)
	}
}

// Where the program was interrupted Abandon ends tasks all the same, whatever they wait for then.
func TestAbandonAfterInterrupt(t *testing.T) {
	c := newCrew(t)
	ctx, cancel := context.WithCancelCause(t.Context())
	c.t.SetContext(ctx)
	why := errors.New("why")
	for range 3 {
		c.spawn(func(th *npu.Thread) {
			for {
				if err := th.Sleep(time.Second); err != nil {
					c.note("ended")
					break
				}
			}
			c.turn()
			if err := th.Sleep(1); err == nil {
				t.Error("slept after the end")
			}
		})
	}
	check(t, c.t.Sleep(time.Second))
	cancel(why)
	if err := c.Finish(); err != why {
		t.Errorf("Finish() = %v, want %v", err, why)
	}
	within(t, "Abandon", c.Abandon)
	c.wantLog("ended", "ended", "ended")
	if !c.Alone() {
		t.Error("tasks are left")
	}
}

// A deadlock ends every wait with one error, whose report names them all, the first task first.
func TestDeadlockReport(t *testing.T) {
	c := newCrew(t)
	a, b := c.channel(0), c.channel(1)
	const text = "deadlock: nothing that is left to run can end these waits"
	errs := map[string]error{}
	wait := func(name string, fn func(th *npu.Thread) error) *npu.Task {
		c.t.Site = npu.Site(len(errs) + 10)
		task := c.spawn(func(th *npu.Thread) {
			th.Site = 20
			errs[name] = fn(th)
		})
		errs[name] = nil
		return task
	}
	first := wait("receive", func(th *npu.Thread) error { _, _, err := a.Receive(th, -1); return err })
	wait("send", func(th *npu.Thread) error {
		check(t, b.Send(th, 1, -1))
		return b.Send(th, 2, -1)
	})
	wait("join", func(th *npu.Thread) error { return first.Join(th, -1) })
	wait("select", func(th *npu.Thread) error {
		_, err := npu.Select(th, []npu.Case{{Channel: a}, {Channel: b, Send: true}, {Task: first}}, -1, false)
		return err
	})
	c.t.Site = 5
	within(t, "the wait", func() { errs["main"] = first.AwaitEnd(c.t, -1) })
	c.finish()
	var fault uint64
	for name, err := range errs {
		var x *npu.Error
		if !errors.As(err, &x) || !npu.IsDeadlock(x) || x.Detail != text {
			t.Errorf("%s: %v, want a deadlock", name, err)
			continue
		}
		if fault == 0 {
			fault = x.Fault
		}
		if x.Fault != fault {
			t.Errorf("%s: fault %x, want %x", name, x.Fault, fault)
		}
		got := strings.Join(x.Report, "\n")
		want := strings.Join([]string{
			"main waits for task 1 (spawned at here:10) at here:5",
			"task 1 (spawned at here:10) receives from channel 1 at here:20",
			"task 2 (spawned at here:11) sends to channel 2 at here:20",
			"task 3 (spawned at here:12) waits for task 1 (spawned at here:10) at here:20",
			"task 4 (spawned at here:13) selects from channel 1, sending to channel 2, task 1 (spawned at here:10) at here:20",
		}, "\n")
		if got != want {
			t.Errorf("%s: report\n%s\nwant\n%s", name, got, want)
		}
	}
}
