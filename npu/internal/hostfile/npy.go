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
	err := readFile(path, forEver, func(r io.Reader, size int64) (err error) {
		a, err = DecodeNPY(r, size)
		return err
	})
	return a, err
}

// DecodeNPY reads what ReadNPY reads from r, which holds size bytes. Where size is negative that
// is unknown, and memory grows with what arrives.
func DecodeNPY(r io.Reader, size int64) (Array, error) {
	var a Array
	h, offset, err := readNPYHeader(r, size)
	if err != nil {
		return a, err
	}
	rest := size - offset
	if size < 0 {
		var b bytes.Buffer
		if rest, err = io.Copy(&b, io.LimitReader(r, h.bytes+1)); err != nil {
			return a, err
		}
		if rest > h.bytes {
			return a, h.mismatch("more")
		}
		r = &b
	}
	var sink heap
	if err := h.load(r, rest, &sink); err != nil {
		return a, err
	}
	return Array{Type: h.typ, Shape: h.shape, Data: sink.data}, nil
}

// LoadNPY reads what ReadNPY reads from r, which holds size bytes, into the memory of sink. Where size is negative the
// header is believed.
func LoadNPY(r io.Reader, size int64, sink Sink) error {
	h, offset, err := readNPYHeader(r, size)
	if err != nil {
		return err
	}
	rest := size - offset
	if size < 0 {
		rest = -1
	}
	return h.load(r, rest, sink)
}

// mismatch says that the data are not what the header says.
func (h npyHeader) mismatch(holds string) error {
	return formatErrorf("header says %d %s (%d B), the file holds %s", h.bytes/int64(h.typ.Size()), h.typ, h.bytes, holds)
}

// load reads the data into memory of sink; rest is what follows the header, negative where that is unknown.
func (h npyHeader) load(r io.Reader, rest int64, sink Sink) error {
	if rest >= 0 && rest != h.bytes {
		return h.mismatch(fmt.Sprintf("%d B", rest))
	}
	if err := sink.Holds(h.bytes, 0); err != nil {
		return err
	}
	return sink.Fill(h.typ, h.shape, func(dst []byte) error {
		n, err := h.read(wanted{r, sink}, dst)
		switch {
		case err == io.EOF || err == io.ErrUnexpectedEOF: // it shrank meanwhile
			return h.mismatch(fmt.Sprintf("%d B", n))
		case err != nil:
			return err
		}
		if rest < 0 {
			if n, err := io.ReadFull(r, make([]byte, 1)); n > 0 {
				return h.mismatch("more")
			} else if err != io.EOF {
				return err
			}
		}
		return fits(h.typ, dst)
	})
}

// fits fails where data have bytes that are no elements.
func fits(typ dtype.DType, data []byte) error {
	if problem := typ.Stray(data); problem != "" {
		return formatErrorf("%s", problem)
	}
	return nil
}

// read fills dst with what r has, and returns how much of r that was.
func (h npyHeader) read(r io.Reader, dst []byte) (done int64, err error) {
	width := h.typ.Size()
	place := h.places()
	var part []byte
	if place != nil {
		part = make([]byte, min(piece, len(dst)))
	}
	for int(done) < len(dst) {
		p := dst[done:min(int(done)+piece, len(dst))]
		if place != nil {
			p = part[:len(p)]
		}
		n, err := io.ReadFull(r, p)
		if err != nil {
			return done + int64(n), err
		}
		done += int64(n)
		if h.bigEndian {
			for i := 0; i < len(p); i += width {
				slices.Reverse(p[i : i+width])
			}
		}
		if place != nil {
			for i := 0; i < len(p); i += width {
				to := place()
				copy(dst[to:to+width], p[i:i+width])
			}
		}
	}
	return done, nil
}

// places tells where the elements of a file in Fortran order, first index fastest, belong, one after the other; nil
// where they are in order.
func (h npyHeader) places() func() int {
	if !h.fortran || len(h.shape) < 2 {
		return nil
	}
	strides := make([]int, len(h.shape)) // in bytes, last index fastest
	n := h.typ.Size()
	for i := len(h.shape) - 1; i >= 0; i-- {
		strides[i] = n
		n *= h.shape[i]
	}
	index := make([]int, len(h.shape))
	next := 0
	return func() int {
		to := next
		for i := range index {
			index[i]++
			next += strides[i]
			if index[i] < h.shape[i] {
				break
			}
			next -= strides[i] * h.shape[i]
			index[i] = 0
		}
		return to
	}
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
	if err := fits(a.Type, a.Data); err != nil {
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
