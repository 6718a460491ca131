package kernel

import (
	"math"

	"npulua/npu/internal/dtype"
)

// kernelCase is one row a kernel: what to launch, and the result by the plainest means there are.
type kernelCase struct {
	name      string
	scalars   [][]float64 // one launch each
	spread    float64     // of float inputs; 0 is 1
	tolerance float64     // in epsilons of the result's type; 0 is 1
	// want is the result for the operands in and scalars s, with a result of type t.
	want func(in [][]float64, s []float64, t dtype.DType) []float64
}

var cases = []kernelCase{
	{name: "vector_add", scalars: sizes, want: arith(
		func(a, b float64) float64 { return a + b }, func(a, b int64) int64 { return a + b })},
	{name: "vector_sub", scalars: sizes, want: arith(
		func(a, b float64) float64 { return a - b }, func(a, b int64) int64 { return a - b })},
	{name: "vector_mul", scalars: sizes, want: arith(
		func(a, b float64) float64 { return a * b }, func(a, b int64) int64 { return a * b })},
	{name: "axpy", scalars: with(-1.25, sizes), want: func(in [][]float64, s []float64, _ dtype.DType) []float64 {
		return mapped(in[1], func(i int, x float64) float64 { return s[0]*x + in[0][i] })
	}},
	{name: "scale", scalars: with(0.3, sizes), want: func(in [][]float64, s []float64, _ dtype.DType) []float64 {
		return mapped(in[1], func(_ int, x float64) float64 { return s[0] * x })
	}},
	{name: "relu", scalars: sizes, want: unary(func(x float64) float64 { return math.Max(x, 0) })},
	{name: "exp", scalars: sizes, spread: 8, want: unary(math.Exp)},
	{name: "sigmoid", scalars: sizes, spread: 12, want: unary(func(x float64) float64 { return 1 / (1 + math.Exp(-x)) })},
	{name: "cast", scalars: sizes, spread: 400, want: func(in [][]float64, _ []float64, t dtype.DType) []float64 {
		return mapped(in[1], func(_ int, x float64) float64 { return castRef(t, x) })
	}},
	{name: "softmax", scalars: [][]float64{{0, 5}, {5, 0}, {1, 1}, {3, 17}, {17, 257}, {2, 1001}}, spread: 20, want: softmaxRef},
	{name: "layer_norm", scalars: [][]float64{{0, 5, 1}, {5, 0, 1}, {1, 2, 0}, {3, 17, 1e-5}, {17, 257, 1e-5}, {2, 1001, 1}},
		tolerance: 3, want: layerNormRef},
	{name: "reduce_sum", scalars: reduced, want: sumRef},
	{name: "reduce_max", scalars: reduced, want: func(in [][]float64, _ []float64, _ dtype.DType) []float64 {
		return []float64{in[1][largest(in[1])]}
	}},
	{name: "argmax", scalars: reduced, want: func(in [][]float64, _ []float64, _ dtype.DType) []float64 {
		return []float64{float64(largest(in[1]))}
	}},
	{name: "matmul", scalars: products, tolerance: 20, want: matmulRef},
	{name: "matmul_int8", scalars: products, want: matmulRef},
	{name: "transpose", scalars: [][]float64{{0, 3}, {3, 0}, {1, 1}, {1, 17}, {17, 1}, {3, 255}, {257, 33}, {65, 64}}, want: transposeRef},
	{name: "bias_add", scalars: [][]float64{{0, 5}, {5, 0}, {1, 1}, {3, 17}, {17, 257}, {2, 1001}},
		want: func(in [][]float64, s []float64, _ dtype.DType) []float64 {
			return mapped(in[1], func(i int, x float64) float64 { return x + in[2][i%int(s[1])] })
		}},
	{name: "conv2d", scalars: [][]float64{
		{0, 2, 5, 5, 3, 3, 3, 1, 1}, {2, 0, 5, 5, 3, 3, 3, 1, 1}, {1, 1, 1, 1, 1, 1, 1, 1, 0}, {1, 1, 1, 1, 2, 3, 3, 1, 1},
		{2, 3, 9, 7, 5, 3, 3, 1, 1}, {2, 3, 9, 7, 5, 3, 2, 2, 0}, {3, 2, 6, 5, 4, 1, 1, 3, 0}, {1, 17, 12, 31, 66, 3, 3, 1, 2},
		{1, 1, 3, 3, 1, 2, 2, 9, 5}, {2, 1, 4, 4, 1, 1, 9, 1, 4},
	}, tolerance: 20, want: convRef},
	{name: "resize", scalars: [][]float64{
		{1, 1, 1, 1, 1}, {1, 1, 3, 5, 2}, {3, 5, 1, 1, 3}, {4, 4, 8, 8, 1}, {8, 8, 4, 4, 4}, {17, 3, 5, 255, 3}, {257, 9, 100, 10, 1},
		{5, 5, 0, 3, 1}, {0, 0, 0, 0, 3},
	}, tolerance: 3, want: resizeRef},
	{name: "normalize", scalars: [][]float64{{0, 3, 3, 0, 1}, {3, 3, 0, 0, 1}, {1, 1, 1, 0.5, 0.25}, {17, 15, 3, 0.5, -2}, {33, 31, 4, 0, 1}},
		want: normalizeRef},
	{name: "rgb_to_gray", scalars: [][]float64{{0, 3, 3}, {1, 1, 1}, {1, 1, 3}, {17, 15, 3}, {15, 17, 4}, {3, 255, 1}}, want: grayRef},
	{name: "sobel", scalars: [][]float64{{0, 3}, {3, 0}, {1, 1}, {1, 17}, {17, 1}, {2, 3}, {255, 17}}, want: sobelRef},
	{name: "spin", scalars: [][]float64{{0}, {0.25}}},
}

var (
	sizes    = [][]float64{{0}, {1}, {2}, {3}, {17}, {255}, {257}, {1001}, {5003}}
	reduced  = [][]float64{{1}, {2}, {3}, {17}, {255}, {257}, {1001}, {4096}, {4097}, {20011}}
	products = [][]float64{
		{0, 3, 3}, {3, 0, 3}, {3, 2, 0}, {1, 1, 1}, {2, 3, 17}, {17, 3, 2}, {1, 257, 33}, {257, 1, 33}, {65, 193, 129}, {3, 2, 1001}, {130, 67, 17},
	}
)

// with is the scalar first before each row of scalars.
func with(first float64, rows [][]float64) [][]float64 {
	var out [][]float64
	for _, r := range rows {
		out = append(out, append([]float64{first}, r...))
	}
	return out
}

func mapped(x []float64, f func(i int, x float64) float64) []float64 {
	out := make([]float64, len(x))
	for i, v := range x {
		out[i] = f(i, v)
	}
	return out
}

func unary(f func(float64) float64) func([][]float64, []float64, dtype.DType) []float64 {
	return func(in [][]float64, _ []float64, _ dtype.DType) []float64 {
		return mapped(in[1], func(_ int, x float64) float64 { return f(x) })
	}
}

func arith(f func(a, b float64) float64, i func(a, b int64) int64) func([][]float64, []float64, dtype.DType) []float64 {
	return func(in [][]float64, _ []float64, t dtype.DType) []float64 {
		return mapped(in[1], func(j int, a float64) float64 {
			if b := in[2][j]; t.IsFloat() {
				return f(a, b)
			}
			return wrapped(t, i(int64(a), int64(in[2][j])))
		})
	}
}

// wrapped is v modulo the range of integer type t.
func wrapped(t dtype.DType, v int64) float64 {
	m := int64(1) << (8 * t.Size())
	v = ((v % m) + m) % m
	if t != dtype.Uint8 && v >= m/2 {
		v -= m
	}
	return float64(v)
}

func castRef(t dtype.DType, x float64) float64 {
	switch {
	case t.IsFloat():
		return float64(float32(x))
	case math.IsNaN(x):
		return 0
	}
	r := math.RoundToEven(x)
	switch t {
	case dtype.Uint8:
		return math.Min(math.Max(r, 0), 255)
	case dtype.Int8:
		return math.Min(math.Max(r, -128), 127)
	}
	return math.Min(math.Max(r, -1<<31), 1<<31-1)
}

func largest(x []float64) int {
	best := 0
	for i, v := range x {
		if v > x[best] {
			best = i
		}
	}
	return best
}

func sumRef(in [][]float64, _ []float64, t dtype.DType) []float64 {
	if t.IsFloat() {
		sum := 0.0
		for _, v := range in[1] {
			sum += v
		}
		return []float64{sum}
	}
	sum := int64(0)
	for _, v := range in[1] {
		sum += int64(v)
	}
	return []float64{wrapped(t, sum)}
}

func softmaxRef(in [][]float64, s []float64, _ dtype.DType) []float64 {
	cols := int(s[1])
	return mapped(in[1], func(i int, x float64) float64 {
		sum := 0.0
		for _, v := range in[1][i/cols*cols:][:cols] {
			sum += math.Exp(v)
		}
		return math.Exp(x) / sum
	})
}

func layerNormRef(in [][]float64, s []float64, _ dtype.DType) []float64 {
	cols := int(s[1])
	return mapped(in[1], func(i int, x float64) float64 {
		mean, variance := 0.0, 0.0
		row := in[1][i/cols*cols:][:cols]
		for _, v := range row {
			mean += v / float64(cols)
		}
		for _, v := range row {
			variance += (v - mean) * (v - mean) / float64(cols)
		}
		return (x-mean)/math.Sqrt(variance+float64(float32(s[2])))*in[2][i%cols] + in[3][i%cols]
	})
}

func matmulRef(in [][]float64, s []float64, _ dtype.DType) []float64 {
	n, k := int(s[1]), int(s[2])
	return mapped(in[0], func(i int, _ float64) float64 {
		sum := 0.0
		for l := range k {
			sum += in[1][i/n*k+l] * in[2][l*n+i%n]
		}
		return sum
	})
}

func transposeRef(in [][]float64, s []float64, _ dtype.DType) []float64 {
	rows, cols := int(s[0]), int(s[1])
	return mapped(in[1], func(i int, _ float64) float64 { return in[1][i%rows*cols+i/rows] })
}

func convRef(in [][]float64, s []float64, _ dtype.DType) []float64 {
	cIn, height, width, cOut := int(s[1]), int(s[2]), int(s[3]), int(s[4])
	kh, kw, stride, pad := int(s[5]), int(s[6]), int(s[7]), int(s[8])
	oh, ow := (height+2*pad-kh)/stride+1, (width+2*pad-kw)/stride+1
	return mapped(in[0], func(i int, _ float64) float64 {
		b, co, oy, ox := i/(cOut*oh*ow), i/(oh*ow)%cOut, i/ow%oh, i%ow
		sum := in[3][co]
		for ci := range cIn {
			for ky := range kh {
				for kx := range kw {
					y, x := oy*stride+ky-pad, ox*stride+kx-pad
					if y >= 0 && y < height && x >= 0 && x < width {
						sum += in[1][((b*cIn+ci)*height+y)*width+x] * in[2][((co*cIn+ci)*kh+ky)*kw+kx]
					}
				}
			}
		}
		return sum
	})
}
