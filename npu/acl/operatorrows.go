//go:build linux && (amd64 || arm64)

package acl

import "npulua/npu/internal/dtype"

// operatorRows are the operators that compute kernels, by kernel: the name behind aclnn, and how the kernel's
// parameters, which count from 0, become its arguments.
var operatorRows = map[string]struct {
	name      string
	arguments func(o *operands)
}{
	"vector_add": {"Add", func(o *operands) { // y a b n
		n := o.size(3)
		o.tensor(1, n)
		o.tensor(2, n)
		o.scalar(1, o.typeOf(1))
		o.tensor(0, n)
	}},
	"vector_sub": {"Sub", func(o *operands) { // y a b n
		n := o.size(3)
		o.tensor(1, n)
		o.tensor(2, n)
		o.scalar(1, o.typeOf(1))
		o.tensor(0, n)
	}},
	"vector_mul": {"Mul", func(o *operands) { // y a b n
		n := o.size(3)
		o.tensor(1, n)
		o.tensor(2, n)
		o.tensor(0, n)
	}},
	"axpy": {"Add", func(o *operands) { // y x a n
		n := o.size(3)
		o.tensor(0, n)
		o.tensor(1, n)
		o.scalar(o.number(2), dtype.Float32)
		o.tensor(0, n)
	}},
	"scale": {"Muls", func(o *operands) { // y x a n
		n := o.size(3)
		o.tensor(1, n)
		o.scalar(o.number(2), dtype.Float32)
		o.tensor(0, n)
	}},
	"relu":    {"Relu", unary},
	"exp":     {"Exp", unary},
	"sigmoid": {"Sigmoid", unary},
	"cast": {"Cast", func(o *operands) { // y x n
		n := o.size(2)
		o.tensor(1, n)
		o.integer(int64(dataTypes[o.typeOf(0)]))
		o.tensor(0, n)
	}},
	"softmax": {"Softmax", func(o *operands) { // y x rows cols
		rows, cols := o.size(2), o.size(3)
		o.tensor(1, rows, cols)
		o.integer(-1) // over the last dimension
		o.tensor(0, rows, cols)
	}},
	"layer_norm": {"LayerNorm", func(o *operands) { // y x gamma beta rows cols eps
		rows, cols := o.size(4), o.size(5)
		o.tensor(1, rows, cols)
		o.intArray(cols)
		o.tensor(2, cols)
		o.tensor(3, cols)
		o.double(o.number(6))
		o.tensor(0, rows, cols)
		o.integer(0) // no mean
		o.integer(0) // no deviation
	}},
	"reduce_sum": {"ReduceSum", func(o *operands) { // y x n
		o.tensor(1, o.size(2))
		o.intArray(0)
		o.integer(1) // keep the dimension
		o.integer(int64(dataTypes[o.typeOf(0)]))
		o.tensor(0, 1)
	}},
	"reduce_max": {"Max", func(o *operands) { // y x n
		o.tensor(1, o.size(2))
		o.tensor(0)
	}},
	"argmax": {"ArgMax", func(o *operands) { // index x n
		o.tensor(1, o.size(2))
		o.integer(0) // over the only dimension
		o.integer(1) // and keep it
		o.tensorOf(0, dtype.Int32, 1)
	}},
	"matmul": {"Matmul", func(o *operands) { // c a b m n k
		m, n, k := o.size(3), o.size(4), o.size(5)
		o.tensor(1, m, k)
		o.tensor(2, k, n)
		o.tensor(0, m, n)
		o.integer(0) // products have the type of the operands
	}},
	"transpose": {"Permute", func(o *operands) { // y x rows cols
		rows, cols := o.size(2), o.size(3)
		o.tensor(1, rows, cols)
		o.intArray(1, 0)
		o.tensor(0, cols, rows)
	}},
}

// unary is y x n.
func unary(o *operands) {
	n := o.size(2)
	o.tensor(1, n)
	o.tensor(0, n)
}
