//go:build linux && (amd64 || arm64)

package acl

import (
	"runtime"
	"unsafe"

	"github.com/ebitengine/purego"

	"npulua/npu/internal/driver"
	"npulua/npu/internal/dtype"
	"npulua/npu/internal/loader"
)

// operator computes with an operator of the vendor's what a kernel of the same parameters does on the other
// backend: in two calls, of which the first plans and tells how much memory the second takes.
type operator struct {
	plan, run function
	floatPlan floatFunction // plan, for an operator with a number in a floating-point register; nil: not used yet
	// arguments appends what the first call takes before its two results.
	arguments func(o *operands)
}

// codeOperator is what an operator answers where the runtime refuses its work.
const codeOperator driver.Code = 361001

// operators are the operator libraries, opened when the first one is wanted.
type operators struct {
	opened  bool
	lib     library
	problem error

	createTensor, destroyTensor, createScalar, destroyScalar, createInts, destroyInts function

	byKernel map[string]*operator
}

// operator is the operator that computes a kernel of that signature; nil: there is none. The error says why
// operators cannot be used.
func (d *Driver) operator(kernel string, sig *driver.Signature) (*operator, error) {
	row, ok := operatorRows[kernel]
	if !ok || sig == nil || sig.Text != row.signature { // a program may give a kernel of its own the same name
		return nil, nil
	}
	o := &d.operators
	if !o.opened {
		o.opened = true
		o.problem = d.openOperators()
	}
	if o.problem != nil {
		return nil, o.problem
	}
	if op := o.byKernel[kernel]; op != nil {
		return op, nil
	}
	op := &operator{arguments: row.arguments}
	op.run = function{o.lib.lookup("aclnn" + row.name), "aclnn" + row.name}
	op.plan = function{o.lib.lookup("aclnn" + row.name + "GetWorkspaceSize"), "aclnn" + row.name + "GetWorkspaceSize"}
	if op.run.address == 0 || op.plan.address == 0 {
		return nil, driver.Errorf(driver.CodeNotSupported, op.run.name, "the installed operator library has no %s, which computes kernel %q", op.run.name, kernel)
	}
	o.byKernel[kernel] = op
	return op, nil
}

// openOperators opens the operator libraries, beside the runtime or on the loader's path.
func (d *Driver) openOperators() error {
	o := &d.operators
	o.byKernel = make(map[string]*operator)
	err := loader.GuardSignals(func() error {
		for _, name := range operatorNames {
			h, err := openBeside(d.lib.folder, name)
			if err != nil {
				return &driver.Error{Code: driver.CodeNotSupported, Call: "dlopen", Detail: "the operator library " + name + " cannot be used: " + loader.Explain(name, err),
					Hint: "install CANN's operator package for this part (kernels, opp), and source set_env.sh"}
			}
			o.lib.handles = append(o.lib.handles, h)
		}
		return nil
	})
	if err != nil {
		return err
	}
	for _, x := range []struct {
		f    *function
		name string
	}{
		{&o.createTensor, "aclCreateTensor"}, {&o.destroyTensor, "aclDestroyTensor"}, {&o.createScalar, "aclCreateScalar"},
		{&o.destroyScalar, "aclDestroyScalar"}, {&o.createInts, "aclCreateIntArray"}, {&o.destroyInts, "aclDestroyIntArray"},
	} {
		x.f.name, x.f.address = x.name, o.lib.lookup(x.name)
		if x.f.address == 0 {
			return absent(x.name)
		}
	}
	return nil
}

// runOperator runs the operator of k on s, in memory of w. words are those of a launch of the kernel.
func (d *Driver) runOperator(s *stream, w *workspaces, k *kernel, words []uint64) error {
	o := operands{d: d, k: k, words: words}
	defer o.release()
	k.operator.arguments(&o)
	if o.err != nil || o.empty {
		return o.err
	}
	err := d.plan(k.operator, &o, append(o.args, d.out.at(0), d.out.at(1)))
	if err != nil {
		return err
	}
	size, executor := d.out[0], uintptr(d.out[1])
	memory, err := d.workspace(w, size)
	if err != nil {
		return err
	}
	return d.call(&k.operator.run, memory, uintptr(size), executor, s.raw)
}

// plan calls the first function of an operator. One with a number in a floating-point register is called in
// another way.
func (d *Driver) plan(op *operator, o *operands, args []uintptr) error {
	if o.float == nil {
		return d.call(&op.plan, args...)
	}
	return d.planWithFloat(op, *o.float, o.floatAt, args)
}

// operands makes the arguments of an operator from those of a kernel.
type operands struct {
	d     *Driver
	k     *kernel
	words []uint64
	args  []uintptr
	err   error
	empty bool // there is nothing to compute

	refused int // index of the operand that err blames

	float   *float64 // an argument in a floating-point register, at index floatAt
	floatAt int

	tensors, scalars, ints []uintptr
	kept                   []any // memory that the library reads during the calls
}

// word is where parameter i begins in the words, its type, and whether it is an operand.
func (o *operands) word(i int) (at int, typ dtype.DType, pointer bool) {
	sig := o.k.signature
	for _, p := range sig.Params[:i] {
		at++
		if p.Pointer {
			at++
		}
	}
	p := sig.Params[i]
	typ = p.Type
	for j, name := range sig.TypeVars {
		if name == p.TypeVar {
			typ = o.k.types[j]
		}
	}
	return at, typ, p.Pointer
}

// number is the value of scalar parameter i.
func (o *operands) number(i int) float64 {
	at, typ, _ := o.word(i)
	return typ.FromBits(o.words[at])
}

// size is number as a dimension.
func (o *operands) size(i int) int64 { return int64(o.number(i)) }

// typeOf is the element type of parameter i.
func (o *operands) typeOf(i int) dtype.DType {
	_, typ, _ := o.word(i)
	return typ
}

// refuse makes a refusal of what a kernel would refuse when it runs, with the same code and words.
// The operand that comes first in the signature counts; i is its index, -1 what no operand is to blame for.
func (o *operands) refuse(i int, format string, args ...any) {
	if o.err == nil || i < o.refused {
		o.refused = i
		o.err = &refusal{driver.Errorf(driver.CodeVectorException, o.k.operator.plan.name, "kernel %q: "+format, append([]any{o.k.name}, args...)...)}
	}
}

// positive refuses zero as parameter i.
func (o *operands) positive(i int) {
	if n := o.size(i); n < 1 {
		o.refuse(-1, "%s is %d, want at least 1", o.k.signature.Params[i].Name, n)
	}
}

// tensor appends parameter i as a tensor with those dimensions, in order in memory.
func (o *operands) tensor(i int, dims ...int64) { o.tensorOf(i, o.typeOf(i), dims...) }

// tensorOf is tensor with elements that count as typ.
func (o *operands) tensorOf(i int, typ dtype.DType, dims ...int64) {
	at, _, _ := o.word(i)
	address, length := o.words[at], o.words[at+1]
	used := float64(typ.Size()) // in bytes; exact as far as memory goes
	for _, n := range dims {
		used *= float64(n)
	}
	o.empty = o.empty || used == 0 && i == 0 // the result
	if used > float64(length) {
		o.refuse(i, "argument %q: out of range: %.0f B used, the operand has %d B", o.k.signature.Params[i].Name, used, length)
	}
	number, known := dataTypes[typ]
	if o.err == nil && !known {
		o.err = driver.Errorf(driver.CodeNotSupported, o.k.operator.plan.name, "operators have no type %v", typ)
	}
	if o.err != nil || o.empty {
		return
	}
	strides := make([]int64, len(dims))
	stride := int64(1)
	for j := len(dims) - 1; j >= 0; j-- {
		strides[j] = stride
		stride *= dims[j]
	}
	const formatND = 2
	dims, strides = append(dims, 0), append(strides, 0) // so that there is an address of none
	o.kept = append(o.kept, dims, strides)
	n := uintptr(len(dims) - 1)
	r, _, _ := purego.SyscallN(o.d.operators.createTensor.address, slice(dims), n, uintptr(number), slice(strides), 0, formatND, slice(dims), n, uintptr(address))
	o.tensors = append(o.tensors, o.made(r, &o.d.operators.createTensor))
	o.args = append(o.args, r)
}

// scalar appends a number as a scalar of a type.
func (o *operands) scalar(v float64, typ dtype.DType) {
	if o.err != nil || o.empty {
		return
	}
	word := []uint64{typ.Bits(v)}
	o.kept = append(o.kept, word)
	r, _, _ := purego.SyscallN(o.d.operators.createScalar.address, uintptr(unsafe.Pointer(&word[0])), uintptr(dataTypes[typ]))
	o.scalars = append(o.scalars, o.made(r, &o.d.operators.createScalar))
	o.args = append(o.args, r)
}

// intArray appends a list of integers.
func (o *operands) intArray(list ...int64) {
	if o.err != nil || o.empty {
		return
	}
	o.kept = append(o.kept, list)
	r, _, _ := purego.SyscallN(o.d.operators.createInts.address, slice(list), uintptr(len(list)))
	o.ints = append(o.ints, o.made(r, &o.d.operators.createInts))
	o.args = append(o.args, r)
}

// integer appends an integer as it is.
func (o *operands) integer(v int64) { o.args = append(o.args, uintptr(v)) }

// double appends a number that the function takes in a floating-point register.
func (o *operands) double(v float64) { o.float, o.floatAt = &v, len(o.args) }

func (o *operands) made(r uintptr, f *function) uintptr {
	if r == 0 && o.err == nil {
		o.err = driver.Errorf(driver.CodeInternal, f.name, "%s made nothing", f.name)
	}
	return r
}

// release gives back what was made for the calls, which have copied it.
func (o *operands) release() {
	ops := &o.d.operators
	for _, x := range []struct {
		f    *function
		list []uintptr
	}{{&ops.destroyTensor, o.tensors}, {&ops.destroyScalar, o.scalars}, {&ops.destroyInts, o.ints}} {
		for _, p := range x.list {
			if p != 0 {
				purego.SyscallN(x.f.address, p)
			}
		}
	}
	runtime.KeepAlive(o.kept)
}

func slice(list []int64) uintptr { return uintptr(unsafe.Pointer(&list[0])) }

// dataTypes are the vendor's numbers (aclDataType).
var dataTypes = map[dtype.DType]int{
	dtype.Float32: 0, dtype.Float16: 1, dtype.Int8: 2, dtype.Int32: 3, dtype.Uint8: 4, dtype.Int16: 6, dtype.Uint16: 7, dtype.Uint32: 8,
	dtype.Int64: 9, dtype.Uint64: 10, dtype.Float64: 11, dtype.Bool: 12, dtype.BFloat16: 27,
}
