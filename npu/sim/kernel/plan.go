package kernel

import (
	"fmt"
	"strings"

	"npulua/npu/internal/dtype"
)

// maxElements is the most elements that an operand of one launch may have.
const maxElements = 1 << 40

// floats are the floating-point types of the devices' units.
var floats = []dtype.DType{dtype.Float32, dtype.Float16, dtype.BFloat16}

// numbers are floats and the integer types that the units compute with.
var numbers = append(floats[:3:3], dtype.Int8, dtype.Uint8, dtype.Int32)

// each is the Types of a kernel with one type variable.
func each(types ...dtype.DType) [][]dtype.DType {
	out := make([][]dtype.DType, len(types))
	for i, t := range types {
		out[i] = []dtype.DType{t}
	}
	return out
}

// pairs is the Types of a kernel whose two type variables are bound independently.
func pairs(types []dtype.DType) [][]dtype.DType {
	var out [][]dtype.DType
	for _, t := range types {
		for _, u := range types {
			out = append(out, []dtype.DType{t, u})
		}
	}
	return out
}

// plan sets what Plan has to: elems are the elements used of the pointer parameters, which all
// kernels here have in front. Each counts as read or written once.
func (l *Launch) plan(unit Unit, flops float64, elems ...int64) {
	l.Elems = append(l.Elems[:0], elems...)
	for len(l.Elems) < len(l.Args) {
		l.Elems = append(l.Elems, 0)
	}
	l.Cost = Cost{Unit: unit, Flops: flops}
	for i, n := range elems {
		l.Cost.Bytes += float64(n) * float64(l.Args[i].Type.Size())
	}
}

// ints are count whole scalars from argument first on.
func (l *Launch) ints(first, count int) []int64 {
	out := make([]int64, count)
	for i := range out {
		out[i] = l.Args[first+i].Int()
	}
	return out
}

// volume is the product of dims, which are not negative; any zero makes it zero.
func volume(dims ...int64) (int64, error) {
	n, tooLarge := int64(1), false
	for _, d := range dims {
		if d == 0 {
			return 0, nil
		}
		if n > maxElements/d {
			n, tooLarge = 1, true
		}
		n *= d
	}
	if tooLarge {
		text := strings.Trim(strings.ReplaceAll(fmt.Sprint(dims), " ", " x "), "[]")
		return 0, fmt.Errorf("%s elements, at most %d", text, int64(maxElements))
	}
	return n, nil
}

// volumes is the volume of each operand.
func volumes(shapes ...[]int64) ([]int64, error) {
	out := make([]int64, len(shapes))
	for i, dims := range shapes {
		n, err := volume(dims...)
		if err != nil {
			return nil, err
		}
		out[i] = n
	}
	return out, nil
}

// positive refuses a zero size: the scalar called name.
func positive(name string, n int64) error {
	if n < 1 {
		return fmt.Errorf("%s is %d, want at least 1", name, n)
	}
	return nil
}
