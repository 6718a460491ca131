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
			if got := typ.Sum(b); got != Number(sum) {
				t.Errorf("%v: Sum of %d = %v, want %v", typ, n, got, sum)
			}
			if gotLo, gotHi := typ.MinMax(b); gotLo != Number(lo) || gotHi != Number(hi) {
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
		if s := typ.Sum(b); !math.IsNaN(s.Number) || !math.IsNaN(lo.Number) || !math.IsNaN(hi.Number) {
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

// Whole numbers are added, compared and told apart exactly, whatever their size.
func TestBulkExact(t *testing.T) {
	put := func(typ DType, texts ...string) []byte {
		b := make([]byte, len(texts)*typ.Size())
		for i, text := range texts {
			if problem := typ.Store(b, i, Value{Text: text}); problem != "" {
				t.Fatal(problem)
			}
			if got := typ.Text(b, i); got != text {
				t.Errorf("%v: %s is read as %s", typ, text, got)
			}
		}
		return b
	}
	const most, least = "9223372036854775807", "-9223372036854775808"
	for _, c := range []struct {
		typ         DType
		texts       []string
		sum, lo, hi string
	}{
		{Int64, []string{"9007199254740993"}, "9007199254740993", "9007199254740993", "9007199254740993"},
		{Int64, []string{most, least, "1"}, "", least, most},
		{Int64, []string{most, most, most}, "27670116110564327421", most, most},
		{Int64, []string{least, least, least}, "-27670116110564327424", least, least},
		{Int64, []string{"-9007199254740993", "1"}, "", "-9007199254740993", ""},
		{Uint64, []string{"18446744073709551615", "18446744073709551615"}, "36893488147419103230", "18446744073709551615", "18446744073709551615"},
		{Uint64, []string{"9007199254740992"}, "", "", ""},
	} {
		b := put(c.typ, c.texts...)
		lo, hi := c.typ.MinMax(b)
		if s := c.typ.Sum(b); s.Text != c.sum || lo.Text != c.lo || hi.Text != c.hi {
			t.Errorf("%v %v: sum %v, min %v, max %v", c.typ, c.texts, s, lo, hi)
		}
	}
	big := put(Int64, "9007199254740993")
	if got := Difference(Int64, put(Int64, "1152921504606847000"), Float64, float64Bytes(1<<60), 1, 0); got != 0 {
		t.Error("2^60 is taken for the number that its shortest text looks like")
	}
	for _, c := range []struct {
		typ       DType
		with      []byte
		tolerance float64
		want      int
	}{
		{Int64, put(Int64, "9007199254740992"), 0.9, 0},
		{Int64, put(Int64, "9007199254740992"), 1, -1},
		{Uint64, put(Uint64, "9007199254740993"), 0, -1},
		{Uint64, put(Uint64, "18446744073709551615"), 1.9e19, -1},
		{Uint64, put(Uint64, "18446744073709551615"), 1e18, 0},
		{Float64, float64Bytes(1 << 53), 0, 0},
		{Float64, float64Bytes(1 << 53), 1, -1},
		{Float64, float64Bytes(math.NaN()), math.Inf(1), 0},
		{Float64, float64Bytes(math.Inf(1)), 1e300, 0},
	} {
		if got := Difference(Int64, big, c.typ, c.with, 1, c.tolerance); got != c.want {
			t.Errorf("%v %s with tolerance %v: %d, want %d", c.typ, c.typ.Text(c.with, 0), c.tolerance, got, c.want)
		}
	}
}

func float64Bytes(v float64) []byte {
	b := make([]byte, 8)
	Float64.Put(b, 0, v)
	return b
}
