//go:build linux && (amd64 || arm64)

package acl

import (
	"runtime"
	"slices"
	"unsafe"

	"github.com/ebitengine/purego"

	"npulua/npu/internal/driver"
	"npulua/npu/internal/dtype"
	"npulua/npu/internal/loader"
)

// model is a model that was loaded and not unloaded.
type model struct {
	id            uint32
	ctx           *ctx
	info          driver.ModelInfo
	work, weights driver.Ptr

	// A model with batches has an input that the program does not see: what its size is now.
	batchInput int // index of that input in the library; -1: none
	batchBytes int64

	runs []*modelRun // the oldest one first: it is done before the others
	last *modelRun   // queued last; nil: none was
	task int64       // of the run that was queued last
}

// batchInputName is what the library calls that input.
const batchInputName = "ascend_mbatch_shape_data"

// LoadModel implements driver.Modeler. Work and weight memory are the driver's, so that they count as memory of the
// program's and are there no longer than the model.
func (d *Driver) LoadModel(src driver.ModelSource) (driver.Model, driver.ModelInfo, error) {
	m := &model{ctx: d.current, batchInput: -1}
	err := d.loadable(src)
	if err == nil {
		err = d.loadModel(m, src)
	}
	if err != nil {
		return 0, driver.ModelInfo{}, err
	}
	if err := d.describeModel(m, src); err != nil {
		d.endModel(m)
		return 0, driver.ModelInfo{}, err
	}
	h := driver.Model(d.handle())
	d.models[h] = m
	return h, m.info, nil
}

// loadable refuses what the library could not be asked for.
func (d *Driver) loadable(src driver.ModelSource) error {
	if d.current == nil {
		return d.noContext(&d.model.load)
	}
	if src.FS != nil {
		e := driver.Errorf(driver.CodeModelPath, d.model.load.name, "%s comes with npulua and is for the simulator", src.Path)
		e.Hint = "give the path of an .om file, which the vendor's tool atc makes"
		return e
	}
	for _, x := range d.model.functions() {
		if x.f.address == 0 {
			e := driver.Errorf(driver.CodeNotSupported, x.name, "the installed CANN has no %s", x.name)
			e.Hint = "install the package with libacl_mdl.so, the one with the graph engine (ge)"
			return e
		}
	}
	return nil
}

// loadModel takes the memory and loads the file. What it took it gives back where that fails.
func (d *Driver) loadModel(m *model, src driver.ModelSource) error {
	return withCString(src.Path, func(path uintptr) error {
		if err := d.call(&d.model.querySize, path, d.out.at(0), d.out.at(1)); err != nil {
			return ofModel(err, src)
		}
		m.info.WorkBytes, m.info.WeightBytes = int64(d.out[0]), int64(d.out[1])
		for _, x := range []struct {
			p    *driver.Ptr
			size int64
		}{{&m.work, m.info.WorkBytes}, {&m.weights, m.info.WeightBytes}} {
			if x.size == 0 {
				continue
			}
			p, err := d.Malloc(x.size, driver.MemHugeFirst)
			if err != nil {
				d.freeModel(m)
				return err
			}
			*x.p = p
		}
		err := loader.GuardSignals(func() error { // the first one starts the graph engine
			return d.call(&d.model.load, path, d.out.at(0), uintptr(m.work), uintptr(m.info.WorkBytes), uintptr(m.weights), uintptr(m.info.WeightBytes))
		})
		if err != nil {
			d.freeModel(m)
			return ofModel(err, src)
		}
		m.id = uint32(d.out[0])
		return nil
	})
}

// ofModel names the file in an error that has no words of the library's.
func ofModel(err error, src driver.ModelSource) error {
	if e, ok := err.(*driver.Error); ok && e.Detail == "" {
		e.Detail = "load " + src.Path
	}
	return err
}

// freeModel gives the memory of m back.
func (d *Driver) freeModel(m *model) {
	for _, p := range []driver.Ptr{m.work, m.weights} {
		if p != 0 {
			_ = d.Free(p) // it is an allocation
		}
	}
}

// value is what a function returns that has no code.
func (f *function) value(args ...uintptr) uintptr {
	r, _, _ := purego.SyscallN(f.address, args...)
	return r
}

// describeModel fills m.info.
func (d *Driver) describeModel(m *model, src driver.ModelSource) error {
	a := &d.model
	desc := a.createDesc.value()
	if desc == 0 {
		return driver.Errorf(driver.CodeInternal, a.createDesc.name, "%s made nothing", a.createDesc.name)
	}
	defer a.destroyDesc.value(desc)
	if err := d.call(&a.describe, desc, uintptr(m.id)); err != nil {
		return err
	}
	m.info.Name = src.Name()
	if err := d.readBatches(m, desc); err != nil {
		return err
	}
	for i := range int(a.inputs.value(desc)) {
		if goString(a.inputName.value(desc, uintptr(i))) == batchInputName {
			m.batchInput, m.batchBytes = i, int64(a.inputSize.value(desc, uintptr(i)))
			continue
		}
		t, err := d.tensor(m, desc, i, &a.inputName, &a.inputType, &a.inputDims, &a.inputSize)
		if err != nil {
			return err
		}
		m.info.Inputs = append(m.info.Inputs, t)
	}
	for i := range int(a.outputs.value(desc)) {
		t, err := d.tensor(m, desc, i, &a.outputName, &a.outputType, &a.outputDims, &a.outputSize)
		if err != nil {
			return err
		}
		m.info.Outputs = append(m.info.Outputs, t)
	}
	if (m.batchInput >= 0) != (len(m.info.Batches) > 0) {
		return varies("the size of its pictures or other dimensions")
	}
	return nil
}

// varies is the refusal of a model with sizes that are not known before a run.
func varies(what string) error {
	e := driver.Errorf(driver.CodeNotSupported, "aclmdlLoadFromFileWithMem", "the model leaves %s open", what)
	e.Hint = "build it with fixed shapes or with --dynamic_batch_size"
	return e
}

// readBatches reads struct aclmdlBatch: a count, then 128 places.
func (d *Driver) readBatches(m *model, desc uintptr) error {
	batches := new([1 + 128]uint64)
	var pin runtime.Pinner // the stack moves when it grows: batches must not be there
	pin.Pin(batches)
	defer pin.Unpin()
	err := d.call(&d.model.batches, desc, uintptr(unsafe.Pointer(&batches[0])))
	for _, b := range batches[1 : 1+min(batches[0], 128)] {
		m.info.Batches = append(m.info.Batches, int64(b))
	}
	slices.Sort(m.info.Batches)
	return err
}

// tensor reads an input or output. Its dims are struct aclmdlIODims: a name of 128 B, a count, then 128 places.
func (d *Driver) tensor(m *model, desc uintptr, i int, name, typ, dims, size *function) (driver.ModelTensor, error) {
	const nameWords = 16
	at := uintptr(i)
	t := driver.ModelTensor{Name: goString(name.value(desc, at)), Shape: []int64{}, Bytes: int64(size.value(desc, at))}
	number := int(int32(typ.value(desc, at)))
	for known, n := range dataTypes {
		if n == number {
			t.Type = known
		}
	}
	if t.Type == dtype.Invalid {
		return t, driver.Errorf(driver.CodeNotSupported, typ.name, "%q has a type, number %d, that no buffer has", t.Name, number)
	}
	words := new([nameWords + 1 + 128]int64)
	var pin runtime.Pinner // as in readBatches
	pin.Pin(words)
	defer pin.Unpin()
	err := d.call(dims, desc, at, uintptr(unsafe.Pointer(&words[0])))
	for _, n := range words[nameWords+1:][:min(max(words[nameWords], 0), 128)] {
		t.Shape = append(t.Shape, n)
		if n < 0 && len(m.info.Batches) == 0 {
			err = varies("the shape of " + t.Name)
		}
	}
	if err == nil && t.Bytes == 0 {
		err = varies("the size of " + t.Name)
	}
	return t, err
}

// UnloadModel implements driver.Modeler.
func (d *Driver) UnloadModel(h driver.Model) error {
	m := d.models[h]
	if m == nil {
		return driver.Errorf(driver.CodeModelID, d.model.unload.name, "the model is not loaded")
	}
	if m.last != nil {
		done, err := d.QueryEvent(m.last.done)
		if err != nil {
			return err
		}
		if !done {
			return driver.Errorf(driver.CodeGraphRunning, d.model.unload.name, "a run of the model is not done yet")
		}
	}
	delete(d.models, h)
	return d.within(m.ctx, func() error { return d.endModel(m) })
}

// endModel unloads m, of which no run is left, in its context.
func (d *Driver) endModel(m *model) error {
	err := d.call(&d.model.unload, uintptr(m.id))
	for _, r := range m.runs {
		d.dropRun(r)
	}
	d.freeModel(m)
	return err
}

// abandonModels unloads what c has loaded, when its work is done. Nobody waits for that by force, nor for a stream
// that was destroyed by force: what is still in use goes with its device.
func (d *Driver) abandonModels(c *ctx, force bool) {
	for h, m := range d.models {
		if m.ctx != c {
			continue
		}
		delete(d.models, h)
		_ = d.within(c, func() error { // there is nobody to tell
			if m.last != nil {
				s := m.last.stream
				dropped := s != c.main && d.streams[s.h] != s
				if done, err := d.QueryEvent(m.last.done); err != nil || !done && (force || dropped) {
					return err
				}
				_ = d.call(&d.syncEvent, d.events[m.last.done].raw) // its faults are those of the stream
			}
			return d.endModel(m)
		})
	}
}
