package sim

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"

	"npulua/npu/internal/driver"
	"npulua/npu/internal/dtype"
	"npulua/npu/internal/hostfile"
)

// loadCall is the vendor's function that a load stands for.
const loadCall = "aclmdlLoadFromFileWithMem"

// modelFile is a model as its file has it: docs/simulator.md describes it.
type modelFile struct {
	Name        string        `json:"name"`
	Batches     []int64       `json:"batches"`
	Inputs      []tensorRow   `json:"inputs"`
	Outputs     []tensorRow   `json:"outputs"`
	Constants   []tensorRow   `json:"constants"`
	Temporaries []tensorRow   `json:"temporaries"`
	Operators   []operatorRow `json:"operators"`
}

type tensorRow struct {
	Name   string    `json:"name"`
	DType  string    `json:"dtype"`
	Shape  []word    `json:"shape"`
	Values []numeral `json:"values"` // of a constant: these, or File
	File   string    `json:"file"`   // .npy, beside the model
}

type operatorRow struct {
	Kernel string `json:"kernel"`
	Blocks int    `json:"blocks"` // 0: as many as there are cores
	Args   []word `json:"args"`
}

// numeral is a number as it is written: a float64 may be too coarse for it.
type numeral struct {
	number float64
	text   string // as it is written; of a text, what it says
	isText bool
}

// UnmarshalJSON implements json.Unmarshaler.
func (n *numeral) UnmarshalJSON(b []byte) error {
	if n.isText = len(b) > 0 && b[0] == '"'; n.isText {
		return json.Unmarshal(b, &n.text)
	}
	if string(b) == "null" {
		return fmt.Errorf("null is no number")
	}
	n.text = string(b)
	return json.Unmarshal(b, &n.number)
}

// wholeDigits is a JSON number, which is none that a float64 is too small for, in digits alone; "" where it has a fraction.
func wholeDigits(literal string) string {
	text, negative := strings.CutPrefix(strings.ToLower(literal), "-")
	mantissa, exponent, _ := strings.Cut(text, "e")
	whole, fraction, _ := strings.Cut(mantissa, ".")
	digits := strings.TrimRight(whole+fraction, "0")
	if digits == "" {
		return "0"
	}
	e := 0
	if exponent != "" {
		var err error
		if e, err = strconv.Atoi(exponent); err != nil || e < -maxModelFile {
			return "" // less than a file has digits for
		}
	}
	zeros := len(whole) + e - len(digits)
	if zeros < 0 {
		return ""
	}
	digits = strings.TrimLeft(digits, "0") + strings.Repeat("0", zeros)
	if negative {
		return "-" + digits
	}
	return digits
}

// pack is the number as the bits of an element of a type.
func (n *numeral) pack(typ dtype.DType) (bits uint64, problem string) {
	switch {
	case n.isText && !typ.Wide():
		return 0, fmt.Sprintf("%s takes numbers, got the text %q", typ, n.text)
	case n.isText && n.text == "":
		return 0, fmt.Sprintf("%s takes text of decimal digits, got \"\"", typ)
	case n.isText:
		return typ.Pack(dtype.Value{Text: n.text})
	case typ.IsFloat():
		return typ.Pack(dtype.Number(n.number))
	}
	digits := wholeDigits(n.text)
	switch {
	case digits == "":
		return 0, fmt.Sprintf("%s cannot hold the fraction %s", typ, n)
	case typ.Wide():
		return typ.Pack(dtype.Value{Text: digits})
	}
	return typ.Pack(dtype.Number(n.number))
}

func (n *numeral) String() string {
	const room = 40
	switch {
	case n.isText:
		return strconv.Quote(n.text)
	case len(n.text) > room:
		return n.text[:room] + "..."
	}
	return n.text
}

// word is a number, or a text: a name or a product.
type word struct{ numeral }

// UnmarshalJSON implements json.Unmarshaler.
func (w *word) UnmarshalJSON(b []byte) error {
	if err := w.numeral.UnmarshalJSON(b); err != nil {
		return fmt.Errorf("%s is no name, no number and no size such as \"N*8\"", b)
	}
	return nil
}

// batchName stands for the batch in sizes.
const batchName = "N"

// product is the value of a text such as "N*8", without batchName where batch is 0.
func product(text string, batch int64) (int64, error) {
	n := int64(1)
	for factor := range strings.SplitSeq(text, "*") {
		factor = strings.TrimSpace(factor)
		v, err := strconv.ParseInt(factor, 10, 64)
		switch {
		case factor == batchName && batch == 0:
			return 0, fmt.Errorf("%s stands for the batch, and the model has no batches", batchName)
		case factor == batchName:
			v = batch
		case err != nil || v < 0:
			return 0, fmt.Errorf("%q is no name of an operand and no size such as \"N*8\"", text)
		}
		if v > 0 && n > maxModelElements/v {
			return 0, fmt.Errorf("%q is more than %d", text, int64(maxModelElements))
		}
		n *= v
	}
	return n, nil
}

// Limits of a model.
const (
	maxModelFile     = 64 << 20 // bytes; larger constants go into files of their own
	maxModelElements = 1 << 40  // of one operand
	maxModelBatches  = 128
)

// badModel is the error for what a file says.
func badModel(src driver.ModelSource, format string, args ...any) *driver.Error {
	e := driver.Errorf(driver.CodeModelData, loadCall, "%s: "+format, append([]any{src.Path}, args...)...)
	e.Hint = "models of the simulator are JSON files, described in docs/simulator.md"
	return e
}

// readModel reads a file without looking at what it means.
func readModel(src driver.ModelSource) (*modelFile, error) {
	data, err := readSource(src, src.Path)
	if err != nil {
		e := driver.Errorf(driver.CodeModelPath, loadCall, "read %s: %v", src.Path, err)
		e.Hint = "check the path; relative ones start at the working directory"
		return nil, e
	}
	switch {
	case len(data) == 0:
		return nil, driver.Errorf(driver.CodeModelPath, loadCall, "%s is empty", src.Path)
	case len(data) > maxModelFile:
		return nil, badModel(src, "more than %d B", maxModelFile)
	}
	f := new(modelFile)
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	if err := dec.Decode(f); err != nil {
		return nil, badModel(src, "%s", jsonProblem(data, err))
	}
	if _, err := dec.Token(); err != io.EOF {
		return nil, badModel(src, "line %d: there is more after the model", lineAt(data, dec.InputOffset()))
	}
	if f.Name == "" {
		f.Name = src.Name()
	}
	return f, nil
}

// jsonProblem says in words what is wrong, with the line where that is known.
func jsonProblem(data []byte, err error) string {
	var syntax *json.SyntaxError
	var typ *json.UnmarshalTypeError
	switch {
	case errors.As(err, &syntax):
		return fmt.Sprintf("line %d: %v", lineAt(data, syntax.Offset), err)
	case errors.As(err, &typ):
		return fmt.Sprintf("line %d: %s is a %s, which it cannot be", lineAt(data, typ.Offset), typ.Field, typ.Value)
	case errors.Is(err, io.ErrUnexpectedEOF):
		return fmt.Sprintf("line %d: the file ends early", lineAt(data, int64(len(data))))
	}
	return strings.TrimPrefix(err.Error(), "json: ")
}

func lineAt(data []byte, offset int64) int {
	return 1 + bytes.Count(data[:min(max(offset, 0), int64(len(data)))], []byte("\n"))
}

// readSource reads the file called name where the model is.
func readSource(src driver.ModelSource, name string) ([]byte, error) {
	f, err := openSource(src, name)
	if err != nil {
		return nil, plainFileError(err)
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxModelFile+1))
	return data, plainFileError(err)
}

func openSource(src driver.ModelSource, name string) (io.ReadCloser, error) {
	if src.FS != nil {
		return src.FS.Open(name)
	}
	return os.Open(name)
}

// plainFileError leaves out the operation and the path, which the caller says.
func plainFileError(err error) error {
	if pe := (*fs.PathError)(nil); errors.As(err, &pe) {
		return pe.Err
	}
	return err
}

// constant is the content of a constant of n elements.
func (r *tensorRow) constant(src driver.ModelSource, typ dtype.DType, n int64) ([]byte, error) {
	switch {
	case r.File != "" && r.Values != nil:
		return nil, fmt.Errorf("it has values and a file")
	case r.File != "":
		return r.fromFile(src, typ, n)
	case int64(len(r.Values)) != n:
		return nil, fmt.Errorf("%d values, the shape has %d", len(r.Values), n)
	}
	data := make([]byte, n*int64(typ.Size()))
	size := typ.Size()
	for i := range r.Values {
		bits, problem := r.Values[i].pack(typ)
		if problem != "" {
			return nil, fmt.Errorf("value %d: %s", i+1, problem)
		}
		var element [8]byte
		binary.LittleEndian.PutUint64(element[:], bits)
		copy(data[i*size:(i+1)*size], element[:])
	}
	return data, nil
}

func (r *tensorRow) fromFile(src driver.ModelSource, typ dtype.DType, n int64) ([]byte, error) {
	name := r.File
	switch {
	case src.FS != nil:
		name = path.Join(path.Dir(src.Path), name)
	case !filepath.IsAbs(name):
		name = filepath.Join(filepath.Dir(src.Path), name)
	}
	f, err := openSource(src, name)
	if err != nil {
		return nil, fmt.Errorf("read %s: %v", name, plainFileError(err))
	}
	defer f.Close()
	a, err := hostfile.DecodeNPY(f, -1)
	if err != nil {
		return nil, fmt.Errorf("read %s: %v", name, err)
	}
	if a.Type != typ {
		return nil, fmt.Errorf("%s holds %v, not %v", name, a.Type, typ)
	}
	if got := int64(len(a.Data) / typ.Size()); got != n {
		return nil, fmt.Errorf("%s holds %d elements, the shape has %d", name, got, n)
	}
	return a.Data, nil
}
