package sim_test

import (
	"errors"
	"os"
	"testing"
	"testing/fstest"

	"npulua/npu/internal/driver"
	"npulua/npu/sim"
)

// FuzzModel loads what users may give: it is refused with a code, or can be run, and takes its memory with it.
func FuzzModel(f *testing.F) {
	f.Add([]byte(sum))
	for _, name := range []string{"mlp", "mlp_batch"} {
		data, err := os.ReadFile("../../scripts/data/" + name + ".json")
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		d, err := sim.Open(sim.Config{Devices: 1})
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = d.Close() }()
		if err := errors.Join(d.Init(), d.SetDevice(0)); err != nil {
			t.Fatal(err)
		}
		free, _, _ := d.MemInfo()
		m, info, err := d.LoadModel(driver.ModelSource{Path: "m.json", FS: fstest.MapFS{"m.json": {Data: data}}})
		if err != nil {
			if !errors.Is(err, driver.CodeModelData) && !errors.Is(err, driver.CodeModelPath) && !errors.Is(err, driver.CodeMemoryAllocation) {
				t.Errorf("error %v", err)
			}
			m = 0
		} else if info.WorkBytes < 1<<20 {
			runOnce(t, d, m, info)
		}
		if m != 0 {
			if err := d.UnloadModel(m); err != nil {
				t.Error(err)
			}
		}
		if now, _, _ := d.MemInfo(); now != free {
			t.Errorf("%d B free afterwards, %d B before", now, free)
		}
	})
}

// runOnce runs a model with the smallest batch, on operands that are not too large. No operator may fail: all was
// checked when it was loaded.
func runOnce(t *testing.T, d *sim.Driver, m driver.Model, info driver.ModelInfo) {
	c := driver.Command{Op: driver.OpModel, Model: m}
	if len(info.Batches) > 0 {
		c.Value = uint64(info.Batches[0])
	}
	for _, list := range [][]driver.ModelTensor{info.Inputs, info.Outputs} {
		for _, o := range list {
			n := o.BytesFor(int64(c.Value))
			if n > 1<<20 {
				return
			}
			p, err := d.Malloc(n, driver.MemHugeFirst)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = d.Free(p) }()
			c.Args = append(c.Args, uint64(p), uint64(n))
		}
	}
	if err := errors.Join(d.Enqueue(&c), d.SynchronizeStream(0, -1)); err != nil {
		t.Errorf("run: %v", err)
	}
}
