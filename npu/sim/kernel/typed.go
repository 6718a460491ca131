package kernel

import (
	"encoding/binary"
	"math"
	"unsafe"

	"npulua/npu/internal/dtype"
)

// number is a type that kernels compute with. Half types compute as float32 or float64.
type number interface {
	float32 | float64 | int8 | uint8 | int32
}

// chunk is the number of elements that a loop decodes at a time, small enough for the first cache.
const chunk = 2048

// stored is the element type whose bytes in memory are an E.
func stored[E number]() dtype.DType {
	var e E
	switch any(e).(type) {
	case float32:
		return dtype.Float32
	case float64:
		return dtype.Float64
	case int8:
		return dtype.Int8
	case uint8:
		return dtype.Uint8
	default:
		return dtype.Int32
	}
}

// view is mem as E's, sharing its bytes; ok is false where mem is not aligned for E.
func view[E any](mem []byte) (v []E, ok bool) {
	var e E
	p := unsafe.Pointer(unsafe.SliceData(mem))
	if uintptr(p)%unsafe.Alignof(e) != 0 {
		return nil, false
	}
	return unsafe.Slice((*E)(p), len(mem)/int(unsafe.Sizeof(e))), true
}

// raw is the memory of v.
func raw[E number](v []E) []byte {
	var e E
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(v))), len(v)*int(unsafe.Sizeof(e)))
}

// window is a place to compute elements lo to hi of a: their own memory (own is true) where that
// holds aligned E's, else room, which the caller decodes to or encodes from. room is made when first
// needed.
func window[E number](a *Arg, lo, hi int64, room *[]E) (v []E, own bool) {
	if a.Type == stored[E]() {
		size := int64(a.Type.Size())
		if v, ok := view[E](a.Mem[lo*size : hi*size]); ok {
			return v, true
		}
	}
	if int64(len(*room)) < hi-lo {
		*room = make([]E, hi-lo)
	}
	return (*room)[:hi-lo], false
}

// load is the numbers of elements lo to hi of a, to read only; in room where they must be decoded.
func load[E number](a *Arg, lo, hi int64, room *[]E) []E {
	v, own := window(a, lo, hi, room)
	if !own {
		decode(a, lo, 1, v)
	}
	return v
}

// decode reads len(dst) elements of a, from first on, step apart.
func decode[E number](a *Arg, first, step int64, dst []E) {
	if len(dst) == 0 {
		return
	}
	le := binary.LittleEndian
	size := int64(a.Type.Size())
	mem := a.Mem[first*size:]
	step *= size
	if a.Type == stored[E]() && step == size {
		copy(raw(dst), mem)
		return
	}
	switch a.Type {
	case dtype.Float32:
		for i := range dst {
			dst[i] = E(math.Float32frombits(le.Uint32(mem[int64(i)*step:])))
		}
	case dtype.Float16:
		for i := range dst {
			dst[i] = E(dtype.Float16ToFloat32(le.Uint16(mem[int64(i)*step:])))
		}
	case dtype.BFloat16:
		for i := range dst {
			dst[i] = E(dtype.BFloat16ToFloat32(le.Uint16(mem[int64(i)*step:])))
		}
	case dtype.Int8:
		for i := range dst {
			dst[i] = E(int8(mem[int64(i)*step]))
		}
	case dtype.Uint8:
		for i := range dst {
			dst[i] = E(mem[int64(i)*step])
		}
	case dtype.Int32:
		for i := range dst {
			dst[i] = E(int32(le.Uint32(mem[int64(i)*step:])))
		}
	default:
		panic("kernel: decode of " + a.Type.String())
	}
}

// encode writes src as elements of a, from first on. Float types round to nearest even, half types
// by way of float32; integer types round to nearest even, then saturate, and take NaN as 0.
func encode[E number](a *Arg, first int64, src []E) {
	le := binary.LittleEndian
	mem := a.Mem[first*int64(a.Type.Size()):]
	switch a.Type {
	case stored[E]():
		copy(mem, raw(src))
	case dtype.Float32:
		for i, v := range src {
			le.PutUint32(mem[4*i:], math.Float32bits(float32(v)))
		}
	case dtype.Float16:
		for i, v := range src {
			le.PutUint16(mem[2*i:], dtype.Float32ToFloat16(float32(v)))
		}
	case dtype.BFloat16:
		for i, v := range src {
			le.PutUint16(mem[2*i:], dtype.Float32ToBFloat16(float32(v)))
		}
	case dtype.Int8:
		for i, v := range src {
			mem[i] = byte(int8(saturate(float64(v), math.MinInt8, math.MaxInt8)))
		}
	case dtype.Uint8:
		for i, v := range src {
			mem[i] = uint8(saturate(float64(v), 0, math.MaxUint8))
		}
	case dtype.Int32:
		for i, v := range src {
			le.PutUint32(mem[4*i:], uint32(int32(saturate(float64(v), math.MinInt32, math.MaxInt32))))
		}
	default:
		panic("kernel: encode of " + a.Type.String())
	}
}

func saturate(v, lo, hi float64) float64 {
	if v != v {
		return 0
	}
	return min(max(math.RoundToEven(v), lo), hi)
}
