package tests

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"

	"npulua/npu/acl/standin"
)

// A test that hangs over the vendor's library is ended at its timeout, and the next ones run on the same device: with
// the function that breaks a stream off, and without it.
func TestCheckHangStandin(t *testing.T) {
	script := filepath.Join(t.TempDir(), "hang.lua")
	if err := os.WriteFile(script, []byte(`
local check = require "check"
check.setup{title = "hang", json = true}
check.test("hangs", {device = 0, timeout = 0.5}, function(t)
	local ctx = npu.current_context()
	local s, other, x = ctx:create_stream(), ctx:create_stream(), ctx:alloc("float32", 4)
	s:launch(npu.kernel "spin", 1, 1e6)
	other:wait(s:record())
	other:fill(x, 1)
	other:synchronize()
end)
check.test("default", {device = 0, timeout = 0.2}, function(t)
	npu.current_context().default_stream:launch(npu.kernel "spin", 1, 1e6)
	t:expect(true, "x")
end)
check.test("works", {device = 0}, function(t)
	local x = npu.current_context():alloc("float32", 4)
	x:upload{1, 2, 3, 4}
	t:expect(x:download():sum() == 10, "wrong sum")
end)
`), 0o600); err != nil {
		t.Fatal(err)
	}
	kernels := standinKernels(t)
	for _, c := range []struct {
		name    string
		without []string
		want    string // regular expression of the result
	}{
		{"with aclrtStreamAbort", nil, `"messages": \[\s+\{[^}]*\}\s+\],`},
		{"without aclrtStreamAbort", []string{"aclrtStreamAbort"},
			`"text": "could not be cleaned up: npu: check.test: the installed CANN has no aclrtStreamAbort, which came with release 8.5 [^}]*\}\s+\],(?s:.*)the work of its default stream goes on, so that context stays`},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			env := []string{"LD_LIBRARY_PATH=" + standin.Build(t, standin.Options{Without: c.without}), "NPULUA_KERNELS=" + kernels}
			_, stdout, stderr, err := npulua(t, env, "--backend=acl", "--timeout=60", script)
			if exit, ok := err.(*exec.ExitError); !ok || exit.ExitCode() != 4 {
				t.Fatalf("%v, want exit status 4\n%s\n%s", err, stdout, stderr)
			}
			for _, want := range []string{c.want, `"backend": "acl"`, `"error": 2,`, `"simulated": false`,
				`"name": "hangs",\s+"group": null,\s+"device": 0,\s+.*\s+.*\s+.*\s+"result": "error",\s+"reason": "timed out after 500 ms; stream\(1, context 1, device 0\): 2 commands .* launch \\"spin\\" `,
				`"name": "works",\s+"group": null,\s+"device": 0,\s+.*\s+.*\s+.*\s+"result": "pass"`} {
				if !regexp.MustCompile(want).Match(stdout) {
					t.Errorf("no match for %s in\n%s\n%s", want, stdout, stderr)
				}
			}
		})
	}
}
