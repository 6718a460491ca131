package hostfile

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"testing"

	"npulua/npu/internal/dtype"
)

// npyFile is a file with the given version, header dictionary and data.
func npyFile(version byte, dict, data string) string {
	head := npyMagic + string([]byte{version, 0})
	if version == 1 {
		return head + string(binary.LittleEndian.AppendUint16(nil, uint16(len(dict)))) + dict + data
	}
	return head + string(binary.LittleEndian.AppendUint32(nil, uint32(len(dict)))) + dict + data
}

func npyDict(descr, order, shape string) string {
	return fmt.Sprintf("{'descr': '%s', 'fortran_order': %s, 'shape': %s, }\n", descr, order, shape)
}

func TestDecodeNPY(t *testing.T) {
	zeros := func(n int) string { return strings.Repeat("\x00", n) }
	tests := []struct {
		name, in string
		want     Array
	}{
		{"plain", npyFile(1, npyDict("<u2", "False", "(2,)"), "\x01\x02\x03\x04"),
			Array{dtype.Uint16, []int{2}, []byte{1, 2, 3, 4}}},
		{"version 2", npyFile(2, npyDict("|u1", "False", "(1,)"), "\x07"), Array{dtype.Uint8, []int{1}, []byte{7}}},
		{"version 3", npyFile(3, npyDict("|i1", "False", "(1,)"), "\xff"), Array{dtype.Int8, []int{1}, []byte{255}}},
		{"number", npyFile(1, npyDict("<f4", "False", "()"), "\x00\x00\x80?"), Array{dtype.Float32, []int{}, []byte{0, 0, 128, 63}}},
		{"number in Fortran order", npyFile(1, npyDict("|b1", "True", "()"), "\x01"), Array{dtype.Bool, []int{}, []byte{1}}},
		{"no elements", npyFile(1, npyDict("<f8", "False", "(3, 0, 2)"), ""), Array{dtype.Float64, []int{3, 0, 2}, []byte{}}},
		{"no elements in Fortran order", npyFile(1, npyDict("<f8", "True", "(0, 3)"), ""), Array{dtype.Float64, []int{0, 3}, []byte{}}},
		{"big-endian half", npyFile(1, npyDict(">f2", "False", "(2,)"), "\x3c\x00\xc0\x00"), Array{dtype.Float16, []int{2}, []byte{0, 0x3c, 0, 0xc0}}},
		{"big-endian long", npyFile(1, npyDict(">i8", "False", "(1,)"), "\x01\x02\x03\x04\x05\x06\x07\x08"), Array{dtype.Int64, []int{1}, []byte{8, 7, 6, 5, 4, 3, 2, 1}}},
		{"Fortran order", npyFile(1, npyDict("|u1", "True", "(2, 3)"), "\x01\x04\x02\x05\x03\x06"), Array{dtype.Uint8, []int{2, 3}, []byte{1, 2, 3, 4, 5, 6}}},
		{"Fortran order, big-endian", npyFile(1, npyDict(">u2", "True", "(2, 2)"), "\x00\x01\x00\x03\x00\x02\x00\x04"), Array{dtype.Uint16, []int{2, 2}, []byte{1, 0, 2, 0, 3, 0, 4, 0}}},
		{"keys in another order, double quotes, no space", npyFile(1, `{"shape":(1,),"fortran_order":False,"descr":"<i4"}`, zeros(4)), Array{dtype.Int32, []int{1}, make([]byte, 4)}},
		{"Python 2", npyFile(1, npyDict("<u4", "False", "(1L, 2L)"), zeros(8)), Array{dtype.Uint32, []int{1, 2}, make([]byte, 8)}},
		{"padded", npyFile(1, npyDict("|u1", "False", "(1,)")+"   \n", "\x01"), Array{dtype.Uint8, []int{1}, []byte{1}}},
	}
	for _, tt := range tests {
		for _, size := range []int64{int64(len(tt.in)), -1} {
			got, err := DecodeNPY(strings.NewReader(tt.in), size)
			if err != nil || !reflect.DeepEqual(got, tt.want) {
				t.Errorf("%s: DecodeNPY(size %d) = %v, %v, want %v", tt.name, size, got, err, tt.want)
			}
		}
	}
}

func TestDecodeNPYRefuses(t *testing.T) {
	simple := func(descr string) string { return npyFile(1, npyDict(descr, "False", "(1,)"), "") }
	shape := func(s string) string { return npyFile(1, npyDict("<f4", "False", s), "") }
	dict := func(s string) string { return npyFile(1, s, "") }
	tests := []struct{ name, in, want string }{
		{"truncated", npyFile(1, npyDict("<f4", "False", "(3, 4)"), strings.Repeat("x", 40)), "header says 12 float32 (48 B), the file holds 40 B"},
		{"no data", shape("(1,)"), "header says 1 float32 (4 B), the file holds 0 B"},
		{"trailing bytes", npyFile(1, npyDict("<f4", "False", "(1,)"), "12345"), "header says 1 float32 (4 B), the file holds 5 B"},
		{"no elements but data", npyFile(1, npyDict("<f4", "False", "(0,)"), "1"), "header says 0 float32 (0 B), the file holds 1 B"},
		{"empty", "", "not an npy file: it ends within the header"},
		{"only magic", npyMagic + "\x01\x00", "not an npy file: it ends within the header"},
		{"other file", "PK\x03\x04 and more", `not an npy file: it starts with "PK\x03\x04 a"`},
		{"version 4", npyFile(4, npyDict("<f4", "False", "(1,)"), ""), "npy version 4.0, want 1, 2 or 3"},
		{"header past the end", npyMagic + "\x01\x00\x40\x00{}", "npy header of 64 B, the file holds 2 B"},
		{"header of 4 GB", npyMagic + "\x02\x00\xff\xff\xff\xff{}", "npy header of 4294967295 B, at most 65536 B"},
		{"objects", simple("|O"), `arrays of Python objects are not read (element type "|O")`},
		{"strings", simple("<U5"), `arrays of strings are not read (element type "<U5")`},
		{"bytes", simple("|S3"), `arrays of strings are not read (element type "|S3")`},
		{"bfloat16", simple("|V2"), `arrays of raw bytes are not read; bfloat16 has no npy type, cast to float32 before saving (element type "|V2")`},
		{"complex", simple("<c8"), `complex arrays are not read; save real and imaginary part on their own (element type "<c8")`},
		{"times", simple("<M8[ns]"), `arrays of times are not read; cast to int64 before saving (element type "<M8[ns]")`},
		{"structured", dict("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (1,)}"), "structured arrays are not read; save each field on its own"},
		{"quad", simple("<f16"), `unknown element type "<f16"`},
		{"two orders", simple("<>f4"), `unknown element type "<>f4"`},
		{"no type", simple("<"), `unknown element type "<"`},
		{"empty type", simple(""), `unknown element type ""`},
		{"type is a number", dict("{'descr': 4"), `npy header: want the element type at "4"`},
		{"negative size", shape("(-3,)"), `npy header: want a size at "-3,), }\n"`},
		{"size in words", shape("(x,)"), `npy header: want a size at "x,), }\n"`},
		{"no tuple", shape("3"), `npy header: want a shape in parentheses at "3, }\n"`},
		{"number in parentheses", shape("(3)"), `npy header: want , after a single size at "), }\n"`},
		{"no comma", shape("(3, 4 5)"), `npy header: want , or ) at "5), }\n"`},
		{"open tuple", dict("{'shape': (3,"), `npy header: want a size at ""`},
		{"too large", shape("(99999999999999999999,)"), "header says float32 of shape (9223372036854775807,), more than 68719476736 B"},
		{"too large together", shape("(65536, 65536, 65536)"), "header says float32 of shape (65536, 65536, 65536), more than 68719476736 B"},
		{"too large but for a zero", shape("(0, 4294967296, 4294967296)"), "header says float32 of shape (0, 4294967296, 4294967296), more than 68719476736 B"},
		{"65 dimensions", shape("(" + strings.Repeat("1,", 65) + ")"), "npy header: more than 64 dimensions"},
		{"order", npyFile(1, npyDict("<f4", "Maybe", "(1,)"), ""), `npy header: want True or False at "Maybe, 'shape': (1,)"`},
		{"no dictionary", dict("[1]"), `npy header: want { at "[1]"`},
		{"no header", dict(""), `npy header: want { at ""`},
		{"open dictionary", dict("{'descr': '<f4'"), `npy header: want , or } at ""`},
		{"open string", dict("{'descr"), `npy header: want 'key': at ""`},
		{"key twice", dict("{'descr': '<f4', 'descr': '<f4'}"), `npy header: key "descr" is there twice`},
		{"unknown key", dict("{'color': 1}"), `npy header: unknown key "color"`},
		{"no shape", dict("{'descr': '<f4', 'fortran_order': False}"), `npy header: no "shape"`},
		{"after the dictionary", npyFile(1, npyDict("<f4", "False", "(1,)")+"x", ""), `npy header: want its end at "x"`},
		{"bool", npyFile(1, npyDict("|b1", "False", "(3,)"), "\x00\x01\x02"), "bool element 3 is 2, want 0 or 1"},
	}
	for _, tt := range tests {
		_, err := DecodeNPY(strings.NewReader(tt.in), int64(len(tt.in)))
		if err == nil || err.Error() != tt.want || !errors.Is(err, ErrFormat) {
			t.Errorf("%s: DecodeNPY = %v (bad format: %t), want %s", tt.name, err, errors.Is(err, ErrFormat), tt.want)
		}
		if _, err := DecodeNPY(strings.NewReader(tt.in), -1); !errors.Is(err, ErrFormat) {
			t.Errorf("%s: DecodeNPY(size unknown) = %v, want bad format", tt.name, err)
		}
	}
}

// A header that lies costs no memory, and neither does a file that shrinks while it is read.
func TestDecodeNPYMemory(t *testing.T) {
	lie := npyFile(1, npyDict("<f4", "False", "(1000000000,)"), "1234")
	for _, size := range []int64{int64(len(lie)), -1} {
		if n := allocated(func() { DecodeNPY(strings.NewReader(lie), size) }); n > 100_000 {
			t.Errorf("DecodeNPY(size %d) took %d B, want less than 100000", size, n)
		}
	}
	short := npyFile(1, npyDict("<f4", "False", "(2,)"), "1234")
	_, err := DecodeNPY(strings.NewReader(short), int64(len(short))+4)
	if want := "header says 2 float32 (8 B), the file holds 4 B"; err == nil || err.Error() != want {
		t.Errorf("DecodeNPY of a file that shrinks = %v, want %s", err, want)
	}
}

// allocated is the number of bytes that f takes, freed or not. No other test may run meanwhile.
func allocated(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

func TestDecodeNPYReaderError(t *testing.T) {
	broken := errors.New("broken")
	whole := npyFile(1, npyDict("<f4", "False", "(2,)"), "12345678")
	for _, n := range []int{0, 9, 20, len(whole) - 1} {
		for _, size := range []int64{int64(len(whole)), -1} {
			r := io.MultiReader(strings.NewReader(whole[:n]), errReader{broken})
			if _, err := DecodeNPY(r, size); !errors.Is(err, broken) || errors.Is(err, ErrFormat) {
				t.Errorf("DecodeNPY(broken after %d B, size %d) = %v, want broken", n, size, err)
			}
		}
	}
}

type errReader struct{ err error }

func (r errReader) Read([]byte) (int, error) { return 0, r.err }

func TestNPYRoundTrip(t *testing.T) {
	shapes := [][]int{{}, {1}, {5}, {0}, {2, 3}, {2, 0, 4}, {2, 3, 4, 5}}
	for _, typ := range dtype.All() {
		if typ == dtype.BFloat16 {
			continue
		}
		for _, shape := range shapes {
			n := 1
			for _, d := range shape {
				n *= d
			}
			data := make([]byte, n*typ.Size())
			for i := range n {
				typ.Put(data, i, float64(i%2))
			}
			path := filepath.Join(t.TempDir(), "a.npy")
			want := Array{typ, shape, data}
			if err := WriteNPY(path, want); err != nil {
				t.Errorf("WriteNPY(%v %v) = %v", typ, shape, err)
				continue
			}
			got, err := ReadNPY(path)
			if err != nil || !reflect.DeepEqual(got, want) {
				t.Errorf("ReadNPY = %v, %v, want %v", got, err, want)
			}
		}
	}
}

// The same bytes as numpy.save of NumPy 1.24.
func TestEncodeNPY(t *testing.T) {
	var b bytes.Buffer
	if err := EncodeNPY(&b, Array{dtype.Float32, []int{3}, make([]byte, 12)}); err != nil {
		t.Fatal(err)
	}
	want := npyMagic + "\x01\x00v\x00{'descr': '<f4', 'fortran_order': False, 'shape': (3,), }" + strings.Repeat(" ", 60) + "\n" + strings.Repeat("\x00", 12)
	if got := b.String(); got != want {
		t.Errorf("EncodeNPY = %q, want %q", got, want)
	}
}

func TestFortranOrder(t *testing.T) {
	for _, shape := range [][]int{{2, 3}, {3, 1, 2}, {2, 3, 4, 2}, {1, 7}, {7, 1}} {
		n := 1
		for _, d := range shape {
			n *= d
		}
		in, want := make([]byte, 2*n), make([]byte, 2*n)
		for c := range n { // offset in C order
			f, stride, rest := 0, 1, c
			index := make([]int, len(shape))
			for i := len(shape) - 1; i >= 0; i-- {
				index[i], rest = rest%shape[i], rest/shape[i]
			}
			for i, d := range shape {
				f += index[i] * stride
				stride *= d
			}
			dtype.Uint16.Put(want, c, float64(c))
			dtype.Uint16.Put(in, f, float64(c))
		}
		var sink heap
		h := npyHeader{typ: dtype.Uint16, fortran: true, shape: shape, bytes: int64(len(in))}
		if err := h.load(bytes.NewReader(in), int64(len(in)), &sink); err != nil || !bytes.Equal(sink.data, want) {
			t.Errorf("load of %v, %v = %v, %v, want %v", in, shape, sink.data, err, want)
		}
	}
}

func TestWriteNPYRefuses(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.npy")
	tests := []struct {
		a    Array
		want string
	}{
		{Array{dtype.BFloat16, []int{1}, make([]byte, 2)}, "npy has no bfloat16; cast to float32 first"},
		{Array{dtype.Float32, []int{2}, make([]byte, 4)}, "float32 of shape (2,) does not take 4 B"},
		{Array{dtype.Float32, []int{-1}, nil}, "shape (-1,) has a negative size"},
		{Array{dtype.Float32, []int{1 << 40, 1 << 40}, nil}, "float32 of shape (1099511627776, 1099511627776) does not take 0 B"},
		{Array{dtype.Uint8, make([]int, 65), nil}, "65 dimensions, npy has at most 64"},
	}
	for _, tt := range tests {
		err := WriteNPY(path, tt.a)
		if want := "write " + path + ": " + tt.want; err == nil || err.Error() != want || !errors.Is(err, ErrFormat) {
			t.Errorf("WriteNPY = %v, want %s", err, want)
		}
	}
	if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a refused array left a file: %v", err)
	}
}

func TestReadNPYErrors(t *testing.T) {
	dir := t.TempDir()
	bad := filepath.Join(dir, "x.npy")
	os.WriteFile(bad, []byte(npyFile(1, npyDict("<f4", "False", "(3, 4)"), strings.Repeat("x", 40))), 0o666)
	tests := []struct {
		path, want string
		is         error
	}{
		{bad, "header says 12 float32 (48 B), the file holds 40 B", ErrFormat},
		{filepath.Join(dir, "none.npy"), "no such file or directory", fs.ErrNotExist},
		{dir, "is a directory", nil},
	}
	for _, tt := range tests {
		_, err := ReadNPY(tt.path)
		if err == nil || err.Error() != "read "+tt.path+": "+tt.want || tt.is != nil && !errors.Is(err, tt.is) {
			t.Errorf("ReadNPY(%s) = %v, want %s", tt.path, err, tt.want)
		}
		if tt.is != ErrFormat && errors.Is(err, ErrFormat) {
			t.Errorf("ReadNPY(%s) = %v, is a bad format", tt.path, err)
		}
	}
}

func FuzzReadNPY(f *testing.F) {
	f.Add([]byte(npyFile(1, npyDict("<f4", "False", "(3,)"), "123456789abc")))
	f.Add([]byte(npyFile(2, npyDict(">u2", "True", "(2, 2)"), "12345678")))
	f.Add([]byte(npyFile(3, npyDict("|b1", "False", "()"), "\x01")))
	f.Add([]byte(npyFile(1, npyDict("|O", "False", "(1L,)"), "")))
	f.Add([]byte(npyFile(1, npyDict("<f8", "True", "(0, 18446744073709551615)"), "")))
	f.Fuzz(func(t *testing.T, in []byte) {
		a, err := DecodeNPY(bytes.NewReader(in), int64(len(in)))
		b, err2 := DecodeNPY(bytes.NewReader(in), -1)
		if (err == nil) != (err2 == nil) {
			t.Fatalf("size known: %v, unknown: %v", err, err2)
		}
		if err != nil {
			if !errors.Is(err, ErrFormat) || !errors.Is(err2, ErrFormat) {
				t.Fatalf("%v, %v: want bad format", err, err2)
			}
			return
		}
		if !bytes.Equal(a.Data, b.Data) || len(a.Data) > len(in) {
			t.Fatalf("%v is not %v", a, b)
		}
		var out bytes.Buffer
		if err := EncodeNPY(&out, a); err != nil {
			t.Fatalf("EncodeNPY(%v) = %v", a, err)
		}
		again, err := DecodeNPY(&out, int64(out.Len()))
		if err != nil || !reflect.DeepEqual(again, a) {
			t.Fatalf("again = %v, %v, want %v", again, err, a)
		}
	})
}
