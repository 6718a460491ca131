package npu

import (
	"runtime"

	"npulua/npu/internal/dtype"
)

// hostData is the memory of a host buffer that the host may touch now.
func (b *Buffer) hostData(write bool) ([]byte, error) {
	if b.space == DeviceMemory {
		return nil, hinted(errorf(ErrParamInvalid, "the buffer is %s memory, the host cannot touch it", b.space),
			"use buf:download() to read it and buf:upload(...) to write it")
	}
	if err := b.touch(write); err != nil {
		return nil, err
	}
	return b.data, nil
}

// Data is the memory of a host buffer as bytes, little-endian, valid until it is closed: keep b
// reachable as long as you use it.
// ErrParamInvalid for device memory, or while queued work writes it.
func (b *Buffer) Data() ([]byte, error) { return b.hostData(false) }

// Element reads element i, from 0, of a host buffer.
func (b *Buffer) Element(i int64) (float64, error) {
	data, err := b.hostData(false)
	if err != nil {
		return 0, err
	}
	if i < 0 || i >= b.count {
		return 0, b.indexError(i)
	}
	v := b.typ.Get(data, int(i))
	runtime.KeepAlive(b) // pinned memory is not the collector's: it goes with the handle
	return v, nil
}

// SetElement writes element i, from 0, of a host buffer: float types round, integer types refuse
// what they cannot hold exactly.
func (b *Buffer) SetElement(i int64, v float64) error {
	data, err := b.hostData(true)
	if err != nil {
		return err
	}
	if i < 0 || i >= b.count {
		return b.indexError(i)
	}
	if msg := b.typ.Check(v); msg != "" {
		return errorf(ErrInvalidParam, "%s", msg)
	}
	b.typ.Put(data, int(i), v)
	runtime.KeepAlive(b)
	return nil
}

func (b *Buffer) indexError(i int64) error {
	return errorf(ErrParamInvalid, "index %d is not inside 1 to %d", i+1, b.count)
}

// SetAll writes n numbers from the start on; next gives the one of index i, from 0. It stops at the
// first error; what came before it is written.
func (b *Buffer) SetAll(n int64, next func(i int64) (float64, error)) error {
	data, err := b.hostData(true)
	if err != nil {
		return err
	}
	if n > b.count {
		return errorf(ErrParamInvalid, "%d values for %d elements", n, b.count)
	}
	for i := range n {
		v, err := next(i)
		if err != nil {
			return err
		}
		if err := b.touch(true); err != nil { // next may have closed the buffer, or queued a copy of it
			return err
		}
		if msg := b.typ.Check(v); msg != "" {
			return errorf(ErrInvalidParam, "element %d: %s", i+1, msg)
		}
		b.typ.Put(data, int(i), v)
	}
	runtime.KeepAlive(b)
	return nil
}

// SetBytes copies raw bytes, which must fill whole elements, to the start of the buffer.
func (b *Buffer) SetBytes(raw string) error {
	data, err := b.hostData(true)
	if err != nil {
		return err
	}
	if len(raw) > len(data) || len(raw)%b.typ.Size() != 0 {
		return errorf(ErrParamInvalid, "%d B of raw data for %d elements of %d B", len(raw), b.count, b.typ.Size())
	}
	copy(data, raw)
	runtime.KeepAlive(b)
	return nil
}

// FillHost sets every element of a host buffer to v.
func (b *Buffer) FillHost(v float64) error {
	data, err := b.hostData(true)
	if err != nil {
		return err
	}
	if msg := b.typ.Check(v); msg != "" {
		return errorf(ErrInvalidParam, "%s", msg)
	}
	b.typ.Put(data, 0, v)
	for n := b.typ.Size(); n < len(data); n *= 2 {
		copy(data[n:], data[:n])
	}
	runtime.KeepAlive(b)
	return nil
}

// Sum adds the elements of a host buffer in float64, always in the same order.
func (b *Buffer) Sum() (float64, error) {
	data, err := b.hostData(false)
	if err != nil {
		return 0, err
	}
	sum := b.typ.Sum(data)
	runtime.KeepAlive(b)
	return sum, nil
}

// MinMax is the smallest and the largest element of a host buffer; NaN where an element is NaN.
func (b *Buffer) MinMax() (lo, hi float64, err error) {
	data, err := b.hostData(false)
	if err != nil {
		return 0, 0, err
	}
	lo, hi = b.typ.MinMax(data)
	runtime.KeepAlive(b)
	return lo, hi, nil
}

// Difference is the first element, from 0, in which a and b differ by more than tolerance, or -1.
// NaN is close to NaN only. Both are host buffers of one count; types may differ.
func Difference(a, b *Buffer, tolerance float64) (int64, error) {
	if a.count != b.count {
		return 0, errorf(ErrParamInvalid, "%d elements cannot be compared with %d", a.count, b.count)
	}
	da, err := a.hostData(false)
	if err != nil {
		return 0, err
	}
	db, err := b.hostData(false)
	if err != nil {
		return 0, err
	}
	i := dtype.Difference(a.typ, da, b.typ, db, int(a.count), tolerance)
	runtime.KeepAlive(a)
	runtime.KeepAlive(b)
	return int64(i), nil
}
