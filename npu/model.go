package npu

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"npulua/internal/whole"
	"npulua/npu/internal/driver"
)

// Model is an offline model: a network that was compiled before, and takes inputs and gives outputs as a whole.
type Model struct {
	// Bound is free for bindings: what stands for the handle there.
	Bound any

	h    driver.Model
	ctx  *Context
	res  *resource
	info driver.ModelInfo
	path string
	runs *usage // its uses are the streams with runs
}

// ModelTensor is an input or output of a model. In Shape -1 stands for the batch; Bytes is the size with the
// largest one.
type ModelTensor = driver.ModelTensor

// LoadModel loads a model into the current context, which owns it: it is run on streams of that context and
// closes with it. On hardware the file is one that the vendor's tool atc makes (.om), on the simulator JSON
// (docs/simulator.md). Its work and weight memory is device memory as long as it is open. 145002 for a file that
// cannot be read, 145006 for one that is no model, ErrMemoryAllocation where there is too little memory.
func (t *Thread) LoadModel(file File) (*Model, error) {
	c, err := t.CurrentContext()
	if err != nil {
		return nil, err
	}
	modeler, ok := t.s.drv.(driver.Modeler)
	if !ok {
		return nil, need(t.s, modeler, "load models")
	}
	if info, err := os.Stat(file.Name); file.FS == nil && err == nil && !info.Mode().IsRegular() && !info.IsDir() { // a pipe would hold up the executor
		return nil, errorf(ErrModelPath, "%s %v", file.Name, whole.ErrNotRegular)
	}
	m := &Model{ctx: c, path: file.Name, runs: new(usage)}
	h := new(driver.Model)
	m.res = &resource{kind: "model", parent: c.res, explicit: true, ctx: c.h,
		destroy: func(_ driver.Driver, force bool) error {
			err := modeler.UnloadModel(*h)
			if force && errors.Is(err, driver.CodeGraphRunning) {
				return nil // it goes with its context
			}
			return err
		}}
	m.runs.guard(m.res)
	err = t.create(c.h, m.res, func(driver.Driver) (err error) {
		*h, m.info, err = modeler.LoadModel(driver.ModelSource{Path: file.Name, FS: file.FS})
		m.res.detail = m.info.Name
		return err
	})
	if err != nil {
		return nil, hintMemory(err)
	}
	m.h = *h
	runtime.AddCleanup(m, (*resource).collect, m.res)
	return m, nil
}

// Name is what the file calls the model, else the file's name without folder and ending.
func (m *Model) Name() string { return m.info.Name }

// Path is the file as it was given.
func (m *Model) Path() string { return m.path }

// Context is the owner of m.
func (m *Model) Context() *Context { return m.ctx }

// Inputs describes the inputs, in order. Read only.
func (m *Model) Inputs() []ModelTensor { return m.info.Inputs }

// Outputs describes the outputs, in order. Read only.
func (m *Model) Outputs() []ModelTensor { return m.info.Outputs }

// Batches are the batches that Run takes, in ascending order; none where the sizes are fixed. Read only.
func (m *Model) Batches() []int64 { return m.info.Batches }

// Memory is the device memory that the model takes beside its operands, in bytes.
func (m *Model) Memory() (work, weights int64) { return m.info.WorkBytes, m.info.WeightBytes }

// Closed reports whether m was closed, by itself or with its context.
func (m *Model) Closed() bool { return m.res.closed.Load() }

// Close waits for runs that are queued or running and unloads the model.
func (m *Model) Close(t *Thread) error { return m.res.close(t, "", false) }

// Run queues one run on s, a stream of the model's context. inputs and outputs are device memory in the order of
// Inputs and Outputs, of their types and at least as large as batch needs; batch is one of Batches, or 0 where
// there are none. Runs of one model follow each other in the order in which they
// were queued, on whichever streams. What an operator finds is a fault of s.
//
// ErrModelContext for a stream of another context, ErrModelInput and ErrModelOutput for operands that do not fit,
// ErrBatchSize for a batch that is none of Batches, 100019 for one where there are none, 107027 for a stream that
// records a graph.
func (m *Model) Run(t *Thread, s *Stream, inputs, outputs []*Buffer, batch int64) error {
	if err := m.res.usable(); err != nil {
		return err
	}
	if err := s.usable(); err != nil {
		return err
	}
	if s.ctx != m.ctx {
		return hinted(m.errorf(ErrModelContext, "was loaded in %s, the stream is of %s", m.ctx.text(), s.ctx.text()), "load it in the context of the stream, too")
	}
	if s.state.recording.Load() != nil {
		return hinted(errorf(driver.CodeStreamCaptured, "the stream records a graph: a run of a model cannot be part of it"), "run it on another stream, or after the recording")
	}
	if err := m.checkBatch(batch); err != nil {
		return err
	}
	if err := m.checkOperands(s, ErrModelInput, "input", m.info.Inputs, inputs, batch); err != nil {
		return err
	}
	if err := m.checkOperands(s, ErrModelOutput, "output", m.info.Outputs, outputs, batch); err != nil {
		return err
	}
	q, err := s.begin(t, driver.OpModel, m.res)
	if err != nil {
		return err
	}
	for _, b := range slices.Concat(inputs, outputs) {
		if err := b.usable(); err != nil {
			return q.cancel(err)
		}
	}
	q.Model, q.Value = m.h, uint64(batch)
	q.Args = q.Args[:0]
	for _, b := range inputs {
		q.Args = append(q.Args, uint64(q.memory(b, false)), uint64(b.bytes))
	}
	for _, b := range outputs {
		q.Args = append(q.Args, uint64(q.memory(b, true)), uint64(b.bytes))
	}
	m.runs.used(s.state, t.Site, false) // close waits for it
	return q.submit()
}

func (m *Model) errorf(code Code, format string, args ...any) *Error {
	return errorf(code, "model %q "+format, append([]any{m.info.Name}, args...)...)
}

// text is the context in words.
func (c *Context) text() string { return fmt.Sprintf("context %d of device %d", c.id, c.dev.id) }

func (m *Model) checkBatch(batch int64) error {
	if len(m.info.Batches) == 0 {
		if batch != 0 {
			return hinted(m.errorf(driver.CodeModelNotDynamic, "has fixed sizes, got batch %d", batch), "leave the batch out")
		}
		return nil
	}
	if slices.Contains(m.info.Batches, batch) {
		return nil
	}
	var known []string
	for _, b := range m.info.Batches {
		known = append(known, strconv.FormatInt(b, 10))
	}
	got := "none"
	if batch != 0 {
		got = strconv.FormatInt(batch, 10)
	}
	return hinted(m.errorf(ErrBatchSize, "runs with a batch of %s, got %s", strings.Join(known, ", "), got), "fill up to the next larger one: model:run(stream, inputs, outputs, {batch = n})")
}

// checkOperands compares the buffers of a run with what the model declares; what is "input" or "output".
func (m *Model) checkOperands(s *Stream, code Code, what string, want []ModelTensor, got []*Buffer, batch int64) error {
	if len(got) != len(want) {
		return hinted(m.errorf(code, "has %s, got %d", counted(len(want), what), len(got)), m.list(what, want))
	}
	for i, b := range got {
		w := &want[i]
		fail := func(format string, args ...any) error {
			return hinted(m.errorf(code, "%s %d (%s): "+format, append([]any{what, i + 1, w.Name}, args...)...), m.list(what, want))
		}
		if b == nil {
			return fail("no buffer")
		}
		if err := b.usable(); err != nil {
			return err
		}
		if b.space != DeviceMemory {
			return fail("the buffer is %s memory, device memory is needed", b.space)
		}
		if b.root.dev != s.ctx.dev {
			e := s.foreignError(b.root.dev)
			e.Detail = fmt.Sprintf("model %q %s %d (%s): %s", m.info.Name, what, i+1, w.Name, e.Detail)
			return hinted(e, "copy it to the device of the stream first")
		}
		if b.typ != w.Type {
			return fail("must be %s, got %s", w.Type, b.typ)
		}
		if n := w.BytesFor(batch); b.bytes < n {
			return fail("needs %d B, the buffer has %d B", n, b.bytes)
		}
	}
	return nil
}

func counted(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// list is the inputs or outputs for a hint: "inputs: x float32 N x 3".
func (m *Model) list(what string, tensors []ModelTensor) string {
	var all []string
	for _, w := range tensors {
		text := w.Name + " " + w.Type.String()
		for i, d := range w.Shape {
			sep, n := " x ", strconv.FormatInt(d, 10)
			if i == 0 {
				sep = " "
			}
			if d < 0 {
				n = "batch"
			}
			text += sep + n
		}
		all = append(all, text)
	}
	return what + "s: " + strings.Join(all, ", ")
}
