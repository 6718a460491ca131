package drivertest

import (
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"time"

	"npulua/npu/internal/driver"
	"npulua/npu/internal/dtype"
)

func modelCases() []testCase {
	const needs = modeler
	return []testCase{
		{"model: inputs, outputs and memory are described", needs, func(t *tester) {
			_, info := t.model("mlp")
			t.wantTensors(info.Inputs, driver.ModelTensor{Name: "x", Type: dtype.Float32, Shape: []int64{2, 3}, Bytes: 24})
			t.wantTensors(info.Outputs, driver.ModelTensor{Name: "y", Type: dtype.Float32, Shape: []int64{2, 2}, Bytes: 16})
			if info.Name != "mlp" || len(info.Batches) != 0 || info.WorkBytes < 48 || info.WeightBytes < 104 {
				t.Errorf("model %q, batches %v, %d B of work and %d B of weight memory", info.Name, info.Batches, info.WorkBytes, info.WeightBytes)
			}
		}},
		{"model with batches: what varies is -1, sizes are those of the largest", needs, func(t *tester) {
			_, info := t.model("mlp_batch")
			t.wantTensors(info.Inputs, driver.ModelTensor{Name: "x", Type: dtype.Float32, Shape: []int64{-1, 3}, Bytes: 48})
			t.wantTensors(info.Outputs, driver.ModelTensor{Name: "y", Type: dtype.Float32, Shape: []int64{-1, 2}, Bytes: 32})
			if !slices.Equal(info.Batches, []int64{1, 2, 4}) {
				t.Errorf("batches %v, want 1, 2, 4", info.Batches)
			}
		}},
		{"model: right numbers, again and again, behind what was queued and before what comes", needs | loader, func(t *tester) {
			m, _ := t.model("mlp")
			s, x, y := t.stream(), t.malloc(24), t.filled(16, 0)
			hx, in := t.host(24)
			hy, out := t.host(16)
			for round := range 3 {
				copy(in, inputRows(2, round))
				t.spin(s, pause)
				t.copy(s, x, hx, 24)
				t.run(s, m, 0, operand{x, 24}, operand{y, 16})
				t.copy(s, hy, y, 16)
				t.wantDone(s, false, "after a run was queued")
				t.sync(s)
				t.near(out, 2, round)
			}
		}},
		{"model with batches: right numbers with each, in turn and without a wait between", needs, func(t *tester) {
			m, _ := t.model("mlp_batch")
			s := t.stream()
			x, y := make([]driver.Ptr, 12), make([]driver.Ptr, 12)
			for i := range x {
				x[i], y[i] = t.malloc(48), t.filled(32, 0)
				t.put(x[i], inputRows(4, i))
			}
			batches := []int64{1, 2, 4}
			for i := range x {
				b := batches[i%3]
				t.run(s, m, b, operand{x[i], uint64(12 * b)}, operand{y[i], uint64(8 * b)})
			}
			t.sync(s)
			for i := range x {
				n := int(batches[i%3])
				out := t.get(y[i], 32)
				t.near(out[:8*n], n, i)
				t.same(out[8*n:], make([]byte, 32-8*n), "rows beyond the batch")
			}
		}},
		{"model: runs on two streams follow each other", needs, func(t *tester) {
			m, _ := t.model("mlp")
			streams := []driver.Stream{t.stream(), t.stream()}
			x, y := make([]driver.Ptr, 8), make([]driver.Ptr, 8)
			for i := range x {
				x[i], y[i] = t.malloc(24), t.filled(16, 0)
				t.put(x[i], inputRows(2, i))
			}
			for i := range x {
				t.run(streams[i%2], m, 0, operand{x[i], 24}, operand{y[i], 16})
			}
			t.sync(streams[0])
			t.sync(streams[1])
			for i := range x {
				t.near(t.get(y[i], 16), 2, i)
			}
		}},
		{"model: a run waits for one that was queued before on a stream that has other work first", needs | loader, func(t *tester) {
			m, _ := t.model("mlp")
			s, side, x, y, z := t.stream(), t.stream(), t.malloc(24), t.filled(16, 0), t.filled(16, 0)
			t.put(x, inputRows(2, 3))
			t.spin(s, pause)
			t.run(s, m, 0, operand{x, 24}, operand{y, 16})
			t.run(side, m, 0, operand{x, 24}, operand{z, 16})
			t.wantDone(side, false, "of the second run")
			t.sync(side)
			t.near(t.get(y, 16), 2, 3)
			t.near(t.get(z, 16), 2, 3)
			t.sync(s)
		}},
		{"model: a run that is dropped by force does not hold up the next one", needs | loader, func(t *tester) {
			m, _ := t.model("mlp")
			s, side, x, y := t.stream(), t.stream(), t.malloc(24), t.filled(16, 0)
			t.put(x, inputRows(2, 3))
			t.spin(s, pause)
			t.run(s, m, 0, operand{x, 24}, operand{y, 16})
			t.run(side, m, 0, operand{x, 24}, operand{y, 16})
			t.must(t.DestroyStream(s, true), "DestroyStream by force")
			t.sync(side)
			t.near(t.get(y, 16), 2, 3)
			t.must(t.models.UnloadModel(m), "UnloadModel")
		}},
		{"model: more runs than a driver keeps apart wait for room, and none is lost", needs | loader, func(t *tester) {
			m, _ := t.model("mlp")
			s, x, y := t.stream(), t.malloc(24), t.filled(16, 0)
			t.put(x, inputRows(2, 7))
			for range 600 {
				t.run(s, m, 0, operand{x, 24}, operand{y, 16})
			}
			t.sync(s)
			t.near(t.get(y, 16), 2, 7)
		}},
		{"run with a batch that is none of the model's: 145013", needs, func(t *tester) {
			m, _ := t.model("mlp_batch")
			x, y := operand{t.filled(48, 0), 48}, operand{t.filled(32, 0), 32}
			for _, batch := range []int64{0, 3, 5} {
				t.want(driver.CodeBatchSize, t.issue(runCommand(0, m, batch, x, y)), fmt.Sprintf("run with batch %d", batch))
			}
			fixed, _ := t.model("mlp")
			t.want(driver.CodeBatchSize, t.issue(runCommand(0, fixed, 2, x, y)), "run of a fixed model with a batch")
			t.sync(0)
		}},
		{"run with another number of operands: 100000, with one too small: 545000", needs, func(t *tester) {
			m, _ := t.model("mlp")
			x, y := operand{t.filled(24, 0), 24}, operand{t.filled(16, 0), 16}
			t.want(driver.CodeInvalidParam, t.issue(runCommand(0, m, 0, x)), "run without an output")
			t.want(driver.CodeInvalidParam, t.issue(runCommand(0, m, 0, x, y, y)), "run with two outputs")
			t.want(driver.CodeModelExecute, t.issue(runCommand(0, m, 0, operand{x.p, 20}, y)), "run with a short input")
			t.want(driver.CodeModelExecute, t.issue(runCommand(0, m, 0, x, operand{y.p, 12})), "run with a short output")
			t.sync(0)
			t.wantFill(y.p, 16, 0, "output")
		}},
		{"run in another context: 107004, of no model: 145003", needs, func(t *tester) {
			before := t.current()
			m, _ := t.model("mlp")
			x, y := operand{t.filled(24, 0), 24}, operand{t.filled(16, 0), 16}
			other := t.context(0)
			t.want(driver.CodeModelContext, t.issue(runCommand(t.stream(), m, 0, x, y)), "run")
			t.want(driver.CodeModelID, t.issue(runCommand(0, driver.Model(t.garbage()), 0, x, y)), "run of garbage")
			t.destroyContext(other)
			t.setCurrent(before)
			t.run(0, m, 0, x, y)
			t.sync(0)
		}},
		{"unloaded model: 145003", needs, func(t *tester) {
			m, _ := t.model("mlp")
			x, y := operand{t.filled(24, 0), 24}, operand{t.filled(16, 0), 16}
			t.want(driver.OK, t.models.UnloadModel(m), "UnloadModel")
			t.want(driver.CodeModelID, t.models.UnloadModel(m), "second UnloadModel")
			t.want(driver.CodeModelID, t.issue(runCommand(0, m, 0, x, y)), "run")
		}},
		{"UnloadModel while a run is queued: 107037, in another context afterwards: success", needs | loader, func(t *tester) {
			before := t.current()
			m, _ := t.model("mlp")
			s, x, y := t.stream(), t.filled(24, 0), t.filled(16, 0)
			t.spin(s, pause)
			t.run(s, m, 0, operand{x, 24}, operand{y, 16})
			t.want(driver.CodeGraphRunning, t.models.UnloadModel(m), "UnloadModel")
			t.sync(s)
			other := t.context(0)
			t.want(driver.OK, t.models.UnloadModel(m), "UnloadModel in another context")
			t.wantCurrent(other)
			t.destroyContext(other)
			t.setCurrent(before)
		}},
		{"memory of a model: given back by UnloadModel, and with its context", needs | prober, func(t *tester) {
			before := t.current()
			free := t.free()
			m, _ := t.model("mlp")
			if t.free() >= free {
				t.Error("a loaded model takes no memory")
			}
			t.must(t.models.UnloadModel(m), "UnloadModel")
			if got := t.free(); got != free {
				t.Errorf("%d B free after UnloadModel, want %d", got, free)
			}
			c := t.context(0)
			m, _ = t.model("mlp_batch")
			x, y := t.filled(24, 0), t.filled(16, 0)
			t.run(t.stream(), m, 2, operand{x, 24}, operand{y, 16})
			t.destroyContext(c)
			t.setCurrent(before)
			t.must(t.Free(x), "Free")
			t.must(t.Free(y), "Free")
			if got := t.free(); got != free {
				t.Errorf("%d B free after DestroyContext, want %d", got, free)
			}
			t.want(driver.CodeModelID, t.models.UnloadModel(m), "UnloadModel after DestroyContext")
		}},
		{"LoadModel: without a file: 145002, empty: 145002, of something else: 145006", needs, func(t *tester) {
			dir := t.TempDir()
			for name, want := range map[string]driver.Code{"none": driver.CodeModelPath, "empty": driver.CodeModelPath, "text": driver.CodeModelData} {
				path := filepath.Join(dir, name)
				if name != "none" {
					text := map[string]string{"text": "no model\n"}[name]
					if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
						t.Fatal(err)
					}
				}
				_, _, err := t.models.LoadModel(driver.ModelSource{Path: path})
				t.want(want, err, "LoadModel of "+name)
			}
		}},
		{"LoadModel without a context: 107002", needs | fresh, func(t *tester) {
			t.must(t.Init(), "Init")
			_, _, err := t.models.LoadModel(t.harness.Model("mlp"))
			t.want(driver.CodeContextNull, err, "LoadModel")
		}},
		{"run on a stream that captures: 107027, and the capture is intact", needs | capturer, func(t *tester) {
			m, _ := t.model("mlp")
			x, y := operand{t.filled(24, 0), 24}, operand{t.filled(16, 0), 16}
			s := t.capturing()
			t.want(driver.CodeStreamCaptured, t.issue(runCommand(s, m, 0, x, y)), "run")
			t.end(s)
		}},
		{"run whose memory is freed before: a fault with the place of the run", needs | loader, func(t *tester) {
			m, _ := t.model("mlp")
			s, x, y := t.stream(), t.filled(24, 0), t.malloc(16)
			t.spin(s, pause)
			c := runCommand(s, m, 0, operand{x, 24}, operand{y, 16})
			c.Site = 20
			t.enqueue(c)
			t.must(t.Free(y), "Free")
			err := t.SynchronizeStream(s, forever)
			t.want(driver.CodeVectorException, err, "SynchronizeStream")
			t.wantSite(err, 20)
			var e *driver.Error
			if errors.As(err, &e) && e.Op != driver.OpModel.String() {
				t.Errorf("the fault is one of %q, want %q", e.Op, driver.OpModel)
			}
			y = t.filled(16, 0)
			t.put(x, inputRows(2, 1))
			t.run(s, m, 0, operand{x, 24}, operand{y, 16})
			t.sync(s)
			t.near(t.get(y, 16), 2, 1)
		}},
	}
}

// model loads one of the harness's models into the current context.
func (t *tester) model(name string) (driver.Model, driver.ModelInfo) {
	t.Helper()
	m, info, err := t.models.LoadModel(t.harness.Model(name))
	t.must(err, "LoadModel")
	return m, info
}

// operand is memory of a run.
type operand struct {
	p    driver.Ptr
	size uint64
}

func runCommand(s driver.Stream, m driver.Model, batch int64, operands ...operand) driver.Command {
	c := driver.Command{Op: driver.OpModel, Stream: s, Model: m, Value: uint64(batch)}
	for _, o := range operands {
		c.Args = append(c.Args, uint64(o.p), o.size)
	}
	return c
}

// run queues a run, as often as there is no room for it.
func (t *tester) run(s driver.Stream, m driver.Model, batch int64, operands ...operand) {
	t.Helper()
	err := t.issue(runCommand(s, m, batch, operands...))
	for err == driver.CodeQueueFull {
		if t.clock != nil {
			t.pass(time.Millisecond)
		} else {
			time.Sleep(time.Millisecond)
		}
		err = t.issue(runCommand(s, m, batch, operands...))
	}
	t.must(err, "run")
}

func (t *tester) wantTensors(got []driver.ModelTensor, want ...driver.ModelTensor) {
	t.Helper()
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// inputRows are rows of inputs for the example models, different for each seed.
func inputRows(rows, seed int) []byte {
	b := make([]byte, 12*rows)
	for i := range 3 * rows {
		dtype.Float32.Put(b, i, float64((i*7+seed*5)%11)/4-1)
	}
	return b
}

// near checks what the example models make of inputRows.
func (t *tester) near(got []byte, rows, seed int) {
	t.Helper()
	in := inputRows(rows, seed)
	for r := range rows {
		x := make([]float64, 3)
		for i := range x {
			x[i] = dtype.Float32.Get(in, 3*r+i)
		}
		for c, want := range mlp(x) {
			if v := dtype.Float32.Get(got, 2*r+c); !(math.Abs(v-want) < 1e-5) {
				t.Errorf("row %d: output %d is %v, want %v", r+1, c+1, v, want)
			}
		}
	}
}

// mlp is what the example models compute of one row.
func mlp(x []float64) []float64 {
	h := layer(x, []float64{0.5, -1, 0.25, 2, 1, 0.5, -0.5, 0, -2, 1, 1, 0.5}, []float64{0.1, 0.2, 0.3, 0.4})
	for i := range h {
		h[i] = max(h[i], 0)
	}
	z := layer(h, []float64{1, -1, 0.5, 0.5, -1, 1, 0.25, 0.75}, []float64{0, 0.1})
	a, b := math.Exp(z[0]), math.Exp(z[1])
	return []float64{a / (a + b), b / (a + b)}
}

func layer(x, w, b []float64) []float64 {
	out := slices.Clone(b)
	for i, v := range x {
		for j := range out {
			out[j] += v * w[i*len(b)+j]
		}
	}
	return out
}
