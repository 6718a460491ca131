package dtype

import (
	"encoding/binary"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
)

func TestText(t *testing.T) {
	tests := []struct {
		typ  DType
		v    float64
		want string
	}{
		{Int8, -128, "-128"},
		{Uint8, 255, "255"},
		{Bool, 1, "1"},
		{Int16, -32768, "-32768"},
		{Uint16, 65535, "65535"},
		{Int32, 1000000, "1000000"},
		{Int32, 1234567, "1234567"},
		{Int32, math.MinInt32, "-2147483648"},
		{Int32, math.MaxInt32, "2147483647"},
		{Uint32, math.MaxUint32, "4294967295"},
		{Int64, -1 << 53, "-9007199254740992"},
		{Uint64, 1 << 53, "9007199254740992"},
		{Float64, 0.1, "0.1"},
		{Float64, math.Copysign(0, -1), "-0"},
		{Float64, 5e-324, "5e-324"},
		{Float64, math.Inf(-1), "-inf"},
		{Float64, math.NaN(), "nan"},
		{Float32, 0.1, "0.1"},
		{Float32, 16777216, "1.6777216e+07"},
		{Float32, 0x1p-149, "1e-45"},
		{Float16, 0.1, "0.1"},
		{Float16, 65504, "65500"},
		{Float16, 0x1p-24, "6e-08"},
		{Float16, 0x1p-6, "0.01563"}, // 0.01562 is as near, but nearer to the element below
		{Float16, -0x1p-6, "-0.01563"},
		{BFloat16, 0.1, "0.1"},
		{BFloat16, 0x1.fep127, "3.39e+38"},
	}
	for _, tt := range tests {
		b := make([]byte, 2*tt.typ.Size())
		tt.typ.Put(b, 1, tt.v)
		if got := tt.typ.Text(b, 1); got != tt.want {
			t.Errorf("%v: %v is %s, want %s", tt.typ, tt.v, got, tt.want)
		}
	}
}

// Every element of 8 and 16 bits, and many of the others, is again what its text is read as; whole numbers are digits.
func TestTextReadsBack(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, typ := range All() {
		try := func(bits uint64) {
			var b, back [8]byte
			binary.LittleEndian.PutUint64(b[:], bits)
			n := typ.Size()
			text := typ.Text(b[:], 0)
			v := Value{Text: text}
			if !typ.Wide() {
				f, err := strconv.ParseFloat(text, 64)
				if err != nil {
					t.Fatalf("%v: %x is %q", typ, b[:n], text)
				}
				v = Number(f)
			}
			if !typ.IsFloat() && strings.Trim(strings.TrimPrefix(text, "-"), "0123456789") != "" {
				t.Errorf("%v: %x is %q, which is not digits", typ, b[:n], text)
			}
			problem := typ.Store(back[:], 0, v)
			if problem != "" || string(back[:n]) != string(b[:n]) && !math.IsNaN(typ.Get(b[:], 0)) {
				t.Errorf("%v: %x is %q, which is read as %x (%s)", typ, b[:n], text, back[:n], problem)
			}
		}
		size := 8 * typ.Size()
		if typ == Bool {
			size = 1
		}
		if size <= 16 {
			for i := range uint64(1) << size {
				try(i)
			}
			continue
		}
		for i := range size {
			try(1 << i)
			try(1<<i - 1)
			try(-(1 << i))
		}
		for n := uint64(1); n <= 1e19; n *= 10 {
			try(n)
			try(-n)
			if n == 1e19 {
				break
			}
		}
		for range 20000 {
			try(r.Uint64() >> r.IntN(64))
		}
	}
}

// No text of a float of 16 bits could be shorter: no other number of fewer digits stands for the element.
func TestTextShortest(t *testing.T) {
	for _, typ := range []DType{Float16, BFloat16} {
		for i := range uint64(1) << 15 {
			v := typ.FromBits(i)
			if math.IsInf(v, 0) || math.IsNaN(v) || v == 0 {
				continue
			}
			var b [8]byte
			binary.LittleEndian.PutUint64(b[:], i)
			text := typ.Text(b[:], 0)
			mantissa, _, _ := strings.Cut(text, "e")
			digits := len(strings.Trim(strings.Replace(mantissa, ".", "", 1), "0"))
			if digits == 1 {
				continue
			}
			// The neighbours of v with a digit less, below and above.
			unit := math.Pow10(int(math.Floor(math.Log10(v))) - digits + 2)
			for _, n := range []float64{math.Floor(v / unit), math.Ceil(v / unit)} {
				short, _ := strconv.ParseFloat(strconv.FormatFloat(n*unit, 'e', digits-2, 64), 64)
				if typ.Bits(short) == i {
					t.Errorf("%v: %v is %s, %v is shorter", typ, v, text, short)
				}
			}
		}
	}
}
