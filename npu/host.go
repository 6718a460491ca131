package npu

import (
	"fmt"

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

// Value is what an element is set to or was read as: a number or, of 64-bit types, decimal text.
type Value = dtype.Value

// Number is the value of a number.
func Number(v float64) Value { return dtype.Number(v) }

// Element reads element i, from 0, of a host buffer. ErrInvalidParam where a number does not hold it exactly; Text has it
// then.
func (b *Buffer) Element(i int64) (v float64, err error) {
	err = b.Read(func(data []byte) error {
		if i < 0 || i >= b.count {
			return b.indexError(i)
		}
		var ok bool
		if v, ok = b.typ.Read(data, int(i)); !ok {
			return b.Inexact(i, data)
		}
		return nil
	})
	return v, err
}

// Text reads element i, from 0, of a host buffer as text that stands for it exactly.
func (b *Buffer) Text(i int64) (text string, err error) {
	err = b.Read(func(data []byte) error {
		if i < 0 || i >= b.count {
			return b.indexError(i)
		}
		text = b.typ.Text(data, int(i))
		return nil
	})
	return text, err
}

// Inexact refuses to give element i, from 0, of data, the memory of b, as a number.
func (b *Buffer) Inexact(i int64, data []byte) error {
	return b.inexact(fmt.Sprintf("element %d", i+1), b.typ.Text(data, int(i)))
}

// inexact refuses to give what has that text as a number.
func (b *Buffer) inexact(what, text string) error {
	return hinted(errorf(ErrInvalidParam, "%s of %s is %s, and numbers beyond 2^53 are not exact", what, b.typ, text),
		"read elements as text: h:text(i), or h:to_table{text = true}")
}

// SetElement writes element i, from 0, of a host buffer: float types round, and where a number is too large for one it becomes
// infinite; types of whole numbers refuse what they cannot hold exactly.
func (b *Buffer) SetElement(i int64, v float64) error { return b.SetValue(i, Number(v)) }

// SetValue is SetElement of a value.
func (b *Buffer) SetValue(i int64, v Value) error {
	return b.Write(func(data []byte) error {
		if i < 0 || i >= b.count {
			return b.indexError(i)
		}
		return b.store(data, i, v)
	})
}

// store writes v as element i of data.
func (b *Buffer) store(data []byte, i int64, v Value) error {
	if problem := b.typ.Store(data, int(i), v); problem != "" {
		return errorf(ErrInvalidParam, "element %d: %s", i+1, problem)
	}
	return nil
}

func (b *Buffer) indexError(i int64) error {
	return errorf(ErrParamInvalid, "index %d is not inside 1 to %d", i+1, b.count)
}

// SetAll writes n numbers from the start on; next gives the one of index i, from 0, and may wait. It stops at the
// first error; what came before it is written.
func (b *Buffer) SetAll(n int64, next func(i int64) (float64, error)) error {
	return b.SetValues(n, func(i int64) (Value, error) {
		v, err := next(i)
		return Number(v), err
	})
}

// SetValues is SetAll of values.
func (b *Buffer) SetValues(n int64, next func(i int64) (Value, error)) error {
	err := b.Write(func([]byte) error {
		if n > b.count {
			return errorf(ErrParamInvalid, "%d values for %d elements", n, b.count)
		}
		return nil
	})
	for i := int64(0); i < n && err == nil; i++ {
		var v Value
		if v, err = next(i); err != nil {
			return err
		}
		err = b.Write(func(data []byte) error { return b.store(data, i, v) }) // next may have closed the buffer, or queued a copy of it
	}
	return err
}

// SetBytes copies raw bytes, which must fill whole elements, to the start of the buffer. Those of bool are 0 and 1.
func (b *Buffer) SetBytes(raw string) error {
	return b.Write(func(data []byte) error {
		if len(raw) > len(data) || len(raw)%b.typ.Size() != 0 {
			return errorf(ErrParamInvalid, "%d B of raw data for %d elements of %d B", len(raw), b.count, b.typ.Size())
		}
		if problem := b.typ.Stray([]byte(raw)); problem != "" {
			return errorf(ErrInvalidParam, "%s", problem)
		}
		copy(data, raw)
		return nil
	})
}

// FillHost sets every element of a host buffer to v.
func (b *Buffer) FillHost(v float64) error { return b.FillHostValue(Number(v)) }

// FillHostValue is FillHost of a value.
func (b *Buffer) FillHostValue(v Value) error {
	return b.Write(func(data []byte) error {
		if problem := b.typ.Store(data, 0, v); problem != "" {
			return errorf(ErrInvalidParam, "%s", problem)
		}
		for n := b.typ.Size(); n < len(data); n *= 2 {
			copy(data[n:], data[:n])
		}
		return nil
	})
}

// Sum adds the elements of a host buffer: of float types in float64, always in the same order, else exactly.
// ErrInvalidParam where a number does not hold the sum.
func (b *Buffer) Sum() (float64, error) {
	var sum Value
	err := b.Read(func(data []byte) error {
		if sum = b.typ.Sum(data); sum.Text != "" {
			return b.inexact("the sum", sum.Text)
		}
		return nil
	})
	return sum.Number, err
}

// Min is the smallest element of a host buffer; NaN where an element is NaN. ErrInvalidParam where a number does not hold
// it exactly.
func (b *Buffer) Min() (float64, error) {
	lo, _, err := b.minMax()
	if err == nil && lo.Text != "" {
		err = b.inexact("the smallest element", lo.Text)
	}
	return lo.Number, err
}

// Max is the largest one, as Min.
func (b *Buffer) Max() (float64, error) {
	_, hi, err := b.minMax()
	if err == nil && hi.Text != "" {
		err = b.inexact("the largest element", hi.Text)
	}
	return hi.Number, err
}

// MinMax is Min and Max.
func (b *Buffer) MinMax() (lo, hi float64, err error) {
	if lo, err = b.Min(); err == nil {
		hi, err = b.Max()
	}
	return lo, hi, err
}

func (b *Buffer) minMax() (lo, hi Value, err error) {
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
