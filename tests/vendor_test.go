package tests

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"npulua/npu/acl/standin"
)

// vendor is an environment in which npulua finds the vendor's library, or what stands in for it, or not.
type vendor struct {
	env []string // beside those that every program has
}

// outcome is what a program left.
type outcome struct {
	stdout, stderr string
	status         int
	took           time.Duration
}

// command is npulua with args in v.
func (v vendor) command(t *testing.T, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(t.Context(), binary, args...)
	cmd.Dir = t.TempDir()
	cmd.Env = append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + cmd.Dir, "GORACE=atexit_sleep_ms=0"}, v.env...)
	cmd.WaitDelay = 10 * time.Second
	return cmd
}

// run runs npulua in v.
func (v vendor) run(t *testing.T, args ...string) outcome {
	t.Helper()
	return finishCommand(t, v.command(t, args...), nil)
}

// finishCommand runs cmd, with during while it runs.
func finishCommand(t *testing.T, cmd *exec.Cmd, during func()) outcome {
	t.Helper()
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	start := time.Now()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if during != nil {
		during()
	}
	err := cmd.Wait()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return outcome{stdout.String(), stderr.String(), cmd.ProcessState.ExitCode(), time.Since(start)}
}

// onPath has the libraries of the stand-in on the loader's path, with switches.
func onPath(t *testing.T, switches string, options ...standin.Options) vendor {
	v := vendor{env: []string{"LD_LIBRARY_PATH=" + standin.Build(t, options...)}}
	if switches != "" {
		v.env = append(v.env, "ACL_STANDIN="+switches)
	}
	return v
}

// installation makes a folder with a lib64 of the named files of the stand-in, all where none are named.
func installation(t *testing.T, files ...string) string {
	home, from := t.TempDir(), standin.Build(t)
	lib := filepath.Join(home, "lib64")
	if len(files) == 0 {
		if err := os.Symlink(from, lib); err != nil {
			t.Fatal(err)
		}
		return home
	}
	if err := os.Mkdir(lib, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		data, err := os.ReadFile(filepath.Join(from, f))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(lib, f), data, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return home
}
