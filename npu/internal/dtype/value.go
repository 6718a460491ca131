package dtype

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// MaxExact bounds the whole numbers that a float64 holds exactly, all of them.
const MaxExact = 1 << 53

// Value is what an element is set to, or was read as: a number, or where that would not be exact its decimal text.
type Value struct {
	Number float64
	Text   string // "": Number is exact
}

// Number is the value of a number.
func Number(v float64) Value { return Value{Number: v} }

// Wide reports whether t has whole numbers that a float64 does not hold exactly. Those go in and out as text.
func (t DType) Wide() bool { return t == Int64 || t == Uint64 }

// Read is element i of b; ok is false where a number does not hold it exactly.
func (t DType) Read(b []byte, i int) (v float64, ok bool) {
	switch t {
	case Int64:
		w := int64(binary.LittleEndian.Uint64(b[i*8:]))
		return float64(w), w >= -MaxExact && w <= MaxExact
	case Uint64:
		w := binary.LittleEndian.Uint64(b[i*8:])
		return float64(w), w <= MaxExact
	}
	return t.Get(b, i), true
}

// Stray says which of the bytes of raw are no element of t, "" where all are: of bool those that are neither 0 nor 1.
func (t DType) Stray(raw []byte) string {
	if t != Bool {
		return ""
	}
	i := slices.IndexFunc(raw, func(b byte) bool { return b > 1 })
	if i < 0 {
		return ""
	}
	return fmt.Sprintf("bool element %d is %d, want 0 or 1", i+1, raw[i])
}

// Value is element i of b.
func (t DType) Value(b []byte, i int) Value {
	v, ok := t.Read(b, i)
	if ok {
		return Number(v)
	}
	return Value{v, t.Text(b, i)}
}

// Text is element i of b as text that stands for it exactly, as short as that can be.
func (t DType) Text(b []byte, i int) string {
	switch t {
	case Int64:
		return strconv.FormatInt(int64(binary.LittleEndian.Uint64(b[i*8:])), 10)
	case Uint64:
		return strconv.FormatUint(binary.LittleEndian.Uint64(b[i*8:]), 10)
	}
	switch v := t.Get(b, i); {
	case math.IsNaN(v):
		return "nan"
	case math.IsInf(v, 1):
		return "inf"
	case math.IsInf(v, -1):
		return "-inf"
	case !t.IsFloat():
		return strconv.FormatInt(int64(v), 10)
	case t == Float64:
		return strconv.FormatFloat(v, 'g', -1, 64)
	case t == Float32:
		return strconv.FormatFloat(v, 'g', -1, 32)
	default:
		return t.shortest(v)
	}
}

// shortest is the text of a finite element of 16 bits, with as few digits as it can be read back from.
func (t DType) shortest(v float64) string {
	if math.Signbit(v) {
		return "-" + t.shortest(-v)
	}
	for digits := 0; ; digits++ {
		mantissa, exponent, _ := strings.Cut(strconv.FormatFloat(v, 'e', digits, 64), "e")
		n, _ := strconv.Atoi(strings.Replace(mantissa, ".", "", 1))
		e, _ := strconv.Atoi(exponent)
		for range 2 { // above a power of two more is rounded to it than below: n+1 may be, where n, which is nearer, is not
			short, _ := strconv.ParseFloat(fmt.Sprintf("%de%d", n, e-digits), 64)
			if t.Bits(short) == t.Bits(v) {
				return strconv.FormatFloat(short, 'g', -1, 64)
			}
			n++
		}
	}
}

// Store writes v as element i of b, rounded to the nearest that a float type holds; a finite number that is too large
// for it becomes infinite. It returns why v cannot be stored otherwise, and "" where it was.
func (t DType) Store(b []byte, i int, v Value) (problem string) {
	if v.Text == "" {
		if problem = t.Check(v.Number); problem == "" {
			t.Put(b, i, v.Number)
		}
		return problem
	}
	bits, problem := t.parse(v.Text)
	if problem == "" {
		binary.LittleEndian.PutUint64(b[i*8:], bits)
	}
	return problem
}

// Pack is v as one element of t in the low bytes of a word, as kernel arguments travel.
func (t DType) Pack(v Value) (word uint64, problem string) {
	var b [8]byte
	problem = t.Store(b[:], 0, v)
	return binary.LittleEndian.Uint64(b[:]), problem
}

// Unpack is the value that Pack has packed.
func (t DType) Unpack(word uint64) Value {
	var b [8]byte
	binary.LittleEndian.PutUint64(b[:], word)
	return t.Value(b[:], 0)
}

// parse reads the decimal text of a whole number.
func (t DType) parse(text string) (bits uint64, problem string) {
	digits := strings.TrimPrefix(text, "-")
	switch {
	case !t.Wide():
		return 0, fmt.Sprintf("%s takes numbers, got the text %q", t, text)
	case digits == "" || strings.Trim(digits, "0123456789") != "":
		return 0, fmt.Sprintf("%s takes text of decimal digits, got %q", t, text)
	}
	var err error
	switch {
	case t == Int64:
		var v int64
		v, err = strconv.ParseInt(text, 10, 64)
		bits = uint64(v)
	case text != digits && strings.Trim(digits, "0") != "":
		err = strconv.ErrRange // less than 0
	default:
		bits, err = strconv.ParseUint(digits, 10, 64)
	}
	if err != nil {
		return 0, t.outside(text)
	}
	return bits, ""
}

// outside says that a whole number is none of t.
func (t DType) outside(text string) string {
	lo, hi := strconv.FormatFloat(table[t].lo, 'f', 0, 64), strconv.FormatFloat(table[t].hi, 'f', 0, 64)
	switch t {
	case Int64:
		lo, hi = strconv.FormatInt(math.MinInt64, 10), strconv.FormatInt(math.MaxInt64, 10)
	case Uint64:
		hi = strconv.FormatUint(math.MaxUint64, 10)
	}
	return fmt.Sprintf("%s holds %s to %s, got %s", t, lo, hi, text)
}
