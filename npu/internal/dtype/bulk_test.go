package dtype

import (
	"math"
	"math/rand/v2"
	"testing"
)

// TestBulk compares the bulk operations with the element-wise reference on every type.
func TestBulk(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, typ := range All() {
		for _, n := range []int{0, 1, 7, 8, 9, 1023, 1024, 1025, 5000} {
			b := make([]byte, n*typ.Size())
			for i := range n {
				typ.Put(b, i, float64(r.IntN(200)))
				if typ == Bool {
					typ.Put(b, i, float64(r.IntN(2)))
				}
			}
			sum, lo, hi := 0.0, math.Inf(1), math.Inf(-1)
			typ.Each(b, func(v float64) { sum, lo, hi = sum+v, min(lo, v), max(hi, v) })
			if got := typ.Sum(b); got != sum {
				t.Errorf("%v: Sum of %d = %v, want %v", typ, n, got, sum)
			}
			if gotLo, gotHi := typ.MinMax(b); gotLo != lo || gotHi != hi {
				t.Errorf("%v: MinMax of %d = %v, %v, want %v, %v", typ, n, gotLo, gotHi, lo, hi)
			}
			c := append([]byte(nil), b...)
			if n > 5 {
				typ.Put(c, 5, 1-typ.Get(c, 5))
				if i := Difference(typ, b, typ, c, n, 0.5); typ.Get(b, 5) != typ.Get(c, 5) && i != 5 {
					t.Errorf("%v: Difference = %d, want 5", typ, i)
				}
			}
			if i := Difference(typ, b, typ, b, n, 0); i != -1 {
				t.Errorf("%v: Difference with itself = %d", typ, i)
			}
		}
	}
}

func TestBulkNaN(t *testing.T) {
	for _, typ := range []DType{Float32, Float16, BFloat16, Float64} {
		b := make([]byte, 20*typ.Size())
		typ.Put(b, 13, math.NaN())
		lo, hi := typ.MinMax(b)
		if s := typ.Sum(b); !math.IsNaN(s) || !math.IsNaN(lo) || !math.IsNaN(hi) {
			t.Errorf("%v: with NaN: sum %v, min %v, max %v", typ, s, lo, hi)
		}
		if i := Difference(typ, b, Float64, make([]byte, 160), 20, 1); i != 13 {
			t.Errorf("%v: Difference = %d, want 13", typ, i)
		}
		if i := Difference(typ, b, typ, b, 20, 0); i != -1 {
			t.Errorf("%v: NaN is not close to NaN: %d", typ, i)
		}
	}
}
