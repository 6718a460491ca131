package npu

import (
	"npulua/npu/internal/dtype"
)

// Read calls fn with the memory of a host buffer as bytes, little-endian. They are there until fn returns, whoever closes b
// meanwhile, and no longer; fn does not write them. ErrParamInvalid for device memory, or while queued work writes it.
func (b *Buffer) Read(fn func(data []byte) error) error { return b.access(false, fn) }

// Write is Read for who also writes. ErrParamInvalid while queued work uses the memory, and for what may not be written.
func (b *Buffer) Write(fn func(data []byte) error) error { return b.access(true, fn) }

// access is the only way to the bytes: what waits has to come here again.
func (b *Buffer) access(write bool, fn func(data []byte) error) error {
	if b.space == DeviceMemory {
		return hinted(errorf(ErrParamInvalid, "the buffer is %s memory, the host cannot touch it", b.space),
			"use buf:download() to read it and buf:upload(...) to write it")
	}
	if err := b.touch(write); err != nil {
		return err
	}
	ok, err := b.span.Bytes(fn)
	if !ok {
		return b.root.res.closedError()
	}
	return err
}

// Element reads element i, from 0, of a host buffer.
func (b *Buffer) Element(i int64) (v float64, err error) {
	err = b.Read(func(data []byte) error {
		if i < 0 || i >= b.count {
			return b.indexError(i)
		}
		v = b.typ.Get(data, int(i))
		return nil
	})
	return v, err
}

// SetElement writes element i, from 0, of a host buffer: float types round, integer types refuse
// what they cannot hold exactly.
func (b *Buffer) SetElement(i int64, v float64) error {
	return b.Write(func(data []byte) error {
		if i < 0 || i >= b.count {
			return b.indexError(i)
		}
		if msg := b.typ.Check(v); msg != "" {
			return errorf(ErrInvalidParam, "%s", msg)
		}
		b.typ.Put(data, int(i), v)
		return nil
	})
}

func (b *Buffer) indexError(i int64) error {
	return errorf(ErrParamInvalid, "index %d is not inside 1 to %d", i+1, b.count)
}

// SetAll writes n numbers from the start on; next gives the one of index i, from 0, and may wait. It stops at the
// first error; what came before it is written.
func (b *Buffer) SetAll(n int64, next func(i int64) (float64, error)) error {
	err := b.Write(func([]byte) error {
		if n > b.count {
			return errorf(ErrParamInvalid, "%d values for %d elements", n, b.count)
		}
		return nil
	})
	for i := int64(0); i < n && err == nil; i++ {
		var v float64
		if v, err = next(i); err != nil {
			return err
		}
		err = b.Write(func(data []byte) error { // next may have closed the buffer, or queued a copy of it
			if msg := b.typ.Check(v); msg != "" {
				return errorf(ErrInvalidParam, "element %d: %s", i+1, msg)
			}
			b.typ.Put(data, int(i), v)
			return nil
		})
	}
	return err
}

// SetBytes copies raw bytes, which must fill whole elements, to the start of the buffer.
func (b *Buffer) SetBytes(raw string) error {
	return b.Write(func(data []byte) error {
		if len(raw) > len(data) || len(raw)%b.typ.Size() != 0 {
			return errorf(ErrParamInvalid, "%d B of raw data for %d elements of %d B", len(raw), b.count, b.typ.Size())
		}
		copy(data, raw)
		return nil
	})
}

// FillHost sets every element of a host buffer to v.
func (b *Buffer) FillHost(v float64) error {
	return b.Write(func(data []byte) error {
		if msg := b.typ.Check(v); msg != "" {
			return errorf(ErrInvalidParam, "%s", msg)
		}
		b.typ.Put(data, 0, v)
		for n := b.typ.Size(); n < len(data); n *= 2 {
			copy(data[n:], data[:n])
		}
		return nil
	})
}

// Sum adds the elements of a host buffer in float64, always in the same order.
func (b *Buffer) Sum() (sum float64, err error) {
	err = b.Read(func(data []byte) error {
		sum = b.typ.Sum(data)
		return nil
	})
	return sum, err
}

// MinMax is the smallest and the largest element of a host buffer; NaN where an element is NaN.
func (b *Buffer) MinMax() (lo, hi float64, err error) {
	err = b.Read(func(data []byte) error {
		lo, hi = b.typ.MinMax(data)
		return nil
	})
	return lo, hi, err
}

// Difference is the first element, from 0, in which a and b differ by more than tolerance, or -1.
// NaN is close to NaN only. Both are host buffers of one count; types may differ.
func Difference(a, b *Buffer, tolerance float64) (int64, error) {
	if a.count != b.count {
		return 0, errorf(ErrParamInvalid, "%d elements cannot be compared with %d", a.count, b.count)
	}
	first := 0
	err := a.Read(func(da []byte) error {
		return b.Read(func(db []byte) error {
			first = dtype.Difference(a.typ, da, b.typ, db, int(a.count), tolerance)
			return nil
		})
	})
	return int64(first), err
}
