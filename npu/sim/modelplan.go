package sim

import (
	"fmt"
	"slices"
	"strconv"

	"npulua/npu/internal/driver"
	"npulua/npu/internal/dtype"
	"npulua/npu/sim/kernel"
)

// role is what an operand of a model is.
type role uint8

const (
	roleInput role = iota
	roleOutput
	roleConstant
	roleTemporary
)

var roleNames = [...]string{"input", "output", "constant", "temporary"}

// modelOperand is memory that operators of a model work on.
type modelOperand struct {
	driver.ModelTensor // Bytes: with the largest batch
	role               role
	at                 int64  // offset in the work or weight memory; index among the operands of a run
	data               []byte // of a constant
	written            bool   // by an operator before the one that is looked at
}

// program is a model made ready for one batch.
type program struct {
	batch int64
	steps []modelStep
}

// modelStep is one operator: a launch whose words are complete but for the operands.
type modelStep struct {
	kernel   *loadedKernel
	blocks   uint32
	words    []uint64
	operands []modelSlot
	note     string // for faults: model "mlp", operator 3
}

// modelSlot is where an operand of a model goes into the words of a launch: two from word on.
type modelSlot struct{ word, operand int }

// planner makes programs of a file.
type planner struct {
	src      driver.ModelSource
	file     *modelFile
	dev      *device
	batches  []int64
	operands []modelOperand
	names    map[string]int
	ends     [len(roleNames)]int64 // of what has a place by role
}

// planModel checks all that a file says.
func planModel(src driver.ModelSource, f *modelFile, dev *device) (*planner, []program, error) {
	p := &planner{src: src, file: f, dev: dev, names: make(map[string]int)}
	if err := p.readBatches(); err != nil {
		return nil, nil, badModel(src, "%v", err)
	}
	for _, list := range []struct {
		role role
		rows []tensorRow
	}{{roleInput, f.Inputs}, {roleOutput, f.Outputs}, {roleConstant, f.Constants}, {roleTemporary, f.Temporaries}} {
		for i := range list.rows {
			if err := p.addOperand(list.role, &list.rows[i]); err != nil {
				return nil, nil, badModel(src, "%s %d (%q): %v", roleNames[list.role], i+1, list.rows[i].Name, err)
			}
		}
	}
	switch {
	case len(f.Outputs) == 0:
		return nil, nil, badModel(src, "a model has one output at least")
	case len(f.Operators) == 0:
		return nil, nil, badModel(src, "a model has one operator at least")
	}
	var programs []program
	for _, batch := range p.batches {
		prog, err := p.plan(batch)
		if err != nil {
			return nil, nil, badModel(src, "%v", err)
		}
		programs = append(programs, prog)
	}
	return p, programs, nil
}

// readBatches sets batches in ascending order; 0 alone stands for fixed sizes.
func (p *planner) readBatches() error {
	p.batches = slices.Sorted(slices.Values(p.file.Batches))
	switch {
	case len(p.batches) == 0:
		p.batches = []int64{0}
	case p.batches[0] < 1:
		return fmt.Errorf("a batch is 1 or more, got %d", p.batches[0])
	case len(slices.Compact(slices.Clone(p.batches))) != len(p.batches):
		return fmt.Errorf("batches has a number twice")
	case len(p.batches) > maxModelBatches:
		return fmt.Errorf("%d batches, at most %d", len(p.batches), maxModelBatches)
	}
	return nil
}

func (p *planner) largest() int64 { return p.batches[len(p.batches)-1] }

// addOperand checks a row that declares one, and finds its place.
func (p *planner) addOperand(r role, row *tensorRow) error {
	typ, ok := dtype.Parse(row.DType)
	_, number := product(row.Name, 1)
	_, taken := p.names[row.Name]
	switch {
	case row.Name == "" || number == nil:
		return fmt.Errorf("it needs a name, which is no size")
	case taken:
		return fmt.Errorf("the name is used twice")
	case !ok:
		return fmt.Errorf("there is no dtype %q", row.DType)
	case r != roleConstant && (row.Values != nil || row.File != ""):
		return fmt.Errorf("only constants have values")
	}
	o := modelOperand{role: r, ModelTensor: driver.ModelTensor{Name: row.Name, Type: typ, Shape: []int64{}}}
	n := int64(1)
	for i := range row.Shape {
		w := &row.Shape[i]
		d := int64(w.number)
		if w.isText && w.text == batchName {
			if r == roleConstant || p.largest() == 0 {
				return fmt.Errorf("%s stands for the batch, which it cannot depend on", batchName)
			}
			o.Shape, d = append(o.Shape, -1), p.largest()
		} else if w.isText || d < 1 || wholeDigits(w.text) == "" {
			return fmt.Errorf("shape: %v is no whole number from 1 on and not %q", w, batchName)
		} else {
			o.Shape = append(o.Shape, d)
		}
		if n > maxModelElements/d {
			return fmt.Errorf("more than %d elements", int64(maxModelElements))
		}
		n *= d
	}
	o.Bytes = n * int64(typ.Size())
	switch r {
	case roleInput, roleOutput:
		o.at = int64(len(p.operands))
	case roleConstant:
		var err error
		if o.data, err = row.constant(p.src, typ, n); err != nil {
			return err
		}
		fallthrough
	case roleTemporary:
		o.at = p.ends[r]
		p.ends[r] += (o.Bytes + 63) / 64 * 64
	}
	p.names[row.Name] = len(p.operands)
	p.operands = append(p.operands, o)
	return nil
}

// plan makes the program for a batch.
func (p *planner) plan(batch int64) (program, error) {
	for i := range p.operands {
		p.operands[i].written = false
	}
	prog := program{batch: batch}
	for i := range p.file.Operators {
		row := &p.file.Operators[i]
		step, err := p.step(row, batch)
		if err != nil {
			at := fmt.Sprintf("operator %d (%s)", i+1, row.Kernel)
			if len(p.file.Batches) > 0 {
				at += fmt.Sprintf(" with batch %d", batch)
			}
			return prog, fmt.Errorf("%s: %w", at, err)
		}
		step.note = fmt.Sprintf("model %q: operator %d: ", p.file.Name, i+1)
		prog.steps = append(prog.steps, step)
	}
	for i := range p.operands {
		if o := &p.operands[i]; o.role == roleOutput && !o.written {
			return prog, fmt.Errorf("no operator writes output %q", o.Name)
		}
	}
	return prog, nil
}

// step makes a launch of an operator, and lets its kernel say whether the operands hold what it uses.
func (p *planner) step(row *operatorRow, batch int64) (modelStep, error) {
	var none modelStep
	own, ok := kernel.Find(row.Kernel)
	if !ok {
		return none, fmt.Errorf("the simulator has no kernel %q", row.Kernel)
	}
	sig, err := driver.ParseSignature(own.Signature)
	if err != nil {
		return none, err
	}
	if len(row.Args) != len(sig.Params) {
		return none, fmt.Errorf("%d arguments, want %d: %s", len(row.Args), len(sig.Params), sig.Text)
	}
	if row.Blocks < 0 || row.Blocks > 65535 {
		return none, fmt.Errorf("%d blocks, want 1 to 65535", row.Blocks)
	}
	k := &loadedKernel{dev: p.dev, name: own.Name, sig: sig, types: make([]dtype.DType, len(sig.TypeVars)), own: own}
	step := modelStep{kernel: k}
	launch := kernel.Launch{Blocks: 1, Types: k.types}
	for i := range sig.Params {
		par, w := &sig.Params[i], &row.Args[i]
		bits, err := p.argument(&step, par, w, batch)
		if err != nil {
			return none, fmt.Errorf("argument %d (%s): %w", i+1, par.Name, err)
		}
		launch.Args = append(launch.Args, kernel.Arg{Type: k.typeOf(par), Word: bits})
	}
	if len(k.types) > 0 && !supports(own, k.types) {
		return none, fmt.Errorf("the kernel does not work on %v", k.types)
	}
	if err := own.Plan(&launch); err != nil {
		return none, err
	}
	slot := 0
	for i := range sig.Params {
		if !sig.Params[i].Pointer {
			continue
		}
		o := &p.operands[step.operands[slot].operand]
		slot++
		if need, has := launch.Elems[i]*int64(o.Type.Size()), o.BytesFor(batch); need > has {
			return none, fmt.Errorf("argument %d (%s): %q has %d B, %d B are used", i+1, sig.Params[i].Name, o.Name, has, need)
		}
	}
	step.blocks = uint32(row.Blocks)
	if step.blocks == 0 {
		step.blocks = uint32(p.dev.cores(launch.Cost.Unit).total)
	}
	return step, nil
}

// argument adds the words of an argument to a step, and returns the bits of a scalar.
func (p *planner) argument(step *modelStep, par *driver.Param, w *word, batch int64) (uint64, error) {
	i, named := p.names[w.text]
	named = named && w.isText
	if !par.Pointer {
		v := &w.numeral
		if named {
			return 0, fmt.Errorf("it is a number, got %s %q", roleNames[p.operands[i].role], w.text)
		} else if w.isText {
			n, err := product(w.text, batch)
			if err != nil {
				return 0, err
			}
			v = &numeral{number: float64(n), text: strconv.FormatInt(n, 10)}
		}
		typ := step.kernel.typeOf(par)
		packed, problem := v.pack(typ)
		if problem != "" {
			return 0, fmt.Errorf("%s", problem)
		}
		step.words = append(step.words, packed)
		return packed, nil
	}
	if !named {
		return 0, fmt.Errorf("it is the name of an operand, got %v", w)
	}
	o := &p.operands[i]
	if j := slices.Index(step.kernel.sig.TypeVars, par.TypeVar); j >= 0 && step.kernel.types[j] == dtype.Invalid {
		step.kernel.types[j] = o.Type
	}
	switch want := step.kernel.typeOf(par); {
	case o.Type != want:
		return 0, fmt.Errorf("%q is %v, want %v", o.Name, o.Type, want)
	case par.Dir != driver.DirIn && (o.role == roleInput || o.role == roleConstant):
		return 0, fmt.Errorf("it is written, and %q is %s %s", o.Name, map[role]string{roleInput: "an", roleConstant: "a"}[o.role], roleNames[o.role])
	case par.Dir != driver.DirOut && !o.written && (o.role == roleOutput || o.role == roleTemporary):
		return 0, fmt.Errorf("no operator has written %q before", o.Name)
	}
	o.written = o.written || par.Dir != driver.DirIn
	step.operands = append(step.operands, modelSlot{len(step.words), i})
	step.words = append(step.words, 0, 0)
	return 0, nil
}
