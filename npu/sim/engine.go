package sim

import (
	"math"
	"time"
)

// eventHeap orders completions by time, then by submission.
type eventHeap []*task

func (h eventHeap) less(i, j int) bool {
	if h[i].end != h[j].end {
		return h[i].end < h[j].end
	}
	return h[i].seq < h[j].seq
}

func (h *eventHeap) push(t *task) {
	*h = append(*h, t)
	q := *h
	for i := len(q) - 1; i > 0; {
		up := (i - 1) / 2
		if !q.less(i, up) {
			break
		}
		q[i], q[up] = q[up], q[i]
		i = up
	}
}

func (h *eventHeap) pop() *task {
	q := *h
	top := q[0]
	n := len(q) - 1
	q[0], q[n] = q[n], nil
	q = q[:n]
	*h = q
	for i := 0; ; {
		c := 2*i + 1
		if c >= n {
			break
		}
		if c+1 < n && q.less(c+1, c) {
			c++
		}
		if !q.less(c, i) {
			break
		}
		q[i], q[c] = q[c], q[i]
		i = c
	}
	return top
}

// engine does one copy at a time, in order of request.
type engine struct {
	running *task
	queue   fifo
	busy    time.Duration // of finished work
}

func (e *engine) busyTime(now time.Duration) time.Duration {
	if e.running != nil {
		return e.busy + now - e.running.start
	}
	return e.busy
}

// cores is a pool of like cores. A launch takes as many as it has blocks, at most all; it starts
// when that many are free. Streams of higher priority go first, then it is first come, first
// served, without overtaking.
type cores struct {
	total, free int
	queue       [8]fifo // by priority
	used        time.Duration
	since       time.Duration // used is exact up to here
}

// busy is the core time used up to now.
func (c *cores) busy(now time.Duration) time.Duration {
	c.used += time.Duration(c.total-c.free) * (now - c.since)
	c.since = now
	return c.used
}

// fifo is a queue of tasks linked through task.queued.
type fifo struct{ head, tail *task }

func (q *fifo) push(t *task) {
	t.queued = nil
	if q.tail == nil {
		q.head = t
	} else {
		q.tail.queued = t
	}
	q.tail = t
}

func (q *fifo) pop() *task {
	t := q.head
	q.head = t.queued
	if q.head == nil {
		q.tail = nil
	}
	t.queued = nil
	return t
}

// remove takes t out where it is in the queue.
func (q *fifo) remove(t *task) {
	var prev *task
	for x := q.head; x != nil; prev, x = x, x.queued {
		if x != t {
			continue
		}
		if prev == nil {
			q.head = x.queued
		} else {
			prev.queued = x.queued
		}
		if q.tail == x {
			q.tail = prev
		}
		x.queued = nil
		return
	}
}

// Now implements driver.Clock.
func (d *Driver) Now() time.Duration { return d.now }

// Next implements driver.Clock.
func (d *Driver) Next() (time.Duration, bool) {
	if len(d.pending) == 0 {
		return 0, false
	}
	return d.pending[0].end, true
}

// Advance implements driver.Clock.
func (d *Driver) Advance(limit time.Duration) bool {
	if len(d.pending) == 0 || limit >= 0 && d.pending[0].end > limit {
		d.now = max(d.now, limit)
		return false
	}
	t := d.pending.pop()
	d.now = max(d.now, t.end)
	d.finishTask(t)
	return true
}

// Changes implements driver.Clock.
func (d *Driver) Changes() uint64 { return d.progress }

// Untimed implements driver.Clock.
func (d *Driver) Untimed(fn func()) {
	before := d.untimed
	d.untimed = true
	defer func() { d.untimed = before }()
	fn()
}

// host passes the time of a host call, with all that happens in it.
func (d *Driver) host(cost time.Duration) {
	if d.untimed {
		return
	}
	until := later(d.now, cost)
	for d.Advance(until) {
	}
}

// later adds without overflow: what would be beyond the end of time is at its end.
func later(t, d time.Duration) time.Duration {
	if d > math.MaxInt64-t {
		return math.MaxInt64
	}
	return t + d
}

// schedule lets t complete after dur.
func (d *Driver) schedule(t *task, dur time.Duration) {
	t.s.running, t.s.blocked = true, false
	t.start = d.now
	if t.mishap != nil || d.lost > 0 {
		var ends bool
		if dur, ends = d.scheduleWrong(t, dur); !ends {
			return
		}
	}
	t.end = later(d.now, dur)
	d.pending.push(t)
}

// requestEngine starts t on e, now or when its turn comes.
func (d *Driver) requestEngine(e *engine, t *task) {
	t.engine = e
	t.s.blocked = true
	if e.running != nil {
		e.queue.push(t)
		return
	}
	e.running = t
	d.schedule(t, t.dur)
}

func (d *Driver) releaseEngine(e *engine) {
	e.busy += d.now - e.running.start
	e.running = nil
	if e.queue.head != nil {
		t := e.queue.pop()
		e.running = t
		d.schedule(t, t.dur)
	}
}

// requestCores starts t on n cores of c, now or when its turn comes.
func (d *Driver) requestCores(c *cores, t *task, n int) {
	t.cores, t.ncores = c, int32(min(n, c.total))
	t.s.blocked = true
	c.queue[t.s.priority].push(t)
	d.startCores(c)
}

func (d *Driver) releaseCores(t *task) {
	t.cores.busy(d.now)
	t.cores.free += int(t.ncores)
	d.startCores(t.cores)
}

func (d *Driver) startCores(c *cores) {
	for p := range c.queue {
		q := &c.queue[p]
		for q.head != nil {
			if int(q.head.ncores) > c.free {
				return
			}
			t := q.pop()
			c.busy(d.now)
			c.free -= int(t.ncores)
			d.schedule(t, t.dur)
		}
	}
}

// waitUntil lets time pass until done, or until timeout (negative: never) is over.
func (d *Driver) waitUntil(done func() bool, timeout time.Duration) bool {
	limit := time.Duration(-1)
	if timeout >= 0 {
		limit = later(d.now, timeout)
	}
	for !done() {
		if !d.Advance(limit) {
			return done()
		}
	}
	return true
}
