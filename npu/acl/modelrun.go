//go:build linux && (amd64 || arm64)

package acl

import (
	"slices"

	"npulua/npu/internal/driver"
)

// modelRun is what the library needs of one run until that is over; then it serves another one.
type modelRun struct {
	inputs, outputs uintptr   // datasets
	buffers         []uintptr // in them: of the operands in order
	batchBuffer     uintptr   // of the hidden input; 0: the model has none
	batch           driver.Ptr
	done            driver.Event
	stream          *stream // that it was queued on last
}

// maxModelRuns bounds the runs of a model that are queued: more wait until there is room, and all that the executor
// does with them. Each has an event, of which some parts have no more than 1023.
const maxModelRuns = 256

// queueModel queues a run. Runs of one model share its work memory, so that one on another stream waits for the one
// before it.
func (d *Driver) queueModel(s *stream, c *driver.Command) error {
	m, err := d.runnable(s, c)
	if err != nil {
		return err
	}
	r, err := d.freeRun(m)
	if err != nil {
		return err
	}
	for i, b := range r.buffers {
		if err := d.call(&d.model.changeBuffer, b, uintptr(c.Args[2*i]), uintptr(c.Args[2*i+1])); err != nil {
			return err
		}
	}
	if m.batchInput >= 0 {
		if err := d.call(&d.model.setBatch, uintptr(m.id), r.inputs, uintptr(m.batchInput), uintptr(c.Value)); err != nil {
			return err
		}
	}
	if m.last != nil && m.last.stream != s {
		if err := d.call(&d.wait, s.raw, d.events[m.last.done].raw); err != nil {
			return err
		}
	}
	if err := d.queue(&d.model.run, uintptr(m.id), r.inputs, r.outputs, s.raw); err != nil {
		return err
	}
	m.task = d.lastTaskOf(s)
	r.stream, m.last = s, r
	m.runs = append(m.runs[1:], r)
	return d.call(&d.record, d.events[r.done].raw, s.raw)
}

// runnable is the model of a run that the library may be asked for.
func (d *Driver) runnable(s *stream, c *driver.Command) (*model, error) {
	name := d.model.run.name
	m := d.models[c.Model]
	if m == nil {
		return nil, driver.Errorf(driver.CodeModelID, name, "the model is not loaded")
	}
	operands := slices.Concat(m.info.Inputs, m.info.Outputs)
	switch {
	case s.capture != nil:
		return nil, driver.Errorf(driver.CodeStreamCaptured, name, "the stream records a graph")
	case s.ctx != m.ctx:
		return nil, driver.Errorf(driver.CodeModelContext, name, "the model was loaded in another context")
	case len(c.Args) != 2*len(operands):
		return nil, driver.Errorf(driver.CodeInvalidParam, name, "%d words for operands, the model has %d operands", len(c.Args), len(operands))
	case m.batchInput >= 0 && !slices.Contains(m.info.Batches, int64(c.Value)), m.batchInput < 0 && c.Value != 0:
		return nil, driver.Errorf(driver.CodeBatchSize, name, "%d is none of the batches %v", c.Value, m.info.Batches)
	}
	for i, o := range operands {
		if need, has := o.BytesFor(int64(c.Value)), int64(c.Args[2*i+1]); has < need {
			return nil, driver.Errorf(driver.CodeModelExecute, name, "%q has %d B, want %d B", o.Name, has, need)
		}
	}
	return m, nil
}

// freeRun makes the first of m.runs one that is not in use: the oldest one where it is over, else a new one.
func (d *Driver) freeRun(m *model) (*modelRun, error) {
	if len(m.runs) > 0 {
		done, err := d.QueryEvent(m.runs[0].done)
		if err != nil {
			return nil, err
		}
		if done {
			return m.runs[0], nil
		}
	}
	if len(m.runs) == maxModelRuns {
		return nil, driver.CodeQueueFull
	}
	r, err := d.newRun(m)
	if err != nil {
		d.dropRun(r)
		return nil, err
	}
	m.runs = slices.Insert(m.runs, 0, r)
	return r, nil
}

// newRun makes datasets with buffers that have no memory yet. After an error they are incomplete.
func (d *Driver) newRun(m *model) (r *modelRun, err error) {
	r = new(modelRun)
	if r.done, err = d.CreateEvent(driver.EventSync); err != nil {
		return r, err
	}
	if m.batchInput >= 0 {
		if r.batch, err = d.Malloc(m.batchBytes, driver.MemHugeFirst); err != nil {
			return r, err
		}
	}
	if r.inputs, err = made(&d.model.createDataset); err != nil {
		return r, err
	}
	if r.outputs, err = made(&d.model.createDataset); err != nil {
		return r, err
	}
	count := len(m.info.Inputs)
	if m.batchInput >= 0 {
		count++
	}
	for i := range count + len(m.info.Outputs) {
		set, hidden := r.inputs, i == m.batchInput
		if i >= count {
			set, hidden = r.outputs, false
		}
		var p driver.Ptr
		var size int64
		if hidden {
			p, size = r.batch, m.batchBytes
		}
		b, err := made(&d.model.createBuffer, uintptr(p), uintptr(size))
		if err != nil {
			return r, err
		}
		if hidden {
			r.batchBuffer = b
		} else {
			r.buffers = append(r.buffers, b)
		}
		if err := d.call(&d.model.add, set, b); err != nil {
			return r, err
		}
	}
	return r, nil
}

// made is what a function makes.
func made(f *function, args ...uintptr) (uintptr, error) {
	if p := f.value(args...); p != 0 {
		return p, nil
	}
	return 0, driver.Errorf(driver.CodeInternal, f.name, "%s made nothing", f.name)
}

// dropRun gives back what newRun has made. A run with it is over.
func (d *Driver) dropRun(r *modelRun) {
	for _, set := range []uintptr{r.inputs, r.outputs} {
		if set != 0 {
			_ = d.call(&d.model.destroyDataset, set)
		}
	}
	for _, b := range append(r.buffers, r.batchBuffer) {
		if b != 0 {
			_ = d.call(&d.model.destroyBuffer, b)
		}
	}
	if r.batch != 0 {
		_ = d.Free(r.batch)
	}
	if r.done != 0 {
		_ = d.DestroyEvent(r.done)
	}
}
