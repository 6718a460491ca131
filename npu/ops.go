package npu

import (
	"slices"
	"strings"
)

// operatorRows are the operators: a name, the kernel that each runs, and what it takes, in the order of the kernel's
// parameters. y[rows,cols] is a buffer of so many elements, what has no brackets a number. A size that is no number
// of its own comes from the first buffer that has it, and goes to the kernel last.
var operatorRows = []struct {
	name, kernel, args string
	cube               bool // its work is for the cube units
	apart              bool // the first argument may share no memory with another; else it may be another one, but no part of it
	doc                string
}{
	{"add", "vector_add", "out[n], a[n], b[n]", false, false, "out[i] = a[i] + b[i]; out may be a or b."},
	{"sub", "vector_sub", "out[n], a[n], b[n]", false, false, "out[i] = a[i] - b[i]; out may be a or b."},
	{"mul", "vector_mul", "out[n], a[n], b[n]", false, false, "out[i] = a[i] * b[i]; out may be a or b."},
	{"axpy", "axpy", "y[n], x[n], a", false, false, "y[i] = a*x[i] + y[i]."},
	{"scale", "scale", "y[n], x[n], a", false, false, "y[i] = a*x[i]; y may be x."},
	{"relu", "relu", "y[n], x[n]", false, false, "y[i] = max(x[i], 0); y may be x."},
	{"exp", "exp", "y[n], x[n]", false, false, "y[i] = e^x[i]; y may be x."},
	{"sigmoid", "sigmoid", "y[n], x[n]", false, false, "y[i] = 1 / (1 + e^-x[i]); y may be x."},
	{"cast", "cast", "y[n], x[n]", false, true, "y[i] = x[i] as the type of y."},
	{"softmax", "softmax", "y[rows,cols], x[rows,cols], rows, cols", false, false, "y[r,c] = e^x[r,c] / sum of e^x[r,*], row by row; y may be x."},
	{"layer_norm", "layer_norm", "y[rows,cols], x[rows,cols], gamma[cols], beta[cols], rows, cols, eps", false, false,
		"y[r,c] = (x[r,c] - mean) / sqrt(variance + eps) * gamma[c] + beta[c], mean and variance of row r; y may be x."},
	{"sum", "reduce_sum", "y[1], x[n]", false, true, "y[0] = the sum of x."},
	{"max", "reduce_max", "y[1], x[n]", false, true, "y[0] = the largest of x."},
	{"argmax", "argmax", "index[1], x[n]", false, true, "index[0] = the position, from 0, of the first largest of x; index is uint32."},
	{"matmul", "matmul", "c[m,n], a[m,k], b[k,n], m, n, k", true, true, "c = a times b, all row-major; c must not overlap a or b."},
	{"transpose", "transpose", "y[cols,rows], x[rows,cols], rows, cols", false, true, "y = the transpose of x, both row-major; y must not overlap x."},
}

// OperatorInfo describes an operator.
type OperatorInfo struct {
	Name   string
	Kernel string // that it runs
	Args   string // "c[m,n], a[m,k], b[k,n], m, n, k": buffers with their sizes, and numbers
	Doc    string
	Types  []string // that it works on
}

// Names are the names of the arguments.
func (o OperatorInfo) Names() []string {
	var names []string
	for _, a := range parseOperatorArgs(o.Args) {
		names = append(names, a.name)
	}
	return names
}

// Operators lists the operators, in the order of the documentation.
func Operators() []OperatorInfo {
	types := make(map[string][][]DType)
	for _, k := range Kernels() {
		types[k.Name] = k.Types
	}
	var out []OperatorInfo
	for _, row := range operatorRows {
		info := OperatorInfo{Name: row.name, Kernel: row.kernel, Args: row.args, Doc: row.doc}
		for _, t := range column(types[row.kernel], 0) {
			info.Types = append(info.Types, t.String())
		}
		out = append(out, info)
	}
	return out
}

// column are the types that type variable j can be.
func column(bindings [][]DType, j int) []DType {
	var out []DType
	for _, b := range bindings {
		if !slices.Contains(out, b[j]) {
			out = append(out, b[j])
		}
	}
	return out
}

// Operator is a computation that every backend has: a kernel of the simulator, an operator of the vendor's library
// on hardware. It belongs to one goroutine, as a Kernel does, and needs no closing.
type Operator struct {
	name   string
	text   string
	args   []operatorArg
	size   string // the one that is no argument, "" where all are
	cube   bool
	apart  bool
	kernel *Kernel
	blocks map[*Device]int64
	launch []Arg // scratch of a call
}

type operatorArg struct {
	name   string
	buffer bool
	dims   []string // of a buffer: names of sizes, or "1"
	isSize bool     // a number that is the size of a buffer
}

// parseOperatorArgs reads the arguments of a row.
func parseOperatorArgs(text string) []operatorArg {
	var args []operatorArg
	sizes := make(map[string]bool)
	for text != "" {
		end := strings.IndexAny(text, ",[")
		if end >= 0 && text[end] == '[' {
			end += strings.IndexByte(text[end:], ']') + 1
		}
		if end < 0 {
			end = len(text)
		}
		name, dims, buffer := strings.Cut(strings.TrimSuffix(text[:end], "]"), "[")
		a := operatorArg{name: name, buffer: buffer, isSize: sizes[name]}
		if buffer {
			a.dims = strings.Split(dims, ",")
			for _, d := range a.dims {
				sizes[d] = true
			}
		}
		args = append(args, a)
		text = strings.TrimLeft(text[end:], ", ")
	}
	return args
}

// Operator returns the operator called name. ErrParamInvalid where there is none.
func (s *Session) Operator(name string) (*Operator, error) {
	var names []string
	for _, row := range operatorRows {
		names = append(names, row.name)
		if row.name != name {
			continue
		}
		k, err := s.Kernel(row.kernel)
		if err != nil {
			return nil, err
		}
		o := &Operator{name: name, text: row.args, args: parseOperatorArgs(row.args), cube: row.cube, apart: row.apart, kernel: k, blocks: make(map[*Device]int64)}
		if len(o.args) < len(k.sig.Params) {
			o.size = "n"
		}
		return o, nil
	}
	return nil, errorf(ErrParamInvalid, "no operator %q%s", name, Suggest(name, names))
}

// Name is the operator's name.
func (o *Operator) Name() string { return o.name }

// ArgName is the name of argument i, from 0; "..." behind the last one.
func (o *Operator) ArgName(i int) string {
	if i < len(o.args) {
		return o.args[i].name
	}
	return "..."
}
