package executor

import (
	"errors"
	"math"
	"sync/atomic"
	"time"

	"npulua/npu/internal/driver"
)

// Target is what a wait waits for: a stream, an event, or a point in time.
type Target struct {
	Kind    TargetKind
	Context driver.Context // owner of the stream or event
	Stream  driver.Stream  // zero: the default stream of Context
	Event   driver.Event
	// StreamContext is the owner of Stream where an event is waited for: the stream in which it was
	// recorded, whose faults the wait returns.
	StreamContext driver.Context
	KeepFaults    bool // leave the faults of the stream to a later wait
	// Gone is set on the executor's thread before the stream or event is destroyed: the driver is not asked about it
	// any more, and the wait ends with CodeInvalidHandle. nil: nobody destroys it meanwhile.
	Gone *atomic.Bool
	// Timeout is how long to wait at most; negative is for ever. For Timer it is the wait itself.
	Timeout time.Duration
	// Owner is free for whoever posts the target.
	Owner any
	// Err is the result, once Await has returned the target.
	Err error

	request  request
	deadline time.Duration
	hasEnd   bool
	fresh    bool // not looked at yet
	done     bool // answered; written while the caller is claimed
	// withdrawn: nobody wants the answer any more. The executor forgets the target without one.
	withdrawn atomic.Bool
}

// TargetKind says which field of a Target counts.
type TargetKind uint8

// The kinds.
const (
	WaitStream TargetKind = iota
	WaitEvent
	WaitTimer
)

// begin sets the deadline of t.
func (e *Executor) begin(t *Target) {
	t.fresh = true
	t.hasEnd = t.Timeout >= 0
	if t.deadline = e.Now() + t.Timeout; t.deadline < 0 && t.hasEnd {
		t.deadline = math.MaxInt64
	}
}

// unwanted reports whether nobody waits for t any more.
func (t *Target) unwanted() bool { return t.withdrawn.Load() || t.request.caller.closed.Load() }

// look reports whether the wait for t is over, and with which error.
func (e *Executor) look(t *Target) (over bool, err error) {
	defer func() {
		if err != nil {
			over = true
		}
	}()
	defer recoverTo(&err)
	if t.Kind == WaitTimer {
		return e.Now() >= t.deadline, nil
	}
	if t.Gone != nil && t.Gone.Load() {
		return true, driver.Errorf(driver.CodeInvalidHandle, "", "it was closed meanwhile")
	}
	// A stream or event can be asked for in any context, but a default stream has no name elsewhere.
	if e.current == 0 || t.Kind == WaitStream && t.Stream == 0 {
		if err := e.use(t.Context); err != nil {
			return true, err
		}
	}
	over, err = e.query(t)
	if errors.Is(err, driver.CodeContextNull) { // the current one was destroyed
		e.current = 0
		if err := e.use(t.Context); err != nil {
			return true, err
		}
		over, err = e.query(t)
	}
	if over || err != nil || !t.hasEnd || e.Now() < t.deadline {
		return over, err
	}
	code, call := driver.CodeStreamSyncTimeout, "aclrtSynchronizeStreamWithTimeout"
	if t.Kind == WaitEvent {
		code, call = driver.CodeEventSyncTimeout, "aclrtSynchronizeEventWithTimeout"
	}
	return true, driver.Errorf(code, call, "not done after %v", t.Timeout)
}

func (e *Executor) query(t *Target) (bool, error) {
	if t.Kind == WaitEvent {
		return e.d.QueryEvent(t.Event)
	}
	return e.d.QueryStream(t.Stream)
}

// collect takes the errors of a stream whose work is done: those of refused commands first.
func (e *Executor) collect(t *Target) (err error) {
	defer recoverTo(&err)
	if t.KeepFaults || t.Kind == WaitTimer {
		return nil
	}
	if err := e.use(t.Context); err != nil {
		return err
	}
	owner := t.Context
	if t.Kind == WaitEvent {
		err = e.d.SynchronizeEvent(t.Event, -1)
		owner = t.StreamContext
	} else {
		err = e.d.SynchronizeStream(t.Stream, -1)
	}
	return e.both(e.Deferred(owner, t.Stream), err)
}
