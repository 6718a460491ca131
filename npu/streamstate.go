package npu

import (
	"cmp"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
	"weak"

	"npulua/npu/internal/driver"
	"npulua/npu/internal/executor"
)

// streamState is what outlives the handle: where the stream is and how far the host knows it done. It
// belongs to the goroutine of the stream, except for what other goroutines need that use the same memory.
type streamState struct {
	name   streamName
	ctx    driver.Context
	h      driver.Stream // 0: the default stream of ctx
	queued uint64        // commands submitted
	calls  uint64        // the last of them that runs a host function
	stop   *stopping     // of the context
	closed *atomic.Bool  // of its resource, or of the context that it is the default stream of
	pins   atomic.Int32  // waits under way: garbage collection must not take it
	handle weak.Pointer[Stream]

	sch       atomic.Pointer[Scheduler] // whose tasks use it; nil: not known
	recording atomic.Pointer[Graph]     // that commands are recorded in instead of run; nil: they run
	held      atomic.Bool               // a callback runs: nothing of the stream does meanwhile
	synced    atomic.Uint64             // commands that the host knows to be done
	mu        sync.Mutex
	after     []dependency // what waits for events bring along; under mu

	throttle throttle

	fault      error   // what its work left when garbage collection took it; under session.mu
	lateErrors []error // of functions of Notify, not told yet; under session.mu
}

// foreign reports whether tasks of another scheduler than mine, that of a thread, use the stream: what is known of its
// commands, and their faults, are theirs while that scheduler lives.
func (st *streamState) foreign(mine *Scheduler) bool {
	sch := st.sch.Load()
	return sch != nil && !sch.ended.Load() && mine != nil && !mine.over && sch != mine
}

// streamName tells streams apart for people, also where the handle is gone.
type streamName struct {
	device, context int
	number          int // in its context; 0: the default stream
}

// String is what Stream.String gives for an open stream.
func (n streamName) String() string { return n.text("") }

func (n streamName) text(mark string) string {
	number := "default"
	if n.number > 0 {
		number = strconv.Itoa(n.number)
	}
	return fmt.Sprintf("stream(%s, context %d, device %d%s)", number, n.context, n.device, mark)
}

// compare orders by device, context and number.
func (n streamName) compare(m streamName) int {
	return cmp.Or(cmp.Compare(n.device, m.device), cmp.Compare(n.context, m.context), cmp.Compare(n.number, m.number))
}

// stopping is what the streams of one context share where a failed command stops them all: every
// wait returns the fault then, but closing does not tell it once more.
type stopping struct {
	on   atomic.Bool
	told atomic.Pointer[Error]
}

// unlessTold is err without the fault that was told.
func unlessTold(err error, told *Error) error {
	if told == nil {
		return err
	}
	return keepErrors(err, func(err error) bool {
		e, ok := err.(*Error)
		return !ok || e.Fault == 0 || e.Fault != told.Fault
	})
}

// dependency says: once this stream is done up to own, src is done up to done.
type dependency struct {
	own  uint64
	src  *streamState
	done uint64
}

// idle reports whether the driver has nothing left of the stream; also where it is gone.
func (st *streamState) idle(d driver.Driver) bool {
	done, gone := st.look(d)
	return done || gone
}

// stillThere fails where the stream was destroyed. On the executor's thread.
func (st *streamState) stillThere() error {
	if st.closed.Load() {
		return errorf(ErrInvalidHandle, "the stream was closed")
	}
	return nil
}

// target waits for the work of st, at most so long; with keep its faults are left to a later wait.
func (st *streamState) target(timeout time.Duration, keep bool) *executor.Target {
	return &executor.Target{Kind: executor.WaitStream, Context: st.ctx, Stream: st.h, Timeout: timeout, KeepFaults: keep, Gone: st.closed}
}

// unlessGone is err, or nil where a wait for st ended because st was closed: nothing of it is left.
func (st *streamState) unlessGone(err error) error {
	if e, ok := err.(*Error); ok && e.Fault == 0 && isGone(e) && st.closed.Load() {
		return nil
	}
	return err
}

// look asks the driver whether the work of st is done; gone where it has no such stream any more. Where it cannot tell,
// as of a stream that records, neither: work may be left.
func (st *streamState) look(d driver.Driver) (done, gone bool) {
	if st.closed.Load() {
		return false, true
	}
	err := d.SetCurrentContext(st.ctx)
	if err == nil {
		done, err = d.QueryStream(st.h)
	}
	if err != nil {
		return false, isGone(err)
	}
	return done, false
}

// isGone tells the errors for what does not exist any more.
func isGone(err error) bool {
	return errors.Is(err, driver.CodeInvalidHandle) || errors.Is(err, driver.CodeRtParamInvalid) || errors.Is(err, driver.CodeContextNull)
}

// depend notes that the next command of st comes after done commands of src.
func (st *streamState) depend(src *streamState, done uint64) {
	st.mu.Lock()
	defer st.mu.Unlock()
	for i := range st.after {
		if d := &st.after[i]; d.src == src {
			d.done = max(d.done, done)
			return
		}
	}
	st.after = append(st.after, dependency{st.queued + 1, src, done})
}

// known notes that the host has seen st done up to ticket.
func (st *streamState) known(ticket uint64) {
	if ticket <= st.synced.Load() {
		return
	}
	st.mu.Lock()
	st.synced.Store(max(ticket, st.synced.Load()))
	keep := st.after[:0]
	var reached []dependency
	for _, d := range st.after {
		if d.own <= ticket {
			reached = append(reached, d)
		} else {
			keep = append(keep, d)
		}
	}
	st.after = keep
	st.mu.Unlock()
	for _, d := range reached {
		d.src.known(d.done)
	}
}

// learn notes that st is done up to ticket, and gives the fault of its work to add.
func (st *streamState) learn(ticket uint64, fault error, add func(*streamState, error)) {
	st.known(ticket)
	if st.stop.on.Load() {
		keepErrors(fault, func(err error) bool {
			if e, ok := err.(*Error); ok && e.Fault != 0 && e.Cause == nil { // the last one is that which stopped the context
				st.stop.told.Store(e)
			}
			return true
		})
	}
	if add != nil {
		add(st, fault)
	}
}
