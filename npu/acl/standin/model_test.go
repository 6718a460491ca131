//go:build linux

package standin

import (
	"math"
	"testing"

	"github.com/ebitengine/purego"
)

func (l *library) tensor(p uintptr, dims ...int64) uintptr {
	l.Helper()
	const float, nd = 0, 2
	t := l.raw("aclCreateTensor", address(dims), uintptr(len(dims)), float, 0, 0, nd, address(dims), uintptr(len(dims)), p)
	if t == 0 {
		l.Fatal("aclCreateTensor gives nothing")
	}
	l.Cleanup(func() { l.ok("aclDestroyTensor", t) })
	return t
}

// op runs an operator with the operands of its first phase.
func (l *library) op(name string, args ...uintptr) {
	l.Helper()
	size, sizeAt := cell[uint64]()
	executor, executorAt := cell[uintptr]()
	l.ok(name+"GetWorkspaceSize", append(args, sizeAt, executorAt)...)
	var workspace uintptr
	if *size > 0 {
		l.want(161002, name, 0, 0, *executor, 0)
		workspace = l.make("aclrtMalloc", uintptr(*size), 0)
	}
	l.ok(name, workspace, uintptr(*size), *executor, 0)
	l.ok("aclrtSynchronizeStream", 0)
	if workspace != 0 {
		l.ok("aclrtFree", workspace)
	}
}

func TestOperators(t *testing.T) {
	l := device(t)
	p, q, r := l.floats(1, -2, 3, 4, 5, -6), l.floats(10, 20, 30), l.floats(0, 0, 0, 0, 0, 0)
	a, row, y := l.tensor(p, 2, 3), l.tensor(q, 3), l.tensor(r, 2, 3)
	two := []float32{2}
	alpha := l.raw("aclCreateScalar", address(two), 0)
	l.op("aclnnAdd", a, row, alpha, y)
	l.wantFloats(r, 21, 38, 63, 24, 45, 54)
	l.op("aclnnSub", a, row, alpha, y)
	l.wantFloats(r, -19, -42, -57, -16, -35, -66)
	l.op("aclnnMul", a, row, y)
	l.wantFloats(r, 10, -40, 90, 40, 100, -180)
	l.op("aclnnMuls", a, alpha, y)
	l.wantFloats(r, 2, -4, 6, 8, 10, -12)
	l.op("aclnnRelu", a, y)
	l.wantFloats(r, 1, 0, 3, 4, 5, 0)
	dims := []int64{1, 0}
	list := l.raw("aclCreateIntArray", address(dims), 2)
	l.op("aclnnPermute", a, list, l.tensor(r, 3, 2))
	l.wantFloats(r, 1, 4, -2, 5, 3, -6)
	l.op("aclnnMatmul", a, l.tensor(p, 3, 2), l.tensor(r, 2, 2), 0)
	l.wantFloats(r, 1*1-2*3+3*5, -2-8-18, 4+15-30, -8+20+36)
	one := l.raw("aclCreateIntArray", address(dims), 1)
	l.op("aclnnReduceSum", a, one, 0, 0, l.tensor(r, 2))
	l.wantFloats(r, 2, 3)
	l.op("aclnnMax", a, l.tensor(r, 1))
	l.wantFloats(r, 5)
	shape := []int64{3}
	normal := l.raw("aclCreateIntArray", address(shape), 1)
	_, sizeAt := cell[uint64]()
	executor, executorAt := cell[uintptr]()
	var layerNorm func(input, shape, weight, bias uintptr, eps float64, out, mean, deviation, size, executor uintptr) int32
	purego.RegisterFunc(&layerNorm, l.symbol("aclnnLayerNormGetWorkspaceSize"))
	if code := layerNorm(0, normal, 0, 0, 1, y, 0, 0, sizeAt, executorAt); code != 161001 {
		t.Errorf("aclnnLayerNormGetWorkspaceSize without an input = %d, want 161001", code)
	}
	means := l.floats(0, 0)
	flat := l.floats(1, 2, 3, 4, 5, 6)
	if code := layerNorm(l.tensor(flat, 2, 3), normal, row, row, 1./3, y, l.tensor(means, 2, 1), 0, sizeAt, executorAt); code != 0 {
		t.Fatalf("aclnnLayerNormGetWorkspaceSize = %d", code)
	}
	l.ok("aclnnLayerNorm", 0, 0, *executor, 0)
	l.ok("aclrtSynchronizeStream", 0)
	factor := 1 / math.Sqrt(2./3+float64(float32(1./3))) // eps is a float32, as in the simulator
	low, high := float32(-factor*10+10), float32(factor*30+30)
	l.wantFloats(r, low, 20, high, low, 20, high)
	l.wantFloats(means, 2, 5)
	l.op("aclnnSoftmax", l.tensor(l.floats(0, 0, 0), 3), ^uintptr(0), l.tensor(r, 3))
	l.wantFloats(r, 1./3, 1./3, 1./3)

	for _, c := range []struct {
		code int
		args []uintptr
	}{
		{161001, []uintptr{0, row, alpha, y}},
		{161001, []uintptr{a, row, 0, y}},
		{161002, []uintptr{a, row, alpha, row}},
		{161002, []uintptr{a, l.tensor(p, 2), alpha, y}},
	} {
		l.want(c.code, "aclnnAddGetWorkspaceSize", append(c.args, sizeAt, executorAt)...)
	}
	l.op("aclnnRelu", l.tensor(q, 3), l.tensor(r, 3))
	l.ok("aclnnReluGetWorkspaceSize", l.tensor(q, 1<<20), l.tensor(r, 1<<20), sizeAt, executorAt)
	l.ok("aclnnRelu", 0, 0, *executor, 0)
	l.want(507035, "aclrtSynchronizeStream", 0)
	for _, x := range []uintptr{list, one, normal} {
		l.ok("aclDestroyIntArray", x)
	}
	l.ok("aclDestroyScalar", alpha)
}

func cString(s string) uintptr { return address(append([]byte(s), 0)) }

func (l *library) dataset(buffers ...[2]uintptr) uintptr {
	l.Helper()
	d := l.raw("aclmdlCreateDataset")
	for _, b := range buffers {
		buffer := l.raw("aclCreateDataBuffer", b[0], b[1])
		l.ok("aclmdlAddDatasetBuffer", d, buffer)
		l.Cleanup(func() { l.ok("aclDestroyDataBuffer", buffer) })
	}
	l.Cleanup(func() { l.ok("aclmdlDestroyDataset", d) })
	return d
}

// mlp is what the example models compute for one row.
func mlp(x []float32) []float32 {
	w1 := []float32{0.5, -1, 0.25, 2, 1, 0.5, -0.5, 0, -2, 1, 1, 0.5}
	b1, w2, b2 := []float32{0.1, 0.2, 0.3, 0.4}, []float32{1, -1, 0.5, 0.5, -1, 1, 0.25, 0.75}, []float32{0, 0.1}
	layer := func(x, w, b []float32) []float32 {
		out := make([]float32, len(b))
		for i, v := range x {
			for j := range out {
				out[j] += float32(v * w[i*len(b)+j])
			}
		}
		for j := range out {
			out[j] += b[j]
		}
		return out
	}
	h := layer(x, w1, b1)
	for i := range h {
		h[i] = max(h[i], 0)
	}
	z := layer(h, w2, b2)
	top := float64(max(z[0], z[1]))
	p, q := math.Exp(float64(z[0])-top), math.Exp(float64(z[1])-top)
	return []float32{float32(p / (p + q)), float32(q / (p + q))}
}

func TestModels(t *testing.T) {
	l := device(t)
	id, idAt := cell[uint32]()
	l.want(145001, "aclmdlLoadFromFile", cString("testdata/mlp.om"), idAt)
	l.ok("aclInit", 0)
	defer l.call("aclFinalize")
	l.want(145002, "aclmdlLoadFromFile", cString("testdata/none.om"), idAt)
	l.want(145006, "aclmdlLoadFromFile", cString("testdata/model.c"), idAt)
	l.ok("aclmdlLoadFromFile", cString("testdata/mlp.om"), idAt)
	desc := l.raw("aclmdlCreateDesc")
	l.want(145003, "aclmdlGetDesc", desc, 99)
	l.ok("aclmdlGetDesc", desc, uintptr(*id))
	if n, size := l.raw("aclmdlGetNumInputs", desc), l.raw("aclmdlGetInputSizeByIndex", desc, 0); n != 1 || size != 24 {
		t.Errorf("%d inputs, the first has %d B", n, size)
	}
	rows := [][]float32{{1, 2, 3}, {-1, 0.5, 2}}
	x, y := l.floats(append(rows[0], rows[1]...)...), l.floats(0, 0, 0, 0)
	in, out := l.dataset([2]uintptr{x, 24}), l.dataset([2]uintptr{y, 16})
	want := append(mlp(rows[0]), mlp(rows[1])...)
	l.ok("aclmdlExecute", uintptr(*id), in, out)
	l.wantFloats(y, want...)
	l.ok("aclrtMemset", y, 16, 0, 16)
	l.ok("aclmdlExecuteAsync", uintptr(*id), in, out, 0)
	l.ok("aclrtSynchronizeStream", 0)
	l.wantFloats(y, want...)
	l.want(100000, "aclmdlExecute", uintptr(*id), l.dataset(), out)
	l.want(545000, "aclmdlExecute", uintptr(*id), l.dataset([2]uintptr{x, 12}), out)
	l.ok("aclmdlUnload", uintptr(*id))
	l.want(145003, "aclmdlUnload", uintptr(*id))

	l.ok("aclmdlLoadFromFile", cString("testdata/mlp_batch.om"), idAt)
	l.ok("aclmdlGetDesc", desc, uintptr(*id))
	index, indexAt := cell[uintptr]()
	l.ok("aclmdlGetInputIndexByName", desc, cString("ascend_mbatch_shape_data"), indexAt)
	shape := l.make("aclrtMalloc", 8, 0)
	in = l.dataset([2]uintptr{x, 24}, [2]uintptr{shape, 8})
	l.want(145013, "aclmdlExecute", uintptr(*id), in, out)
	l.want(145013, "aclmdlSetDynamicBatchSize", uintptr(*id), in, *index, 3)
	l.want(100000, "aclmdlSetDynamicBatchSize", uintptr(*id), in, *index, 0)
	l.ok("aclmdlSetDynamicBatchSize", uintptr(*id), in, *index, 2)
	l.ok("aclrtMemset", y, 16, 0, 16)
	l.ok("aclmdlExecute", uintptr(*id), in, out)
	l.wantFloats(y, want...)
	l.ok("aclmdlUnload", uintptr(*id))
	l.ok("aclmdlDestroyDesc", desc)
}
