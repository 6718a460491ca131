//go:build linux && (amd64 || arm64)

package acl_test

import (
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"
	"time"

	"npulua/npu/acl"
	"npulua/npu/acl/standin"
)

// inChild is set in the process in which TestGoFaults loads the library: its handlers are for the whole process.
const inChild = "NPULUA_TEST_FAULTS"

// A fault of Go code is a panic of Go, and its scheduler takes loops off the processor, whatever handlers the
// library installed.
func TestGoFaults(t *testing.T) {
	if os.Getenv(inChild) != "" {
		goFaults(t)
		return
	}
	dir := standin.Build(t)
	for _, switches := range []string{"signals=1", "signals=2", "signals=3", "signals=2,signals_at=1", "signals=3,signals_at=2"} {
		t.Run(switches, func(t *testing.T) {
			t.Parallel()
			cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestGoFaults$", "-test.count=1", "-test.v")
			cmd.Env = append(os.Environ(), inChild+"=1", "LD_LIBRARY_PATH="+dir, "ASCEND_COREDUMP_SIGNAL=all", "ACL_STANDIN="+switches)
			out, err := cmd.CombinedOutput()
			if err != nil || !strings.Contains(string(out), "--- PASS") {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
}

func goFaults(t *testing.T) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	d, err := acl.Open()
	if err != nil {
		t.Fatal(err)
	}
	for _, step := range []func() error{d.Init, func() error { return d.SetDevice(0) }} {
		if err := step(); err != nil {
			t.Fatal(err)
		}
	}
	func() {
		defer func() {
			if e, ok := recover().(runtime.Error); !ok || !strings.Contains(e.Error(), "nil pointer") {
				t.Errorf("recovered %v", e)
			}
		}()
		var p *int
		*p = 1
	}()
	loop := time.Now()
	stop := make(chan struct{})
	var stopped, turns int // plain ones: the compiler leaves no call in the loop
	runtime.GOMAXPROCS(1)
	go func() { time.Sleep(20 * time.Millisecond); close(stop) }()
	go func() {
		for stopped == 0 { // nothing but a signal takes it off the only processor
			turns++
		}
	}()
	<-stop
	if took := time.Since(loop); took > 5*time.Second {
		t.Errorf("a loop kept the processor for %v", took)
	}
	if err := d.ResetDevice(0, false); err != nil {
		t.Error(err)
	}
}
