package tests

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"npulua/npu/acl/standin"
)

// A call of the vendor's library that does not come back takes the script along, but not what it has printed and found.
func TestSalvage(t *testing.T) {
	t.Parallel()
	env := []string{"LD_LIBRARY_PATH=" + standin.Build(t), "ACL_STANDIN=setdevice_ms=60000"}
	code := `local check = require "check"
print "begun"
check.test("holds", function(t) t:expect(true) end)
check.test("opens", {device = 0, open = false}, function(t) npu.device(0) end)`
	file := filepath.Join(t.TempDir(), "stuck.lua")
	if err := os.WriteFile(file, []byte(code), 0o600); err != nil {
		t.Fatal(err)
	}
	_, stdout, stderr, err := npulua(t, env, "--backend=acl", "--timeout=0.3", file)
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != 124 {
		t.Errorf("%v, want status 124\n%s", err, stderr)
	}
	for _, want := range []string{"begun\n", "| opens | 0      | ERROR  |", "before the test came to its end", "COULD NOT RUN: opens (device 0)"} {
		if !strings.Contains(string(stdout), want) {
			t.Errorf("no %q in\n%s\n%s", want, stdout, stderr)
		}
	}
}
