//go:build linux && (amd64 || arm64)

package acl

import (
	"math"

	"npulua/npu/internal/dtype"
)

// operatorRows are the operators that compute kernels, by kernel: the signature of the kernel that they stand for,
// the name behind aclnn, and how the kernel's parameters, which count from 0, become its arguments.
var operatorRows = map[string]struct {
	signature string
	name      string
	arguments func(o *operands)
}{
	"vector_add": {"out T* y, in T* a, in T* b, uint32 n", "Add", func(o *operands) {
		n := o.size(3)
		o.tensor(1, n)
		o.tensor(2, n)
		o.scalar(1, o.typeOf(1))
		o.tensor(0, n)
	}},
	"vector_sub": {"out T* y, in T* a, in T* b, uint32 n", "Sub", func(o *operands) {
		n := o.size(3)
		o.tensor(1, n)
		o.tensor(2, n)
		o.scalar(1, o.typeOf(1))
		o.tensor(0, n)
	}},
	"vector_mul": {"out T* y, in T* a, in T* b, uint32 n", "Mul", func(o *operands) {
		n := o.size(3)
		o.tensor(1, n)
		o.tensor(2, n)
		o.tensor(0, n)
	}},
	"axpy": {"inout T* y, in T* x, float32 a, uint32 n", "Add", func(o *operands) {
		n := o.size(3)
		o.tensor(0, n)
		o.tensor(1, n)
		o.scalar(o.number(2), dtype.Float32)
		o.tensor(0, n)
	}},
	"scale": {"out T* y, in T* x, float32 a, uint32 n", "Muls", func(o *operands) {
		n := o.size(3)
		o.tensor(1, n)
		o.scalar(o.number(2), dtype.Float32)
		o.tensor(0, n)
	}},
	"relu":    {"out T* y, in T* x, uint32 n", "Relu", unary},
	"exp":     {"out T* y, in T* x, uint32 n", "Exp", unary},
	"sigmoid": {"out T* y, in T* x, uint32 n", "Sigmoid", unary},
	"cast": {"out U* y, in T* x, uint32 n", "Cast", func(o *operands) {
		n := o.size(2)
		o.tensor(1, n)
		o.integer(int64(dataTypes[o.typeOf(0)]))
		o.tensor(0, n)
	}},
	"softmax": {"out T* y, in T* x, uint32 rows, uint32 cols", "Softmax", func(o *operands) {
		rows, cols := o.size(2), o.size(3)
		o.tensor(1, rows, cols)
		o.integer(-1) // over the last dimension
		o.tensor(0, rows, cols)
	}},
	"layer_norm": {"out T* y, in T* x, in T* gamma, in T* beta, uint32 rows, uint32 cols, float32 eps", "LayerNorm", func(o *operands) {
		rows, cols := o.size(4), o.size(5)
		if eps := o.number(6); !(eps >= 0) || math.IsInf(eps, 1) {
			o.refuse(-1, "eps is %v, want a finite number that is not negative", eps)
		}
		o.tensor(1, rows, cols)
		o.intArray(cols)
		o.tensor(2, cols)
		o.tensor(3, cols)
		o.double(o.number(6))
		o.tensor(0, rows, cols)
		o.integer(0) // no mean
		o.integer(0) // no deviation
	}},
	"reduce_sum": {"out T* y, in T* x, uint32 n", "ReduceSum", func(o *operands) {
		o.positive(2)
		o.tensor(1, o.size(2))
		o.intArray(0)
		o.integer(1) // keep the dimension
		o.integer(int64(dataTypes[o.typeOf(0)]))
		o.tensor(0, 1)
	}},
	"reduce_max": {"out T* y, in T* x, uint32 n", "Max", func(o *operands) {
		o.positive(2)
		o.tensor(1, o.size(2))
		o.tensor(0)
	}},
	"argmax": {"out uint32* index, in T* x, uint32 n", "ArgMax", func(o *operands) {
		o.positive(2)
		o.tensor(1, o.size(2))
		o.integer(0) // over the only dimension
		o.integer(1) // and keep it
		o.tensorOf(0, dtype.Int32, 1)
	}},
	"matmul": {"out T* c, in T* a, in T* b, uint32 m, uint32 n, uint32 k", "Matmul", func(o *operands) {
		m, n, k := o.size(3), o.size(4), o.size(5)
		o.tensor(1, m, k)
		o.tensor(2, k, n)
		o.tensor(0, m, n)
		o.integer(0) // products have the type of the operands
	}},
	"bias_add": {"out T* y, in T* x, in T* b, uint32 rows, uint32 cols", "Add", func(o *operands) {
		rows, cols := o.size(3), o.size(4)
		o.tensor(1, rows, cols)
		o.tensor(2, cols)
		o.scalar(1, o.typeOf(1))
		o.tensor(0, rows, cols)
	}},
	"transpose": {"out T* y, in T* x, uint32 rows, uint32 cols", "Permute", func(o *operands) {
		rows, cols := o.size(2), o.size(3)
		o.tensor(1, rows, cols)
		o.intArray(1, 0)
		o.tensor(0, cols, rows)
	}},
}

// unary are the arguments of an operator on n elements: y, x, n.
func unary(o *operands) {
	n := o.size(2)
	o.tensor(1, n)
	o.tensor(0, n)
}
