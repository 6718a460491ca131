//go:build linux

package tests

import (
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"npulua/npu/acl/standin"
)

// hung is the binary over a stand-in whose work never ends.
func hung(t *testing.T, code string, args ...string) *exec.Cmd {
	cmd := exec.Command(binary, append(append([]string{"--backend=acl"}, args...), "-e", code)...)
	cmd.Env = append(os.Environ(), "LD_LIBRARY_PATH="+standin.Build(t), "ACL_STANDIN=hang=1")
	return cmd
}

const waitsForever = `s = npu.device(0).context:create_stream() s:fill(s.context:alloc("float32", 4), 1) print "waits" io.stdout:flush() `

// A library whose work hangs can be interrupted by all that ends a script, and a wait has its timeout.
func TestHungLibrary(t *testing.T) {
	for _, tt := range []struct {
		name, code, want string
		args             []string
		signal           syscall.Signal
		status           int
	}{
		{"SIGINT", "s:synchronize()", "npulua: interrupted\n  main waits for stream(1, context 0, device 0)", nil, syscall.SIGINT, 130},
		{"SIGTERM", "npu.spawn(function() s:synchronize() end):join()", "npulua: terminated", nil, syscall.SIGTERM, 143},
		{"timeout of the script", "s:synchronize()", "npulua: timeout", []string{"--timeout=0.3"}, 0, 124},
		{"event", "s:record():synchronize()", "npulua: interrupted", nil, syscall.SIGINT, 130},
		{"the end of the script", "", "npulua: interrupted", nil, syscall.SIGINT, 130},
		{"a long end", "", "npulua: the script is over and waits for its queued work", []string{"--timeout=3"}, 0, 124},
		{"os.exit", "os.exit(4)", "npulua: interrupted", nil, syscall.SIGINT, 130},
		{"close of a model", `m = npu.model("../npu/acl/standin/testdata/mlp.om") for i = 1, 40 do m:run(s, s.context:alloc("float32", 6), s.context:alloc("float32", 4)) end m:close()`,
			"npulua: interrupted\n  main waits for stream(1, context 0, device 0)", nil, syscall.SIGINT, 130},
		{"timeout of a wait", "print(pcall(s.synchronize, s, 0.05)) s:synchronize()", "507046 ACL_ERROR_RT_STREAM_SYNC_TIMEOUT", []string{"--timeout=0.3"}, 0, 124},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			cmd := hung(t, waitsForever+tt.code, tt.args...)
			var out strings.Builder
			cmd.Stderr = &out
			stdout, err := cmd.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			kill := time.AfterFunc(time.Minute, func() { _ = cmd.Process.Kill() })
			defer kill.Stop()
			begun := make([]byte, len("waits\n"))
			if _, err := stdout.Read(begun); err != nil {
				t.Fatal(err)
			}
			if tt.signal != 0 {
				time.Sleep(50 * time.Millisecond) // it waits by now, or will at once
				if err := cmd.Process.Signal(tt.signal); err != nil {
					t.Fatal(err)
				}
			}
			rest := make([]byte, 4096)
			n, _ := stdout.Read(rest)
			_ = cmd.Wait()
			text := string(rest[:n]) + out.String()
			if got := cmd.ProcessState.ExitCode(); got != tt.status || !strings.Contains(text, tt.want) {
				t.Errorf("status %d, want %d and %q in\n%s", got, tt.status, tt.want, text)
			}
		})
	}
}
