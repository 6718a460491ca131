package sim

import (
	"slices"

	"npulua/npu/internal/driver"
)

// AbortStream implements driver.Aborter.
func (d *Driver) AbortStream(h driver.Stream) error {
	const call = "aclrtStreamAbort"
	s, err := d.ownStream(call, h)
	if err != nil {
		return err
	}
	if s.capture != nil {
		return captured(call, s)
	}
	d.host(costStream)
	d.breakOff(s)
	s.fault = nil
	return nil
}

// breakOff drops what is queued on s, and ends what runs now, which has no effect.
func (d *Driver) breakOff(s *stream) {
	d.dropQueued(s)
	t := s.head
	if t == nil {
		return
	}
	switch r := t.running; {
	case r != nil:
		for _, lane := range r.lanes {
			d.breakOff(lane)
		}
	case t.hangs:
		d.dropHung(s)
		return
	default:
		t.fault = nil
	}
	d.pending.remove(t)
	t.end, t.cut = d.now, true
	d.finishTask(t)
}

// remove takes t out, wherever it is.
func (h *eventHeap) remove(t *task) {
	rest := slices.DeleteFunc(slices.Clone(*h), func(x *task) bool { return x == t })
	clear(*h)
	*h = (*h)[:0]
	for _, x := range rest {
		h.push(x)
	}
}
