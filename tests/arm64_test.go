//go:build linux

package tests

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"npulua/npu/acl/standin"
)

// arm64Libraries is where Debian's package libc6-arm64-cross has what a program for arm64 is linked with.
const arm64Libraries = "/usr/aarch64-linux-gnu"

// arm64 runs the binary for the other architecture in an emulator.
func arm64(t *testing.T) (run func(env []string, args ...string) (string, error)) {
	t.Helper()
	emulator, err := exec.LookPath("qemu-aarch64")
	if err != nil {
		emulator, err = exec.LookPath("qemu-aarch64-static")
	}
	if err != nil {
		t.Skip("needs qemu-aarch64 (Debian's package qemu-user)")
	}
	if _, err := os.Stat(arm64Libraries); err != nil {
		t.Skip("needs the C library for arm64 (Debian's package libc6-arm64-cross)")
	}
	path := filepath.Join(t.TempDir(), "npulua-arm64")
	build := exec.Command("go", "build", "-trimpath", "-o", path, "npulua/cmd/npulua")
	build.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux", "GOARCH=arm64")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return func(env []string, args ...string) (string, error) {
		all := []string{"-L", arm64Libraries}
		for _, e := range env {
			all = append(all, "-E", e)
		}
		cmd := exec.Command(emulator, append(append(all, path), args...)...)
		cmd.Dir = ".."
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
}

func TestArm64(t *testing.T) {
	long(t, "an emulator runs the binary")
	t.Parallel()
	run := arm64(t)
	out, err := run(nil, "--backend=sim", "scripts/quickstart.lua")
	if err != nil || !strings.Contains(out, "1024 sums right") {
		t.Errorf("quickstart: %v\n%s", err, out)
	}
	if out, err := run(nil, "-e", "print(npu.backend)"); err != nil || !strings.Contains(out, "no NPU runtime is installed") {
		t.Errorf("without a backend: %v\n%s", err, out)
	}
	// The same calls in the other architecture's convention.
	const compiler = "aarch64-linux-gnu-gcc"
	if _, err := exec.LookPath(compiler); err != nil {
		t.Skip("the stand-in for arm64 needs Debian's package gcc-aarch64-linux-gnu")
	}
	library := "LD_LIBRARY_PATH=" + standin.Build(t, standin.Options{Compiler: compiler})
	for _, script := range []string{"quickstart", "contexts", "threads_own_context"} {
		real, err := run([]string{library}, "--backend=acl", "scripts/"+script+".lua")
		simulated, simErr := run(nil, "--sim=910b:2", "scripts/"+script+".lua")
		if err != nil || simErr != nil || strings.ReplaceAll(real, "(acl)", "(sim)") != simulated {
			t.Errorf("%s: over the stand-in %v\n%s\nin the simulator %v\n%s", script, err, real, simErr, simulated)
		}
	}
}
