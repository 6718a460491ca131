package sim

import (
	"cmp"
	"slices"
	"time"

	"npulua/npu/internal/driver"
)

// past holds the last commands of a stream that are over. The ring is made at first use, so that
// streams that do nothing stay small; keeping a command allocates nothing.
type past struct {
	ring *pastRing
	n    uint64 // commands that went in
}

// pastRing keeps apart what few commands have: most write 32 B here and no pointer.
type pastRing struct {
	commands [driver.MaxCommandsOver]pastCommand
	names    [driver.MaxCommandsOver]string    // of launches and runs
	faults   [driver.MaxCommandsOver]pastFault // of failed commands
}

type pastCommand struct {
	seq        uint64
	start, end time.Duration
	site       driver.Site
	op         driver.Op
	state      driver.CommandState
	path       copyPath
}

type pastFault struct {
	number uint64
	code   driver.Code
}

// add makes place i for one more command.
func (p *past) add() (r *pastRing, i uint64) {
	if p.ring == nil {
		p.ring = new(pastRing)
	}
	i = p.n % driver.MaxCommandsOver
	p.n++
	return p.ring, i
}

// at describes command i of those that went in.
func (p *past) at(i uint64) (info driver.CommandInfo, seq uint64) {
	i %= driver.MaxCommandsOver
	c := &p.ring.commands[i]
	info = driver.CommandInfo{Op: c.op, Site: c.site, State: c.state, Start: c.start, End: c.end, Copy: c.path.kind()}
	if c.op == driver.OpLaunch || c.op == driver.OpModel {
		info.Name = p.ring.names[i]
	}
	if f := &p.ring.faults[i]; c.state == driver.CommandFailed {
		info.Code, info.Fault = f.code, f.number
	}
	return info, c.seq
}

// over notes that t is, where it did not fail.
func (s *stream) over(t *task, state driver.CommandState) {
	r, i := s.past.add()
	r.commands[i] = pastCommand{t.seq, t.start, t.end, t.cmd.Site, t.cmd.Op, state, t.path()}
	if t.kernel != nil || t.cmd.Op == driver.OpModel {
		r.names[i] = t.name()
	}
}

// name is what a launch or a run launches or runs.
func (t *task) name() string {
	switch {
	case t.kernel != nil:
		return t.kernel.name
	case t.cmd.Op == driver.OpModel:
		return t.graph.name
	}
	return ""
}

// failed notes that t is, and why.
func (s *stream) failed(t *task, f *driver.Error) {
	s.over(t, driver.CommandFailed)
	s.past.ring.faults[(s.past.n-1)%driver.MaxCommandsOver] = pastFault{f.Fault, f.Code}
}

// outcome is the state of a command that came to its end without a fault.
func (t *task) outcome() driver.CommandState {
	if t.cut {
		return driver.CommandSkipped
	}
	return driver.CommandDone
}

// noQueue notes a command that prepare gave no place in the stream. err is why it was refused, or the
// fault of an earlier command, which it waited for.
func (d *Driver) noQueue(s *stream, c *driver.Command, err error) {
	if e, ok := err.(*driver.Error); ok && e.Fault == 0 {
		d.overAtOnce(s, c, driver.CommandFailed, e.Code)
	} else {
		d.overAtOnce(s, c, driver.CommandDone, driver.OK)
	}
}

// overAtOnce notes a command that was never in the queue.
func (d *Driver) overAtOnce(s *stream, c *driver.Command, state driver.CommandState, code driver.Code) {
	d.seq++
	r, i := s.past.add()
	r.commands[i] = pastCommand{seq: d.seq, site: c.Site, op: c.Op, state: state}
	if state != driver.CommandSkipped {
		r.commands[i].start, r.commands[i].end = d.now, d.now
	}
	r.names[i], r.faults[i] = "", pastFault{code: code}
	if k := d.kernels[c.Kernel]; k != nil {
		r.names[i] = k.name
	}
	if m := d.models[c.Model]; m != nil {
		r.names[i] = m.info.Name
	}
}

// Commands implements driver.Inspector.
func (d *Driver) Commands(h driver.Stream) ([]driver.CommandInfo, error) {
	s, err := d.ownStream("", h)
	if err != nil {
		return nil, err
	}
	n := min(s.past.n, driver.MaxCommandsOver)
	type numbered struct {
		driver.CommandInfo
		seq uint64
	}
	over := make([]numbered, 0, n)
	for i := s.past.n - n; i < s.past.n; i++ {
		c, seq := s.past.at(i)
		over = append(over, numbered{c, seq})
	}
	// Some end out of turn: refused ones, and what was dropped behind one that ran.
	slices.SortFunc(over, func(a, b numbered) int { return cmp.Compare(a.seq, b.seq) })
	out := make([]driver.CommandInfo, 0, len(over)+s.count)
	for i := range over {
		out = append(out, over[i].CommandInfo)
	}
	for t := s.head; t != nil; t = t.next {
		out = append(out, t.info())
	}
	return out, nil
}

// Progress implements driver.Inspector.
func (d *Driver) Progress(h driver.Stream) (driver.Progress, error) {
	s, err := d.ownStream("", h)
	if err != nil {
		return driver.Progress{}, err
	}
	p := driver.Progress{Over: s.past.n, Pending: s.count}
	if n := s.past.n; n > 0 {
		p.Last, _ = s.past.at(n - 1)
	}
	if s.head != nil {
		p.Head = s.head.info()
	}
	return p, nil
}

// info describes a command in a queue.
func (t *task) info() driver.CommandInfo {
	c := driver.CommandInfo{Op: t.cmd.Op, Site: t.cmd.Site, Copy: t.path().kind()}
	c.Name = t.name()
	if t == t.s.head {
		if c.Hold = t.hold(); c.Hold.Kind == driver.HoldNone && t.s.running {
			c.State, c.Start = driver.CommandRunning, t.start
		}
		if t.hangs {
			c.State, c.Start, c.Hold, c.Hangs = driver.CommandRunning, t.start, driver.Hold{}, true
		}
	}
	return c
}

// path is the way of a copy.
func (t *task) path() copyPath {
	if t.cmd.Op == driver.OpCopy {
		return t.transfer.path
	}
	return pathH2H
}

// kind is the way as programs name it.
func (p copyPath) kind() driver.CopyKind {
	switch p {
	case pathH2D:
		return driver.HostToDevice
	case pathD2H:
		return driver.DeviceToHost
	case pathD2D, pathPeer:
		return driver.DeviceToDevice
	}
	return driver.HostToHost
}

// hold is what keeps t, the first command of its stream, from running.
func (t *task) hold() driver.Hold {
	switch {
	case t.s.running && t.cmd.Op == driver.OpHostFunc:
		return driver.Hold{Kind: driver.HoldCallback}
	case t.s.running:
	case t.engine != nil && t.engine.running != nil:
		x := t.engine.running
		h := driver.Hold{Kind: driver.HoldEngine, Name: t.engineName(), Site: x.cmd.Site}
		if x.replay != nil {
			x = x.replay.t // its own stream is one of the replay's
		}
		h.Context, h.Stream = x.s.ctx.h, x.s.h
		return h
	case t.cores != nil:
		return driver.Hold{Kind: driver.HoldCores, Name: t.s.ctx.dev.coresName(t.cores), Want: int(t.ncores), Free: t.cores.free}
	case t.rec != nil:
		return driver.Hold{Kind: driver.HoldRecord, Context: t.rec.s.ctx.h, Stream: t.rec.s.h, Site: t.rec.site()}
	}
	return driver.Hold{}
}

// site is the place of r's command, which is in its stream's queue as long as r is not done.
func (r *record) site() driver.Site {
	for t := r.s.head; t != nil; t = t.next {
		if t.rec == r && t.cmd.Op == driver.OpRecord {
			return t.cmd.Site
		}
	}
	return 0
}

// engineName says what the engine that t needs does.
func (t *task) engineName() string {
	dev := t.s.ctx.dev
	switch t.engine {
	case &dev.h2d:
		return "copies to the device"
	case &dev.d2h:
		return "copies to the host"
	case &dev.d2d:
		return "copies inside the device"
	}
	for peer, e := range dev.links {
		if e == t.engine {
			return "copies between devices " + itoa(dev.id) + " and " + itoa(peer)
		}
	}
	return ""
}

// coresName is the kind of cores in c.
func (dev *device) coresName(c *cores) string {
	switch {
	case dev.vector == dev.cube:
		return "AI"
	case c == dev.cube:
		return "cube"
	}
	return "vector"
}
