package dtype

import (
	"bytes"
	"math"
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

// Sum adds the elements of b in eight float64 sums, which are added at the end: always in the same
// order.
func (t DType) Sum(b []byte) float64 {
	var s sums
	op := bulk{addTo[float32](&s), addTo[float64](&s), addTo[int8](&s), addTo[uint8](&s), addTo[int16](&s), addTo[uint16](&s),
		addTo[int32](&s), addTo[uint32](&s), addTo[int64](&s), addTo[uint64](&s)}
	op.each(t, b)
	return ((s[0] + s[4]) + (s[1] + s[5])) + ((s[2] + s[6]) + (s[3] + s[7]))
}

type sums [8]float64

func addTo[E element](s *sums) func([]E) {
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

// MinMax is the smallest and the largest element of b; NaN where an element is NaN. An empty b gives
// +Inf and -Inf.
func (t DType) MinMax(b []byte) (lo, hi float64) {
	r := span{math.Inf(1), math.Inf(-1)}
	op := bulk{widenSpan[float32](&r), widenSpan[float64](&r), widenSpan[int8](&r), widenSpan[uint8](&r), widenSpan[int16](&r),
		widenSpan[uint16](&r), widenSpan[int32](&r), widenSpan[uint32](&r), widenSpan[int64](&r), widenSpan[uint64](&r)}
	op.each(t, b)
	return r.lo, r.hi
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
			if x, y := t.Get(a, i), u.Get(b, i); x != y && !isClose(x, y, tolerance) {
				return i
			}
		}
	}
	return -1
}

func isClose(x, y, tolerance float64) bool {
	return math.Abs(x-y) <= tolerance || x != x && y != y
}
