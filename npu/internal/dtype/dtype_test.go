package dtype

import (
	"math"
	"testing"
)

func TestNames(t *testing.T) {
	tests := []struct {
		typ   DType
		names []string
		size  int
		float bool
	}{
		{Float32, []string{"float32", "float", "f32"}, 4, true},
		{Float16, []string{"float16", "half", "f16"}, 2, true},
		{BFloat16, []string{"bfloat16", "bf16"}, 2, true},
		{Float64, []string{"float64", "double", "f64"}, 8, true},
		{Int8, []string{"int8"}, 1, false},
		{Uint8, []string{"uint8", "byte"}, 1, false},
		{Int16, []string{"int16"}, 2, false},
		{Uint16, []string{"uint16"}, 2, false},
		{Int32, []string{"int32", "int"}, 4, false},
		{Uint32, []string{"uint32", "uint"}, 4, false},
		{Int64, []string{"int64"}, 8, false},
		{Uint64, []string{"uint64"}, 8, false},
		{Bool, []string{"bool"}, 1, false},
	}
	all := All()
	if len(all) != len(tests) {
		t.Errorf("All() = %v, want %d types", all, len(tests))
	}
	for i, tt := range tests {
		if i < len(all) && all[i] != tt.typ {
			t.Errorf("All()[%d] = %v, want %v", i, all[i], tt.typ)
		}
		for _, name := range tt.names {
			if got, ok := Parse(name); got != tt.typ || !ok {
				t.Errorf("Parse(%q) = %v, %t, want %v", name, got, ok, tt.typ)
			}
		}
		if got := tt.typ.String(); got != tt.names[0] {
			t.Errorf("String() = %q, want %q", got, tt.names[0])
		}
		if got := tt.typ.Size(); got != tt.size {
			t.Errorf("%v.Size() = %d, want %d", tt.typ, got, tt.size)
		}
		if got := tt.typ.IsFloat(); got != tt.float {
			t.Errorf("%v.IsFloat() = %t, want %t", tt.typ, got, tt.float)
		}
	}
	for _, name := range []string{"", "invalid", "Float32", "float32 ", "float8"} {
		if got, ok := Parse(name); got != Invalid || ok {
			t.Errorf("Parse(%q) = %v, %t, want none", name, got, ok)
		}
	}
	if got := Invalid.String(); got != "invalid" {
		t.Errorf("Invalid.String() = %q, want invalid", got)
	}
	if got := DType(200).String(); got != "dtype(200)" {
		t.Errorf("DType(200).String() = %q, want dtype(200)", got)
	}
}

func TestGetPut(t *testing.T) {
	inf, nan := math.Inf(1), math.NaN()
	tests := []struct {
		typ     DType
		v, want float64
		bytes   string // stored
	}{
		{Float32, 1.5, 1.5, "\x00\x00\xc0\x3f"},
		{Float32, 0.1, float64(float32(0.1)), "\xcd\xcc\xcc\x3d"},
		{Float32, 1e300, inf, "\x00\x00\x80\x7f"},
		{Float32, math.Copysign(0, -1), math.Copysign(0, -1), "\x00\x00\x00\x80"},
		{Float64, math.Pi, math.Pi, "\x18\x2d\x44\x54\xfb\x21\x09\x40"},
		{Float64, -inf, -inf, "\x00\x00\x00\x00\x00\x00\xf0\xff"},
		{Float16, 1, 1, "\x00\x3c"},
		{Float16, -2, -2, "\x00\xc0"},
		{Float16, 65504, 65504, "\xff\x7b"},
		{Float16, 65519.999, 65504, "\xff\x7b"},
		{Float16, 65520, inf, "\x00\x7c"}, // tie of the largest and the next power
		{Float16, -1e6, -inf, "\x00\xfc"},
		{Float16, inf, inf, "\x00\x7c"},
		{Float16, 0x1p-14, 0x1p-14, "\x00\x04"},       // smallest normal
		{Float16, 0x1p-24, 0x1p-24, "\x01\x00"},       // smallest subnormal
		{Float16, 0x3ffp-24, 0x3ffp-24, "\xff\x03"},   // largest subnormal
		{Float16, 0x1p-25, 0, "\x00\x00"},             // tie to even
		{Float16, 0x1.00001p-25, 0x1p-24, "\x01\x00"}, // just above it
		{Float16, 0x1.8p-24, 0x1p-23, "\x02\x00"},     // tie of 1 and 2
		{Float16, 0x2.8p-24, 0x1p-23, "\x02\x00"},     // tie of 2 and 3
		{Float16, -0x1p-26, math.Copysign(0, -1), "\x00\x80"},
		{Float16, 1 + 0x1p-11, 1, "\x00\x3c"},                     // tie of even 1.0 and odd
		{Float16, 1 + 0x3p-11, 1 + 0x1p-9, "\x02\x3c"},            // tie of odd and even
		{Float16, 1 + 0x1p-11 + 0x1p-40, 1 + 0x1p-10, "\x01\x3c"}, // float32 would make it a tie
		{Float16, 1 + 0x3p-11 - 0x1p-40, 1 + 0x1p-10, "\x01\x3c"},
		{Float16, 1e-300, 0, "\x00\x00"},
		{Float16, 1e300, inf, "\x00\x7c"},
		{BFloat16, 1, 1, "\x80\x3f"},
		{BFloat16, 1 + 0x1p-8, 1, "\x80\x3f"},
		{BFloat16, 1 + 0x3p-8, 1 + 0x1p-6, "\x82\x3f"},
		{BFloat16, 1 + 0x1p-8 + 0x1p-40, 1 + 0x1p-7, "\x81\x3f"},
		{BFloat16, -(1 + 0x3p-8 - 0x1p-40), -(1 + 0x1p-7), "\x81\xbf"},
		{BFloat16, math.MaxFloat32, inf, "\x80\x7f"},
		{BFloat16, 0x1.fep127, 0x1.fep127, "\x7f\x7f"},
		{BFloat16, 0x1.ffp127, inf, "\x80\x7f"},
		{BFloat16, 1e300, inf, "\x80\x7f"},
		{BFloat16, -inf, -inf, "\x80\xff"},
		{BFloat16, 0x1p-133, 0x1p-133, "\x01\x00"}, // smallest subnormal
		{BFloat16, 0x1p-134, 0, "\x00\x00"},
		{BFloat16, 0x1.8p-133, 0x1p-132, "\x02\x00"},
		{BFloat16, 0x1p-134 + 0x1p-160, 0x1p-133, "\x01\x00"},
		{Int8, -128, -128, "\x80"},
		{Int8, 1.9, 1, "\x01"},
		{Int8, -1.9, -1, "\xff"},
		{Uint8, 255, 255, "\xff"},
		{Bool, 1, 1, "\x01"},
		{Bool, 0, 0, "\x00"},
		{Int16, -2, -2, "\xfe\xff"},
		{Uint16, 0xfffe, 0xfffe, "\xfe\xff"},
		{Int32, math.MinInt32, math.MinInt32, "\x00\x00\x00\x80"},
		{Uint32, math.MaxUint32, math.MaxUint32, "\xff\xff\xff\xff"},
		{Int64, -1 << 53, -1 << 53, "\x00\x00\x00\x00\x00\x00\xe0\xff"},
		{Uint64, 1 << 53, 1 << 53, "\x00\x00\x00\x00\x00\x00\x20\x00"},
		{Float32, nan, nan, ""},
		{Float64, nan, nan, ""},
		{Float16, nan, nan, ""},
		{BFloat16, nan, nan, ""},
	}
	for _, tt := range tests {
		n := tt.typ.Size()
		b := make([]byte, 3*n)
		tt.typ.Put(b, 1, tt.v)
		if got := string(b[n : 2*n]); tt.bytes != "" && got != tt.bytes {
			t.Errorf("%v.Put(%v) stored %x, want %x", tt.typ, tt.v, got, tt.bytes)
		}
		if got := tt.typ.Get(b, 1); !same(got, tt.want) {
			t.Errorf("%v.Get = %v, want %v", tt.typ, got, tt.want)
		}
		for i := range n {
			if b[i] != 0 || b[2*n+i] != 0 {
				t.Errorf("%v.Put(%v) wrote beside its element: %x", tt.typ, tt.v, b)
			}
		}
		if got := tt.typ.FromBits(tt.typ.Bits(tt.v)); !same(got, tt.want) {
			t.Errorf("%v.FromBits(Bits(%v)) = %v, want %v", tt.typ, tt.v, got, tt.want)
		}
	}
}

// same tells zeros by sign and takes every NaN for one.
func same(a, b float64) bool {
	return math.IsNaN(a) && math.IsNaN(b) || a == b && math.Signbit(a) == math.Signbit(b)
}

func TestBits(t *testing.T) {
	tests := []struct {
		typ  DType
		v    float64
		want uint64
	}{
		{Float32, 1, 0x3f800000},
		{Float64, 1, 0x3ff0000000000000},
		{Float16, 1, 0x3c00},
		{BFloat16, -1, 0xbf80},
		{Int8, -1, 0xff},
		{Int16, -1, 0xffff},
		{Int32, -1, 0xffffffff},
		{Int64, -1, 0xffffffffffffffff},
		{Uint32, 7, 7},
		{Bool, 1, 1},
	}
	for _, tt := range tests {
		if got := tt.typ.Bits(tt.v); got != tt.want {
			t.Errorf("%v.Bits(%v) = %#x, want %#x", tt.typ, tt.v, got, tt.want)
		}
	}
	if got := Int8.FromBits(0xffffffffffffff01); got != 1 {
		t.Errorf("Int8.FromBits = %v, want 1: only the low byte counts", got)
	}
}

func TestCheck(t *testing.T) {
	inf := math.Inf(1)
	tests := []struct {
		typ  DType
		v    float64
		want string
	}{
		{Int8, 127, ""},
		{Int8, -128, ""},
		{Int8, 128, "int8 holds -128 to 127, got 128"},
		{Int8, -129, "int8 holds -128 to 127, got -129"},
		{Uint8, -1, "uint8 holds 0 to 255, got -1"},
		{Uint8, math.Copysign(0, -1), ""},
		{Int16, 32768, "int16 holds -32768 to 32767, got 32768"},
		{Uint16, 65536, "uint16 holds 0 to 65535, got 65536"},
		{Int32, 1.5, "int32 cannot hold the fraction 1.5"},
		{Int32, 1e10, "int32 holds -2147483648 to 2147483647, got 10000000000"},
		{Uint32, inf, "uint32 holds 0 to 4294967295, got +Inf"},
		{Uint32, -inf, "uint32 holds 0 to 4294967295, got -Inf"},
		{Int64, math.NaN(), "int64 cannot hold nan"},
		{Int64, 1 << 53, ""},
		{Int64, -1 << 53, ""},
		{Int64, 1<<53 + 2, "9007199254740994 may be rounded, as numbers beyond 2^53 are: give int64 the digits as text"},
		{Int64, 1 << 63, "int64 holds -9223372036854775808 to 9223372036854775807, got 9223372036854775808"},
		{Uint64, 1 << 62, "4611686018427387904 may be rounded, as numbers beyond 2^53 are: give uint64 the digits as text"},
		{Uint64, 1 << 64, "uint64 holds 0 to 18446744073709551615, got 18446744073709551616"},
		{Uint64, -1, "uint64 holds 0 to 18446744073709551615, got -1"},
		{Bool, 2, "bool holds 0 to 1, got 2"},
		{Bool, 0.5, "bool cannot hold the fraction 0.5"},
		{Float16, math.NaN(), ""},
		{Float16, inf, ""},
		{BFloat16, 0.1, ""},
		{Float32, 1e300, ""},
		{Float64, -inf, ""},
	}
	for _, tt := range tests {
		if got := tt.typ.Check(tt.v); got != tt.want {
			t.Errorf("%v.Check(%v) = %q, want %q", tt.typ, tt.v, got, tt.want)
		}
	}
}

// Every half and bfloat16 comes back as it was; a NaN stays one of the same sign and payload, but
// is quiet afterwards.
func TestAllHalves(t *testing.T) {
	tests := []struct {
		typ            DType
		exponent       uint16 // of infinity
		quiet, integer uint16 // bit of a quiet NaN; mask of the fraction
	}{
		{Float16, 0x7c00, 0x0200, 0x03ff},
		{BFloat16, 0x7f80, 0x0040, 0x007f},
	}
	for _, tt := range tests {
		for i := range 1 << 16 {
			h := uint16(i)
			v := tt.typ.FromBits(uint64(h))
			isNaN := h&tt.exponent == tt.exponent && h&tt.integer != 0
			if math.IsNaN(v) != isNaN {
				t.Fatalf("%v.FromBits(%#04x) = %v, NaN %t", tt.typ, h, v, isNaN)
			}
			want := h
			if isNaN {
				want |= tt.quiet
			}
			if got := tt.typ.Bits(v); got != uint64(want) {
				t.Fatalf("%v.Bits(%v) = %#04x, want %#04x", tt.typ, v, got, want)
			}
			if !isNaN && v != halfValue(h, tt.exponent, tt.integer) {
				t.Fatalf("%v.FromBits(%#04x) = %v, want %v", tt.typ, h, v, halfValue(h, tt.exponent, tt.integer))
			}
		}
	}
}

// halfValue computes a 16-bit float by its definition.
func halfValue(h, exponent, fraction uint16) float64 {
	width := 0
	for fraction>>width != 0 {
		width++
	}
	bias := int(exponent>>width) / 2
	e, f := int(h&exponent>>width), float64(h&fraction)
	v := math.Ldexp(f, 1-bias-width) // subnormal
	switch {
	case h&exponent == exponent:
		v = math.Inf(1)
	case e > 0:
		v = math.Ldexp(f+float64(fraction)+1, e-bias-width)
	}
	if h>>15 == 1 {
		v = -v
	}
	return v
}

// Between two neighbours the nearer one wins, and the even one at the middle; from float64 that
// takes a single rounding.
func TestHalfRounding(t *testing.T) {
	tests := []struct {
		typ                DType
		exponent, fraction uint16
	}{
		{Float16, 0x7c00, 0x03ff},
		{BFloat16, 0x7f80, 0x007f},
	}
	for _, tt := range tests {
		for h := uint16(0); h+1 < tt.exponent; h++ {
			a, b := halfValue(h, tt.exponent, tt.fraction), halfValue(h+1, tt.exponent, tt.fraction)
			middle := a + (b-a)/2
			even := h + h&1
			for _, c := range []struct {
				v    float64
				want uint16
			}{{math.Nextafter(middle, a), h}, {middle, even}, {math.Nextafter(middle, b), h + 1}} {
				if got := tt.typ.Bits(c.v); got != uint64(c.want) {
					t.Fatalf("%v.Bits(%x) = %#04x, want %#04x", tt.typ, c.v, got, c.want)
				}
				if got := tt.typ.Bits(-c.v); got != uint64(c.want|0x8000) {
					t.Fatalf("%v.Bits(%x) = %#04x, want %#04x", tt.typ, -c.v, got, c.want|0x8000)
				}
			}
		}
	}
}

func TestPanics(t *testing.T) {
	for name, f := range map[string]func(){
		"Get of invalid": func() { Invalid.Get(make([]byte, 8), 0) },
		"Put of invalid": func() { Invalid.Put(make([]byte, 8), 0, 1) },
		"Get past end":   func() { Float32.Get(make([]byte, 7), 1) },
		"Put past end":   func() { Uint8.Put(make([]byte, 1), 1, 1) },
		"Get of -1":      func() { Int64.Get(make([]byte, 8), -1) },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: no panic", name)
				}
			}()
			f()
		}()
	}
}
