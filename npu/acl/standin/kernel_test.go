//go:build linux

package standin

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"npulua/npu/internal/driver"
	"npulua/npu/internal/dtype"
	"npulua/npu/sim/kernel"
)

// scalars are the arguments after the pointers, for kernels that do not take a number of elements.
var scalars = map[string][]float64{
	"axpy":        {1.7, 1000},
	"scale":       {-0.3, 1000},
	"bias_add":    {7, 33},
	"softmax":     {7, 33},
	"layer_norm":  {5, 40, 1e-5},
	"reduce_sum":  {10001},
	"matmul":      {5, 70, 300},
	"matmul_int8": {5, 70, 300},
	"transpose":   {13, 21},
	"conv2d":      {2, 3, 9, 8, 4, 3, 2, 2, 1},
	"resize":      {7, 9, 12, 5, 3},
	"normalize":   {6, 7, 3, 0.45, 0.22},
	"rgb_to_gray": {11, 13, 4},
	"sobel":       {17, 23},
}

// The kernels give what the simulator's give, bit by bit, for numbers without NaN.
func TestKernelsAsInSimulator(t *testing.T) {
	l := device(t)
	random := rand.New(rand.NewPCG(1, 2))
	for _, k := range kernel.All() {
		if k.Name == "spin" {
			continue
		}
		bindings := k.Types
		if bindings == nil {
			bindings = [][]dtype.DType{nil}
		}
		for _, types := range bindings {
			name := k.Name
			for _, x := range types {
				name += "_" + x.String()
			}
			_, f := l.binary(name)
			sig, err := driver.ParseSignature(k.Signature)
			if err != nil {
				t.Fatal(err)
			}
			launch := &kernel.Launch{Blocks: 3, Types: types}
			values := scalars[k.Name]
			if values == nil {
				values = []float64{1000}
			}
			for _, p := range sig.Params {
				typ := p.Type
				for i, v := range sig.TypeVars {
					if v == p.TypeVar {
						typ = types[i]
					}
				}
				arg := kernel.Arg{Type: typ}
				if !p.Pointer {
					arg.Word = typ.Bits(values[0])
					values = values[1:]
				}
				launch.Args = append(launch.Args, arg)
			}
			if err := k.Plan(launch); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			var args []uint64
			for i := range launch.Args {
				a := &launch.Args[i]
				if !sig.Params[i].Pointer {
					args = append(args, a.Word)
					continue
				}
				a.Mem = make([]byte, int(launch.Elems[i])*a.Type.Size())
				for n := range int(launch.Elems[i]) {
					v := random.NormFloat64() * 3
					switch {
					case a.Type == dtype.Uint8:
						v = float64(random.IntN(256))
					case !a.Type.IsFloat():
						v = float64(random.IntN(120) - 40)
					}
					if a.Type == dtype.Bool || a.Type == dtype.Uint16 || a.Type == dtype.Uint32 || a.Type == dtype.Uint64 {
						v = float64(random.IntN(2))
					}
					a.Type.Put(a.Mem, n, v)
				}
				p := l.make("aclrtMalloc", uintptr(len(a.Mem)), 0)
				l.ok("aclrtMemcpy", p, uintptr(len(a.Mem)), address(a.Mem), uintptr(len(a.Mem)), kinds)
				args = append(args, uint64(p))
			}
			l.launch(f[0], 0, args...)
			if code := l.call("aclrtSynchronizeStream", 0); code != 0 {
				t.Errorf("%s: %d", name, code)
				continue
			}
			for block := range launch.Blocks {
				k.Block(launch, block)
			}
			if k.Finish != nil {
				k.Finish(launch)
			}
			got := make([]byte, len(launch.Args[0].Mem))
			l.ok("aclrtMemcpy", address(got), uintptr(len(got)), uintptr(args[0]), uintptr(len(got)), kinds)
			if !bytes.Equal(got, launch.Args[0].Mem) {
				n := 0
				for launch.Args[0].Mem[n] == got[n] {
					n++
				}
				t.Errorf("%s: differs from byte %d of %d on", name, n, len(got))
			}
		}
	}
}
