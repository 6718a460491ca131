package tests

import (
	"os/exec"
	"path/filepath"
	"testing"

	"npulua/npu/acl/standin"
)

// TestScriptsModel runs one script on the simulator and, over the stand-in for the vendor's library, as on hardware,
// each with the file that fits: what it prints is the same.
func TestScriptsModel(t *testing.T) {
	libraries := standin.Build(t)
	run := func(args ...string) string {
		cmd := exec.Command(binary, args...)
		cmd.Env = append(cmd.Environ(), "LD_LIBRARY_PATH="+libraries, "ASCEND_LAUNCH_BLOCKING=")
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("npulua %v: %v\n%s", args, err, out)
		}
		return string(out)
	}
	for _, script := range []string{"../scripts/model.lua", "testdata/model_refusals.lua"} {
		for _, name := range []string{"mlp", "mlp_batch"} {
			simulated := run("--backend=sim", script, filepath.Join("../scripts/data", name+".json"))
			driven := run("--backend=acl", script, filepath.Join("../npu/acl/standin/testdata", name+".om"))
			if simulated != driven || simulated == "" {
				t.Errorf("%s with %s prints on the simulator\n%s\nand on hardware\n%s", script, name, simulated, driven)
			}
		}
	}
}
