//go:build linux && (amd64 || arm64)

package acl_test

import (
	"runtime"
	"strings"
	"testing"

	"npulua/npu/acl"
	"npulua/npu/internal/driver"
)

// openStream opens the stand-in with a stream on device 0.
func openStream(t *testing.T) (*fake, *acl.Driver, driver.Stream) {
	t.Helper()
	runtime.LockOSThread() // for good: the current context belongs to the thread
	lib := open(t)
	d, err := acl.Open()
	if err != nil {
		t.Fatal(err)
	}
	lib.set("restart", 1)
	t.Cleanup(func() { _ = d.ResetDevice(0, true) })
	for _, err := range []error{d.Init(), d.SetDevice(0)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	s, err := d.CreateStream(driver.StreamConfig{})
	if err != nil {
		t.Fatal(err)
	}
	return lib, d, s
}

// Work that does not end on its own is broken off, and the stream is idle then.
func TestAbortHungStream(t *testing.T) {
	lib, d, s := openStream(t)
	x, err := d.Malloc(64, driver.MemHugeFirst)
	if err != nil {
		t.Fatal(err)
	}
	lib.set("hang", 1)
	defer lib.set("hang", 0)
	for range 3 {
		if err := d.Enqueue(&driver.Command{Op: driver.OpFill, Stream: s, Dst: x, Size: 64, Width: 1}); err != nil {
			t.Fatal(err)
		}
	}
	if done, err := d.QueryStream(s); done || err != nil {
		t.Fatalf("QueryStream = %v, %v, want work that hangs", done, err)
	}
	if err := d.AbortStream(s); err != nil {
		t.Errorf("AbortStream = %v", err)
	}
	if done, err := d.QueryStream(s); !done || err != nil {
		t.Errorf("QueryStream after AbortStream = %v, %v, want done", done, err)
	}
}

// A library without the function, and a device that cannot, say so and change nothing.
func TestAbortNotSupported(t *testing.T) {
	lib, d, s := openStream(t)
	lib.set("soc", 310)
	defer lib.set("soc", 910)
	device := d.AbortStream(s)
	acl.ForgetAbort(d)
	library := d.AbortStream(s)
	for what, err := range map[string]error{"not on this part": device, "the installed CANN has no aclrtStreamAbort, which came with release 8.5": library} {
		e, ok := err.(*driver.Error)
		if !ok || e.Code != driver.CodeNotSupported || !strings.Contains(e.Detail, what) {
			t.Errorf("AbortStream = %v, want not supported: %s", err, what)
		}
	}
	if err := d.SynchronizeStream(s, -1); err != nil {
		t.Errorf("SynchronizeStream = %v", err)
	}
}
