package kernel

import (
	"math"

	"npulua/npu/internal/dtype"
)

var elementwise = []*Kernel{
	{
		Name:      "vector_add",
		Signature: "out T* y, in T* a, in T* b, uint32 n",
		Types:     each(numbers...),
		Doc:       "y[i] = a[i] + b[i] for n elements; integers wrap around, y may be a or b itself.",
		Plan:      planElements(1, 3),
		Block:     numeric(2, add[float32], add[int8], add[uint8], add[int32]),
	},
	{
		Name:      "vector_sub",
		Signature: "out T* y, in T* a, in T* b, uint32 n",
		Types:     each(numbers...),
		Doc:       "y[i] = a[i] - b[i] for n elements; integers wrap around, y may be a or b itself.",
		Plan:      planElements(1, 3),
		Block:     numeric(2, sub[float32], sub[int8], sub[uint8], sub[int32]),
	},
	{
		Name:      "vector_mul",
		Signature: "out T* y, in T* a, in T* b, uint32 n",
		Types:     each(numbers...),
		Doc:       "y[i] = a[i] * b[i] for n elements; integers wrap around, y may be a or b itself.",
		Plan:      planElements(1, 3),
		Block:     numeric(2, mul[float32], mul[int8], mul[uint8], mul[int32]),
	},
	{
		Name:      "axpy",
		Signature: "inout T* y, in T* x, float32 a, uint32 n",
		Types:     each(floats...),
		Doc:       "y[i] = a*x[i] + y[i] for n elements, computed in float32 with one rounding a step; x may be y itself.",
		Plan:      planAxpy,
		Block:     axpy,
	},
	{
		Name:      "scale",
		Signature: "out T* y, in T* x, float32 a, uint32 n",
		Types:     each(floats...),
		Doc:       "y[i] = a*x[i] for n elements, computed in float32; y may be x itself.",
		Plan:      planElements(1, 2),
		Block:     scale,
	},
	{
		Name:      "relu",
		Signature: "out T* y, in T* x, uint32 n",
		Types:     each(append(floats[:3:3], dtype.Int8, dtype.Int32)...),
		Doc:       "y[i] = max(x[i], 0) for n elements; NaN stays NaN, y may be x itself.",
		Plan:      planElements(1, 2),
		Block:     numeric(1, relu[float32], relu[int8], nil, relu[int32]),
	},
	{
		Name:      "exp",
		Signature: "out T* y, in T* x, uint32 n",
		Types:     each(floats...),
		Doc:       "y[i] = e^x[i] for n elements; what is too large becomes infinite, y may be x itself.",
		Plan:      planElements(8, 2),
		Block:     numeric(1, exp, nil, nil, nil),
	},
	{
		Name:      "sigmoid",
		Signature: "out T* y, in T* x, uint32 n",
		Types:     each(floats...),
		Doc:       "y[i] = 1 / (1 + e^-x[i]) for n elements; y may be x itself.",
		Plan:      planElements(10, 2),
		Block:     numeric(1, sigmoid, nil, nil, nil),
	},
	{
		Name:      "cast",
		Signature: "out U* y, in T* x, uint32 n",
		Types:     pairs(numbers),
		Doc: "y[i] = x[i] as the type of y for n elements: floats round to nearest even (int32 to a half type by way of float32), " +
			"integers round to nearest even, then saturate, and take NaN as 0; y may be x itself where both types have one size.",
		Plan:  planElements(1, 2),
		Block: cast,
	},
}

// planElements is the Plan of a kernel on n elements, the last scalar, of each of its operands.
func planElements(flops float64, operands int) func(*Launch) error {
	return func(l *Launch) error {
		n := l.Args[len(l.Args)-1].Int()
		elems := [3]int64{n, n, n}
		l.plan(Vector, flops*float64(n), elems[:operands]...)
		return nil
	}
}

// loop computes y from the kernel's inputs, all of one length; b is empty where there is one input.
type loop[E number] func(y, a, b []E)

// numeric is a Block that runs the loop of T on the first inputs arguments after y; float types all
// compute as float32. A loop is nil where the kernel does not support its type.
func numeric(inputs int, f32 loop[float32], i8 loop[int8], u8 loop[uint8], i32 loop[int32]) func(*Launch, int) {
	args := []int{1, 2}[:inputs]
	return func(l *Launch, block int) {
		switch l.T() {
		case dtype.Int8:
			run(l, block, i8, args...)
		case dtype.Uint8:
			run(l, block, u8, args...)
		case dtype.Int32:
			run(l, block, i32, args...)
		default:
			run(l, block, f32, args...)
		}
	}
}

// run computes the share of block of argument 0 from the one or two arguments args, chunk by
// chunk. Room to decode into is made only where an operand needs it.
func run[E number](l *Launch, block int, f loop[E], args ...int) {
	first, last := Share(l.Elems[0], block, l.Blocks)
	var in, room [2][]E
	var out []E
	for lo := first; lo < last; lo += chunk {
		hi := min(lo+chunk, last)
		for i, arg := range args {
			in[i] = load(&l.Args[arg], lo, hi, &room[i])
		}
		y, own := window(&l.Args[0], lo, hi, &out)
		f(y, in[0], in[1])
		if !own {
			encode(&l.Args[0], lo, y)
		}
	}
}

func add[E number](y, a, b []E) {
	a, b = a[:len(y)], b[:len(y)]
	for i := range y {
		y[i] = a[i] + b[i]
	}
}

func sub[E number](y, a, b []E) {
	a, b = a[:len(y)], b[:len(y)]
	for i := range y {
		y[i] = a[i] - b[i]
	}
}

func mul[E number](y, a, b []E) {
	a, b = a[:len(y)], b[:len(y)]
	for i := range y {
		y[i] = a[i] * b[i]
	}
}

func planAxpy(l *Launch) error {
	n := l.Args[3].Int()
	l.plan(Vector, 2*float64(n), n, n)
	l.Cost.Bytes += float64(n) * float64(l.T().Size()) // y is read and written
	return nil
}

func axpy(l *Launch, block int) {
	a := float32(l.Args[2].Float())
	run(l, block, func(y, x, y0 []float32) {
		x, y0 = x[:len(y)], y0[:len(y)]
		for i := range y {
			y[i] = float32(a*x[i]) + y0[i] // the conversion keeps the two roundings apart
		}
	}, 1, 0)
}

func scale(l *Launch, block int) {
	a := float32(l.Args[2].Float())
	run(l, block, func(y, x, _ []float32) {
		x = x[:len(y)]
		for i := range y {
			y[i] = a * x[i]
		}
	}, 1)
}

func relu[E number](y, x, _ []E) {
	x = x[:len(y)]
	for i := range y {
		y[i] = max(x[i], 0)
	}
}

func exp(y, x, _ []float32) {
	x = x[:len(y)]
	for i := range y {
		y[i] = float32(math.Exp(float64(x[i])))
	}
}

func sigmoid(y, x, _ []float32) {
	x = x[:len(y)]
	for i := range y {
		y[i] = float32(1 / (1 + math.Exp(-float64(x[i]))))
	}
}

func cast(l *Launch, block int) {
	run(l, block, func(y, x, _ []float64) { copy(y, x) }, 1)
}
