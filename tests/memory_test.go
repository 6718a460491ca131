//go:build linux

package tests

import (
	"os/exec"
	"strings"
	"testing"
)

// Where the memory of the process is limited from outside scripts get an error before it ends, and those that take on all
// the same end with one line.
func TestLimitedMemory(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector takes address space of its own")
	}
	for _, c := range []struct{ name, code, stdout string }{
		{"strings", `print(pcall(function() local t = {} for i = 1, 1e9 do t[i] = ("x"):rep(1e6) .. i end end)) print "on"`, "not enough memory\non\n"},
		{"tasks in tasks", `local function n() return npu.spawn(n):join() end print(select(2, pcall(n)).code) print "on"`, "207005\non\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			cmd := exec.Command("sh", "-c", `ulimit -v 3000000 && exec "$0" --sim=910b -e "$1"`, binary, c.code)
			var stdout, stderr strings.Builder
			cmd.Stdout, cmd.Stderr = &stdout, &stderr
			err := cmd.Run()
			if err == nil && strings.HasSuffix(stdout.String(), c.stdout) {
				return
			}
			text, rest, _ := strings.Cut(stderr.String(), "\n")
			if cmd.ProcessState.ExitCode() != 71 || rest != "" || !strings.HasPrefix(text, "npulua: out of memory: ") { // it was too fast
				t.Errorf("%v, standard output %q, standard error %q", err, stdout.String(), text)
			}
		})
	}
}
