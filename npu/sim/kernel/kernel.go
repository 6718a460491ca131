// Package kernel holds the simulator's own kernels: what each computes, on which types, and what
// it costs. A kernel is one row of the table in its file. Kernels are pure functions over the
// bytes of their operands; they know nothing of streams, devices or time.
package kernel

import (
	"time"

	"npulua/npu/internal/dtype"
)

// Unit is the part of a core that a kernel keeps busy.
type Unit uint8

// The units.
const (
	Vector Unit = iota
	Cube
)

// Cost is the work of a whole launch, for the timing model.
type Cost struct {
	Unit  Unit
	Flops float64       // arithmetic operations
	Bytes float64       // device memory read and written
	Fixed time.Duration // occupies its cores at least that long, whatever the rest says
}

// Kernel is one row of the table.
type Kernel struct {
	Name      string
	Signature string          // as driver.ParseSignature reads it
	Types     [][]dtype.DType // bindings of the signature's type variables that are supported; nil: it has none
	Doc       string          // one sentence: shapes, units, what is refused at run time

	// Plan checks the scalars of l (sizes that make no sense are an error: the fault of the launch)
	// and sets l.Elems and l.Cost. l.Args[i].Mem is not set yet. It must not trust any scalar.
	Plan func(l *Launch) error
	// Block computes the share of one block, 0 <= block < l.Blocks. Blocks run in parallel and must
	// not write the same bytes.
	Block func(l *Launch, block int)
	// Finish, where set, runs after all blocks, once: the end of a reduction.
	Finish func(l *Launch)
}

// Launch is one launch of a kernel.
type Launch struct {
	Blocks int
	Types  []dtype.DType // binding of the type variables, in order of appearance
	Args   []Arg         // one a parameter
	Elems  []int64       // set by Plan: elements used of each pointer parameter, 0 for scalars
	Cost   Cost          // set by Plan
	// Scratch is for the kernel: partial results by block, allocated by Plan where needed.
	Scratch []float64
}

// Arg is one argument.
type Arg struct {
	Type dtype.DType
	Mem  []byte // exactly Elems[i] elements of a pointer parameter
	Word uint64 // bits of a scalar
}

// Float is a scalar argument as a number.
func (a Arg) Float() float64 { return a.Type.FromBits(a.Word) }

// Int is a scalar argument as a whole number.
func (a Arg) Int() int64 { return int64(a.Type.FromBits(a.Word)) }

// T is the type bound to the first type variable.
func (l *Launch) T() dtype.DType { return l.Types[0] }

// Share is the half-open range of n items that belongs to block of blocks: contiguous, in order,
// sizes differing by one at most.
func Share(n int64, block, blocks int) (first, last int64) {
	b, k := int64(blocks), int64(block)
	q, r := n/b, n%b
	first = k*q + min(k, r)
	last = first + q
	if k < r {
		last++
	}
	return first, last
}

// Find returns the row called name.
func Find(name string) (*Kernel, bool) {
	for _, k := range All() {
		if k.Name == name {
			return k, true
		}
	}
	return nil, false
}

// All lists the kernels, in the order of the documentation. Shared; read only.
func All() []*Kernel { return all }

var all = concat(elementwise, reductions, linear, images, control)

func concat(tables ...[]*Kernel) []*Kernel {
	var out []*Kernel
	for _, t := range tables {
		out = append(out, t...)
	}
	return out
}
