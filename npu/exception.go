package npu

import (
	"errors"
	"sync"
	"sync/atomic"

	"npulua/npu/internal/driver"
)

// Exception is a queued command that failed on its device.
type Exception struct {
	Stream *Stream // on which it ran; nil where garbage collection took the handle
	Err    *Error  // the fault, with Op and Site of the command
}

// exceptions are who is told of failed commands, and what has not been told yet.
type exceptions struct {
	waiting atomic.Int32 // len(queue), for threads that wait to look at without a lock

	mu      sync.Mutex
	fn      func(Exception) error
	t       *Thread // on which fn is called
	telling bool
	queue   []driver.Exception
}

// OnException has fn called with every queued command that fails from now on, in the order of the
// failures: on the goroutine of t, or of another task of its scheduler, when a call of that one that
// waits has come to its end, before it returns.
// It takes the place of an earlier one; nil ends it. fn may make NPU calls; failures that those find
// are told when fn returns, those that come of these after that, and so on maxRounds times: then fn is called no
// more, and ErrParamInvalid says so. An error of fn is that of the call, or left for Close where the call has one
// of its own. The failure itself is returned by whatever waits for the command, as ever.
// ErrNotSupported where the backend does not tell.
func (s *Session) OnException(t *Thread, fn func(Exception) error) error {
	w, ok := s.drv.(driver.Watcher)
	if !ok {
		return errorf(ErrNotSupported, "the %s backend cannot tell of failed commands", s.info.Name)
	}
	x := &s.exceptions
	x.mu.Lock()
	x.fn, x.t, x.queue = fn, t, nil
	x.waiting.Store(0)
	x.mu.Unlock()
	return t.call(0, func(driver.Driver) error {
		if fn == nil {
			w.OnException(nil)
		} else {
			w.OnException(x.add)
		}
		return nil
	})
}

// maxExceptions bounds the failures that wait to be told; later ones are dropped.
const maxExceptions = 1 << 16

// add takes a failure from the driver, on the executor's thread.
func (x *exceptions) add(e driver.Exception) {
	fault := *e.Fault // the driver goes on noting what the failure affects
	e.Fault = &fault
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.fn != nil && len(x.queue) < maxExceptions {
		x.queue = append(x.queue, e)
		x.waiting.Store(int32(len(x.queue)))
	}
}

// next takes the oldest failure off the queue.
func (x *exceptions) next() (e driver.Exception, fn func(Exception) error, ok bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if len(x.queue) == 0 || x.fn == nil {
		return e, nil, false
	}
	e, x.queue = x.queue[0], x.queue[1:]
	x.waiting.Store(int32(len(x.queue)))
	return e, x.fn, true
}

// tell calls the function of OnException with what has failed, where it is t's turn.
func (x *exceptions) tell(t *Thread) error {
	if x.waiting.Load() == 0 {
		return nil
	}
	x.mu.Lock()
	mine := x.t != nil && x.t.c == t.c && !x.telling
	x.telling = x.telling || mine
	x.mu.Unlock()
	if !mine {
		return nil
	}
	defer func() {
		x.mu.Lock()
		x.telling = false
		x.mu.Unlock()
	}()
	var errs []error
	left := int(x.waiting.Load()) // of this round
	for round := 1; ; left-- {
		if left == 0 { // what is there now came while those were told
			left = int(x.waiting.Load())
			round++
		}
		if left > 0 && round > maxRounds {
			return errors.Join(append(errs, x.stop())...)
		}
		e, fn, ok := x.next()
		if !ok {
			return errors.Join(errs...)
		}
		if err := fn(Exception{t.s.streamOf(e), e.Fault}); err != nil {
			errs = append(errs, err)
		}
	}
}

// maxRounds bounds how often failures come of the function that is told of failures.
const maxRounds = 100

// stop ends the telling.
func (x *exceptions) stop() error {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.fn, x.queue = nil, nil
	x.waiting.Store(0)
	e := errorf(ErrParamInvalid, "each time that the function of on_exception was told of a failure another command had failed by its end, %d times in a row: it is called no more", maxRounds)
	e.Op = "on_exception"
	return hinted(e, "queue no work in it that can fail as what it is told of has failed")
}

// streamOf finds the handle of the stream that e happened on.
func (s *Session) streamOf(e driver.Exception) *Stream {
	if st := s.stateOf(e.Context, e.Stream); st != nil {
		return st.handle.Value()
	}
	return nil
}
