//go:build linux && (amd64 || arm64)

package acl_test

import (
	"runtime"
	"slices"
	"testing"

	"npulua/npu/acl"
	"npulua/npu/internal/driver"
	"npulua/npu/internal/dtype"
)

// opened is a driver over the stand-in with device 0 set, on a thread of the test's own.
func opened(t *testing.T) (*acl.Driver, *fake) {
	t.Helper()
	runtime.LockOSThread() // never unlocked: the thread ends with the test
	lib := open(t)
	d, err := acl.Open()
	if err != nil {
		t.Fatal(err)
	}
	lib.set("restart", 1)
	must(t, d.Init())
	must(t, d.SetDevice(0))
	t.Cleanup(func() { _ = d.ResetDevice(0, true) })
	return d, lib
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// What was queued is pending until all of it is known to be done; then the commands that are over are kept.
func TestCommands(t *testing.T) {
	d, _ := opened(t)
	sig, err := driver.ParseSignature(signatures["spin"])
	must(t, err)
	k, err := d.LoadKernel(driver.KernelSource{Name: "spin", Signature: sig, Binary: binary(t, "spin")})
	must(t, err)
	s, err := d.CreateStream(driver.StreamConfig{})
	must(t, err)
	p, err := d.Malloc(64, driver.MemHugeFirst)
	must(t, err)
	must(t, d.Enqueue(&driver.Command{Op: driver.OpLaunch, Stream: s, Kernel: k, Blocks: 1, Args: []uint64{dtype.Float64.Bits(0.1)}, Site: 1}))
	must(t, d.Enqueue(&driver.Command{Op: driver.OpFill, Stream: s, Dst: p, Size: 64, Width: 1, Site: 2}))
	type command struct {
		op    driver.Op
		name  string
		site  driver.Site
		state driver.CommandState
	}
	check := func(state driver.CommandState, over uint64, pending int) {
		t.Helper()
		list, err := d.Commands(s)
		must(t, err)
		var got []command
		for _, c := range list {
			got = append(got, command{c.Op, c.Name, c.Site, c.State})
		}
		if want := []command{{driver.OpLaunch, "spin", 1, state}, {driver.OpFill, "", 2, state}}; !slices.Equal(got, want) {
			t.Errorf("commands %v, want %v", got, want)
		}
		p, err := d.Progress(s)
		must(t, err)
		if p.Over != over || p.Pending != pending {
			t.Errorf("progress %+v, want %d over and %d pending", p, over, pending)
		}
	}
	check(driver.CommandPending, 0, 2)
	for done := false; !done; {
		done, err = d.QueryStream(s)
		must(t, err)
	}
	check(driver.CommandDone, 2, 0)
	must(t, d.SynchronizeStream(s, -1))
	check(driver.CommandDone, 2, 0)
	must(t, d.DestroyStream(s, false))
}
