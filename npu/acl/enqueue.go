//go:build linux && (amd64 || arm64)

package acl

import (
	"encoding/binary"
	"unsafe"

	"npulua/npu/internal/driver"
)

// Enqueue implements driver.Driver.
func (d *Driver) Enqueue(c *driver.Command) error {
	f := d.callOf(c.Op)
	s, err := d.ownStream(f, c.Stream)
	if err != nil {
		return err
	}
	switch {
	case s.ctx.stopped == nil:
	case s.ctx.told && s.capture != nil:
		return s.ctx.stopped
	case s.ctx.told && s.ctx.unaware:
		d.neverQueued(s, c, driver.CommandSkipped, nil)
		return s.ctx.stopped
	case s.ctx.unaware && s.capture == nil:
		return d.skip(s, c)
	}
	if s.raw == 0 {
		if err = d.openMain(s); err != nil {
			return err
		}
	}
	switch c.Op {
	case driver.OpCopy:
		err = d.queueCopy(s, c)
	case driver.OpFill:
		err = d.queueFill(s, c)
	case driver.OpLaunch:
		err = d.queueLaunch(s, c)
	case driver.OpRecord, driver.OpWait, driver.OpResetEvent:
		err = d.queueEvent(f, s, c)
	case driver.OpHostFunc:
		err = d.queueHostFunc(s, c)
	case driver.OpReplay:
		err = d.queueReplay(s, c)
	case driver.OpModel:
		err = d.queueModel(s, c)
	default:
		err = driver.Errorf(driver.CodeNotSupported, f.name, "there is no operation %v", c.Op)
	}
	if r, ok := err.(*refusal); ok && s.capture == nil {
		d.refuse(s, c, r)
		return nil
	}
	if err = fault(err); err != nil {
		err = d.refusedBy(s, err)
		switch {
		case s.capture != nil, err == driver.CodeQueueFull:
		case s.ctx.stopped != nil && err == s.ctx.stopped:
			d.neverQueued(s, c, driver.CommandSkipped, nil)
		default:
			d.neverQueued(s, c, driver.CommandFailed, err)
		}
		return err
	}
	if s.capture != nil {
		s.capture.note(c, d.kernels[c.Kernel], d.lastTaskOf(s))
	} else {
		d.noteCommand(s, c)
	}
	return nil
}

// refusedBy is err of a command that was refused, or the failure that has stopped the context, which says more.
func (d *Driver) refusedBy(s *stream, err error) error {
	if !s.ctx.stops || !isFault(code(err)) && code(err) != codeOperator {
		return err
	}
	d.deliver()
	if s.ctx.stopped != nil {
		return s.ctx.stopped
	}
	return err
}

// callOf is the function of an operation.
func (d *Driver) callOf(op driver.Op) *function {
	switch op {
	case driver.OpCopy:
		return &d.memcpyAsync
	case driver.OpFill:
		return &d.memsetAsync
	case driver.OpLaunch:
		return &d.launch
	case driver.OpRecord:
		return &d.record
	case driver.OpWait:
		return &d.wait
	case driver.OpResetEvent:
		return &d.reset
	case driver.OpHostFunc:
		return &d.hostFunc
	case driver.OpReplay:
		return &d.replay
	case driver.OpModel:
		return &d.model.run
	}
	return &function{name: op.Call()}
}

func (d *Driver) queueCopy(s *stream, c *driver.Command) error {
	if c.Size == 0 {
		return nil
	}
	if c.Dst != 0 && !d.memory.holds(c.Dst) || c.Src != 0 && !d.memory.holds(c.Src) {
		return d.copyPageable(s, c)
	}
	return d.queue(&d.memcpyAsync, uintptr(c.Dst), uintptr(c.Size), uintptr(c.Src), uintptr(c.Size), uintptr(c.Kind), s.raw)
}

// copyPageable does what the library does with memory that it did not pin, but never hands it to a queue, since
// it may be Go's: it waits for the stream and copies at once.
func (d *Driver) copyPageable(s *stream, c *driver.Command) error {
	if s.capture != nil {
		return driver.Errorf(driver.CodeCaptureAsync, d.memcpyAsync.name, "a copy with pageable memory cannot be recorded in a graph")
	}
	if err := d.settled(s, d.call(&d.syncStream, s.raw)); err != nil {
		return err
	}
	return d.call(&d.memcpy, uintptr(c.Dst), uintptr(c.Size), uintptr(c.Src), uintptr(c.Size), uintptr(c.Kind))
}

// fromBuffer is the kind of a queued copy that takes the bytes on the host during the call.
const fromBuffer = 5

// patternSize is how many bytes of a pattern are written from the host; the rest is copied on the device, twice
// as much each time.
const patternSize = 4096

func (d *Driver) queueFill(s *stream, c *driver.Command) error {
	w := int64(c.Width)
	if w == 0 || w > 8 || w&(w-1) != 0 {
		return driver.Errorf(driver.CodeRtParamInvalid, d.memsetAsync.name, "a fill pattern has 1, 2, 4 or 8 B, got %d", w)
	}
	var pattern [8]byte
	binary.LittleEndian.PutUint64(pattern[:], c.Value)
	same := true
	for _, b := range pattern[1:w] {
		same = same && b == pattern[0]
	}
	switch {
	case c.Size == 0:
		return nil
	case same:
		return d.queue(&d.memsetAsync, uintptr(c.Dst), uintptr(c.Size), uintptr(pattern[0]), uintptr(c.Size), s.raw)
	case w == 4 && d.memsetD32Async.address != 0 && c.Size%4 == 0 && c.Dst%4 == 0:
		return d.queue(&d.memsetD32Async, uintptr(c.Dst), uintptr(c.Size), uintptr(uint32(c.Value)), uintptr(c.Size/4), s.raw)
	}
	n := min(c.Size, patternSize)
	d.pack = d.pack[:0]
	for range (n + 7) / 8 {
		var word [8]byte
		for i := range word {
			word[i] = pattern[int64(i)%w]
		}
		d.pack = append(d.pack, binary.LittleEndian.Uint64(word[:]))
	}
	if err := d.queue(&d.memcpyAsync, uintptr(c.Dst), uintptr(c.Size), uintptr(unsafe.Pointer(&d.pack[0])), uintptr(n), fromBuffer, s.raw); err != nil {
		return err
	}
	for n < c.Size {
		m := min(n, c.Size-n)
		if err := d.queue(&d.memcpyAsync, uintptr(c.Dst)+uintptr(n), uintptr(c.Size-n), uintptr(c.Dst), uintptr(m), uintptr(driver.DeviceToDevice), s.raw); err != nil {
			return err
		}
		n += m
	}
	return nil
}

func (d *Driver) queueEvent(f *function, s *stream, c *driver.Command) error {
	e, err := d.event(f, c.Event)
	if err != nil {
		return err
	}
	switch c.Op {
	case driver.OpRecord:
		if err := d.queue(f, e.raw, s.raw); err != nil {
			return err
		}
		if e.captured = s.capture; s.capture == nil {
			s.records++
			e.recorded, e.record, e.skipped, e.late = s, s.records, false, late{}
		}
		return nil
	case driver.OpResetEvent:
		if e.flags != driver.EventLegacy {
			return driver.Errorf(driver.CodeNotSupported, f.name, "an event created with flags cannot be reset")
		}
		return d.queue(f, e.raw, s.raw)
	}
	if e.older && e.recorded == nil && e.captured == nil {
		return nil
	}
	if s.h == 0 && e.captured != nil {
		return driver.Errorf(driver.CodeCaptureImplicit, f.name, "a default stream cannot record a graph")
	}
	if err := d.queue(f, s.raw, e.raw); err != nil {
		return err
	}
	if s.capture == nil && e.captured != nil { // the wait has drawn s into the capture
		s.capture = e.captured
	}
	return nil
}
