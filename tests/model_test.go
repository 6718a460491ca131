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

// TestScriptsNoModels has a library without what models need: the rest works, and the error says what is missing.
func TestScriptsNoModels(t *testing.T) {
	libraries := standin.Build(t, standin.Options{Without: []string{"aclmdlLoadFromFileWithMem"}})
	cmd := exec.Command(binary, "--backend=acl", "-e", `local x = npu.device(0).context:alloc("float32", 1)
		local ok, e = pcall(npu.model, "x.om") print(x.count, e.code, e.message)`)
	cmd.Env = append(cmd.Environ(), "LD_LIBRARY_PATH="+libraries)
	out, err := cmd.CombinedOutput()
	want := "1\t207000\tthe installed CANN has no aclmdlLoadFromFileWithMem\n"
	if err != nil || string(out) != want {
		t.Errorf("%v\n%s\nwant %s", err, out, want)
	}
}
