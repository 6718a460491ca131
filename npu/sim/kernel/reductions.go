package kernel

import (
	"fmt"
	"math"

	"npulua/npu/internal/dtype"
)

var reductions = []*Kernel{
	{
		Name:      "softmax",
		Signature: "out T* y, in T* x, uint32 rows, uint32 cols",
		Types:     each(floats...),
		Doc:       "y[r,c] = e^x[r,c] / sum of e^x[r,*], row by row of x[rows,cols], computed in float64; y may be x itself.",
		Plan:      planSoftmax,
		Block:     softmax,
	},
	{
		Name:      "layer_norm",
		Signature: "out T* y, in T* x, in T* gamma, in T* beta, uint32 rows, uint32 cols, float32 eps",
		Types:     each(floats...),
		Doc: "y[r,c] = (x[r,c] - mean) / sqrt(variance + eps) * gamma[c] + beta[c], mean and variance of row r of x[rows,cols], " +
			"computed in float64; y may be x itself; refuses an eps that is negative or not finite.",
		Plan:  planLayerNorm,
		Block: layerNorm,
	},
	{
		Name:      "reduce_sum",
		Signature: "out T* y, in T* x, uint32 n",
		Types:     each(numbers...),
		Doc: "y[0] = the sum of n elements of x: floats add in float64, in an order that does not depend on the block count, " +
			"integers wrap around; refuses n = 0.",
		Plan:   planReduction,
		Block:  reduction(sumOf[float32], sumOf[int8], sumOf[uint8], sumOf[int32]),
		Finish: finishSum,
	},
	{
		Name:      "reduce_max",
		Signature: "out T* y, in T* x, uint32 n",
		Types:     each(numbers...),
		Doc:       "y[0] = the largest of n elements of x, NaN where there is one; refuses n = 0.",
		Plan:      planReduction,
		Block:     reduction(maxOf[float32], maxOf[int8], maxOf[uint8], maxOf[int32]),
		Finish:    finishMax,
	},
	{
		Name:      "argmax",
		Signature: "out uint32* index, in T* x, uint32 n",
		Types:     each(numbers...),
		Doc: "index[0] = the position, from 0, of the first largest of n elements of x, where NaN counts as larger than all numbers; " +
			"refuses n = 0.",
		Plan:   planReduction,
		Block:  reduction(argmaxOf[float32], argmaxOf[int8], argmaxOf[uint8], argmaxOf[int32]),
		Finish: finishArgmax,
	},
}

// grain is the number of elements of one partial result. Blocks share grains, so that no result
// depends on their number.
const grain = 4096

func planReduction(l *Launch) error {
	n := l.Args[2].Int()
	if err := positive("n", n); err != nil {
		return err
	}
	l.Scratch = make([]float64, (n+grain-1)/grain)
	l.plan(Vector, float64(n), 1, n)
	return nil
}

// fold is the result of one grain: its elements, and the position of the first of them.
type fold[E number] func(x []E, first int64) float64

// reduction is a Block that sets Scratch[g] for each grain g of its share by the fold of T.
func reduction(f32 fold[float32], i8 fold[int8], u8 fold[uint8], i32 fold[int32]) func(*Launch, int) {
	return func(l *Launch, block int) {
		switch l.T() {
		case dtype.Int8:
			foldGrains(l, block, i8)
		case dtype.Uint8:
			foldGrains(l, block, u8)
		case dtype.Int32:
			foldGrains(l, block, i32)
		default:
			foldGrains(l, block, f32)
		}
	}
}

func foldGrains[E number](l *Launch, block int, f fold[E]) {
	n := l.Elems[1]
	first, last := Share(int64(len(l.Scratch)), block, l.Blocks)
	var room []E
	for g := first; g < last; g++ {
		lo := g * grain
		l.Scratch[g] = f(load(&l.Args[1], lo, min(lo+grain, n), &room), lo)
	}
}

// sumOf is exact for integers: a grain of them stays far below 2^53.
func sumOf[E number](x []E, _ int64) float64 {
	var even, odd float64
	for ; len(x) >= 2; x = x[2:] {
		even += float64(x[0])
		odd += float64(x[1])
	}
	if len(x) > 0 {
		even += float64(x[0])
	}
	return even + odd
}

func finishSum(l *Launch) {
	y := &l.Args[0]
	if l.T().IsFloat() {
		sum := 0.0
		for _, s := range l.Scratch {
			sum += s
		}
		encode(y, 0, []float64{sum})
		return
	}
	sum := int64(0)
	for _, s := range l.Scratch {
		sum += int64(s)
	}
	l.T().Put(y.Mem, 0, wrap(l.T(), sum))
}

// wrap is n as integer type t holds it in two's complement.
func wrap(t dtype.DType, n int64) float64 {
	switch t {
	case dtype.Int8:
		return float64(int8(n))
	case dtype.Uint8:
		return float64(uint8(n))
	default:
		return float64(int32(n))
	}
}

func maxOf[E number](x []E, _ int64) float64 {
	m := x[0]
	for _, v := range x {
		m = max(m, v)
	}
	return float64(m)
}

func finishMax(l *Launch) {
	encode(&l.Args[0], 0, []float64{maxOf(l.Scratch, 0)})
}

func argmaxOf[E number](x []E, first int64) float64 {
	best, m := 0, x[0]
	for i, v := range x {
		if v > m || v != v && m == m {
			best, m = i, v
		}
	}
	return float64(first) + float64(best)
}

func finishArgmax(l *Launch) {
	x := make([]float64, len(l.Scratch))
	for g, i := range l.Scratch {
		decode(&l.Args[1], int64(i), 1, x[g:g+1])
	}
	g := int(argmaxOf(x, 0))
	dtype.Uint32.Put(l.Args[0].Mem, 0, l.Scratch[g])
}

func planSoftmax(l *Launch) error {
	n, err := volume(l.ints(2, 2)...)
	if err != nil {
		return err
	}
	l.plan(Vector, 12*float64(n), n, n)
	return nil
}

func softmax(l *Launch, block int) {
	rows, cols := l.Args[2].Int(), l.Args[3].Int()
	first, last := Share(rows, block, l.Blocks)
	if l.Elems[0] == 0 || first == last {
		return
	}
	row := make([]float64, cols)
	for r := first; r < last; r++ {
		decode(&l.Args[1], r*cols, 1, row)
		top := math.Inf(-1)
		for _, v := range row {
			top = max(top, v)
		}
		sum := 0.0
		for c, v := range row {
			row[c] = math.Exp(v - top)
			sum += row[c]
		}
		for c := range row {
			row[c] /= sum
		}
		encode(&l.Args[0], r*cols, row)
	}
}

func planLayerNorm(l *Launch) error {
	eps := l.Args[6].Float()
	if !(eps >= 0) || math.IsInf(eps, 1) {
		return fmt.Errorf("eps is %v, want a finite number that is not negative", eps)
	}
	rows, cols := l.Args[4].Int(), l.Args[5].Int()
	n, err := volume(rows, cols)
	if err != nil {
		return err
	}
	l.plan(Vector, 8*float64(n), n, n, cols, cols)
	return nil
}

func layerNorm(l *Launch, block int) {
	rows, cols, eps := l.Args[4].Int(), l.Args[5].Int(), l.Args[6].Float()
	first, last := Share(rows, block, l.Blocks)
	if l.Elems[0] == 0 || first == last {
		return
	}
	row, gamma, beta := make([]float64, cols), make([]float64, cols), make([]float64, cols)
	decode(&l.Args[2], 0, 1, gamma)
	decode(&l.Args[3], 0, 1, beta)
	for r := first; r < last; r++ {
		decode(&l.Args[1], r*cols, 1, row)
		sum, squares := 0.0, 0.0
		for _, v := range row {
			sum += v
		}
		mean := sum / float64(cols)
		for _, v := range row {
			squares += float64((v - mean) * (v - mean))
		}
		factor := 1 / math.Sqrt(squares/float64(cols)+eps)
		for c, v := range row {
			row[c] = float64((v-mean)*factor*gamma[c]) + beta[c]
		}
		encode(&l.Args[0], r*cols, row)
	}
}
