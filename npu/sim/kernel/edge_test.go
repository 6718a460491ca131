package kernel

import (
	"math"
	"strings"
	"testing"
	"time"

	"npulua/npu/internal/dtype"
)

// compute runs a kernel on given inputs (the pointer parameters after the first) and returns its result.
func compute(t *testing.T, name string, types []dtype.DType, scalars []float64, in ...[]float64) []float64 {
	t.Helper()
	k, ok := Find(name)
	if !ok {
		t.Fatalf("no kernel %q", name)
	}
	l, err := newLaunch(k, 3, types, scalars)
	if err != nil {
		t.Fatalf("%s%v: %v", name, scalars, err)
	}
	l.allocate(0)
	for i, values := range in {
		for j, v := range values {
			l.Args[i+1].Type.Put(l.Args[i+1].Mem, j, v)
		}
	}
	k.run(l)
	return numbersOf(l.Args[0])
}

func TestSpecialValues(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	f32, f16, i8, u8, i32 := dtype.Float32, dtype.Float16, dtype.Int8, dtype.Uint8, dtype.Int32
	for _, c := range []struct {
		name    string
		types   []dtype.DType
		scalars []float64
		in      [][]float64
		want    []float64
	}{
		{"vector_add", []dtype.DType{i8}, []float64{2}, [][]float64{{127, -128}, {1, -1}}, []float64{-128, 127}},
		{"vector_mul", []dtype.DType{i32}, []float64{1}, [][]float64{{1 << 30}, {6}}, []float64{-1 << 31}},
		{"relu", []dtype.DType{f16}, []float64{4}, [][]float64{{nan, -inf, inf, -1}}, []float64{nan, 0, inf, 0}},
		{"exp", []dtype.DType{f16}, []float64{3}, [][]float64{{12, -inf, nan}}, []float64{inf, 0, nan}},
		{"sigmoid", []dtype.DType{f32}, []float64{3}, [][]float64{{-inf, inf, nan}}, []float64{0, 1, nan}},
		{"cast", []dtype.DType{i8, f32}, []float64{8}, [][]float64{{0.5, 1.5, 2.5, -0.5, 300, -inf, nan, 126.5}}, []float64{0, 2, 2, 0, 127, -128, 0, 126}},
		{"cast", []dtype.DType{i32, f32}, []float64{3}, [][]float64{{3e9, -3e9, inf}}, []float64{1<<31 - 1, -1 << 31, 1<<31 - 1}},
		{"cast", []dtype.DType{u8, i32}, []float64{3}, [][]float64{{-1, 256, 7}}, []float64{0, 255, 7}},
		{"cast", []dtype.DType{f16, i32}, []float64{2}, [][]float64{{70000, 2049}}, []float64{inf, 2048}},
		{"softmax", []dtype.DType{f32}, []float64{2, 2}, [][]float64{{1e30, 1e30, -1e30, 1e30}}, []float64{0.5, 0.5, 0, 1}},
		{"layer_norm", []dtype.DType{f32}, []float64{1, 2, 1}, [][]float64{{1e30, 1e30}, {1, 1}, {3, 4}}, []float64{3, 4}},
		{"reduce_max", []dtype.DType{f32}, []float64{3}, [][]float64{{1, nan, 3}}, []float64{nan}},
		{"reduce_max", []dtype.DType{i8}, []float64{2}, [][]float64{{-3, -2}}, []float64{-2}},
		{"argmax", []dtype.DType{f32}, []float64{5}, [][]float64{{1, nan, 3, nan, inf}}, []float64{1}},
		{"argmax", []dtype.DType{i8}, []float64{4}, [][]float64{{1, 5, 5, 3}}, []float64{1}},
		{"matmul", []dtype.DType{f32}, []float64{1, 2, 2}, [][]float64{{0, 1}, {inf, 2, 3, nan}}, []float64{nan, nan}},
		{"matmul", []dtype.DType{f32}, []float64{1, 2, 2}, [][]float64{{0, 1}, {2, inf, 3, 4}}, []float64{3, nan}},
		{"matmul_int8", nil, []float64{1, 1, 3}, [][]float64{{-128, -128, 127}, {-128, 127, 127}}, []float64{16384 - 16256 + 16129}},
		{"resize", []dtype.DType{f32}, []float64{1, 2, 1, 4, 1}, [][]float64{{1, inf}}, []float64{1, inf, inf, inf}},
		{"normalize", []dtype.DType{f32}, []float64{1, 2, 3, 0, 1}, [][]float64{{0, 255, 51, 255, 0, 102}},
			[]float64{0, 1, 1, 0, float64(float32(0.2)), float64(float32(0.4))}},
		{"rgb_to_gray", nil, []float64{1, 2, 4}, [][]float64{{255, 255, 255, 0, 255, 0, 0, 9}}, []float64{255, 76}},
		{"sobel", nil, []float64{1, 3}, [][]float64{{0, 10, 255}}, []float64{40, 255, 255}},
	} {
		got := compute(t, c.name, c.types, c.scalars, c.in...)
		for i, w := range c.want {
			if got[i] != w && !(math.IsNaN(got[i]) && math.IsNaN(w)) {
				t.Errorf("%s%v(%v) = %v, want %v", c.name, c.scalars, c.in, got, c.want)
				break
			}
		}
	}
}

// TestArgmaxGrains puts the maximum, and its equals, in different partial results.
func TestArgmaxGrains(t *testing.T) {
	x := make([]float64, 3*grain)
	for _, i := range []int{grain - 1, grain, 2*grain + 5} {
		x[i] = 9
	}
	if got := compute(t, "argmax", []dtype.DType{dtype.Float32}, []float64{3 * grain}, x)[0]; got != grain-1 {
		t.Errorf("argmax = %v, want %v", got, grain-1)
	}
	x[2*grain+1] = math.NaN()
	if got := compute(t, "argmax", []dtype.DType{dtype.Float32}, []float64{3 * grain}, x)[0]; got != 2*grain+1 {
		t.Errorf("argmax with NaN = %v, want %v", got, 2*grain+1)
	}
}

func TestPlanRefuses(t *testing.T) {
	const huge = math.MaxUint32
	const tooLarge = "elements, at most 1099511627776"
	for _, c := range []struct {
		name    string
		scalars []float64
		want    string
	}{
		{"softmax", []float64{huge, huge}, "4294967295 x 4294967295 " + tooLarge},
		{"layer_norm", []float64{huge, huge, 0}, tooLarge},
		{"layer_norm", []float64{1, 1, -1}, "eps is -1"},
		{"layer_norm", []float64{1, 1, math.NaN()}, "eps is NaN"},
		{"layer_norm", []float64{1, 1, math.Inf(1)}, "eps is +Inf"},
		{"reduce_sum", []float64{0}, "n is 0, want at least 1"},
		{"reduce_max", []float64{0}, "n is 0"},
		{"argmax", []float64{0}, "n is 0"},
		{"matmul", []float64{huge, huge, 1}, tooLarge},
		{"matmul", []float64{huge, 1, huge}, tooLarge},
		{"matmul_int8", []float64{1, huge, huge}, tooLarge},
		{"transpose", []float64{huge, 257}, tooLarge},
		{"bias_add", []float64{huge, huge}, tooLarge},
		{"conv2d", []float64{1, 1, 3, 3, 1, 1, 1, 0, 0}, "stride is 0"},
		{"conv2d", []float64{1, 1, 3, 3, 1, 0, 1, 1, 0}, "kernel_h is 0"},
		{"conv2d", []float64{1, 1, 3, 3, 1, 1, 0, 1, 0}, "kernel_w is 0"},
		{"conv2d", []float64{1, 1, 3, 3, 1, 6, 1, 1, 1}, "kernel is 6 x 1, the padded image 5 x 5"},
		{"conv2d", []float64{1, 1, 3, 3, 1, 1, 1, 1, huge}, tooLarge},
		{"conv2d", []float64{huge, huge, huge, huge, huge, huge, huge, 1, huge}, tooLarge},
		{"resize", []float64{0, 3, 1, 1, 3}, "x is 0 x 3"},
		{"resize", []float64{huge, huge, 1, 1, huge}, tooLarge},
		{"resize", []float64{1, 1, huge, huge, huge}, tooLarge},
		{"normalize", []float64{1, 1, 3, 0, 0}, "std is 0"},
		{"normalize", []float64{1, 1, 3, 0, math.NaN()}, "std is NaN"},
		{"normalize", []float64{huge, huge, 3, 0, 1}, tooLarge},
		{"rgb_to_gray", []float64{1, 1, 2}, "channels is 2, want 1, 3 or 4"},
		{"rgb_to_gray", []float64{huge, huge, 3}, tooLarge},
		{"sobel", []float64{huge, huge}, tooLarge},
		{"spin", []float64{-1}, "seconds is -1"},
		{"spin", []float64{math.NaN()}, "seconds is NaN"},
		{"spin", []float64{math.Inf(1)}, "seconds is +Inf"},
		{"spin", []float64{1e9 + 1}, "seconds is"},
	} {
		k, _ := Find(c.name)
		_, err := newLaunch(k, 1, typesOf(k)[0], c.scalars)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s%v: error %v, want %q", c.name, c.scalars, err, c.want)
		}
	}
}

// TestEmpty runs launches with nothing to compute but one size that is huge.
func TestEmpty(t *testing.T) {
	const huge = math.MaxUint32
	for _, c := range []struct {
		name    string
		scalars []float64
	}{
		{"softmax", []float64{0, huge}}, {"softmax", []float64{huge, 0}},
		{"layer_norm", []float64{huge, 0, 1}}, {"transpose", []float64{0, huge}}, {"matmul", []float64{0, huge, 0}},
		{"matmul", []float64{huge, 0, 0}}, {"matmul_int8", []float64{0, huge, 0}}, {"conv2d", []float64{0, 0, 1, 1, huge, 1, 1, 1, huge}},
		{"resize", []float64{0, 0, 0, huge, 1}}, {"normalize", []float64{huge, 0, huge, 0, 1}},
		{"rgb_to_gray", []float64{huge, 0, 3}}, {"sobel", []float64{huge, 0}},
	} {
		k, _ := Find(c.name)
		l, err := newLaunch(k, 2, typesOf(k)[0], c.scalars)
		if err != nil {
			t.Errorf("%s%v: %v", c.name, c.scalars, err)
			continue
		}
		if c.name == "layer_norm" || c.name == "conv2d" {
			l.Args[3].Mem = nil // gamma, beta and bias are not read
		} else {
			l.allocate(0)
		}
		k.run(l)
	}
}

func TestCost(t *testing.T) {
	f16 := []dtype.DType{dtype.Float16}
	for _, c := range []struct {
		name    string
		types   []dtype.DType
		scalars []float64
		want    Cost
	}{
		{"vector_add", f16, []float64{100}, Cost{Vector, 100, 600, 0}},
		{"axpy", f16, []float64{2, 100}, Cost{Vector, 200, 600, 0}},
		{"cast", []dtype.DType{dtype.Int8, dtype.Float32}, []float64{100}, Cost{Vector, 100, 500, 0}},
		{"matmul", f16, []float64{2, 3, 5}, Cost{Cube, 60, 62, 0}},
		{"matmul_int8", nil, []float64{2, 3, 5}, Cost{Cube, 60, 49, 0}},
		{"conv2d", f16, []float64{1, 2, 3, 3, 4, 3, 3, 1, 1}, Cost{Cube, 36 * 37, 2 * (36 + 18 + 72 + 4), 0}},
		{"spin", nil, []float64{0.1}, Cost{Fixed: 100 * time.Millisecond}},
	} {
		k, _ := Find(c.name)
		l, err := newLaunch(k, 1, c.types, c.scalars)
		if err != nil {
			t.Errorf("%s%v: %v", c.name, c.scalars, err)
		} else if l.Cost != c.want {
			t.Errorf("%s%v: cost %+v, want %+v", c.name, c.scalars, l.Cost, c.want)
		}
	}
}
