//go:build linux && (amd64 || arm64)

package doctor

import (
	"context"
	"os"
	"os/exec"
	"testing"
	"time"

	"npulua/npu"
	"npulua/npu/acl/standin"
)

// inChild is set in the process in which TestStuckLibrary uses the library: it is of no use afterwards.
const inChild = "NPULUA_TEST_STUCK"

// A library that does not come back from a call is left alone, and the report says where.
func TestStuckLibrary(t *testing.T) {
	if os.Getenv(inChild) != "" {
		stuckLibrary(t)
		return
	}
	t.Parallel()
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestStuckLibrary$", "-test.count=1")
	cmd.Env = append(os.Environ(), inChild+"=1", "LD_LIBRARY_PATH="+standin.Build(t), "ACL_STANDIN=setdevice_ms=60000")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

func stuckLibrary(t *testing.T) {
	start := time.Now()
	r := Run(context.Background(), Options{Session: npu.Options{Backend: "acl"}, Start: time.Second})
	if took := time.Since(start); took > 20*time.Second || r.Usable || len(r.Devices) != 2 || r.Devices[0].State != Hung || r.Devices[1].State != NotTested {
		t.Errorf("after %v: %+v", took, r)
	}
	for _, f := range r.Findings {
		if f.Section == "devices" && f.Level == Fail && f.Text == "no answer while opening device 0" {
			return
		}
	}
	t.Errorf("findings %+v", r.Findings)
}
