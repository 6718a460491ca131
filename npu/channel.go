package npu

import (
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// Channel hands values from task to task, in order. One of capacity 0 hands each over when a receiver is
// there. It may be used by tasks of several schedulers; a value must then be safe to hand over.
type Channel struct {
	// Bound is free for bindings: what stands for the channel there.
	Bound any

	s        *Session
	capacity int
	number   int
	site     Site

	name   string // for messages, where it is no channel of the program
	shared atomic.Bool

	mu        sync.Mutex
	buffered  queue[any]
	receivers queue[*party]
	senders   queue[*party]
	closed    bool
	closedAt  Site
}

// party is a wait in the queue of a channel.
type party struct {
	w     *suspension
	value any // to send
	index int // of the case of a select
}

// MaxCapacity bounds the capacity of a channel.
const MaxCapacity = 1 << 24

// NewChannel makes a channel that holds capacity values.
func (t *Thread) NewChannel(capacity int64) (*Channel, error) {
	if capacity < 0 || capacity > MaxCapacity {
		return nil, errorf(ErrInvalidParam, "capacity must be 0 to %d, got %d", MaxCapacity, capacity)
	}
	t.s.mu.Lock()
	defer t.s.mu.Unlock()
	t.s.channels++
	return &Channel{s: t.s, capacity: int(capacity), number: t.s.channels, site: t.Site}, nil
}

// Capacity is how many values the channel holds.
func (c *Channel) Capacity() int { return c.capacity }

// Number counts the channels of the session, from 1.
func (c *Channel) Number() int { return c.number }

// Len is how many values wait in the channel.
func (c *Channel) Len() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.buffered.len()
}

// Closed reports whether Close was called; values may be left.
func (c *Channel) Closed() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.closed
}

// String names the channel for messages: "channel 1 (made at a.lua:3)".
func (c *Channel) String() string {
	if c.name != "" {
		return c.name
	}
	return fmt.Sprintf("channel %d%s", c.number, c.s.made("made", c.site))
}

// SetName gives the channel another name in messages. Before anybody uses it.
func (c *Channel) SetName(name string) { c.name = name }

// Shared reports whether Share was called.
func (c *Channel) Shared() bool { return c.shared.Load() }

// Share notes that tasks of several schedulers use the channel from now on, and replaces each value that
// waits in it, or to be sent, by what fn makes of it. At an error it leaves the channel as it was. Once
// shared, it does nothing.
func (c *Channel) Share(fn func(v any) (any, error)) error {
	if c.shared.Swap(true) {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	var places []*any
	for i := c.buffered.head; i < len(c.buffered.items); i++ {
		places = append(places, &c.buffered.items[i])
	}
	for _, p := range c.senders.items[c.senders.head:] {
		places = append(places, &p.value)
	}
	values := make([]any, len(places))
	for i, at := range places {
		var err error
		if values[i], err = fn(*at); err != nil {
			c.shared.Store(false)
			return err
		}
	}
	for i, at := range places {
		*at = values[i]
	}
	return nil
}

// Send hands v over, and waits while the channel is full. timeout: negative waits for ever;
// ErrStreamTimeout where it is over. ErrInvalidHandle where the channel is closed.
func (c *Channel) Send(t *Thread, v any, timeout time.Duration) error {
	task, err := t.needTask()
	if err != nil {
		return err
	}
	c.mu.Lock()
	sent, err := c.send(task.sch, v)
	if sent || err != nil {
		c.mu.Unlock()
		return err
	}
	if err := task.mayWait(); err != nil {
		c.mu.Unlock()
		return err
	}
	p := &party{w: &suspension{task: task, on: c, sends: true}, value: v}
	c.senders.push(p)
	c.mu.Unlock()
	return c.wait(task, p, &c.senders, timeout)
}

// TrySend hands v over where that can be done at once.
func (c *Channel) TrySend(t *Thread, v any) (bool, error) {
	task, err := t.needTask()
	if err != nil {
		return false, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.send(task.sch, v)
}

// Receive takes the oldest value, and waits while there is none. open is false where the channel is closed
// and empty. timeout as in Send.
func (c *Channel) Receive(t *Thread, timeout time.Duration) (v any, open bool, err error) {
	task, err := t.needTask()
	if err != nil {
		return nil, false, err
	}
	c.mu.Lock()
	v, open, ok := c.receive(task.sch)
	if ok {
		c.mu.Unlock()
		return v, open, nil
	}
	if err := task.mayWait(); err != nil {
		c.mu.Unlock()
		return nil, false, err
	}
	p := &party{w: &suspension{task: task, on: c}}
	c.receivers.push(p)
	c.mu.Unlock()
	err = c.wait(task, p, &c.receivers, timeout)
	return p.w.value, p.w.open, err
}

// TryReceive takes the oldest value; ok is false where that cannot be done at once.
func (c *Channel) TryReceive(t *Thread) (v any, open, ok bool, err error) {
	task, err := t.needTask()
	if err != nil {
		return nil, false, false, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	v, open, ok = c.receive(task.sch)
	return v, open, ok, nil
}

// Close lets no more values in: who waits to send fails, who waits to receive gets what is left, and then
// that the channel is closed. Closing it again does nothing.
func (c *Channel) Close(t *Thread) error {
	task, err := t.needTask()
	if err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return nil
	}
	c.closed, c.closedAt = true, t.Site
	for p := c.receivers.pop(); p != nil; p = c.receivers.pop() {
		p.finish(task.sch, nil, false, nil)
	}
	for p := c.senders.pop(); p != nil; p = c.senders.pop() {
		p.finish(task.sch, nil, false, c.closedError())
	}
	return nil
}

func (c *Channel) closedError() *Error {
	what := "the channel was closed"
	if at := c.s.Where(c.closedAt); at != "" {
		what += " at " + at
	}
	return hinted(errorf(ErrInvalidHandle, "%s", what), "let the side that sends close it, after the last value")
}

// wait suspends the task of p, which is in q.
func (c *Channel) wait(t *Task, p *party, q *queue[*party], timeout time.Duration) error {
	err := t.suspendFor(p.w, timeout)
	if err != nil {
		c.leave(p, q)
	}
	return err
}

// leave takes p out of q.
func (c *Channel) leave(p *party, q *queue[*party]) {
	c.mu.Lock()
	defer c.mu.Unlock()
	q.items = append(q.items[:q.head], slices.DeleteFunc(q.items[q.head:], func(x *party) bool { return x == p })...)
}

// finish ends the wait of p with a result; false where it was ended before.
func (p *party) finish(by *Scheduler, v any, open bool, err error) bool {
	if !p.w.end(err) {
		return false
	}
	p.w.value, p.w.open, p.w.chosen = v, open, p.index
	p.w.resume(by)
	return true
}

// send hands v over if that can be done at once; under mu.
func (c *Channel) send(by *Scheduler, v any) (bool, error) {
	if c.closed {
		return false, c.closedError()
	}
	for p := c.receivers.pop(); p != nil; p = c.receivers.pop() {
		if p.finish(by, v, true, nil) {
			return true, nil
		}
	}
	if c.buffered.len() < c.capacity {
		c.buffered.push(v)
		return true, nil
	}
	return false, nil
}

// receive takes the oldest value if there is one, or the channel is closed; under mu.
func (c *Channel) receive(by *Scheduler) (v any, open, ok bool) {
	if c.buffered.len() > 0 {
		v = c.buffered.pop()
		for p := c.senders.pop(); p != nil; p = c.senders.pop() { // there is room for one more
			if p.finish(by, nil, true, nil) {
				c.buffered.push(p.value)
				break
			}
		}
		return v, true, true
	}
	for p := c.senders.pop(); p != nil; p = c.senders.pop() {
		if p.finish(by, nil, true, nil) {
			return p.value, true, true
		}
	}
	return nil, false, c.closed
}

// needTask is the task of t.
func (t *Thread) needTask() (*Task, error) {
	if t.task == nil {
		return nil, errorf(ErrInternal, "the thread belongs to no scheduler")
	}
	return t.task, nil
}
