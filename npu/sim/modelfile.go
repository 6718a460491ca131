package sim

import (
	"bytes"
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

// numeral is a number, with its digits where it is a whole one: a float64 may be too coarse for it.
type numeral struct {
	number float64
	digits string
}

// UnmarshalJSON implements json.Unmarshaler.
func (n *numeral) UnmarshalJSON(b []byte) error {
	if string(b) == "null" {
		return fmt.Errorf("null is no number")
	}
	if len(b) > 0 && strings.Trim(string(b), "-0123456789") == "" {
		n.digits = string(b)
	}
	return json.Unmarshal(b, &n.number)
}

// value is the number as an element of a type.
func (n numeral) value(typ dtype.DType) dtype.Value {
	if n.digits != "" && typ.Wide() {
		return dtype.Value{Text: n.digits}
	}
	return dtype.Number(n.number)
}

// word is a number, or a text: a name or a product.
type word struct {
	numeral
	text   string
	isText bool
}

// UnmarshalJSON implements json.Unmarshaler.
func (w *word) UnmarshalJSON(b []byte) error {
	if w.isText = len(b) > 0 && b[0] == '"'; w.isText {
		return json.Unmarshal(b, &w.text)
	}
	if err := w.numeral.UnmarshalJSON(b); err != nil {
		return fmt.Errorf("%s is no name, no number and no size such as \"N*8\"", b)
	}
	return nil
}

func (w word) String() string {
	if w.isText {
		return strconv.Quote(w.text)
	}
	return strconv.FormatFloat(w.number, 'g', -1, 64)
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
	for i, v := range r.Values {
		if problem := typ.Store(data, i, v.value(typ)); problem != "" {
			return nil, fmt.Errorf("value %d: %s", i+1, problem)
		}
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
