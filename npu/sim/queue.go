package sim

import (
	"errors"
	"slices"
	"time"

	"npulua/npu/internal/driver"
)

// task is one queued command.
type task struct {
	cmd  driver.Command
	args []uint64 // backs cmd.Args; kept when the task is used again
	s    *stream
	next *task // in the stream, or in the free list
	seq  uint64

	transfer transfer // of a copy
	fill     operand  // of a fill
	rec      *record  // of a record or wait
	launch   *launch  // of a launch; kept when the task is used again
	kernel   *loadedKernel
	graph    *graph  // of a replay, or a run of a model
	nodes    []node  // of a replay: those of its graph when it was queued
	turn     uint64  // of a run of a model
	note     string  // how faults begin: that it is an operator of a model
	replay   *replay // that the command is part of
	running  *replay // of a replay that runs
	fault    error   // found when the work was planned; raised when it is done
	mishap   *driver.Mishap
	hangs    bool // it never ends, or holds a command that does not

	dur, start, end time.Duration
	engine          *engine
	cores           *cores
	ncores          int32
	cut             bool  // broken off, or a replay of which commands were dropped
	queued          *task // in the queue of an engine
}

func (d *Driver) newTask() *task {
	t := d.freeTask
	if t == nil {
		return new(task)
	}
	d.freeTask = t.next
	t.next = nil
	return t
}

func (d *Driver) recycle(t *task) {
	*t = task{args: t.args[:0], launch: t.launch, next: d.freeTask}
	d.freeTask = t
}

// Enqueue implements driver.Driver.
func (d *Driver) Enqueue(c *driver.Command) error {
	call, m := c.Op.Call(), d.takeArmed()
	s, err := d.ownStream(call, c.Stream)
	if err != nil {
		return err
	}
	if m != nil && m.Refuse != nil {
		return d.refuse(s, c, m.Refuse)
	}
	if s.capture == nil && d.capturing > 0 {
		if err := d.meetCapture(call, s, c); err != nil {
			return err
		}
	}
	if s.capture != nil {
		if err := s.ctx.over(); err != nil {
			return err
		}
		return d.record(call, s, c, m)
	}
	if s.count >= s.ctx.dev.profile.QueueDepth {
		return driver.CodeQueueFull
	}
	if err := s.ctx.over(); err != nil {
		d.overAtOnce(s, c, driver.CommandSkipped, driver.OK)
		return err
	}
	t := d.newTask()
	t.cmd = *c
	t.args = append(t.args[:0], c.Args...)
	t.cmd.Args = t.args
	t.s, t.mishap = s, m
	queue, err := d.prepare(t, call)
	if err == nil && m != nil {
		queue = queue || t.mustRun()
	}
	if err != nil || !queue {
		d.recycle(t)
		d.noQueue(s, c, err)
		return err
	}
	d.host(submitCost(c))
	d.seq++
	t.seq = d.seq
	s.push(t)
	if c.Op == driver.OpRecord {
		d.events[c.Event].last = t.rec
	}
	d.pump(s)
	return nil
}

func (s *stream) push(t *task) {
	if s.tail == nil {
		s.head = t
	} else {
		s.tail.next = t
	}
	s.tail = t
	s.count++
}

// prepare checks a command as the runtime does at submission. queue is false where it needs no
// place in the stream.
func (d *Driver) prepare(t *task, call string) (queue bool, err error) {
	c, s := &t.cmd, t.s
	switch c.Op {
	case driver.OpCopy:
		return d.prepareCopy(t, call)
	case driver.OpFill:
		if c.Width == 0 || c.Width > 8 || c.Width&(c.Width-1) != 0 {
			return false, driver.Errorf(driver.CodeRtParamInvalid, call, "a fill pattern has 1, 2, 4 or 8 B, got %d", c.Width)
		}
		t.fill, queue, err = d.planFill(call, c.Dst, c.Size, c.Size)
		return queue, err
	case driver.OpLaunch:
		return d.prepareLaunch(t, call)
	case driver.OpRecord:
		if _, err := d.event(call, c.Event); err != nil {
			return false, err
		}
		t.rec = &record{s: s}
		return true, nil
	case driver.OpWait:
		return d.prepareWait(t, call)
	case driver.OpResetEvent:
		e, err := d.event(call, c.Event)
		if err != nil {
			return false, err
		}
		if e.flags != driver.EventLegacy {
			return false, driver.Errorf(driver.CodeNotSupported, call, "an event created with flags cannot be reset")
		}
		return true, nil
	case driver.OpHostFunc:
		if c.Func == nil {
			return false, driver.Errorf(driver.CodeInvalidParam, call, "function is NULL")
		}
		return true, nil
	case driver.OpReplay:
		return d.prepareReplay(t, call)
	case driver.OpModel:
		return d.prepareModel(t, call)
	}
	return false, driver.Errorf(driver.CodeNotSupported, call, "the simulator has no operation %v", c.Op)
}

func (d *Driver) prepareWait(t *task, call string) (bool, error) {
	e, err := d.event(call, t.cmd.Event)
	if err != nil {
		return false, err
	}
	legacy := e.flags == driver.EventLegacy
	switch {
	case !legacy && e.flags&driver.EventSync == 0:
		return false, driver.Errorf(driver.CodeNotSupported, call, "the event was created without the sync flag")
	case e.last == nil && legacy:
		return false, driver.Errorf(driver.CodeRtParamInvalid, call, "the event was never recorded")
	case e.last == nil, e.last.done, e.last.s == t.s:
		return false, nil // nothing to wait for
	}
	t.rec = e.last
	return true, nil
}

// planQueued finds the way of a queued copy; ok is false where there is nothing to do.
func (d *Driver) planQueued(t *task, call string) (ok bool, err error) {
	c := &t.cmd
	t.transfer, _, ok, err = d.plan(call, c.Dst, c.Size, c.Src, c.Size, c.Kind)
	if err == nil && ok && t.transfer.path == pathH2H {
		return false, driver.Errorf(driver.CodeNotSupported, call, "a queued copy between two host buffers")
	}
	return ok, err
}

func (d *Driver) prepareCopy(t *task, call string) (bool, error) {
	ok, err := d.planQueued(t, call)
	if err != nil || !ok {
		return false, err
	}
	c, tr := &t.cmd, t.transfer
	if tr.dst.pageable() || tr.src.pageable() {
		// The runtime waits for the stream and copies before it returns.
		if !d.drained(t.s) {
			return false, driver.Errorf(driver.CodeStreamSyncTimeout, call, "the stream never gets there: work before the copy hangs")
		}
		d.host(d.profile.copyTime(c.Size, tr.path, true))
		tr.run(c.Size)
		return false, t.s.takeFault()
	}
	return true, nil
}

// pump starts the head of s where nothing holds it back.
func (d *Driver) pump(s *stream) {
	for s.head != nil && !s.running && !s.blocked {
		t := s.head
		if s.ctx.stopped != nil {
			d.dropQueued(s)
			return
		}
		dev := s.ctx.dev
		switch c := &t.cmd; c.Op {
		case driver.OpWait:
			if !t.rec.done {
				s.blocked = true
				t.rec.waiters = append(t.rec.waiters, s)
				return
			}
			d.schedule(t, deviceEvent)
		case driver.OpRecord, driver.OpResetEvent:
			d.schedule(t, deviceEvent)
		case driver.OpReplay, driver.OpModel:
			d.startReplay(t)
		case driver.OpHostFunc:
			d.schedule(t, hostFunction)
		case driver.OpFill:
			t.dur = dev.profile.fillTime(c.Size)
			d.requestEngine(&dev.d2d, t)
		case driver.OpCopy:
			t.dur = dev.profile.copyTime(c.Size, t.transfer.path, false)
			if t.mishap != nil {
				t.dur = later(t.dur, dev.profile.lag(t.mishap, c.Size, t.transfer.path, false))
			}
			d.requestEngine(dev.engineFor(t.transfer), t)
		case driver.OpLaunch:
			d.startLaunch(t)
		}
	}
}

// engineFor is the engine of a queued copy.
func (dev *device) engineFor(t transfer) *engine {
	switch t.path {
	case pathH2D:
		return &dev.h2d
	case pathD2H:
		return &dev.d2h
	case pathPeer:
		peer := t.dst.block.dev
		if peer == dev {
			peer = t.src.block.dev
		}
		return dev.link(peer.id)
	}
	return &dev.d2d
}

// finishTask lets t take effect, and the stream and the engine go on.
func (d *Driver) finishTask(t *task) {
	s := t.s
	err := d.effect(t)
	s.head = t.next
	if s.head == nil {
		s.tail = nil
	}
	s.count--
	if s.count == 0 {
		d.progress++
	}
	s.running = false
	if r := t.replay; r != nil {
		f := d.numbered(t, err)
		d.stopOn(f, s.ctx)
		defer d.replayed(r, f)
	} else if err != nil {
		d.setFault(s, t, err)
	} else {
		s.over(t, t.outcome())
		if s.fault != nil {
			s.fault.Affect(t.cmd.Site)
		}
	}
	if t.engine != nil {
		d.releaseEngine(t.engine)
	}
	if t.cores != nil {
		d.releaseCores(t)
	}
	if t.cmd.Op == driver.OpRecord {
		d.complete(t.rec)
	}
	g, turn := t.graph, t.turn
	d.recycle(t)
	if g != nil {
		d.ran(g, turn)
	}
	d.pump(s)
}

// effect does what the command says, or what is to go wrong with it.
func (d *Driver) effect(t *task) error {
	if t.fault != nil {
		return t.fault
	}
	if t.cut {
		return nil
	}
	if t.mishap == nil && d.lost == 0 {
		return d.work(t)
	}
	return d.goWrong(t)
}

// work is effect of a command that nothing is to go wrong with.
func (d *Driver) work(t *task) error {
	c := &t.cmd
	switch c.Op {
	case driver.OpCopy:
		if t.transfer.dst.freed() || t.transfer.src.freed() {
			return driver.Errorf(driver.CodeAICoreException, c.Op.Call(), "memory was freed before the copy ran")
		}
		t.transfer.run(c.Size)
	case driver.OpFill:
		if t.fill.freed() {
			return driver.Errorf(driver.CodeAICoreException, c.Op.Call(), "memory was freed before the fill ran")
		}
		fill(t.fill.bytes(c.Size, true), c.Value, int(c.Width))
	case driver.OpLaunch:
		return d.runLaunch(t)
	case driver.OpHostFunc:
		if err := c.Func(); err != nil {
			return &driver.Error{Code: driver.CodeInternal, Call: c.Op.Call(), Detail: "the host function failed: " + err.Error(),
				Hint: "the commands after it still ran", Cause: err}
		}
	case driver.OpResetEvent:
		if e := d.events[c.Event]; e != nil {
			e.last = nil
		}
	}
	return nil
}

func (o operand) freed() bool { return o.block != nil && o.block.freed }

// setFault keeps the first fault of s with the place of its command; in a context that stops on
// failure it ends everything.
func (d *Driver) setFault(s *stream, t *task, err error) {
	f := d.numbered(t, err)
	s.failed(t, f)
	if s.fault == nil {
		s.fault = f
	} else {
		s.fault.Affect(t.cmd.Site)
	}
	d.stopOn(f, s.ctx)
}

// stopOn lets f, a fault in c or nil, end everything there where that is the failure mode: also what is left of replays.
func (d *Driver) stopOn(f *driver.Error, c *context) {
	if f == nil || c.mode != driver.StopOnFailure || c.stopped != nil || f.Cause != nil { // a runtime knows of no failed host function
		return
	}
	c.stopped = f
	for _, s := range c.streams {
		d.dropQueued(s)
		if s.head != nil && s.head.running != nil {
			for _, lane := range s.head.running.lanes {
				d.dropQueued(lane)
			}
		}
	}
}

// OnException implements driver.Watcher.
func (d *Driver) OnException(fn func(driver.Exception)) { d.failed = fn }

// numbered makes err a fault of t, with its place and a number; the fault of a replay has those of the
// command that failed already.
func (d *Driver) numbered(t *task, err error) *driver.Error {
	if err == nil {
		return nil
	}
	var f *driver.Error
	if !errors.As(err, &f) {
		f = &driver.Error{Code: driver.CodeVectorException, Call: t.cmd.Op.Call(), Detail: err.Error()}
	}
	if f.Fault == 0 {
		d.faults++
		f.Site, f.Op, f.Fault = t.cmd.Site, t.cmd.Op.String(), d.faults
		if t.note != "" {
			f.Op, f.Call, f.Detail = driver.OpModel.String(), driver.OpModel.Call(), t.note+f.Detail
		}
		if d.failed != nil {
			s := t.s
			if t.replay != nil {
				s = t.replay.t.s
			}
			d.failed(driver.Exception{Context: s.ctx.h, Stream: s.h, Fault: f})
		}
	}
	return f
}

// dropQueued drops what has not started on s.
func (d *Driver) dropQueued(s *stream) {
	first := s.head
	if first == nil {
		return
	}
	d.progress++
	if s.running {
		first = first.next
		s.head.next, s.tail = nil, s.head
	} else {
		s.head, s.tail = nil, nil
		if s.blocked {
			s.blocked = false
			d.unblock(first)
		}
	}
	var models []*graph
	for t := first; t != nil; {
		next := t.next
		s.count--
		if t.cmd.Op == driver.OpRecord {
			t.rec.skipped = s.ctx.stopped != nil
			d.complete(t.rec) // nobody may wait for it for ever
		}
		if t.graph != nil {
			t.graph.running--
			if t.turn != 0 {
				t.graph.pass(t.turn)
				models = append(models, t.graph)
			}
		}
		if r := t.replay; r != nil {
			r.t.cut = true
			d.replayed(r, nil)
		} else {
			s.over(t, driver.CommandSkipped)
		}
		d.recycle(t)
		t = next
	}
	for _, g := range models {
		d.startWaiting(g)
	}
}

// unblock takes a command off what it waits for.
func (d *Driver) unblock(t *task) {
	switch {
	case t.engine != nil:
		t.engine.queue.remove(t)
	case t.cores != nil:
		t.cores.queue[t.s.priority].remove(t)
		d.startCores(t.cores)
	case t.graph != nil:
		t.graph.waiting = slices.DeleteFunc(t.graph.waiting, func(x *stream) bool { return x == t.s })
	case t.rec != nil:
		t.rec.waiters = slices.DeleteFunc(t.rec.waiters, func(x *stream) bool { return x == t.s })
	}
}
