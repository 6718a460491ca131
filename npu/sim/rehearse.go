package sim

import (
	"math"
	"slices"
	"time"

	"npulua/npu/internal/driver"
)

// rehearsal is what a Driver was told to let go wrong.
type rehearsal struct {
	armed *driver.Mishap // of the next command or blocking copy
	hung  []*task        // that run and never end, in order of their start
	lost  int            // devices
}

// dropped marks a command that hung and is over without effect.
var dropped = new(driver.Mishap)

// Arm implements driver.Rehearser.
func (d *Driver) Arm(m *driver.Mishap) { d.armed = m }

func (r *rehearsal) takeArmed() *driver.Mishap {
	m := r.armed
	if m != nil {
		r.armed = nil
	}
	return m
}

// Pass implements driver.Rehearser.
func (d *Driver) Pass(dt time.Duration) { d.host(dt) }

// Hangs implements driver.Rehearser.
func (d *Driver) Hangs() bool { return len(d.hung) > 0 }

// Route implements driver.Rehearser.
func (d *Driver) Route(dst, src driver.Ptr) (to, from int) {
	ends := [2]int{-1, -1}
	for i, p := range []driver.Ptr{dst, src} {
		if dev := d.deviceOf(p); dev != nil {
			ends[i] = dev.id
		}
	}
	return ends[0], ends[1]
}

// LoseDevice implements driver.Rehearser.
func (d *Driver) LoseDevice(id int, fault *driver.Error) {
	dev := d.devices[id]
	if dev.lost != nil {
		d.lost--
	}
	if dev.lost = fault; fault == nil {
		return
	}
	d.lost++
	d.hung = slices.DeleteFunc(d.hung, func(t *task) bool {
		mine := t.s.ctx.dev == dev
		if mine {
			t.setHangs(false)
			t.end = d.now
			d.pending = append(d.pending, t)
		}
		return mine
	})
	for _, t := range d.pending {
		if t.s.ctx.dev == dev {
			t.end = d.now
		}
	}
	old := d.pending
	d.pending = nil
	for _, t := range old { // in order again
		d.pending.push(t)
	}
}

// refuse is Enqueue of a command that is not queued.
func (d *Driver) refuse(s *stream, c *driver.Command, why *driver.Error) error {
	if s.capture != nil {
		s.capture.g.invalid = why
	} else {
		d.overAtOnce(s, c, driver.CommandFailed, why.Code)
	}
	return why
}

// mustRun gives a command a place in the stream that would have nothing to do there, so that it can go wrong.
func (t *task) mustRun() bool {
	if t.cmd.Op != driver.OpWait {
		return false
	}
	t.rec = &record{s: t.s, done: true}
	return true
}

// scheduleWrong is how long t takes that goes wrong, or is of a device that is lost. It keeps those that never end.
func (d *Driver) scheduleWrong(t *task, dur time.Duration) (took time.Duration, ends bool) {
	m := t.mishap
	switch {
	case t.s.ctx.dev.lost != nil:
		return 0, true
	case m == nil:
		return dur, true
	case m.Hang:
		d.hung = append(d.hung, t)
		t.setHangs(true)
		return 0, false
	}
	return later(dur, m.Delay), true
}

func (t *task) setHangs(on bool) {
	t.hangs = on
	if t.replay != nil {
		t.replay.t.hangs = on
	}
}

// lag is how much longer a copy takes that has a share of the bandwidth.
func (p *Profile) lag(m *driver.Mishap, n int64, path copyPath, pageable bool) time.Duration {
	if m.Rate <= 0 {
		return 0
	}
	_, t := p.copyParts(n, path, pageable)
	more := math.Round(float64(t)*(1/m.Rate) - float64(t))
	if more >= math.MaxInt64 {
		return math.MaxInt64
	}
	return time.Duration(more)
}

// goWrong is the effect of a command that goes wrong, or is of a device that is lost.
func (d *Driver) goWrong(t *task) error {
	m, fault := t.mishap, t.s.ctx.dev.lost
	if m == dropped {
		return nil
	}
	if fault == nil && m != nil {
		fault = m.Fault
	}
	if fault != nil {
		f := *fault // its place and number are those of t
		if f.Call == "" {
			f.Call = t.cmd.Op.Call()
		}
		return &f
	}
	err := d.work(t)
	if err == nil && m != nil && m.Wrong > 0 {
		spoil(d.written(t), m.Wrong)
	}
	return err
}

// written is what t has written: of a launch its first output, of a run of a model the first one of that.
func (d *Driver) written(t *task) []byte {
	c := &t.cmd
	switch c.Op {
	case driver.OpCopy:
		return t.transfer.dst.bytes(c.Size, false)
	case driver.OpFill:
		return t.fill.bytes(c.Size, false)
	case driver.OpLaunch:
		for i := range t.launch.mem {
			if p := &t.kernel.sig.Params[i]; p.Pointer && p.Dir != driver.DirIn {
				return t.launch.mem[i].o.bytes(t.launch.used(i), false)
			}
		}
	case driver.OpModel:
		m := d.models[c.Model]
		if m == nil {
			return nil
		}
		word := 2 * len(m.info.Inputs)
		n := m.info.Outputs[0].BytesFor(int64(c.Value))
		if o, err := d.resolve("", "", driver.Ptr(c.Args[word]), n); err == nil {
			return o.bytes(n, false)
		}
	}
	return nil
}

// used is how many bytes of argument i the launch uses.
func (l *launch) used(i int) int64 {
	if i < len(l.own.Elems) {
		return l.own.Elems[i] * int64(l.own.Args[i].Type.Size())
	}
	return l.mem[i].size // of a function of the host nobody knows
}

// spoil inverts n bytes of p, spread over it.
func spoil(p []byte, n int64) {
	size := int64(len(p))
	n = min(n, size)
	for i := range n {
		at := i*(size/n) + size/n/2
		p[at] ^= 0xff
	}
}

// dropHung lets the first command of s that hangs, in a replay or by itself, be over without effect; false where
// there is none.
func (d *Driver) dropHung(s *stream) bool {
	for i, t := range d.hung {
		if t.s != s && (t.replay == nil || t.replay.t.s != s) {
			continue
		}
		d.hung = slices.Delete(d.hung, i, i+1)
		t.setHangs(false)
		t.mishap, t.cut, t.end = dropped, true, d.now
		d.finishTask(t)
		return true
	}
	return false
}
