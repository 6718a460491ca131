// Package dtype names the element types of device and host buffers and converts between their
// stored bytes and numbers. Every number is a float64 above this package; whole numbers beyond 2^53, which that does not
// hold exactly, are text: see Value. Bytes are little-endian, as on the devices and on the supported hosts.
package dtype

import (
	"encoding/binary"
	"fmt"
	"math"
	"strconv"

	"github.com/x448/float16"
)

// DType is an element type. The zero value is no type.
type DType uint8

// The element types, in the order of the table below.
const (
	Invalid DType = iota
	Float32
	Float16
	BFloat16
	Float64
	Int8
	Uint8
	Int16
	Uint16
	Int32
	Uint32
	Int64
	Uint64
	Bool
)

// info is one row a type: names first, then what a conversion needs.
type info struct {
	name    string
	aliases []string
	size    int
	float   bool
	lo, hi  float64 // range of the integer types; both inclusive
}

var table = [...]info{
	Invalid:  {name: "invalid"},
	Float32:  {name: "float32", aliases: []string{"float", "f32"}, size: 4, float: true},
	Float16:  {name: "float16", aliases: []string{"half", "f16"}, size: 2, float: true},
	BFloat16: {name: "bfloat16", aliases: []string{"bf16"}, size: 2, float: true},
	Float64:  {name: "float64", aliases: []string{"double", "f64"}, size: 8, float: true},
	Int8:     {name: "int8", size: 1, lo: math.MinInt8, hi: math.MaxInt8},
	Uint8:    {name: "uint8", aliases: []string{"byte"}, size: 1, lo: 0, hi: math.MaxUint8},
	Int16:    {name: "int16", size: 2, lo: math.MinInt16, hi: math.MaxInt16},
	Uint16:   {name: "uint16", size: 2, lo: 0, hi: math.MaxUint16},
	Int32:    {name: "int32", aliases: []string{"int"}, size: 4, lo: math.MinInt32, hi: math.MaxInt32},
	Uint32:   {name: "uint32", aliases: []string{"uint"}, size: 4, lo: 0, hi: math.MaxUint32},
	Int64:    {name: "int64", size: 8, lo: math.MinInt64, hi: 1<<63 - 1<<10}, // the largest float64 below 2^63
	Uint64:   {name: "uint64", size: 8, lo: 0, hi: 1<<64 - 1<<11},
	Bool:     {name: "bool", size: 1, lo: 0, hi: 1},
}

// All lists the types in table order.
func All() []DType {
	out := make([]DType, 0, len(table)-1)
	for t := Float32; int(t) < len(table); t++ {
		out = append(out, t)
	}
	return out
}

// Parse returns the type called name ("float32") or an alias of it ("float").
func Parse(name string) (DType, bool) {
	for t := Float32; int(t) < len(table); t++ {
		if table[t].name == name {
			return t, true
		}
		for _, a := range table[t].aliases {
			if a == name {
				return t, true
			}
		}
	}
	return Invalid, false
}

// String is the type's name, as scripts write it.
func (t DType) String() string {
	if int(t) >= len(table) {
		return fmt.Sprintf("dtype(%d)", uint8(t))
	}
	return table[t].name
}

// Size is the number of bytes of one element.
func (t DType) Size() int { return table[t].size }

// IsFloat reports whether t is a floating-point type.
func (t DType) IsFloat() bool { return table[t].float }

// Get reads element i of b. It panics, as a slice index does, where b is too short.
func (t DType) Get(b []byte, i int) float64 {
	le := binary.LittleEndian
	switch t {
	case Float32:
		return float64(math.Float32frombits(le.Uint32(b[i*4:])))
	case Float16:
		return float64(Float16ToFloat32(le.Uint16(b[i*2:])))
	case BFloat16:
		return float64(BFloat16ToFloat32(le.Uint16(b[i*2:])))
	case Float64:
		return math.Float64frombits(le.Uint64(b[i*8:]))
	case Int8:
		return float64(int8(b[i]))
	case Uint8, Bool:
		return float64(b[i])
	case Int16:
		return float64(int16(le.Uint16(b[i*2:])))
	case Uint16:
		return float64(le.Uint16(b[i*2:]))
	case Int32:
		return float64(int32(le.Uint32(b[i*4:])))
	case Uint32:
		return float64(le.Uint32(b[i*4:]))
	case Int64:
		return float64(int64(le.Uint64(b[i*8:])))
	case Uint64:
		return float64(le.Uint64(b[i*8:]))
	}
	panic("dtype: Get of " + t.String())
}

// Put writes v as element i of b: rounded to nearest even for float types, truncated toward zero
// for integer types. Callers that must not lose anything ask Check first.
func (t DType) Put(b []byte, i int, v float64) {
	le := binary.LittleEndian
	switch t {
	case Float32:
		le.PutUint32(b[i*4:], math.Float32bits(float32(v)))
	case Float16:
		le.PutUint16(b[i*2:], Float32ToFloat16(roundToOdd(v)))
	case BFloat16:
		le.PutUint16(b[i*2:], Float32ToBFloat16(roundToOdd(v)))
	case Float64:
		le.PutUint64(b[i*8:], math.Float64bits(v))
	case Int8:
		b[i] = byte(int8(v))
	case Uint8, Bool:
		b[i] = byte(v)
	case Int16:
		le.PutUint16(b[i*2:], uint16(int16(v)))
	case Uint16:
		le.PutUint16(b[i*2:], uint16(v))
	case Int32:
		le.PutUint32(b[i*4:], uint32(int32(v)))
	case Uint32:
		le.PutUint32(b[i*4:], uint32(v))
	case Int64:
		le.PutUint64(b[i*8:], uint64(int64(v)))
	case Uint64:
		le.PutUint64(b[i*8:], uint64(v))
	default:
		panic("dtype: Put of " + t.String())
	}
}

// Check says why v cannot be stored as t: a type of whole numbers takes those of its range, up to MaxExact; a float type
// takes all, and rounds. It returns "" where v can be stored.
func (t DType) Check(v float64) string {
	if t.IsFloat() {
		return ""
	}
	in := &table[t]
	switch {
	case math.IsNaN(v):
		return fmt.Sprintf("%s cannot hold nan", t)
	case v != math.Trunc(v):
		return fmt.Sprintf("%s cannot hold the fraction %v", t, v)
	case v < in.lo || v > in.hi:
		return t.outside(strconv.FormatFloat(v, 'f', 0, 64))
	case math.Abs(v) > MaxExact:
		return fmt.Sprintf("%.0f may be rounded, as numbers beyond 2^53 are: give %s the digits as text", v, t)
	}
	return ""
}

// Bits packs v as one element of t into the low bytes of a word, as kernel arguments travel.
func (t DType) Bits(v float64) uint64 {
	var b [8]byte
	t.Put(b[:], 0, v)
	return binary.LittleEndian.Uint64(b[:])
}

// FromBits is the number that Bits packed.
func (t DType) FromBits(w uint64) float64 {
	var b [8]byte
	binary.LittleEndian.PutUint64(b[:], w)
	return t.Get(b[:], 0)
}

// roundToOdd is v as a float32 which, where it is not exact, has its last bit set. Rounding that
// once more to 16 bits gives what rounding v at once would give: no tie that v is not.
func roundToOdd(v float64) float32 {
	f := float32(v)
	if float64(f) == v || v != v {
		return f
	}
	bits := math.Float32bits(f)
	if math.Abs(float64(f)) > math.Abs(v) {
		bits-- // toward zero
	}
	return math.Float32frombits(bits | 1)
}

// Float16ToFloat32 widens an IEEE 754 half.
func Float16ToFloat32(h uint16) float32 { return float16.Frombits(h).Float32() }

// Float32ToFloat16 rounds to nearest even; what is too large becomes infinite.
func Float32ToFloat16(f float32) uint16 { return float16.Fromfloat32(f).Bits() }

// BFloat16ToFloat32 widens a bfloat16.
func BFloat16ToFloat32(h uint16) float32 { return math.Float32frombits(uint32(h) << 16) }

// Float32ToBFloat16 rounds to nearest even and keeps NaN a NaN.
func Float32ToBFloat16(f float32) uint16 {
	u := math.Float32bits(f)
	if f != f {
		return uint16(u>>16) | 0x40
	}
	return uint16((u + 0x7fff + (u>>16)&1) >> 16)
}

// Each calls fn for every element of b, in order.
func (t DType) Each(b []byte, fn func(v float64)) {
	n := len(b) / t.Size()
	if t == Float32 {
		for i := 0; i < n; i++ {
			fn(float64(math.Float32frombits(binary.LittleEndian.Uint32(b[i*4:]))))
		}
		return
	}
	for i := 0; i < n; i++ {
		fn(t.Get(b, i))
	}
}
