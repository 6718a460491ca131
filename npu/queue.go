package npu

import (
	"npulua/npu/internal/driver"
	"npulua/npu/internal/executor"
)

// queued is a command on its way: its place in the queue is claimed, and it is filled next. All waits are over then,
// and none comes before submit or cancel, so that what is looked at now still holds when the command reaches the driver:
// whoever closes something first refuses it to others, and then sends its end through the same queue.
type queued struct {
	executor.Pending
	*driver.Command
	s     *Stream
	t     *Thread
	calls bool  // it runs host functions
	err   error // why it is not submitted
}

// begin waits until s has room, claims a place for a command of s, and then looks whether s and what the command works
// on can be used. Every begin is followed by submit or cancel.
func (s *Stream) begin(t *Thread, op driver.Op, operands ...*resource) (queued, error) {
	if err := s.usable(); err != nil {
		return queued{}, err
	}
	if t.c.Inside() {
		return queued{}, insideError()
	}
	if err := s.makeRoom(t); err != nil {
		return queued{}, err
	}
	if t.group != nil {
		t.group.use(s.state)
	}
	q := s.claim(t, op)
	err := s.usable()
	for _, r := range operands {
		if err == nil && r.ending.Load() {
			err = r.usable()
		}
	}
	if err != nil {
		return queued{}, q.cancel(err)
	}
	return q, nil
}

// claim takes a place for a command of s.
func (s *Stream) claim(t *Thread, op driver.Op) queued {
	p, c := t.c.Begin()
	c.Op = op
	c.Site = t.Site
	c.Stream = s.state.h
	c.Context = s.state.ctx
	return queued{Pending: p, Command: c, s: s, t: t}
}

// memory is the address of b, which the command writes or only reads.
func (q *queued) memory(b *Buffer, write bool) driver.Ptr {
	if b.root.res.ending.Load() && q.err == nil {
		q.err = b.root.res.usable()
		return 0
	}
	b.used(q.s.state, q.t.Site, write)
	return b.span.Queued(q.Pending)
}

// cancel gives the place back, and returns err.
func (q *queued) cancel(err error) error {
	q.Pending.Cancel()
	return err
}

// submit publishes the command; in a blocking session it waits for it.
func (q *queued) submit() error {
	if q.s.state.recording.Load() != nil {
		return q.note(graphNode{})
	}
	if q.err != nil {
		return q.cancel(q.err)
	}
	q.s.state.queued++
	if q.calls {
		q.s.state.calls = q.s.state.queued
	}
	q.Pending.Submit()
	if q.t.s.opts.Blocking {
		return goneOr(synchronizeState(q.t, q.s.state, -1), q.s.check)
	}
	return nil
}

// note publishes a command that is recorded in a graph, as n.
func (q *queued) note(n graphNode, after ...int) error {
	if q.err != nil {
		return q.cancel(q.err)
	}
	n.op, n.site = q.Command.Op, q.t.Site
	g := q.s.state.recording.Load()
	g.note(q.s.state, n, after...)
	g.calls = g.calls || q.calls
	q.Pending.Submit()
	return nil
}
