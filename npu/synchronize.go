package npu

import (
	"errors"
	"fmt"
	"runtime"
	"slices"
	"time"

	"npulua/npu/internal/driver"
)

// Synchronize waits until all work queued on s so far is done, and returns the first fault of it,
// once. timeout: negative waits for ever, zero asks without waiting. ErrStreamTimeout says that
// work remains; it goes on, and Error.Report says how far it is.
func (s *Stream) Synchronize(t *Thread, timeout time.Duration) error {
	return t.reported(s.synchronize(t, timeout), s.state)
}

// synchronize is Synchronize without a report.
func (s *Stream) synchronize(t *Thread, timeout time.Duration) error {
	if err := s.check(); err != nil {
		return err
	}
	if s.state.recording.Load() != nil {
		return recordingError()
	}
	err := synchronizeState(t, s.state, timeout)
	runtime.KeepAlive(s) // its faults are the caller's
	return goneOr(err, s.check)
}

// goneOr is err, or the error of check where a wait failed because another task closed its object.
func goneOr(err error, check func() error) error {
	e, ok := err.(*Error)
	if ok && e.Fault == 0 && isGone(e) {
		if gone := check(); gone != nil {
			return gone
		}
	}
	return err
}

// Query reports whether all work queued on s is done. It does not wait. A fault is returned as by
// Synchronize, once.
func (s *Stream) Query(t *Thread) (bool, error) {
	err := s.synchronize(t, 0)
	if errors.Is(err, ErrStreamTimeout) {
		return false, nil
	}
	return err == nil, err
}

func synchronizeState(t *Thread, st *streamState, timeout time.Duration) error {
	if st.foreign(t.scheduler()) {
		return t.told(t.reach(st.target(timeout, true)))
	}
	ticket := st.queued
	err := t.reach(st.target(timeout, false))
	if finished(err) {
		st.learn(ticket, err, nil)
		err = st.withLate(t.s, err)
	}
	return t.told(onceLost(err))
}

// finished reports whether a wait came to its end, with or without a fault of the work. It did not where the time was
// up, or where the driver failed to tell.
func finished(err error) bool {
	if err == nil {
		return true
	}
	var e *Error
	if !errors.As(err, &e) || e.Code == ErrStreamTimeout || e.Code == ErrEventTimeout {
		return false
	}
	if isLost(e) {
		return true
	}
	ofWork := e.Fault != 0 || e.Op != "" || e.Site != 0 || e.Cause != nil
	return ofWork || isGone(e)
}

// streamFault is what the work of a stream left.
type streamFault struct {
	st  *streamState
	err error
}

// waitFor is why streams are waited for.
type waitFor uint8

const (
	toSynchronize waitFor = iota // the program asks
	toClose                      // r is being closed: faults that were told before are left out
	toCloseAlong                 // toClose, with something else: streams that are done take no time
)

// synchronizeAll waits for every stream below r and joins their faults. Streams that were dropped count, whether garbage
// collection has taken them or not, and take no time of their own.
func (s *Session) synchronizeAll(t *Thread, r *resource, timeout time.Duration, why waitFor) error {
	closing := why != toSynchronize
	s.mu.Lock()
	recording := r.recording()
	s.mu.Unlock()
	if recording {
		return recordingError()
	}
	told := make(map[*stopping]*Error)
	var errs []error
	var found []streamFault
	seen := make(map[uint64]bool) // numbers of faults
	add := func(st *streamState, err error) {
		if closing {
			err = unlessLost(unlessTold(err, told[st.stop]))
		}
		err = keepErrors(err, func(err error) bool { // a context that stopped says so of every stream
			e, ok := err.(*Error)
			again := ok && e.Fault != 0 && seen[e.Fault]
			if ok {
				seen[e.Fault] = true
			}
			return !again
		})
		if err != nil {
			found = append(found, streamFault{st, err})
		}
	}
	all, unpin := s.pinStreams(r)
	defer unpin()
	for _, st := range all {
		told[st.stop] = st.stop.told.Load()
	}
	states := all

	begin, err := t.Now()
	if err != nil {
		return err
	}
	if why == toCloseAlong {
		if states, err = s.unfinished(t, states, add); err != nil {
			return err
		}
	}
	for len(states) > 0 {
		left := time.Duration(-1)
		if timeout >= 0 {
			now, err := t.Now()
			if err != nil {
				return err
			}
			left = max(timeout-(now-begin), 0)
		}
		st := states[0]
		err := synchronizeState(t, st, left)
		if err != nil && st.unlessGone(err) == nil {
			if err = nil; !closing {
				err = r.check() // its work was dropped
			}
		}
		if !finished(err) {
			if e, ok := err.(*Error); ok && e.Code == ErrStreamTimeout && !IsDeadlock(e) {
				e.Detail = fmt.Sprintf("not done after %v", timeout) // of them all
			}
			errs = append(errs, t.reported(err, states...))
			break
		}
		add(st, err)
		if states, err = s.unfinished(t, states[1:], add); err != nil {
			return err
		}
	}
	s.adopted(r, add)
	slices.SortStableFunc(found, func(a, b streamFault) int { return a.st.name.compare(b.st.name) }) // not as they came to an end
	for i, f := range found {                                                                        // before that of a wait that did not end
		errs = slices.Insert(errs, i, f.err)
	}
	for _, st := range all {
		if !st.foreign(t.scheduler()) {
			errs = append(errs, st.withLate(s, nil))
		}
	}
	return onceLost(errors.Join(errs...))
}

// pinStreams gives the streams below r; garbage collection takes none of them until unpin is called.
func (s *Session) pinStreams(r *resource) (states []*streamState, unpin func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r.each(func(r *resource) {
		if st := r.stream; st != nil {
			st.pins.Add(1)
			states = append(states, st)
		}
	})
	return states, func() {
		for _, st := range states {
			st.pins.Add(-1)
		}
	}
}

// unfinished is what of states has work left. The others are done: add gets their faults; with nil
// the faults stay.
func (s *Session) unfinished(t *Thread, states []*streamState, add func(*streamState, error)) ([]*streamState, error) {
	if len(states) == 0 {
		return nil, nil
	}
	var left []*streamState
	mine := t.scheduler()
	err := t.call(0, func(d driver.Driver) error {
		return s.exec.Untimed(func() error {
			for _, st := range states {
				done, gone := st.look(d)
				switch {
				case gone: // garbage collection took it
				case done && (add == nil || st.foreign(mine)):
				case done:
					st.learn(st.queued, own(s.exec.Fault(st.ctx, st.h)), add)
				default:
					left = append(left, st)
				}
			}
			return nil
		})
	})
	return left, err
}

// adopted takes the orphans below r.
func (s *Session) adopted(r *resource, add func(*streamState, error)) {
	var list []*streamState
	s.mu.Lock()
	r.each(func(r *resource) {
		list = append(list, r.orphans...)
		r.orphans = nil
	})
	s.mu.Unlock()
	for _, st := range list {
		st.learn(st.queued, st.withLate(s, st.fault), add)
		st.fault = nil
	}
}
