package kernel

import (
	"bytes"
	"fmt"
	"math"
	"math/rand"
	"strings"
	"sync"
	"testing"
	"unicode"

	"npulua/npu/internal/driver"
	"npulua/npu/internal/dtype"
)

// newLaunch is a launch of k after Plan, without memory.
func newLaunch(k *Kernel, blocks int, types []dtype.DType, scalars []float64) (*Launch, error) {
	sig, err := driver.ParseSignature(k.Signature)
	if err != nil {
		return nil, err
	}
	l := &Launch{Blocks: blocks, Types: types}
	for _, p := range sig.Params {
		a := Arg{Type: p.Type}
		for i, v := range sig.TypeVars {
			if p.TypeVar == v {
				a.Type = types[i]
			}
		}
		if !p.Pointer {
			a.Word = a.Type.Bits(scalars[0])
			scalars = scalars[1:]
		}
		l.Args = append(l.Args, a)
	}
	return l, k.Plan(l)
}

// allocate gives each operand exactly the memory that it needs, offset bytes beyond an aligned address.
func (l *Launch) allocate(offset int) {
	for i, n := range l.Elems {
		size := int(n) * l.Args[i].Type.Size()
		l.Args[i].Mem = make([]byte, size+16)[offset : offset+size : offset+size]
	}
}

// run computes the blocks on several goroutines.
func (k *Kernel) run(l *Launch) {
	var wg sync.WaitGroup
	const workers = 4
	for w := range workers {
		wg.Go(func() {
			for b := w; b < l.Blocks; b += workers {
				k.Block(l, b)
			}
		})
	}
	wg.Wait()
	if k.Finish != nil {
		k.Finish(l)
	}
}

func numbersOf(a Arg) []float64 {
	out := make([]float64, len(a.Mem)/a.Type.Size())
	for i := range out {
		out[i] = a.Type.Get(a.Mem, i)
	}
	return out
}

// fill puts random elements in a: floats from -spread to spread, integers of the whole range.
func fill(a Arg, r *rand.Rand, spread float64) {
	if !a.Type.IsFloat() {
		r.Read(a.Mem)
		return
	}
	for i := range len(a.Mem) / a.Type.Size() {
		a.Type.Put(a.Mem, i, spread*(2*r.Float64()-1))
	}
}

// epsilon is the error allowed of a result near 1.
var epsilon = map[dtype.DType]float64{dtype.Float32: 1e-6, dtype.Float16: 1e-3, dtype.BFloat16: 8e-3, dtype.Float64: 0}

func near(t dtype.DType, got, want, tolerance float64) bool {
	if got == want || math.IsNaN(got) && math.IsNaN(want) {
		return true
	}
	return math.Abs(got-want) <= tolerance*epsilon[t]*(1+math.Abs(want))
}

func typesOf(k *Kernel) [][]dtype.DType {
	if k.Types == nil {
		return [][]dtype.DType{nil}
	}
	return k.Types
}

// TestKernels compares every kernel, on every type, with its reference; the bytes must be the same
// for every number of blocks and for operands that are not aligned.
func TestKernels(t *testing.T) {
	for _, c := range cases {
		k, ok := Find(c.name)
		if !ok {
			t.Errorf("no kernel %q", c.name)
			continue
		}
		for _, types := range typesOf(k) {
			t.Run(fmt.Sprint(c.name, types), func(t *testing.T) {
				t.Parallel()
				for _, s := range c.scalars {
					checkCase(t, k, c, types, s)
				}
			})
		}
	}
}

func checkCase(t *testing.T, k *Kernel, c kernelCase, types []dtype.DType, scalars []float64) {
	t.Helper()
	var first []byte
	for i, blocks := range []int{1, 2, 7, 64, 1500, 3} {
		l, err := newLaunch(k, blocks, types, scalars)
		if err != nil {
			t.Fatalf("%s%v: %v", c.name, scalars, err)
		}
		l.allocate(map[bool]int{true: 1}[i == 5])
		r := rand.New(rand.NewSource(int64(len(c.name))))
		var in [][]float64
		for a := range l.Args {
			fill(l.Args[a], r, max(c.spread, 1))
			in = append(in, numbersOf(l.Args[a]))
		}
		k.run(l)
		if len(l.Elems) == 0 || l.Elems[0] == 0 {
			continue
		}
		if i > 0 {
			if !bytes.Equal(first, l.Args[0].Mem) {
				t.Errorf("%s%v: result on %d blocks differs from that on 1", c.name, scalars, blocks)
			}
			continue
		}
		first = l.Args[0].Mem
		out := l.Args[0].Type
		want := c.want(in, scalars, out)
		if int64(len(want)) != l.Elems[0] {
			t.Fatalf("%s%v: %d results, want %d", c.name, scalars, l.Elems[0], len(want))
		}
		for j, got := range numbersOf(l.Args[0]) {
			w := want[j]
			if out.IsFloat() {
				w = out.FromBits(out.Bits(w))
			}
			if !near(out, got, w, max(c.tolerance, 1)) {
				t.Fatalf("%s%v: result %d = %v, want %v", c.name, scalars, j, got, want[j])
			}
		}
	}
}

// TestInPlace checks the kernels whose result may be an input.
func TestInPlace(t *testing.T) {
	for _, c := range []struct {
		name    string
		scalars []float64
	}{
		{"vector_add", []float64{1001}}, {"vector_sub", []float64{1001}}, {"vector_mul", []float64{1001}},
		{"axpy", []float64{1.5, 1001}}, {"scale", []float64{1.5, 1001}}, {"relu", []float64{1001}},
		{"exp", []float64{1001}}, {"sigmoid", []float64{1001}}, {"softmax", []float64{7, 143}}, {"layer_norm", []float64{7, 143, 0.01}},
	} {
		k, _ := Find(c.name)
		for _, types := range k.Types {
			var results [2][]byte
			for i := range results {
				l, err := newLaunch(k, 7, types, c.scalars)
				if err != nil {
					t.Fatal(err)
				}
				l.allocate(0)
				for a := 1; a < len(l.Args); a++ {
					fill(l.Args[a], rand.New(rand.NewSource(1)), 1)
				}
				copy(l.Args[0].Mem, l.Args[1].Mem)
				if i == 1 {
					l.Args[0].Mem = l.Args[1].Mem
				}
				k.run(l)
				results[i] = l.Args[0].Mem
			}
			if !bytes.Equal(results[0], results[1]) {
				t.Errorf("%s%v: in place differs", c.name, types)
			}
		}
	}
}

func TestTable(t *testing.T) {
	tested, seen := map[string]bool{}, map[string]bool{}
	for _, c := range cases {
		tested[c.name] = true
	}
	for _, k := range All() {
		if seen[k.Name] {
			t.Errorf("%s: two rows", k.Name)
		}
		seen[k.Name] = true
		if !tested[k.Name] {
			t.Errorf("%s: no row in the table of tests", k.Name)
		}
		if k.Plan == nil || k.Block == nil {
			t.Errorf("%s: no Plan or no Block", k.Name)
		}
		if !strings.HasSuffix(k.Doc, ".") || strings.Contains(k.Doc, ". ") || !unicode.IsLetter(rune(k.Doc[0])) {
			t.Errorf("%s: Doc is not one sentence: %q", k.Name, k.Doc)
		}
		sig, err := driver.ParseSignature(k.Signature)
		if err != nil {
			t.Errorf("%s: %v", k.Name, err)
			continue
		}
		if len(sig.TypeVars) > 0 != (k.Types != nil) {
			t.Errorf("%s: type variables %v, Types %v", k.Name, sig.TypeVars, k.Types)
		}
		for _, types := range k.Types {
			if len(types) != len(sig.TypeVars) {
				t.Errorf("%s: binding %v of %v", k.Name, types, sig.TypeVars)
			}
		}
		for i := 1; i < len(sig.Params); i++ {
			if sig.Params[i].Pointer && !sig.Params[i-1].Pointer {
				t.Errorf("%s: pointer %s after a scalar", k.Name, sig.Params[i].Name)
			}
		}
	}
}

func TestShare(t *testing.T) {
	for _, n := range []int64{0, 1, 5, 64, 1001, maxElements} {
		for _, blocks := range []int{1, 2, 7, 64} {
			next := int64(0)
			for b := range blocks {
				first, last := Share(n, b, blocks)
				if first != next || last-first < n/int64(blocks) || last-first > n/int64(blocks)+1 {
					t.Errorf("Share(%d, %d, %d) = %d, %d after %d", n, b, blocks, first, last, next)
				}
				next = last
			}
			if next != n {
				t.Errorf("Share(%d, *, %d) ends at %d", n, blocks, next)
			}
		}
	}
}
