// Command bench prints how npulua does against the budgets of docs/performance.md:
//
//	go run ./tests/bench        from the module's root; about a minute
//
// Times mean little on a shared machine, so nearly every row is a ratio of two things that were
// measured in turn, several times, in this one run; the median counts. A missed budget is printed
// and is no failure. Of npulua only the stand-in for the vendor's library is imported: the binary is built and run.
package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"text/tabwriter"
	"time"
)

func main() {
	os.Exit(run(os.Args[1:], os.Stdout, os.Stderr))
}

// rounds is how often the two sides of a ratio are measured in turn.
const rounds = 7

// sections measure one after the other. The process must still be small when start-up is measured:
// the peak memory of a child counts from before its exec.
var sections = []struct {
	name    string
	measure func(b *bench) ([]row, error)
}{
	{"start", startUp},
	{"sim", simulated},
	{"graph", graphs},
	{"tasks", tasks},
	{"python", python},
	{"acl", vendor},
	{"executor", executor},
	{"allocations", allocations},
	{"host", hostBuffers},
}

// row is one line of the report.
type row struct {
	what, measured, budget string
	met                    verdict
}

type verdict string

const (
	info verdict = "" // no budget
	yes  verdict = "yes"
	no   verdict = "NO"
)

func within(ok bool) verdict {
	if ok {
		return yes
	}
	return no
}

// bench is what the sections share.
type bench struct {
	dir    string // for files that go away at the end
	binary string
	env    []string // of the binary, besides the environment
}

// errSkip is a section that this machine cannot measure.
type errSkip struct{ why string }

func (e errSkip) Error() string { return e.why }

func run(names []string, stdout, stderr io.Writer) int {
	dir, err := os.MkdirTemp("", "npulua-bench")
	if err != nil {
		fmt.Fprintln(stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	b := &bench{dir: dir, binary: filepath.Join(dir, "npulua")}
	build := exec.Command("go", "build", "-trimpath", "-o", b.binary, "./cmd/npulua")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		fmt.Fprintf(stderr, "go build: %v\n%s", err, out)
		return 1
	}
	w := tabwriter.NewWriter(stdout, 0, 0, 2, ' ', 0)
	defer w.Flush()
	fmt.Fprintf(w, "%s, %d CPUs, %s/%s\n\nwhat\tmeasured\tbudget\tmet?\n", runtime.Version(), runtime.NumCPU(), runtime.GOOS, runtime.GOARCH)
	status := 0
	for _, s := range sections {
		if len(names) > 0 && !slices.Contains(names, s.name) {
			continue
		}
		fmt.Fprintf(stderr, "measuring: %s\n", s.name)
		rows, err := s.measure(b)
		var skip errSkip
		switch {
		case errors.As(err, &skip):
			fmt.Fprintf(w, "%s\tskipped: %v\t\t\n", s.name, err)
		case err != nil:
			fmt.Fprintf(stderr, "%s: %v\n", s.name, err)
			status = 1
		}
		for _, r := range rows {
			fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", r.what, r.measured, r.budget, r.met)
		}
	}
	return status
}

// result is one run of the binary.
type result struct {
	wall time.Duration
	cpu  time.Duration // of all threads
	rss  int64         // peak, bytes
	out  string
}

// lua runs the binary with args.
func (b *bench) lua(args ...string) (result, error) {
	cmd := exec.Command(b.binary, args...)
	cmd.Env = append(os.Environ(), b.env...)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	start := time.Now()
	err := cmd.Run()
	wall := time.Since(start)
	if err != nil {
		return result{}, fmt.Errorf("npulua %s: %w\n%s", strings.Join(args, " "), err, errs.String())
	}
	r := result{wall: wall, cpu: cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime(), out: out.String()}
	if u, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage); ok {
		r.rss = u.Maxrss << 10
	}
	return r, nil
}

// number reads the one number that a program printed.
func number(out string) (float64, error) {
	return strconv.ParseFloat(strings.TrimSpace(out), 64)
}

func median(v []float64) float64 { return slices.Sorted(slices.Values(v))[len(v)/2] }

func megabytes(n float64) string { return fmt.Sprintf("%.1f MB", n/1e6) }

func nanoseconds(seconds float64) string { return fmt.Sprintf("%.0f ns", seconds*1e9) }
