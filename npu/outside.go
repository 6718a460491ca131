package npu

import (
	"context"
	"runtime/debug"
	"sync"
	"time"

	"npulua/npu/internal/driver"
)

// outside is what a session knows of waits for what is no work of its own.
type outside struct {
	held    bool            // time is virtual: it stands still meanwhile
	ctx     context.Context // ends at Close
	end     context.CancelFunc
	running sync.WaitGroup // functions on goroutines of their own
}

// outsideWait is what such a wait is for.
type outsideWait string

func (s *Session) openOutside() {
	_, clock := s.drv.(driver.Clock)
	s.outside.held = clock && !s.opts.Wall
	s.outside.ctx, s.outside.end = context.WithCancel(context.Background())
}

// VirtualTime reports whether the time of the session is not that of the machine.
func (s *Session) VirtualTime() bool { return s.outside.held }

// Outside calls fn, which waits for something that is no work of the session, such as a program or an answer from
// a network. Other tasks go on meanwhile, and fn runs on a goroutine of its own. Where time is virtual it stands
// still, and no other task of the thread's scheduler runs, so that what fn waits for changes nothing of the order of
// things: fn runs on the goroutine of the caller.
//
// The ctx of fn ends with the wait: when the thread's context ends, when its task is cancelled, and when the session
// is closed. fn has to return soon then: Outside waits for it, and returns why the wait has ended. Otherwise it
// returns the error of fn. what says in messages what is waited for, "the program npu-smi".
func (t *Thread) Outside(what string, fn func(ctx context.Context) error) error {
	k := t.task
	switch {
	case t.c.Inside():
		return insideError()
	case k == nil || k.sch.over:
		return calledOutside(t.c.Context(), fn)
	}
	if err := k.interrupted(); err != nil {
		return own(err)
	}
	w := &suspension{task: k, on: outsideWait(what), site: t.Site}
	if t.s.outside.held {
		return t.holdOutside(w, fn)
	}
	return t.awaitOutside(w, fn)
}

// holdOutside calls fn while nothing else of the scheduler runs. Others can tell what it waits for.
func (t *Thread) holdOutside(w *suspension, fn func(context.Context) error) error {
	k := t.task
	ctx, cancel := context.WithCancelCause(t.c.Context())
	defer cancel(nil)
	if g := t.group; g != nil && g.OutsideLimit > 0 {
		late := hinted(errorf(ErrStreamTimeout, "%s has not ended after %v of real time", string(w.on.(outsideWait)), g.OutsideLimit),
			"virtual time stands still meanwhile: give the wait a timeout of its own")
		defer time.AfterFunc(g.OutsideLimit, func() { cancel(late) }).Stop()
	}
	if k.ctx != nil {
		defer context.AfterFunc(k.ctx, func() { cancel(context.Cause(k.ctx)) })()
	}
	k.wait = w
	k.sch.turn.Unlock()
	err := calledOutside(ctx, fn)
	k.sch.turn.Lock()
	k.sch.rested()
	over := ctx.Err() != nil
	if over && t.c.Err() != nil {
		t.s.noteHang(t.c, k.sch.number, k.sch.waitTexts)
	}
	k.wait = nil
	if over {
		return own(context.Cause(ctx))
	}
	return err
}

// awaitOutside suspends the task of t until fn has returned on a goroutine of its own.
func (t *Thread) awaitOutside(w *suspension, fn func(context.Context) error) error {
	s := t.s
	ctx, cancel := context.WithCancel(s.outside.ctx) // what ends the wait ends it
	defer cancel()
	if !s.beginOutside() {
		return errorf(driver.CodeUninitialized, "the session was closed")
	}
	result := make(chan error, 1)
	s.exec.BeginOutside()
	go func() {
		defer s.outside.running.Done()
		result <- calledOutside(ctx, fn)
		w.finish(nil, nil)
		s.exec.EndOutside()
	}()
	err := t.task.giveWay(w, nil)
	cancel()
	if fnErr := <-result; err == nil {
		return fnErr
	}
	return own(err)
}

// beginOutside counts a function that runs; false where the session is being closed.
func (s *Session) beginOutside() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended {
		return false
	}
	s.outside.running.Add(1)
	return true
}

// endOutside ends the functions that run, of tasks that do not go on, and waits for them.
func (s *Session) endOutside() {
	s.outside.end()
	s.outside.running.Wait()
}

// limited calls fn, which may not come back: ErrStreamTimeout after limit, or why ctx has ended. The ctx of fn ends then,
// too, and nobody learns what it returns.
func limited(ctx context.Context, limit time.Duration, fn func(context.Context) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	done := make(chan error, 1)
	go func() { done <- calledOutside(ctx, fn) }()
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case err := <-done:
		return err
	case <-timer.C:
		return timeoutError(limit)
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// calledOutside calls fn; a panic becomes an error.
func calledOutside(ctx context.Context, fn func(context.Context) error) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = &PanicError{Value: r, Stack: debug.Stack()}
		}
	}()
	return fn(ctx)
}
