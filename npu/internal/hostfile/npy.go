package hostfile

import (
	"bytes"
	"fmt"
	"io"
	"slices"

	"npulua/npu/internal/dtype"
)

// Array is an n-dimensional array as a host buffer holds it.
type Array struct {
	Type  dtype.DType
	Shape []int  // empty for a single number
	Data  []byte // little-endian, last index fastest
}

// ReadNPY reads a NumPy file of version 1, 2 or 3. Big-endian numbers and Fortran order are
// converted.
func ReadNPY(path string) (Array, error) {
	var a Array
	err := readFile(path, func(r io.Reader, size int64) (err error) {
		a, err = DecodeNPY(r, size)
		return err
	})
	return a, err
}

// DecodeNPY reads what ReadNPY reads from r, which holds size bytes. Where size is negative that
// is unknown, and memory grows with what arrives.
func DecodeNPY(r io.Reader, size int64) (Array, error) {
	h, offset, err := readNPYHeader(r, size)
	if err != nil {
		return Array{}, err
	}
	data, err := readNPYData(r, size-offset, size >= 0, h)
	if err != nil {
		return Array{}, err
	}
	width := h.typ.Size()
	if h.bigEndian {
		for i := 0; i < len(data); i += width {
			slices.Reverse(data[i : i+width])
		}
	}
	if h.typ == dtype.Bool {
		if i := slices.IndexFunc(data, func(b byte) bool { return b > 1 }); i >= 0 {
			return Array{}, formatErrorf("bool element %d is %d, want 0 or 1", i+1, data[i])
		}
	}
	if h.fortran {
		data = toCOrder(data, h.shape, width)
	}
	return Array{Type: h.typ, Shape: h.shape, Data: data}, nil
}

// readNPYData reads h.bytes bytes; rest, if known, is what follows the header.
func readNPYData(r io.Reader, rest int64, known bool, h npyHeader) ([]byte, error) {
	mismatch := func(holds string) error {
		return formatErrorf("header says %d %s (%d B), the file holds %s", h.bytes/int64(h.typ.Size()), h.typ, h.bytes, holds)
	}
	if !known {
		b := bytes.NewBuffer([]byte{})
		n, err := io.Copy(b, io.LimitReader(r, h.bytes+1))
		switch {
		case err != nil:
			return nil, err
		case n > h.bytes:
			return nil, mismatch("more")
		case n < h.bytes:
			return nil, mismatch(fmt.Sprintf("%d B", n))
		}
		return b.Bytes(), nil
	}
	if rest != h.bytes {
		return nil, mismatch(fmt.Sprintf("%d B", rest))
	}
	data := make([]byte, h.bytes)
	n, err := io.ReadFull(r, data)
	if err == io.EOF || err == io.ErrUnexpectedEOF { // it shrank meanwhile
		return nil, mismatch(fmt.Sprintf("%d B", n))
	}
	return data, err
}

// toCOrder copies data, first index fastest, to last index fastest.
func toCOrder(data []byte, shape []int, width int) []byte {
	if len(shape) < 2 || len(data) == 0 {
		return data
	}
	out := make([]byte, len(data))
	last := len(shape) - 1
	strides := make([]int, len(shape)) // of data, in bytes
	strides[0] = width
	for i := range last {
		strides[i+1] = strides[i] * shape[i]
	}
	index := make([]int, last)
	from := 0 // offset in data of the row that index names
	for to := 0; to < len(out); {
		src := from
		for range shape[last] {
			copy(out[to:to+width], data[src:src+width])
			to += width
			src += strides[last]
		}
		for i := last - 1; i >= 0; i-- {
			index[i]++
			from += strides[i]
			if index[i] < shape[i] {
				break
			}
			from -= strides[i] * shape[i]
			index[i] = 0
		}
	}
	return out
}

// WriteNPY writes a as a NumPy file of version 1. It has no bfloat16: cast first.
func WriteNPY(path string, a Array) error {
	if err := checkArray(a); err != nil {
		return pathError("write", path, err)
	}
	return writeFile(path, func(w io.Writer) error { return EncodeNPY(w, a) })
}

// EncodeNPY writes to w what WriteNPY writes.
func EncodeNPY(w io.Writer, a Array) error {
	if err := checkArray(a); err != nil {
		return err
	}
	if _, err := w.Write(npyHead(a)); err != nil {
		return err
	}
	_, err := w.Write(a.Data)
	return err
}

func checkArray(a Array) error {
	if npyName(a.Type) == "" {
		return formatErrorf("npy has no %s; cast to float32 first", a.Type)
	}
	if len(a.Shape) > maxNPYDims {
		return formatErrorf("%d dimensions, npy has at most %d", len(a.Shape), maxNPYDims)
	}
	for _, d := range a.Shape {
		if d < 0 {
			return formatErrorf("shape %s has a negative size", shapeText(a.Shape))
		}
	}
	n, ok := dataBytes(a.Type, a.Shape)
	if !ok || n != int64(len(a.Data)) {
		return formatErrorf("%s of shape %s does not take %d B", a.Type, shapeText(a.Shape), len(a.Data))
	}
	return nil
}
