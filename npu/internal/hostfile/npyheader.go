package hostfile

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

	"npulua/npu/internal/dtype"
)

// The npyio library is not used: its header reader (v0.14.0) panics on a header without newline,
// reads the shape (3,) without a comma after it as (), takes no version 3 and allocates whatever
// length the file claims. The dictionary needs a page of code.

const (
	npyMagic     = "\x93NUMPY"
	maxNPYHeader = 1 << 16 // bytes; NumPy itself stops at 10000
	maxNPYData   = 1 << 36 // bytes; more than a device holds
	maxNPYDims   = 64      // NumPy's limit
)

// npyTypes are the types that both sides have; the name is NumPy's kind and size.
var npyTypes = []struct {
	typ  dtype.DType
	name string
}{
	{dtype.Float16, "f2"}, {dtype.Float32, "f4"}, {dtype.Float64, "f8"},
	{dtype.Int8, "i1"}, {dtype.Int16, "i2"}, {dtype.Int32, "i4"}, {dtype.Int64, "i8"},
	{dtype.Uint8, "u1"}, {dtype.Uint16, "u2"}, {dtype.Uint32, "u4"}, {dtype.Uint64, "u8"},
	{dtype.Bool, "b1"},
}

// npyRefused says by kind why an array of another type is not read.
var npyRefused = map[byte]string{
	'O': "arrays of Python objects are not read",
	'U': "arrays of strings are not read",
	'S': "arrays of strings are not read",
	'a': "arrays of strings are not read",
	'V': "arrays of raw bytes are not read; bfloat16 has no npy type, cast to float32 before saving",
	'c': "complex arrays are not read; save real and imaginary part on their own",
	'M': "arrays of times are not read; cast to int64 before saving",
	'm': "arrays of times are not read; cast to int64 before saving",
}

type npyHeader struct {
	typ       dtype.DType
	bigEndian bool
	fortran   bool
	shape     []int
	bytes     int64 // of the data
}

// readNPYHeader returns the header and the offset of the data.
func readNPYHeader(r io.Reader, size int64) (npyHeader, int64, error) {
	var none npyHeader
	var pre [12]byte
	if err := readFull(r, pre[:8]); err != nil {
		return none, 0, err
	}
	if string(pre[:6]) != npyMagic {
		return none, 0, formatErrorf("not an npy file: it starts with %q", pre[:6])
	}
	var offset, length int64
	switch pre[6] {
	case 1:
		offset = 10
	case 2, 3:
		offset = 12
	default:
		return none, 0, formatErrorf("npy version %d.%d, want 1, 2 or 3", pre[6], pre[7])
	}
	if err := readFull(r, pre[8:offset]); err != nil {
		return none, 0, err
	}
	if offset == 10 {
		length = int64(binary.LittleEndian.Uint16(pre[8:]))
	} else {
		length = int64(binary.LittleEndian.Uint32(pre[8:]))
	}
	if length > maxNPYHeader {
		return none, 0, formatErrorf("npy header of %d B, at most %d B", length, maxNPYHeader)
	}
	if size >= 0 && offset+length > size {
		return none, 0, formatErrorf("npy header of %d B, the file holds %d B", length, size-offset)
	}
	text := make([]byte, length)
	if err := readFull(r, text); err != nil {
		return none, 0, err
	}
	h, err := parseNPYHeader(string(text))
	return h, offset + length, err
}

// readFull fills b; an end of the file is an error of the content.
func readFull(r io.Reader, b []byte) error {
	_, err := io.ReadFull(r, b)
	if err == io.EOF || err == io.ErrUnexpectedEOF {
		return formatErrorf("not an npy file: it ends within the header")
	}
	return err
}

// parseNPYHeader reads the Python dictionary {'descr': '<f4', 'fortran_order': False,
// 'shape': (3, 4), }: three keys in any order, no escapes.
func parseNPYHeader(text string) (npyHeader, error) {
	var h npyHeader
	s := scanner{text}
	if !s.take("{") {
		return h, s.errorf("want {")
	}
	seen := map[string]bool{}
	for !s.take("}") {
		key, ok := s.str()
		if !ok || !s.take(":") {
			return h, s.errorf("want 'key':")
		}
		if seen[key] {
			return h, formatErrorf("npy header: key %q is there twice", key)
		}
		seen[key] = true
		var err error
		switch key {
		case "descr":
			h.typ, h.bigEndian, err = s.descr()
		case "fortran_order":
			h.fortran, err = s.boolean()
		case "shape":
			h.shape, err = s.tuple()
		default:
			err = formatErrorf("npy header: unknown key %q", key)
		}
		if err != nil {
			return h, err
		}
		if !s.take(",") && !s.peek("}") {
			return h, s.errorf("want , or }")
		}
	}
	if s.space(); s.rest != "" {
		return h, s.errorf("want its end")
	}
	for _, key := range []string{"descr", "fortran_order", "shape"} {
		if !seen[key] {
			return h, formatErrorf("npy header: no %q", key)
		}
	}
	var ok bool
	if h.bytes, ok = dataBytes(h.typ, h.shape); !ok {
		return h, formatErrorf("header says %s of shape %s, more than %d B", h.typ, shapeText(h.shape), int64(maxNPYData))
	}
	return h, nil
}

// dataBytes is the size of an array; not ok where it, or its dimensions without those that are
// zero, are past maxNPYData.
func dataBytes(t dtype.DType, shape []int) (int64, bool) {
	n, zero := int64(t.Size()), false
	for _, d := range shape {
		if d == 0 {
			zero = true
			continue
		}
		if int64(d) > maxNPYData/n {
			return 0, false
		}
		n *= int64(d)
	}
	if zero {
		n = 0
	}
	return n, true
}

// scanner takes Python literals off the front of rest.
type scanner struct{ rest string }

func (s *scanner) space() { s.rest = strings.TrimLeft(s.rest, " \t\r\n\f\v") }

func (s *scanner) peek(token string) bool {
	s.space()
	return strings.HasPrefix(s.rest, token)
}

func (s *scanner) take(token string) bool {
	if !s.peek(token) {
		return false
	}
	s.rest = s.rest[len(token):]
	return true
}

func (s *scanner) errorf(want string) error {
	at := s.rest
	if len(at) > 20 {
		at = at[:20]
	}
	return formatErrorf("npy header: %s at %q", want, at)
}

func (s *scanner) str() (string, bool) {
	for _, quote := range []string{"'", `"`} {
		if s.take(quote) {
			text, rest, ok := strings.Cut(s.rest, quote)
			s.rest = rest
			return text, ok && !strings.ContainsAny(text, "\\\n")
		}
	}
	return "", false
}

func (s *scanner) boolean() (bool, error) {
	if s.take("True") {
		return true, nil
	}
	if s.take("False") {
		return false, nil
	}
	return false, s.errorf("want True or False")
}

// descr reads an element type: byte order, kind, size.
func (s *scanner) descr() (t dtype.DType, bigEndian bool, err error) {
	if s.peek("[") || s.peek("(") {
		return t, false, formatErrorf("structured arrays are not read; save each field on its own")
	}
	text, ok := s.str()
	if !ok {
		return t, false, s.errorf("want the element type")
	}
	name := strings.TrimLeft(text, "<>=|")
	if len(text)-len(name) > 1 || name == "" {
		return t, false, formatErrorf("unknown element type %q", text)
	}
	for _, row := range npyTypes {
		if row.name == name {
			return row.typ, text[0] == '>', nil
		}
	}
	if why, ok := npyRefused[name[0]]; ok {
		return t, false, formatErrorf("%s (element type %q)", why, text)
	}
	return t, false, formatErrorf("unknown element type %q", text)
}

// tuple reads a shape: (), (3,), (3, 4) or Python 2's (3L, 4L).
func (s *scanner) tuple() ([]int, error) {
	if !s.take("(") {
		return nil, s.errorf("want a shape in parentheses")
	}
	shape := []int{}
	for comma := true; !s.take(")"); {
		if !comma {
			return nil, s.errorf("want , or )")
		}
		s.space()
		digits := s.rest[:len(s.rest)-len(strings.TrimLeft(s.rest, "0123456789"))]
		n, err := strconv.ParseInt(digits, 10, 0)
		if errors.Is(err, strconv.ErrRange) {
			n, err = math.MaxInt, nil // refused for its size later
		}
		if err != nil {
			return nil, s.errorf("want a size")
		}
		if len(shape) == maxNPYDims {
			return nil, formatErrorf("npy header: more than %d dimensions", maxNPYDims)
		}
		shape = append(shape, int(n))
		s.rest = strings.TrimPrefix(s.rest[len(digits):], "L")
		comma = s.take(",")
		if !comma && len(shape) == 1 {
			return nil, s.errorf("want , after a single size")
		}
	}
	return shape, nil
}

// shapeText is shape as Python writes it.
func shapeText(shape []int) string {
	var b strings.Builder
	b.WriteByte('(')
	for i, d := range shape {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(strconv.Itoa(d))
	}
	if len(shape) == 1 {
		b.WriteByte(',')
	}
	b.WriteByte(')')
	return b.String()
}

// npyName is NumPy's name for t, "" where it has none.
func npyName(t dtype.DType) string {
	for _, row := range npyTypes {
		if row.typ == t {
			if t.Size() == 1 {
				return "|" + row.name
			}
			return "<" + row.name
		}
	}
	return ""
}

// npyHead is everything before the data, padded so that the data starts at a multiple of 64.
func npyHead(a Array) []byte {
	dict := fmt.Sprintf("{'descr': '%s', 'fortran_order': False, 'shape': %s, }", npyName(a.Type), shapeText(a.Shape))
	const pre = len(npyMagic) + 4
	total := (pre + len(dict) + 1 + 63) / 64 * 64
	head := make([]byte, 0, total)
	head = append(head, npyMagic+"\x01\x00"...)
	head = binary.LittleEndian.AppendUint16(head, uint16(total-pre))
	head = append(head, dict...)
	head = append(head, strings.Repeat(" ", total-len(head)-1)...)
	return append(head, '\n')
}
