package sim

import (
	"slices"

	"npulua/npu/internal/driver"
)

// model is a loaded model. A run of it is one command, which launches its operators one after the other.
type model struct {
	info     driver.ModelInfo
	ctx      *context
	operands []modelOperand
	programs []program // by batch
	runs     *graph    // lets runs follow each other; it has no commands of its own
	turn     uint64    // of the last run
	work     driver.Ptr
	weights  driver.Ptr
}

// LoadModel implements driver.Modeler.
func (d *Driver) LoadModel(src driver.ModelSource) (driver.Model, driver.ModelInfo, error) {
	var none driver.ModelInfo
	ctx, err := d.needContext(loadCall)
	if err != nil {
		return 0, none, err
	}
	f, err := readModel(src)
	if err != nil {
		return 0, none, err
	}
	p, programs, err := planModel(src, f, ctx.dev)
	if err != nil {
		return 0, none, err
	}
	m := &model{ctx: ctx, operands: p.operands, programs: programs, info: driver.ModelInfo{Name: f.Name,
		WorkBytes: p.ends[roleTemporary], WeightBytes: p.ends[roleConstant]}}
	if len(f.Batches) > 0 {
		m.info.Batches = p.batches
	}
	for i := range p.operands {
		switch o := &p.operands[i]; o.role {
		case roleInput:
			m.info.Inputs = append(m.info.Inputs, o.ModelTensor)
		case roleOutput:
			m.info.Outputs = append(m.info.Outputs, o.ModelTensor)
		}
	}
	m.runs = &graph{ctx: ctx, lanes: []*stream{nil}, name: f.Name}
	if err := d.placeModel(m); err != nil {
		return 0, none, err
	}
	h := driver.Model(d.newHandle())
	d.models[h] = m
	return h, m.info, nil
}

// placeModel takes the memory of a model and writes its constants, which takes the time of a copy.
func (d *Driver) placeModel(m *model) (err error) {
	if n := m.info.WorkBytes; n > 0 {
		if m.work, err = d.Malloc(n, driver.MemHugeFirst); err != nil {
			return err
		}
	}
	n := m.info.WeightBytes
	if n == 0 {
		return nil
	}
	if m.weights, err = d.Malloc(n, driver.MemHugeFirst); err != nil {
		d.releaseModel(m)
		return err
	}
	d.host(d.profile.copyTime(n, pathH2D, true))
	b := m.ctx.dev.mem.find(m.weights)
	for i := range m.operands {
		if o := &m.operands[i]; o.role == roleConstant {
			copy(b.bytes(o.at, o.Bytes, true), o.data)
			o.data = nil
		}
	}
	return nil
}

// releaseModel gives the memory of m back.
func (d *Driver) releaseModel(m *model) {
	for _, p := range []driver.Ptr{m.work, m.weights} {
		if p != 0 {
			_ = d.Free(p) // it is an allocation
		}
	}
}

// UnloadModel implements driver.Modeler.
func (d *Driver) UnloadModel(h driver.Model) error {
	const call = "aclmdlUnload"
	m := d.models[h]
	if m == nil {
		return driver.Errorf(driver.CodeModelID, call, "%#x is no loaded model", uintptr(h))
	}
	if m.runs.running > 0 {
		return driver.Errorf(driver.CodeGraphRunning, call, "a run of the model is not done yet")
	}
	d.releaseModel(m)
	delete(d.models, h)
	return nil
}

// dropModels unloads what c has loaded, whose work is done.
func (d *Driver) dropModels(c *context) {
	for h, m := range d.models {
		if m.ctx == c {
			d.releaseModel(m)
			delete(d.models, h)
		}
	}
}

// prepareModel checks a run and makes the launches of it.
func (d *Driver) prepareModel(t *task, call string) (bool, error) {
	c := &t.cmd
	m := d.models[c.Model]
	if m == nil {
		return false, driver.Errorf(driver.CodeModelID, call, "%#x is no loaded model", uintptr(c.Model))
	}
	n := len(m.info.Inputs) + len(m.info.Outputs)
	at := slices.IndexFunc(m.programs, func(p program) bool { return p.batch == int64(c.Value) })
	switch {
	case m.ctx != t.s.ctx:
		return false, driver.Errorf(driver.CodeModelContext, call, "the model was loaded in another context")
	case len(c.Args) != 2*n:
		return false, driver.Errorf(driver.CodeInvalidParam, call, "%d words for operands, the model has %d operands", len(c.Args), n)
	case at < 0:
		return false, driver.Errorf(driver.CodeBatchSize, call, "%d is none of the batches %v", c.Value, m.info.Batches)
	}
	for i := range n {
		o := &m.operands[i]
		if need, has := o.BytesFor(int64(c.Value)), int64(c.Args[2*i+1]); has < need {
			return false, driver.Errorf(driver.CodeModelExecute, call, "%s %q has %d B, want %d B", roleNames[o.role], o.Name, has, need)
		}
	}
	m.runs.running++
	m.turn++
	m.runs.turns = append(m.runs.turns, m.turn)
	t.turn = m.turn
	t.graph, t.nodes = m.runs, m.launches(&m.programs[at], c)
	return true, nil
}

// launches are the commands of a run.
func (m *model) launches(p *program, c *driver.Command) []node {
	nodes := make([]node, len(p.steps))
	for i := range p.steps {
		s := &p.steps[i]
		args := slices.Clone(s.words)
		for _, slot := range s.operands {
			o := &m.operands[slot.operand]
			args[slot.word], args[slot.word+1] = uint64(m.address(o, c)), uint64(o.BytesFor(p.batch))
		}
		nodes[i] = node{kernel: s.kernel, wait: -1, note: s.note,
			cmd: driver.Command{Op: driver.OpLaunch, Site: c.Site, Blocks: s.blocks, Args: args}}
	}
	return nodes
}

// address is where an operand is in a run.
func (m *model) address(o *modelOperand, c *driver.Command) driver.Ptr {
	switch o.role {
	case roleConstant:
		return m.weights + driver.Ptr(o.at)
	case roleTemporary:
		return m.work + driver.Ptr(o.at)
	}
	return driver.Ptr(c.Args[2*o.at])
}
