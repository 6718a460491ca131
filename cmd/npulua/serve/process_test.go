package serve

import (
	"context"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

func TestProcess(t *testing.T) {
	for _, c := range []struct {
		script       string
		status       int
		stdout       string
		problemHolds string
	}{
		{"echo one; echo two >&2; exit 3", 3, "one\n", ""},
		{"exit 0", 0, "", ""},
		{"kill -9 $$", -1, "", "killed"},
		{"cat", 0, "", ""},
	} {
		out := Process(t.Context(), "/bin/sh", []string{"-c", c.script})
		if out.Status != c.status || out.Stdout != c.stdout || !strings.Contains(out.Problem, c.problemHolds) || c.problemHolds == "" && out.Problem != "" {
			t.Errorf("%q: %+v", c.script, out)
		}
	}
	if out := Process(t.Context(), "/no/such/program", nil); out.Status != -1 || out.Problem == "" {
		t.Errorf("a program that is not there: %+v", out)
	}
}

// TestProcessEnds ends a program together with what it has started: both hold a pipe open.
func TestProcessEnds(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	pipe := t.TempDir() + "/pipe"
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	done := make(chan Output, 1)
	go func() {
		done <- Process(ctx, "/bin/sh", []string{"-c", `exec 3> "$0"; sleep 1000 & echo begun >&3; wait`, pipe})
	}()
	f, err := os.Open(pipe)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.Read(make([]byte, 5)); err != nil {
		t.Fatal(err)
	}
	cancel()
	if out := <-done; out.Status != -1 {
		t.Errorf("ended: %+v", out)
	}
	if _, err := io.Copy(io.Discard, f); err != nil { // to the end of the last one
		t.Fatal(err)
	}
}

// TestProcessLeavesNothing has programs that leave others behind, which hold their output: it is told how the program
// itself ended, and the others end with it.
func TestProcessLeavesNothing(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("what has lost its parent is found on Linux only")
	}
	pipe := t.TempDir() + "/pipe"
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	stranger := exec.Command("sleep", "1000") // is not of the run
	if err := stranger.Start(); err != nil {
		t.Fatal(err)
	}
	defer stranger.Wait()
	defer stranger.Process.Kill()
	for _, c := range []struct {
		name, script string
		left         int // at least
	}{
		{"none", "echo out; exit 3", 0},
		{"a child", "sleep 1000 & echo out; exit 3", 1},
		{"a child of a child", "(sleep 1000 & sleep 1000 & wait) & echo out; exit 3", 1},
		{"a session of its own", "setsid sleep 1000 & echo out; exit 3", 1},
		{"a daemon", "(setsid sh -c 'sleep 1000 & exit' &); echo out; exit 3", 1},
		{"children that take no signals", "(trap '' TERM INT HUP; setsid sh -c 'sleep 1000; sleep 1000; sleep 1000') & echo out; exit 3", 1},
		{"closed output", "setsid sleep 1000 < /dev/null > /dev/null 2>&1 & echo out; exit 3", 1},
		{"a child that makes more", "(while :; do sleep 1000 & sleep 0.01; done) & echo out; exit 3", 1},
	} {
		f, err := os.OpenFile(pipe, os.O_RDONLY|syscall.O_NONBLOCK, 0)
		if err != nil {
			t.Fatal(err)
		}
		out := Process(t.Context(), "/bin/sh", []string{"-c", `exec 3> "$0"; ` + c.script, pipe})
		if out.Status != 3 || out.Problem != "" || out.Stdout != "out\n" || out.Left < c.left || c.left == 0 && out.Left != 0 {
			t.Errorf("%s: %+v", c.name, out)
		}
		if n, err := f.Read(make([]byte, 1)); n != 0 || err != io.EOF { // EAGAIN where somebody still has it
			t.Errorf("%s: a process is left: %v", c.name, err)
		}
		f.Close()
	}
	if err := stranger.Process.Signal(syscall.Signal(0)); err != nil {
		t.Errorf("a process that is not of the run: %v", err)
	}
}

func TestTail(t *testing.T) {
	var b tail
	for i := range 100_000 {
		b.Write([]byte(strconv.Itoa(i) + "\n"))
	}
	got := b.String()
	if !strings.HasPrefix(got, "...\n") || !strings.HasSuffix(got, "\n99999\n") || len(got) > outputKept+8 || len(got) < outputKept/2 {
		t.Errorf("%d bytes: %.20q ... %q", len(got), got, got[len(got)-20:])
	}
	for line := range strings.Lines(got[4:]) {
		if len(line) != 6 {
			t.Fatalf("a line is cut: %q", line)
		}
	}
}
