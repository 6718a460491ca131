//go:build linux && (amd64 || arm64)

package acl_test

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"testing"
	"unsafe"

	"npulua/npu/acl"
	"npulua/npu/internal/driver"
	"npulua/npu/internal/dtype"
	"npulua/npu/sim/kernel"
)

// operatorSizes are the scalars of a launch, for kernels that take more than a number of elements.
var operatorSizes = map[string][]float64{
	"axpy":       {1.7, 1000},
	"scale":      {-0.3, 1000},
	"softmax":    {7, 33},
	"layer_norm": {5, 40, 1e-5},
	"matmul":     {5, 70, 30},
	"transpose":  {13, 21},
}

// operatorKernels are the kernels that operators compute.
var operatorKernels = []string{
	"vector_add", "vector_sub", "vector_mul", "axpy", "scale", "relu", "exp", "sigmoid", "cast", "softmax", "layer_norm",
	"reduce_sum", "reduce_max", "argmax", "matmul", "transpose",
}

// board is a device of the stand-in with a stream.
type board struct {
	*testing.T
	*acl.Driver
	lib    *fake
	stream driver.Stream
}

func openBoard(t *testing.T) *board {
	t.Helper()
	d, lib := opened(t)
	b := &board{T: t, Driver: d, lib: lib}
	var err error
	b.stream, err = d.CreateStream(driver.StreamConfig{})
	b.must(err)
	t.Cleanup(func() {
		b.must(d.ResetDevice(0, true))
		b.must(d.Finalize())
		if n := lib.get("live:memory"); n != 0 {
			t.Errorf("%d B of device memory are left", n)
		}
	})
	return b
}

func (b *board) must(err error) {
	b.Helper()
	if err != nil {
		b.Fatal(err)
	}
}

func (b *board) want(code driver.Code, text string, err error) {
	b.Helper()
	if !errors.Is(err, code) || !strings.Contains(err.Error(), text) {
		b.Errorf("got %v, want code %d and %q", err, int(code), text)
	}
}

func (b *board) load(name string, types ...dtype.DType) driver.Kernel {
	b.Helper()
	k, _ := kernel.Find(name)
	sig, err := driver.ParseSignature(k.Signature)
	b.must(err)
	h, err := b.LoadKernel(driver.KernelSource{Name: name, Signature: sig, Types: types})
	b.must(err)
	return h
}

// put is device memory with those bytes.
func (b *board) put(data []byte) driver.Ptr {
	b.Helper()
	p, err := b.Malloc(int64(len(data)), 0)
	b.must(err)
	var pin runtime.Pinner // the stack moves when it grows
	pin.Pin(&data[0])
	defer pin.Unpin()
	b.must(b.Memcpy(p, int64(len(data)), driver.Ptr(uintptr(unsafe.Pointer(&data[0]))), int64(len(data)), driver.HostToDevice))
	return p
}

func (b *board) get(p driver.Ptr, size int) []byte {
	b.Helper()
	data := make([]byte, size)
	var pin runtime.Pinner
	pin.Pin(&data[0])
	defer pin.Unpin()
	b.must(b.Memcpy(driver.Ptr(uintptr(unsafe.Pointer(&data[0]))), int64(size), p, int64(size), driver.DeviceToHost))
	return data
}

func (b *board) launch(s driver.Stream, k driver.Kernel, words ...uint64) error {
	return b.Enqueue(&driver.Command{Op: driver.OpLaunch, Stream: s, Kernel: k, Blocks: 3, Args: words})
}

func (b *board) sync() {
	b.Helper()
	b.must(b.SynchronizeStream(b.stream, -1))
}

// computation is a launch of a kernel on random operands: what hardware is given, and what the simulator makes of it.
type computation struct {
	words []uint64
	own   *kernel.Launch
}

func (b *board) computation(k *kernel.Kernel, types []dtype.DType, random *rand.Rand) computation {
	b.Helper()
	sig, err := driver.ParseSignature(k.Signature)
	b.must(err)
	l := &kernel.Launch{Blocks: 3, Types: types}
	values := operatorSizes[k.Name]
	if values == nil {
		values = []float64{1000}
	}
	for _, p := range sig.Params {
		typ := p.Type
		if i := slices.Index(sig.TypeVars, p.TypeVar); i >= 0 {
			typ = types[i]
		}
		a := kernel.Arg{Type: typ}
		if !p.Pointer {
			a.Word, values = typ.Bits(values[0]), values[1:]
		}
		l.Args = append(l.Args, a)
	}
	b.must(k.Plan(l))
	c := computation{own: l}
	for i := range l.Args {
		a := &l.Args[i]
		if !sig.Params[i].Pointer {
			c.words = append(c.words, a.Word)
			continue
		}
		a.Mem = make([]byte, int(l.Elems[i])*a.Type.Size())
		for n := range int(l.Elems[i]) {
			v := random.NormFloat64() * 3
			switch {
			case a.Type == dtype.Bool:
				v = float64(random.IntN(2))
			case !a.Type.IsFloat():
				v = float64(random.IntN(100))
			}
			a.Type.Put(a.Mem, n, v)
		}
		c.words = append(c.words, uint64(b.put(a.Mem)), uint64(len(a.Mem)))
	}
	return c
}

// result is what the simulator's kernel gives.
func (c computation) result(k *kernel.Kernel) []byte {
	for block := range c.own.Blocks {
		k.Block(c.own, block)
	}
	if k.Finish != nil {
		k.Finish(c.own)
	}
	return c.own.Args[0].Mem
}

func TestOperators(t *testing.T) {
	b := openBoard(t)
	random := rand.New(rand.NewPCG(3, 4))
	for _, name := range operatorKernels {
		k, ok := kernel.Find(name)
		if !ok {
			t.Fatalf("no kernel %s", name)
		}
		for _, types := range k.Types {
			c := b.computation(k, types, random)
			h := b.load(name, types...)
			b.must(b.launch(b.stream, h, c.words...))
			b.sync()
			got, want := b.get(driver.Ptr(c.words[0]), len(c.own.Args[0].Mem)), c.result(k)
			if !bytes.Equal(got, want) {
				t.Errorf("%s %v: another result than the simulator's", name, types)
			}
			b.must(b.UnloadKernel(h))
			for i := range c.own.Args {
				if c.own.Args[i].Mem != nil {
					b.must(b.Free(driver.Ptr(c.words[2*i])))
				}
			}
		}
	}
}

// A kernel of the same name and another signature is the program's own.
func TestOperatorsBySignature(t *testing.T) {
	b := openBoard(t)
	sig, err := driver.ParseSignature("out float32* y, uint32 n")
	b.must(err)
	_, err = b.LoadKernel(driver.KernelSource{Name: "relu", Signature: sig})
	b.want(driver.CodeRtParamInvalid, `kernel "relu" has no binary`, err)
}

func TestOperatorRefusals(t *testing.T) {
	b := openBoard(t)
	f32 := dtype.Float32
	p := uint64(b.put(make([]byte, 64)))
	for _, c := range []struct {
		kernel string
		words  []uint64
		want   string
	}{
		{"relu", []uint64{p, 64, p, 64, 17}, `kernel "relu": argument "y": out of range: 68 B used, the operand has 64 B`},
		{"vector_add", []uint64{p, 64, p, 64, p, 32, 16}, `argument "b": out of range: 64 B used, the operand has 32 B`},
		{"matmul", []uint64{p, 64, p, 64, p, 64, 1<<32 - 1, 1<<32 - 1, 2}, `argument "c": out of range`},
		{"softmax", []uint64{p, 64, p, 64, 4, 5}, `argument "y": out of range: 80 B used`},
		{"reduce_sum", []uint64{p, 64, p, 64, 0}, `kernel "reduce_sum": n is 0, want at least 1`},
		{"reduce_max", []uint64{p, 64, p, 64, 0}, "n is 0"},
		{"argmax", []uint64{p, 64, p, 64, 0}, "n is 0"},
		{"layer_norm", []uint64{p, 64, p, 64, p, 64, p, 64, 4, 4, f32.Bits(-1)}, "eps is -1, want a finite number"},
	} {
		b.must(b.launch(b.stream, b.load(c.kernel, f32), c.words...))
		b.want(driver.CodeVectorException, c.want, b.SynchronizeStream(b.stream, -1))
		b.sync()
	}
	// Nothing to compute is no error; a product over nothing is zero.
	b.must(b.launch(b.stream, b.load("relu", f32), p, 64, p, 64, 0))
	y := b.put(bytes.Repeat([]byte{1}, 64))
	b.must(b.launch(b.stream, b.load("matmul", f32), uint64(y), 64, p, 64, p, 64, 4, 4, 0))
	b.sync()
	if got := b.get(y, 64); !bytes.Equal(got, make([]byte, 64)) {
		t.Errorf("matmul with k = 0 gives %v", got)
	}
}

// Many launches leave neither tensors nor memory behind; a workspace that grows does so a few times.
func TestOperatorsLeaveNothing(t *testing.T) {
	b := openBoard(t)
	f32 := dtype.Float32
	p := uint64(b.put(make([]byte, 4*4096)))
	names := []string{"softmax", "layer_norm", "matmul", "reduce_sum", "transpose"}
	words := [][]uint64{{p, 4096, p, 4096, 4, 4}, {p, 4096, p, 4096, p, 4096, p, 4096, 4, 4, 0}, {p, 4096, p, 4096, p, 4096, 4, 4, 4}, {p, 4096, p, 4096, 4}, {p, 4096, p, 4096, 4, 4}}
	var kernels []driver.Kernel
	for _, name := range names {
		kernels = append(kernels, b.load(name, f32))
	}
	objects := func() (n int64) {
		for _, kind := range []string{"tensors", "scalars", "lists", "executors"} {
			n += b.lib.get("live:" + kind)
		}
		return n
	}
	before := b.lib.get("live:memory")
	s, err := b.CreateStream(driver.StreamConfig{})
	b.must(err)
	allocations := b.lib.get("calls:aclrtMalloc")
	for range 300 {
		for i := range kernels {
			b.must(b.launch(s, kernels[i], words[i]...))
		}
	}
	b.must(b.SynchronizeStream(s, -1))
	if n := b.lib.get("calls:aclrtMalloc") - allocations; n < 2 || n > 4 {
		t.Errorf("%d allocations for workspaces of up to 4096 B", n)
	}
	if n := objects(); n != 0 {
		t.Errorf("%d objects are left", n)
	}
	b.must(b.DestroyStream(s, false))
	if n := b.lib.get("live:memory"); n != before {
		t.Errorf("%d B of device memory, %d before", n, before)
	}
	b.lib.set("fail:aclnnSoftmax", 361001)
	b.want(361001, "", b.launch(b.stream, kernels[0], words[0]...))
	b.lib.set("fail:aclnnSoftmax", 0)
	b.lib.set("fail:aclnnSoftmaxGetWorkspaceSize", 161002)
	b.want(161002, "", b.launch(b.stream, kernels[0], words[0]...))
	b.lib.set("fail:aclnnSoftmaxGetWorkspaceSize", 0)
}

// Operators that are recorded keep memory of their own, for replays beside other work of the stream, and get new
// arguments.
func TestOperatorsInGraphs(t *testing.T) {
	b := openBoard(t)
	f32 := dtype.Float32
	floats := func(list ...float64) []byte {
		mem := make([]byte, 4*len(list))
		for i, v := range list {
			f32.Put(mem, i, v)
		}
		return mem
	}
	x, z, y := b.put(floats(1, 2, 3, 4)), b.put(floats(5, 6, 7, 9)), b.put(floats(0, 0, 0, 0))
	sum, double := b.load("reduce_sum", f32), b.load("vector_add", f32)
	memory := b.lib.get("live:memory")
	b.must(b.BeginCapture(b.stream))
	b.must(b.launch(b.stream, double, uint64(y), 16, uint64(x), 16, uint64(x), 16, 4))
	b.must(b.launch(b.stream, sum, uint64(y), 16, uint64(y), 16, 4))
	g, err := b.EndCapture(b.stream)
	b.must(err)
	replay := func(want float64) {
		t.Helper()
		b.must(b.Enqueue(&driver.Command{Op: driver.OpReplay, Stream: b.stream, Graph: g}))
		b.sync()
		if got := f32.Get(b.get(y, 16), 0); got != want {
			t.Errorf("the sum is %v, want %v", got, want)
		}
	}
	b.must(b.DestroyStream(b.stream, false))
	b.stream, err = b.CreateStream(driver.StreamConfig{})
	b.must(err)
	replay(20)
	replay(20)
	b.must(b.UpdateGraph(g, 0, []uint64{uint64(y), 16, uint64(z), 16, uint64(x), 16, 4}))
	replay(37)
	b.must(b.UpdateGraph(g, 1, []uint64{uint64(y), 16, uint64(y), 16, 2}))
	replay(14)
	b.want(driver.CodeVectorException, "out of range", b.UpdateGraph(g, 1, []uint64{uint64(y), 16, uint64(y), 16, 5}))
	replay(14)
	if n := b.lib.get("live:memory"); n <= memory {
		t.Errorf("the recorded sum has no workspace: %d B, %d before", n, memory)
	}
	b.must(b.DestroyGraph(g))
	if n := b.lib.get("live:memory"); n != memory {
		t.Errorf("%d B of device memory, %d before the graph", n, memory)
	}
}
