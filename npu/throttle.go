package npu

import (
	"npulua/npu/internal/driver"
	"npulua/npu/internal/executor"
)

// The library's calls wait where the queue of a stream is full, and with them the thread of all calls. So a stream is
// not filled that far: whoever queues commands waits, as for anything else, while many are pending.

// markEvery is how many commands a stream takes between two marks. Three rounds of them, the two that are marked and the
// one under way, fit the smallest queue that is known, of 2,013 commands; smaller rounds would cost more, since each wait
// for a mark costs the caller a wake-up.
const markEvery = 600

// throttle knows how far a stream of real hardware has come, at every markEvery commands. It belongs to the goroutine of
// the stream.
type throttle struct {
	since int // commands since the last mark
	marks [2]queueMark
	next  int // the older mark
}

// queueMark is an event of our own that a stream has been told to record.
type queueMark struct {
	h      driver.Event // 0: not made yet
	ticket uint64       // of the record; 0: there was none
}

// makeRoom waits where many commands of s are pending, before another one is queued.
func (s *Stream) makeRoom(t *Thread) error {
	st := s.state
	if t.s.info.Simulated || st.recording.Load() != nil { // a virtual time goes on by itself
		return nil
	}
	th := &st.throttle
	if th.since++; th.since < markEvery {
		return nil
	}
	th.since = 0
	m := &th.marks[th.next]
	th.next ^= 1
	if m.ticket > st.synced.Load() {
		err := t.reach(&executor.Target{Kind: executor.WaitEvent, Context: st.ctx, Event: m.h, Stream: st.h, StreamContext: st.ctx,
			Timeout: -1, KeepFaults: true, Gone: st.closed})
		if err != nil {
			return goneOr(err, s.check)
		}
	}
	if m.h == 0 {
		err := t.callOn(st.ctx, func(d driver.Driver) (err error) {
			m.h, err = d.CreateEvent(driver.EventSync)
			return err
		}, s.usable)
		if err != nil {
			return err
		}
	}
	q := s.claim(t, driver.OpRecord)
	if err := s.usable(); err != nil {
		return q.cancel(err)
	}
	q.Event = m.h
	st.queued++
	m.ticket = st.queued
	q.Submit()
	return nil
}

// destroy gives the marks back, before their stream goes.
func (th *throttle) destroy(d driver.Driver) {
	for _, m := range th.marks {
		if m.h != 0 {
			_ = d.DestroyEvent(m.h) // gone with its context, where that fails
		}
	}
}
