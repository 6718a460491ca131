package driver

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"npulua/npu/internal/dtype"
)

// params is "float32 a, uint32 b1, ..." with n parameters.
func params(n int) string {
	var list []string
	for i := range n {
		list = append(list, fmt.Sprintf("float32 a%d", i))
	}
	return strings.Join(list, ", ")
}

func TestParseSignature(t *testing.T) {
	tests := []struct {
		text  string
		want  []Param
		vars  []string
		words int
	}{
		{"", nil, nil, 0},
		{" \t\n", nil, nil, 0},
		{"out float32* y, in float32* x, float32 a, uint32 n", []Param{
			{Name: "y", Dir: DirOut, Pointer: true, Type: dtype.Float32},
			{Name: "x", Dir: DirIn, Pointer: true, Type: dtype.Float32},
			{Name: "a", Type: dtype.Float32},
			{Name: "n", Type: dtype.Uint32},
		}, nil, 6},
		{"inout half*x", []Param{{Name: "x", Dir: DirInOut, Pointer: true, Type: dtype.Float16}}, nil, 2},
		{"in int *x", []Param{{Name: "x", Pointer: true, Type: dtype.Int32}}, nil, 2},
		{"in\tbool\n*\nx", []Param{{Name: "x", Pointer: true, Type: dtype.Bool}}, nil, 2},
		{"out U* y, in T* x, T a, in T* _b2", []Param{
			{Name: "y", Dir: DirOut, Pointer: true, TypeVar: "U"},
			{Name: "x", Pointer: true, TypeVar: "T"},
			{Name: "a", TypeVar: "T"},
			{Name: "_b2", Pointer: true, TypeVar: "T"},
		}, []string{"U", "T"}, 7},
		{"float64 in", []Param{{Name: "in", Type: dtype.Float64}}, nil, 1},
	}
	for _, tt := range tests {
		got, err := ParseSignature(tt.text)
		if err != nil {
			t.Errorf("ParseSignature(%q) = %v", tt.text, err)
			continue
		}
		want := &Signature{Text: tt.text, Params: tt.want, TypeVars: tt.vars}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("ParseSignature(%q) = %+v, want %+v", tt.text, got, want)
		}
		if n := got.Words(); n != tt.words {
			t.Errorf("ParseSignature(%q).Words() = %d, want %d", tt.text, n, tt.words)
		}
	}
	if s, err := ParseSignature(params(MaxParams)); err != nil || len(s.Params) != MaxParams {
		t.Errorf("ParseSignature of %d parameters = %v, %v", MaxParams, s, err)
	}
}

func TestParseSignatureRefuses(t *testing.T) {
	const form = "want [in|out|inout] type [*] name"
	tests := []struct{ text, want string }{
		{",", `parameter 1 "": empty`},
		{"float32 a,", `parameter 2 "": empty`},
		{"float32 a,,float32 b", `parameter 2 "": empty`},
		{"in", `parameter 1 "in": no type`},
		{"float32", `parameter 1 "float32": ` + form},
		{"in float32*", `parameter 1 "in float32*": ` + form},
		{"float32 a b", `parameter 1 "float32 a b": ` + form},
		{"float32 2a", `parameter 1 "float32 2a": ` + form},
		{"float32 a-b", `parameter 1 "float32 a-b": ` + form},
		{"float32 é", `parameter 1 "float32 é": ` + form},
		{"in float32** x", `parameter 1 "in float32** x": ` + form},
		{"in * float32 x", `parameter 1 "in * float32 x": ` + form},
		{"float32 x*", `parameter 1 "float32 x*": ` + form},
		{"in * x", `parameter 1 "in * x": unknown type "*"`},
		{"float99 a", `parameter 1 "float99 a": unknown type "float99"`},
		{"Float32 a", `parameter 1 "Float32 a": unknown type "Float32"`},
		{"TT a", `parameter 1 "TT a": unknown type "TT"`},
		{"t a", `parameter 1 "t a": unknown type "t"`},
		{"invalid a", `parameter 1 "invalid a": unknown type "invalid"`},
		{"float32 a, float32* x", `parameter 2 "float32* x": a pointer needs a direction: in, out or inout`},
		{"in float32 x", `parameter 1 "in float32 x": a direction needs a pointer: write float32*`},
		{"out T x", `parameter 1 "out T x": a direction needs a pointer: write T*`},
		{"float32 a, in half* a", `parameter 2: name "a" is used twice`},
		{"T a", `parameter 1: type variable T needs a pointer parameter before it`},
		{"in T* x, U a", `parameter 2: type variable U needs a pointer parameter before it`},
		{params(MaxParams + 1), "129 parameters, at most 128"},
	}
	for _, tt := range tests {
		s, err := ParseSignature(tt.text)
		if want := "signature: " + tt.want; err == nil || err.Error() != want || s != nil {
			t.Errorf("ParseSignature(%q) = %v, %v, want %s", tt.text, s, err, want)
		}
	}
}

// text writes s in its plainest form.
func (s *Signature) text() string {
	var list []string
	for _, p := range s.Params {
		typ := p.TypeVar
		if typ == "" {
			typ = p.Type.String()
		}
		if p.Pointer {
			typ = [...]string{"in ", "out ", "inout "}[p.Dir] + typ + "*"
		}
		list = append(list, typ+" "+p.Name)
	}
	return strings.Join(list, ", ")
}

func FuzzParseSignature(f *testing.F) {
	for _, text := range []string{"", "out float32* y, in T*x, T a", "inout half *x,uint n", "in float32** x", "float32 a,", "T a", "in", "*"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		s, err := ParseSignature(text)
		if err != nil {
			if !strings.HasPrefix(err.Error(), "signature: ") || s != nil {
				t.Fatalf("ParseSignature(%q) = %v, %v", text, s, err)
			}
			return
		}
		plain := s.text()
		again, err := ParseSignature(plain)
		if err != nil {
			t.Fatalf("ParseSignature(%q) = %v, from %q", plain, err, text)
		}
		if again.Text = text; !reflect.DeepEqual(again, s) {
			t.Fatalf("ParseSignature(%q) = %+v, want %+v", plain, again, s)
		}
		if n := s.Words(); n < len(s.Params) || n > 2*len(s.Params) {
			t.Fatalf("Words() = %d of %d parameters", n, len(s.Params))
		}
	})
}
