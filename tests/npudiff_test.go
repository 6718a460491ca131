package tests

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"npulua/npu/acl/standin"
)

var (
	npuPrograms = flag.Int("npu-programs", 0, "how many generated programs to run on the simulator and over the stand-in; 0: 60, or 20 with -short")
	npuSeed     = flag.Uint64("npu-seed", 1, "first seed of the generated programs")
)

// variants are habits that a library may have; programs take them in turn.
var variants = []string{"", "told_late=1", "late_us=3000", "reuse=1", "told_late=1,reuse=1", "forgets=1"}

// backends runs one program on both backends.
type backends struct{ dir, library, kernels string }

// codesIn are the codes and lines of what a program says at its end; in words that is the backend's.
var codesIn = regexp.MustCompile(`\[\d+ [A-Z_]+\]|program\.lua:\d+`)

// run is what a program answers, step by step, then the codes and lines of what is said at its end, and its status; and
// what is said in full.
func (b backends) run(t *testing.T, lines []string, args, env []string) (answers []string, stderr string) {
	dir, err := os.MkdirTemp(b.dir, "")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	if err := os.WriteFile(filepath.Join(dir, "program.lua"), []byte(npuPrelude+strings.Join(lines, "\n")+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, binary, append(args, "program.lua")...)
	cmd.Dir, cmd.Env = dir, append(append(os.Environ(), "GORACE=atexit_sleep_ms=0", "ASCEND_LAUNCH_BLOCKING="), env...)
	var out, errs strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &errs
	var exit *exec.ExitError
	if err := cmd.Run(); err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	answers = strings.Split(out.String(), "\n")
	var said []string
	for line := range strings.Lines(errs.String()) {
		if strings.Contains(line, "affected") || strings.Contains(line, "hint:") || strings.Contains(line, "raised by") {
			continue
		}
		said = append(said, codesIn.FindAllString(line, -1)...)
	}
	slices.Sort(said) // of several streams, in any order
	return append(answers, strings.Join(said, " "), fmt.Sprint("status ", cmd.ProcessState.ExitCode())), errs.String()
}

// difference is how the answers of the two backends differ, "" where they agree.
func (b backends) difference(t *testing.T, lines []string, variant string) string {
	want, _ := b.run(t, lines, []string{"--backend=sim", "--sim=910b:2"}, nil)
	got, stderr := b.run(t, lines, []string{"--backend=acl"}, []string{"LD_LIBRARY_PATH=" + b.library, "NPULUA_KERNELS=" + b.kernels, "ACL_STANDIN=" + variant})
	if slices.Equal(got, want) {
		return ""
	}
	for i := range want {
		if i >= len(got) || got[i] != want[i] {
			other := "nothing"
			if i < len(got) {
				other = got[i]
			}
			return fmt.Sprintf("the simulator answers %q, the library %q\n%s", want[i], other, stderr)
		}
	}
	return fmt.Sprintf("the library says more: %q", got[len(want):])
}

// shrink leaves lines out while the backends still differ, and says how they did last.
func (b backends) shrink(t *testing.T, lines []string, variant, difference string) ([]string, string) {
	for size := len(lines) / 2; size > 0; size /= 2 {
		for at := 0; at+size <= len(lines); {
			shorter := slices.Delete(slices.Clone(lines), at, at+size)
			if d := b.difference(t, shorter, variant); d != "" {
				lines, difference = shorter, d
			} else {
				at += size
			}
		}
	}
	return lines, difference
}

// TestBackendsAgree runs generated programs on the simulator and over the stand-in for the vendor's library, and
// compares what they answer, call by call.
func TestBackendsAgree(t *testing.T) {
	n := *npuPrograms
	if n == 0 {
		n = 60
		if testing.Short() {
			n = 20
		}
	}
	b := backends{t.TempDir(), standin.Build(t), t.TempDir()}
	if err := os.WriteFile(filepath.Join(b.kernels, "vector_add.o"), []byte("standin kernels\nvector_add_float32\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	turn := make(chan struct{}, 6)
	for i := range n {
		turn <- struct{}{}
		all.Go(func() {
			defer func() { <-turn }()
			seed := *npuSeed + uint64(i)
			lines, variant := generateNPU(seed), variants[seed%uint64(len(variants))]
			if t.Failed() {
				return
			}
			if d := b.difference(t, lines, variant); d != "" {
				shorter, last := b.shrink(t, lines, variant, d)
				t.Errorf("seed %d, %q: %s\nshorter: %s\n%s", seed, variant, d, last, strings.Join(shorter, "\n"))
			}
		})
	}
	all.Wait()
}
