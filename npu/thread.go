package npu

import (
	"context"
	"time"

	"npulua/npu/internal/driver"
	"npulua/npu/internal/executor"
)

// Thread is one thread of control with its own current context, as a host thread has in AscendCL.
// All threads share the executor's one OS thread. A Thread belongs to one goroutine at a time.
type Thread struct {
	// Site is the place of the call under way, for messages. Bindings set it before each call.
	Site Site

	s       *Session
	c       *executor.Caller
	history []*Context // that were current, each once; the last open one is now
	scope   *scope
	task    *Task  // that t is the thread of; nil: it waits by itself
	group   *Group // that t is part of; nil: none

	recording *Graph // being recorded by Capture; nil: none
}

// NewThread registers a thread of control without current context. ctx interrupts its waits.
// While it is registered and not waiting, virtual time does not jump: Close it when it ends.
func (s *Session) NewThread(ctx context.Context) *Thread {
	s.threads.Add(1)
	return &Thread{s: s, c: s.exec.NewCaller(ctx)}
}

// Close unregisters the thread. What it created stays. The thread that Spawn makes for a task needs no closing.
func (t *Thread) Close() {
	if t.task == nil || t.task.number == 0 {
		t.c.Close()
		t.s.threads.Add(-1)
	}
	if t.task != nil && t.task.number == 0 {
		t.task.sch.End()
	}
}

// Wake has a wait of t look whether its context has ended: virtual time does not go on before. It may be called from
// any goroutine.
func (t *Thread) Wake() { t.c.Wake() }

// SetContext replaces what interrupts the waits of t.
func (t *Thread) SetContext(ctx context.Context) { t.c.SetContext(ctx) }

// Session is the session of t.
func (t *Thread) Session() *Session { return t.s }

// call runs fn on the executor with ctx current, and waits for it. ctx is zero, or cannot be destroyed meanwhile.
func (t *Thread) call(ctx driver.Context, fn func(d driver.Driver) error) error {
	return t.callWhere(nil, ctx, fn)
}

// callWhere is call where usable, which is asked on the executor's thread before ctx is made current, returns nil.
func (t *Thread) callWhere(usable func() error, ctx driver.Context, fn func(d driver.Driver) error) error {
	if t.c.Inside() {
		return insideError()
	}
	t.c.At(t.Site)
	if err := t.c.CallWhere(usable, ctx, fn); err != nil {
		return own(err)
	}
	return nil
}

// callOn is call for something that others may close: each of usable is asked on the executor's thread, before ctx is made
// current, and holds there until fn returns.
func (t *Thread) callOn(ctx driver.Context, fn func(d driver.Driver) error, usable ...func() error) error {
	check := func() error {
		for _, ok := range usable {
			if err := ok(); err != nil {
				return err
			}
		}
		return nil
	}
	return goneOr(t.callWhere(check, ctx, fn), check)
}

// Inside reports whether a host function or a kernel of the program runs on t: NPU calls are refused.
func (t *Thread) Inside() bool { return t.c.Inside() }

func insideError() error {
	return hinted(errorf(ErrInternal, "no NPU call inside a host function or a kernel, and no wait"),
		"read and write host buffers there, and make the call after synchronize")
}

// wait suspends t until the target is reached, and tells then what has failed.
func (t *Thread) wait(target *executor.Target) error { return t.told(t.reach(target)) }

// told tells what has failed at the end of a call that waited and got err. An error of the function of
// OnException is returned where the call has none, and kept for the session's Close elsewhere.
func (t *Thread) told(err error) error {
	told := t.s.exceptions.tell(t)
	if err == nil {
		return told
	}
	t.s.tellLater(told)
	return err
}

// reach suspends t until the target is reached.
func (t *Thread) reach(target *executor.Target) error {
	if t.c.Inside() {
		return insideError()
	}
	var err error
	switch {
	case target.Timeout == 0: // a question; a timer of no time is over
		err = t.c.Try(target)
	case t.task != nil && t.task.shield > 0 && t.task.over() != nil:
		err = t.task.reached(target)
	case t.task != nil && !t.task.sch.over:
		err = t.task.reach(target)
	default:
		err = t.c.Wait(target)
	}
	if err == executor.ErrDeadlock {
		who := "it"
		if t.task != nil && t.task.sch.name != "" {
			who = t.task.sch.name
		}
		return t.s.deadlockError(t.c, []string{who + " waits for " + t.s.targetText(target) + t.s.at(t.Site)})
	}
	if err == nil {
		err = t.c.Err() // work that the end of the program has dropped looks done
	}
	if err == nil {
		return nil
	}
	if t.c.Err() != nil {
		who, number := "main", 0
		if t.task != nil {
			who, number = t.task.String(), t.task.sch.number
		}
		t.s.noteHang(t.c, number, func() []string { return []string{who + " waits for " + t.s.targetText(target) + t.s.at(t.Site)} })
	}
	return own(err)
}

// Now is the time of the backend: virtual on the simulator, real elsewhere. It starts at zero.
func (t *Thread) Now() (time.Duration, error) {
	var now time.Duration
	err := t.call(0, func(driver.Driver) error {
		now = t.s.exec.Now()
		return nil
	})
	return now, err
}

// Busy models host work of duration d: virtual time passes and devices go on, or real time passes
// where time is real. No other task of the thread's scheduler runs meanwhile.
func (t *Thread) Busy(d time.Duration) error {
	if t.c.Inside() {
		return insideError()
	}
	target := &executor.Target{Kind: executor.WaitTimer, Timeout: d}
	if t.task == nil {
		return t.told(own(t.c.Wait(target)))
	}
	t.task.sch.rested()
	_, err := t.task.waitAlone(target, func() bool { return true })
	return t.told(own(err))
}

// Sleep waits for d and does nothing: other tasks run. With 0 those run that are ready.
func (t *Thread) Sleep(d time.Duration) error {
	if d == 0 && t.task != nil && !t.task.sch.over && !t.c.Inside() {
		if err := t.task.interrupted(); err != nil {
			return err
		}
		t.task.sch.yield()
		return t.task.interrupted()
	}
	return t.wait(&executor.Target{Kind: executor.WaitTimer, Timeout: d})
}
