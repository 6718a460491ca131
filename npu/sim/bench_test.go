package sim_test

import (
	"testing"

	"npulua/npu/internal/driver"
	"npulua/npu/internal/dtype"
	"npulua/npu/sim"
)

// BenchmarkCommands is the simulator alone, without executor and script: commands are queued until
// the stream is full, then time moves on until there is room. Data is moved and computed.
func BenchmarkCommands(b *testing.B) {
	d, err := sim.Open(sim.Config{Devices: 1})
	if err != nil {
		b.Fatal(err)
	}
	defer d.Close()
	must := func(err error) {
		if err != nil {
			b.Helper()
			b.Fatal(err)
		}
	}
	must(d.Init())
	ctx, err := d.CreateContext(0)
	must(err)
	s, err := d.CreateStream(driver.StreamConfig{})
	must(err)
	const bytes = 64
	x, err := d.Malloc(bytes, driver.MemHugeFirst)
	must(err)
	y, err := d.Malloc(bytes, driver.MemHugeFirst)
	must(err)
	z, err := d.Malloc(bytes, driver.MemHugeFirst)
	must(err)
	must(d.Memset(x, bytes, 0, bytes))
	must(d.Memset(y, bytes, 0, bytes))
	e, err := d.CreateEvent(0)
	must(err)
	sig, err := driver.ParseSignature("out T* z, in T* x, in T* y, uint32 n")
	must(err)
	k, err := d.LoadKernel(driver.KernelSource{Name: "vector_add", Signature: sig, Types: []dtype.DType{dtype.Float32}})
	must(err)

	base := driver.Command{Context: ctx, Stream: s}
	command := func(set func(c *driver.Command)) driver.Command {
		c := base
		set(&c)
		return c
	}
	for _, c := range []struct {
		name string
		cmd  driver.Command
	}{
		{"copy", command(func(c *driver.Command) {
			c.Op, c.Kind, c.Dst, c.Src, c.Size = driver.OpCopy, driver.DeviceToDevice, z, x, bytes
		})},
		{"fill", command(func(c *driver.Command) { c.Op, c.Dst, c.Size, c.Width = driver.OpFill, z, bytes, 4 })},
		{"record", command(func(c *driver.Command) { c.Op, c.Event = driver.OpRecord, e })},
		{"launch", command(func(c *driver.Command) {
			c.Op, c.Kernel, c.Blocks = driver.OpLaunch, k, 1
			c.Args = []uint64{uint64(z), bytes, uint64(x), bytes, uint64(y), bytes, dtype.Uint32.Bits(16)}
		})},
	} {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				for {
					err := d.Enqueue(&c.cmd)
					if err == nil {
						break
					}
					if err != driver.CodeQueueFull || !d.Advance(-1) {
						b.Fatal(err)
					}
				}
			}
			for d.Advance(-1) {
			}
			must(d.SynchronizeStream(s, -1))
		})
	}
}
