package dtype

import (
	"bytes"
	"encoding/binary"
	"math"
	"math/big"
	"math/bits"
	"slices"
	"unsafe"
)

// element is a type that the CPU computes with; the half types are decoded to float32 first.
type element interface {
	~float32 | ~float64 | ~int8 | ~uint8 | ~int16 | ~uint16 | ~int32 | ~uint32 | ~int64 | ~uint64
}

// chunk is how many elements are decoded at a time, small enough for the first cache.
const chunk = 1024

// view is b as elements, sharing its bytes; b must be aligned, as buffers are.
func view[E element](b []byte) []E {
	var e E
	if len(b) == 0 {
		return nil
	}
	return unsafe.Slice((*E)(unsafe.Pointer(unsafe.SliceData(b))), len(b)/int(unsafe.Sizeof(e)))
}

// bulk is an operation over all elements, for each type that the CPU computes with.
type bulk struct {
	f32 func([]float32)
	f64 func([]float64)
	i8  func([]int8)
	u8  func([]uint8)
	i16 func([]int16)
	u16 func([]uint16)
	i32 func([]int32)
	u32 func([]uint32)
	i64 func([]int64)
	u64 func([]uint64)
}

// each runs the operation of t over b; half types come in chunks.
func (op *bulk) each(t DType, b []byte) {
	switch t {
	case Float32:
		op.f32(view[float32](b))
	case Float64:
		op.f64(view[float64](b))
	case Int8:
		op.i8(view[int8](b))
	case Uint8, Bool:
		op.u8(b)
	case Int16:
		op.i16(view[int16](b))
	case Uint16:
		op.u16(view[uint16](b))
	case Int32:
		op.i32(view[int32](b))
	case Uint32:
		op.u32(view[uint32](b))
	case Int64:
		op.i64(view[int64](b))
	case Uint64:
		op.u64(view[uint64](b))
	case Float16, BFloat16:
		widen := Float16ToFloat32
		if t == BFloat16 {
			widen = BFloat16ToFloat32
		}
		var room [chunk]float32
		for h := view[uint16](b); len(h) > 0; {
			n := min(len(h), chunk)
			for i, v := range h[:n] {
				room[i] = widen(v)
			}
			op.f32(room[:n])
			h = h[n:]
		}
	default:
		panic("dtype: bulk operation on " + t.String())
	}
}

// Sum adds the elements of b: exactly for types of whole numbers, in eight float64 sums for float types, which are added
// at the end: always in the same order.
func (t DType) Sum(b []byte) Value {
	if !t.IsFloat() {
		return t.sumWhole(b)
	}
	var s sums
	op := bulk{f32: addTo[float32](&s), f64: addTo[float64](&s)}
	op.each(t, b)
	return Number(((s[0] + s[4]) + (s[1] + s[5])) + ((s[2] + s[6]) + (s[3] + s[7])))
}

type sums [8]float64

func addTo[E float32 | float64](s *sums) func([]E) {
	return func(v []E) {
		a := *s
		for ; len(v) >= 8; v = v[8:] {
			a[0] += float64(v[0])
			a[1] += float64(v[1])
			a[2] += float64(v[2])
			a[3] += float64(v[3])
			a[4] += float64(v[4])
			a[5] += float64(v[5])
			a[6] += float64(v[6])
			a[7] += float64(v[7])
		}
		for i, x := range v {
			a[i] += float64(x)
		}
		*s = a
	}
}

// sum128 is a sum of whole numbers: hi times 2^64, and lo.
type sum128 struct {
	hi int64
	lo uint64
}

func (s *sum128) add(v int64) {
	lo, carry := bits.Add64(s.lo, uint64(v), 0)
	s.lo, s.hi = lo, s.hi+v>>63+int64(carry)
}

// value is the sum, as text where a number does not hold it exactly.
func (s *sum128) value() Value {
	if v := int64(s.lo); s.hi == v>>63 && v >= -MaxExact && v <= MaxExact {
		return Number(float64(v))
	}
	n := big.NewInt(s.hi)
	n.Lsh(n, 64).Add(n, new(big.Int).SetUint64(s.lo))
	f, _ := new(big.Float).SetInt(n).Float64()
	return Value{f, n.String()}
}

func (t DType) sumWhole(b []byte) Value {
	var s sum128
	op := bulk{i8: addWhole[int8](&s), u8: addWhole[uint8](&s), i16: addWhole[int16](&s), u16: addWhole[uint16](&s), i32: addWhole[int32](&s), u32: addWhole[uint32](&s),
		i64: func(v []int64) {
			for _, x := range v {
				s.add(x)
			}
		},
		u64: func(v []uint64) {
			for _, x := range v {
				lo, carry := bits.Add64(s.lo, x, 0)
				s.lo, s.hi = lo, s.hi+int64(carry)
			}
		}}
	op.each(t, b)
	return s.value()
}

// addWhole adds elements of at most 32 bits, of which 2^30 fit into 64 bits.
func addWhole[E int8 | uint8 | int16 | uint16 | int32 | uint32](s *sum128) func([]E) {
	return func(v []E) {
		for len(v) > 0 {
			part := v[:min(len(v), 1<<30)]
			v = v[len(part):]
			var a, b, c, d int64
			for ; len(part) >= 4; part = part[4:] {
				a += int64(part[0])
				b += int64(part[1])
				c += int64(part[2])
				d += int64(part[3])
			}
			for _, x := range part {
				a += int64(x)
			}
			s.add(a + b + c + d)
		}
	}
}

// MinMax is the smallest and the largest element of b; NaN where an element is NaN. An empty b gives
// +Inf and -Inf.
func (t DType) MinMax(b []byte) (lo, hi Value) {
	var words [2]uint64 // of wide types, which are compared as what they are
	r := span{math.Inf(1), math.Inf(-1)}
	op := bulk{widenSpan[float32](&r), widenSpan[float64](&r), widenSpan[int8](&r), widenSpan[uint8](&r), widenSpan[int16](&r),
		widenSpan[uint16](&r), widenSpan[int32](&r), widenSpan[uint32](&r),
		func(v []int64) { words = [2]uint64{uint64(slices.Min(v)), uint64(slices.Max(v))} },
		func(v []uint64) { words = [2]uint64{slices.Min(v), slices.Max(v)} }}
	if t.Wide() && len(b) > 0 {
		op.each(t, b)
		both := make([]byte, 16)
		binary.LittleEndian.PutUint64(both, words[0])
		binary.LittleEndian.PutUint64(both[8:], words[1])
		return t.Value(both, 0), t.Value(both, 1)
	}
	if !t.Wide() {
		op.each(t, b)
	}
	return Number(r.lo), Number(r.hi)
}

type span struct{ lo, hi float64 }

func widenSpan[E element](r *span) func([]E) {
	return func(v []E) {
		if len(v) == 0 {
			return
		}
		lo, hi := v[0], v[0]
		for _, x := range v {
			lo, hi = min(lo, x), max(hi, x) // NaN stays NaN
		}
		r.lo, r.hi = min(r.lo, float64(lo)), max(r.hi, float64(hi))
	}
}

// Difference is the first index at which a (of type t) and b (of type u) differ by more than
// tolerance, or -1. NaN is close to NaN only. Both have n elements.
func Difference(t DType, a []byte, u DType, b []byte, n int, tolerance float64) int {
	const block = 1024 // elements
	for first := 0; first < n; first += block {
		last := min(first+block, n)
		if t == u && bytes.Equal(a[first*t.Size():last*t.Size()], b[first*t.Size():last*t.Size()]) {
			continue // equal bits are equal, or both NaN
		}
		if t == Float32 && u == Float32 {
			x, y := view[float32](a)[first:last], view[float32](b)[first:last]
			for i := range x {
				if x[i] != y[i] && !isClose(float64(x[i]), float64(y[i]), tolerance) {
					return first + i
				}
			}
			continue
		}
		for i := first; i < last; i++ {
			x, exact := t.Read(a, i)
			y, alsoExact := u.Read(b, i)
			if !exact || !alsoExact {
				if !isCloseExactly(t, a, u, b, i, tolerance) {
					return i
				}
			} else if x != y && !isClose(x, y, tolerance) {
				return i
			}
		}
	}
	return -1
}

func isClose(x, y, tolerance float64) bool {
	return math.Abs(x-y) <= tolerance || x != x && y != y
}

// isCloseExactly compares elements where a float64 would be too coarse for one of them.
func isCloseExactly(t DType, a []byte, u DType, b []byte, i int, tolerance float64) bool {
	x, y := t.exact(a, i), u.exact(b, i)
	if x == nil || y == nil { // infinity or NaN, which the other one is not
		return math.IsInf(tolerance, 1) && !math.IsNaN(t.Get(a, i)) && !math.IsNaN(u.Get(b, i))
	}
	limit := new(big.Rat).SetFloat64(tolerance)
	return limit == nil || x.Sub(x, y).Abs(x).Cmp(limit) <= 0
}

// exact is the number that element i of b is, of which Text may have fewer digits; nil where it is infinite or NaN.
func (t DType) exact(b []byte, i int) *big.Rat {
	if t.Wide() {
		r, _ := new(big.Rat).SetString(t.Text(b, i))
		return r
	}
	return new(big.Rat).SetFloat64(t.Get(b, i))
}
