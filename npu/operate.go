package npu

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"npulua/npu/internal/dtype"
)

// Operate queues o on s. args are what its row takes: buffers on the device of s, of types that fit, with exactly
// the elements that the sizes say, and numbers. It runs on all cores of the device.
func (s *Stream) Operate(t *Thread, o *Operator, args []Arg) error {
	if err := s.check(); err != nil {
		return err
	}
	if len(args) != len(o.args) {
		return o.fail("it takes %d arguments, got %d", len(o.args), len(args))
	}
	if err := o.checkOperands(t, s, args); err != nil {
		return err
	}
	if err := o.checkTypes(args); err != nil {
		return err
	}
	n, err := o.checkSizes(args)
	if err != nil {
		return err
	}
	if err := o.checkOverlap(args); err != nil {
		return err
	}
	blocks, err := o.blockDim(t, s.ctx.dev)
	if err != nil {
		return err
	}
	o.launch = append(o.launch[:0], args...)
	if o.size != "" {
		o.launch = append(o.launch, Arg{Number: float64(n)})
	}
	err = s.Launch(t, o.kernel, blocks, o.launch)
	clear(o.launch) // keep no buffer alive
	return err
}

func (o *Operator) fail(format string, args ...any) *Error {
	return hinted(errorf(ErrParamInvalid, format, args...), fmt.Sprintf("%s(stream, %s)", o.name, o.text))
}

// checkOperands looks for buffers that s can work on, and numbers, in their places.
func (o *Operator) checkOperands(t *Thread, s *Stream, args []Arg) error {
	for i := range o.args {
		a, b := &o.args[i], args[i].Buffer
		switch {
		case a.buffer && b == nil:
			return o.fail("%s must be a buffer, got %s", a.name, args[i].kind())
		case !a.buffer && (b != nil || args[i].Text != ""):
			return o.fail("%s must be a number, got %s", a.name, args[i].kind())
		case !a.buffer:
			continue
		}
		err := b.check()
		if err == nil {
			err = s.onDevice(t, b)
		}
		if e, ok := err.(*Error); ok {
			e.Detail = a.name + ": " + e.Detail
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// checkTypes looks for types that the operator works on, and that are one where they must be.
func (o *Operator) checkTypes(args []Arg) error {
	k := o.kernel
	var first [maxTypeVars]int // operand that binds a type variable, from 1
	for i := range o.args {
		if !o.args[i].buffer {
			continue
		}
		p, typ, name := &k.sig.Params[i], args[i].Buffer.typ, o.args[i].name
		if p.Type != dtype.Invalid {
			if typ != p.Type {
				return o.fail("%s must be %s, got %s", name, p.Type, typ)
			}
			continue
		}
		j := k.typeVar(p)
		if f := first[j]; f != 0 {
			if want := args[f-1].Buffer.typ; typ != want {
				return o.fail("%s is %s, %s is %s: they must be the same", name, typ, o.args[f-1].name, want)
			}
			continue
		}
		first[j] = i + 1
		if can := column(k.types, j); !slices.Contains(can, typ) {
			return o.fail("%s is %s, %s works on %s", name, typ, o.name, strings.ReplaceAll(typeList(can), "/", ", "))
		}
	}
	return nil
}

// checkSizes compares the buffers with the sizes, and returns the size that is no argument.
func (o *Operator) checkSizes(args []Arg) (n int64, err error) {
	from := -1 // operand that n is from
	for i := range o.args {
		a := &o.args[i]
		switch v := args[i]; {
		case a.isSize && !(v.Number >= 1 && v.Number <= math.MaxUint32 && v.Number == math.Trunc(v.Number)):
			return 0, o.fail("%s must be a whole number from 1 to %d, got %v", a.name, uint32(math.MaxUint32), v.Number)
		case !a.buffer || o.size == "" || a.dims[0] != o.size:
		case v.Buffer.count > math.MaxUint32:
			return 0, o.fail("%s has %d elements, at most %d", a.name, v.Buffer.count, uint32(math.MaxUint32))
		case from < 0:
			n, from = v.Buffer.count, i
		case v.Buffer.count != n:
			return 0, o.fail("%s has %d elements, %s has %d: they must be the same", a.name, v.Buffer.count, o.args[from].name, n)
		}
	}
	for i := range o.args {
		if a := &o.args[i]; a.buffer && a.dims[0] != o.size {
			if err := o.checkCount(a, args[i].Buffer.count, args); err != nil {
				return 0, err
			}
		}
	}
	return n, nil
}

// checkOverlap refuses a result that shares memory with what it is computed from: which elements are read after they
// were written is nobody's to say.
func (o *Operator) checkOverlap(args []Arg) error {
	out := args[0].Buffer
	for i, a := range args[1:] {
		b := a.Buffer
		if b == nil || !out.span.Overlaps(b.span) {
			continue
		}
		if o.apart || b.span != out.span {
			return o.fail("%s overlaps %s", o.args[0].name, o.args[i+1].name)
		}
	}
	return nil
}

// checkCount compares the elements of a buffer with the sizes that are arguments.
func (o *Operator) checkCount(a *operatorArg, count int64, args []Arg) error {
	want := 1.0 // exact as far as counts go
	var values []string
	for _, d := range a.dims {
		if j := slices.IndexFunc(o.args, func(x operatorArg) bool { return x.isSize && x.name == d }); j >= 0 {
			want *= args[j].Number
			values = append(values, fmt.Sprintf("%.0f", args[j].Number))
		}
	}
	if float64(count) == want {
		return nil
	}
	text := fmt.Sprintf("it must have %.0f", want)
	if len(values) > 0 {
		text += fmt.Sprintf(" (%s = %s)", strings.Join(a.dims, " x "), strings.Join(values, " x "))
	}
	return o.fail("%s has %d elements, %s", a.name, count, text)
}

// blockDim is the number of cores of dev that o runs on.
func (o *Operator) blockDim(t *Thread, dev *Device) (int64, error) {
	if n := o.blocks[dev]; n > 0 || t.s.prober == nil {
		return max(n, 1), nil
	}
	info, err := t.s.DeviceInfo(t, dev.id)
	if err != nil {
		return 0, err
	}
	cores := info.VectorCores
	if o.cube {
		cores = info.CubeCores
	}
	n := int64(min(max(cores, 1), MaxBlocks))
	o.blocks[dev] = n
	return n, nil
}
