package serve

import (
	"context"
	"io"
	"os"
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
