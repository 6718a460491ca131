//go:build linux && (amd64 || arm64)

package acl

import "npulua/npu/internal/driver"

// refusal is why an operator was not called: a kernel would have found the same when it ran.
type refusal struct{ fault *driver.Error }

func (r *refusal) Error() string { return r.fault.Error() }

// fault is the error of a launch as the executor knows errors.
func fault(err error) error {
	if r, ok := err.(*refusal); ok {
		return r.fault
	}
	return err
}

// skip is Enqueue in a context that has stopped, where only the library does not know that.
func (d *Driver) skip(s *stream, c *driver.Command) error {
	if c.Op == driver.OpRecord {
		e, err := d.event(&d.record, c.Event)
		if err != nil {
			return err
		}
		e.recorded, e.skipped = s, true
	}
	d.neverQueued(s, c, driver.CommandSkipped, nil)
	return nil
}

// refuse makes of a launch that an operator refused what it is of a kernel: a fault of the stream, with the launch
// among its commands. It was not queued, and does nothing.
func (d *Driver) refuse(s *stream, c *driver.Command, r *refusal) {
	s.log.note(entry{task: noTask, op: c.Op, site: c.Site, kernel: d.kernels[c.Kernel]})
	d.fail(s, len(s.log.entries)-1, r.fault)
	s.ctx.unaware = s.ctx.stopped == r.fault
}
