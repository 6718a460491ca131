package sim_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
	"unsafe"

	"npulua/npu/internal/driver"
	"npulua/npu/internal/dtype"
	"npulua/npu/internal/hostfile"
	"npulua/npu/sim"
)

// sum is a model that works; the cases change a piece of it.
const sum = `{
  "batches": [2, 1],
  "inputs": [{"name": "a", "dtype": "float32", "shape": ["N", 3]}, {"name": "k", "dtype": "int32", "shape": [2]}],
  "outputs": [{"name": "y", "dtype": "float32", "shape": ["N", 3]}],
  "constants": [{"name": "c", "dtype": "float32", "shape": [3], "values": [1, 2, 3]}],
  "temporaries": [{"name": "t", "dtype": "float32", "shape": ["N", 3]}],
  "operators": [
    {"kernel": "bias_add", "args": ["t", "a", "c", "N", 3]},
    {"kernel": "scale", "args": ["y", "t", 0.5, "N*3"], "blocks": 2}
  ]
}`

func openModeler(t *testing.T) *sim.Driver {
	d, err := sim.Open(sim.Config{Devices: 1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = d.Close() })
	if err := errors.Join(d.Init(), d.SetDevice(0)); err != nil {
		t.Fatal(err)
	}
	return d
}

// TestModelRefused changes one piece of a model at a time and looks for the message.
func TestModelRefused(t *testing.T) {
	d := openModeler(t)
	free, _, _ := d.MemInfo()
	for _, c := range []struct{ old, new, want string }{
		{"", "", ""}, // as it is
		{`"batches"`, `"batch"`, `unknown field "batch"`},
		{`[2, 1]`, `[2, 1`, "line 3"},
		{`"operators": [`, `"operators": 7, "x": [`, "line 7: operators is a number"},
		{`0.5, "N*3"`, `true, "N*3"`, "true is no name, no number and no size"},
		{`0.5, "N*3"`, `null, "N*3"`, "null is no name"},
		{"\n}", "\n} 1", "line 11: there is more after the model"},
		{`[2, 1]`, `[2, 0]`, "a batch is 1 or more, got 0"},
		{`[2, 1]`, `[2, 2]`, "batches has a number twice"},
		{`[2, 1]`, `[]`, `input 1 ("a"): N stands for the batch`},
		{`"shape": [3], "values"`, `"shape": ["N"], "values"`, `constant 1 ("c"): N stands for the batch`},
		{`"name": "c"`, `"name": "a"`, `constant 1 ("a"): the name is used twice`},
		{`"name": "c"`, `"name": "N"`, "it needs a name, which is no size"},
		{`"name": "c"`, `"name": "N*2"`, "it needs a name, which is no size"},
		{`"int32"`, `"int31"`, `input 2 ("k"): there is no dtype "int31"`},
		{`[2]}`, `[2.5]}`, "shape: 2.5 is no whole number"},
		{`[2]}`, `[2.00000000000000000001]}`, "shape: 2.00000000000000000001 is no whole number"},
		{`[2]}`, `[0]}`, "shape: 0 is no whole number"},
		{`[2]}`, `["N*2"]}`, `shape: "N*2" is no whole number`},
		{`[2]}`, `[1e10, 1e10]}`, "more than 1099511627776 elements"},
		{`[2]}`, `[2], "values": [1, 2]}`, "only constants have values"},
		{`[1, 2, 3]}`, `[1, 2]}`, "2 values, the shape has 3"},
		{`[1, 2, 3]}`, `[1, 2, 3], "file": "c.npy"}`, "it has values and a file"},
		{`"values": [1, 2, 3]`, `"file": "none.npy"`, "none.npy"},
		{`"values": [1, 2, 3]`, `"file": "short.npy"`, "holds 2 elements, the shape has 3"},
		{`"values": [1, 2, 3]`, `"file": "ints.npy"`, "holds int32, not float32"},
		{`"dtype": "float32", "shape": [3], "values": [1, 2, 3]`, `"dtype": "int8", "shape": [1], "values": [300]`, "value 1: "},
		{`"outputs": [{"name": "y"`, `"outputs": [], "temporaries": [{"name": "y"`, "one output"},
		{"scale", "scail", `operator 2 (scail) with batch 1: the simulator has no kernel "scail"`},
		{`0.5, "N*3"]`, `"N*3"]`, "3 arguments, want 4: out T* y, in T* x, float32 a, uint32 n"},
		{`"blocks": 2`, `"blocks": 70000`, "70000 blocks"},
		{`["y", "t"`, `["y", "u"`, `argument 2 (x): it is the name of an operand, got "u"`},
		{`["y", "t"`, `["y", 7`, "argument 2 (x): it is the name of an operand, got 7"},
		{`0.5, "N*3"`, `"c", "N*3"`, `argument 3 (a): it is a number, got constant "c"`},
		{`0.5, "N*3"`, `0.5, "M*3"`, `argument 4 (n): "M*3" is no name of an operand and no size`},
		{`0.5, "N*3"`, `0.5, 6.00000000000000000001`, "argument 4 (n): uint32 cannot hold the fraction 6.00000000000000000001"},
		{`0.5, "N*3"`, `0.5, -1`, "argument 4 (n): "},
		{`0.5, "N*3"`, `0.5, "N*4"`, `operator 2 (scale) with batch 1: argument 1 (y): "y" has 12 B, 16 B are used`},
		{`0.5, "N*3"`, `0.5, "N*N*3"`, `operator 2 (scale) with batch 2: argument 1 (y): "y" has 24 B, 48 B are used`},
		{`["y", "t"`, `["y", "k"`, `"k" is int32, want float32`},
		{`["t", "a", "c"`, `["c", "a", "c"`, `it is written, and "c" is a constant`},
		{`["t", "a", "c"`, `["a", "a", "c"`, `it is written, and "a" is an input`},
		{`["t", "a", "c"`, `["y", "t", "c"`, `argument 2 (x): no operator has written "t" before`},
		{`["y", "t"`, `["t", "t"`, `no operator writes output "y"`},
		{`"kernel": "scale", "args": ["y", "t", 0.5, "N*3"]`, `"kernel": "reduce_max", "args": ["y", "t", 0]`, "n is 0, want at least 1"},
	} {
		text := strings.Replace(sum, c.old, c.new, 1)
		if c.old != "" && text == sum {
			t.Fatalf("%q is not in the model", c.old)
		}
		files := fstest.MapFS{"m/sum.json": {Data: []byte(text)}}
		for name, a := range map[string]hostfile.Array{
			"short.npy": {Type: dtype.Float32, Shape: []int{2}, Data: make([]byte, 8)},
			"ints.npy":  {Type: dtype.Int32, Shape: []int{3}, Data: make([]byte, 12)},
		} {
			files["m/"+name] = &fstest.MapFile{Data: npy(t, a)}
		}
		m, info, err := d.LoadModel(driver.ModelSource{Path: "m/sum.json", FS: files})
		if c.want == "" {
			if err != nil || info.Name != "sum" || len(info.Batches) != 2 || info.Batches[0] != 1 {
				t.Errorf("the model itself: %+v, %v", info, err)
			}
			if err := d.UnloadModel(m); err != nil {
				t.Error(err)
			}
			continue
		}
		if !errors.Is(err, driver.CodeModelData) || !strings.Contains(err.Error(), "m/sum.json: ") || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want %q", c.new, err, c.want)
		}
	}
	if now, _, _ := d.MemInfo(); now != free {
		t.Errorf("%d B free afterwards, %d B before", now, free)
	}
}

// npy is a file.
func npy(t *testing.T, a hostfile.Array) []byte {
	path := filepath.Join(t.TempDir(), "x.npy")
	if err := hostfile.WriteNPY(path, a); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// TestModelFile takes a constant from a file beside the model.
func TestModelFile(t *testing.T) {
	d := openModeler(t)
	dir := t.TempDir()
	data := make([]byte, 12)
	for i := range 3 {
		dtype.Float32.Put(data, i, float64(10*i))
	}
	if err := hostfile.WriteNPY(filepath.Join(dir, "c.npy"), hostfile.Array{Type: dtype.Float32, Shape: []int{3}, Data: data}); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "sum.json")
	if err := os.WriteFile(path, []byte(strings.Replace(sum, `"values": [1, 2, 3]`, `"file": "c.npy"`, 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	m, _, err := d.LoadModel(driver.ModelSource{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	p, err := d.Malloc(64, driver.MemHugeFirst)
	if err != nil {
		t.Fatal(err)
	}
	args := []uint64{uint64(p), 12, uint64(p) + 16, 8, uint64(p) + 32, 12}
	err = errors.Join(d.Memset(p, 64, 0, 64), d.Enqueue(&driver.Command{Op: driver.OpModel, Model: m, Args: args, Value: 1}), d.SynchronizeStream(0, -1))
	if err != nil {
		t.Fatal(err)
	}
	out := make([]byte, 12)
	if err := d.Memcpy(driver.Ptr(uintptr(unsafe.Pointer(&out[0]))), 12, p+32, 12, driver.DeviceToHost); err != nil {
		t.Fatal(err)
	}
	for i, want := range []float64{0, 5, 10} {
		if got := dtype.Float32.Get(out, i); got != want {
			t.Errorf("y[%d] = %v, want %v", i, got, want)
		}
	}
}
