package npu

import (
	"errors"

	"npulua/npu/internal/driver"
)

// Callback queues fn to run on the goroutine of t, when s has reached it: at a call of t, or of another
// task of its scheduler, that waits. Later work of s waits for fn. fn must not make NPU calls. Its error is
// a fault of s. Recorded in a graph, fn may touch the host buffers that replays use where nothing runs
// beside it: in a graph of one stream with replays on one stream.
func (s *Stream) Callback(t *Thread, fn func() error) error {
	q, err := s.begin(t, driver.OpHostFunc)
	if err != nil {
		return err
	}
	q.calls = true
	e, caller, st, ticket := t.s.exec, t.c, s.state, s.state.queued
	if g := st.recording.Load(); g != nil {
		runs := g.runs
		q.Func = func() error {
			return e.Upcall(caller, func() error {
				if st := runs.alone(); st != nil {
					st.held.Store(true)
					defer func() { st.held.Store(false) }()
				}
				return fn()
			})
		}
		return q.submit()
	}
	q.Func = func() error {
		return e.Upcall(caller, func() error {
			st.known(ticket)    // all before it is done
			st.held.Store(true) // and nothing after it has begun
			defer func() { st.held.Store(false) }()
			return fn()
		})
	}
	return q.submit()
}

// Notify queues fn as Callback does, but later work of s goes on without waiting for it. A wait for s that
// comes to its end has run what s had reached. Its error is told by the next wait for s. ErrNotSupported
// while a graph is being recorded.
func (s *Stream) Notify(t *Thread, fn func() error) error {
	q, err := s.begin(t, driver.OpHostFunc)
	if err != nil {
		return err
	}
	if s.state.recording.Load() != nil {
		return q.cancel(hinted(errorf(ErrNotSupported, "a callback that nothing waits for cannot be recorded in a graph"), "leave blocking = false out"))
	}
	q.calls = true
	sess, caller, st, ticket, site := t.s, t.c, s.state, s.state.queued, t.Site
	q.Func = func() error {
		return sess.exec.Later(caller, fn, func(err error) {
			st.known(ticket)
			if err != nil {
				st.late(sess, site, err)
			}
		})
	}
	return q.submit()
}

// late keeps the error of a function of Notify for the next wait for st.
func (st *streamState) late(s *Session, site Site, err error) {
	var p *PanicError
	if !errors.As(err, &p) {
		err = &Error{Code: ErrInternal, Op: driver.OpHostFunc.String(), Call: driver.OpHostFunc.Call(), Site: site,
			Detail: "the host function failed: " + err.Error(), Hint: "the commands after it still ran", Cause: err}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	st.lateErrors = append(st.lateErrors, err)
}

// withLate joins to err the errors of functions of Notify that nobody was told.
func (st *streamState) withLate(s *Session, err error) error {
	s.mu.Lock()
	list := st.lateErrors
	st.lateErrors = nil
	s.mu.Unlock()
	if len(list) == 0 {
		return err
	}
	if err == nil && len(list) == 1 {
		return list[0]
	}
	return errors.Join(append([]error{err}, list...)...)
}
