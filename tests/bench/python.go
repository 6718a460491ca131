package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

const sources = "tests/bench/pyext"

// copyLoop prints the seconds that a call takes, loop included, as loop.py does. The null
// backend's clock is the machine's.
const copyLoop = `
local ctx = npu.device(0).context
local s, d, h = ctx:create_stream(), ctx:alloc("float32", 1024), npu.host("float32", 1024)
local rounds = %d
local start = npu.time()
for i = 1, rounds do for j = 1, 1000 do s:copy(d, h) end end
s:synchronize()
print((npu.time() - start) / (rounds * 1000))`

// python compares a queued copy with the same call from Python, through two kinds of binding.
func python(b *bench) ([]row, error) {
	if err := b.buildExtension(); err != nil {
		return nil, err
	}
	version, err := exec.Command("python3", "-c", "import platform; print(platform.python_version())").Output()
	if err != nil {
		return nil, err
	}
	const luaRounds = 10000 // of 1000 calls
	var ours []float64
	yardsticks := []struct {
		what, variant, budget string
		rounds                int
		limit                 float64
		took, ratios          []float64
	}{
		{what: "queued copy / Python class over a flat C function, as over pyACL", variant: "class", budget: "1.0, aim 0.85", rounds: 2000, limit: 1},
		{what: "queued copy / Stream type written in C", variant: "object", budget: "1.0, aim 0.85", rounds: 10000, limit: 1},
	}
	for range rounds {
		r, err := b.lua("--backend=null", "-e", fmt.Sprintf(copyLoop, luaRounds))
		if err != nil {
			return nil, err
		}
		lua, err := number(r.out)
		if err != nil {
			return nil, err
		}
		ours = append(ours, lua)
		for i := range yardsticks {
			y := &yardsticks[i]
			took, err := b.pythonLoop(y.variant, y.rounds)
			if err != nil {
				return nil, err
			}
			y.took, y.ratios = append(y.took, took), append(y.ratios, lua/took)
		}
	}
	var rows []row
	for _, y := range yardsticks {
		ratio := median(y.ratios)
		rows = append(rows, row{y.what + ", Python " + strings.TrimSpace(string(version)), fmt.Sprintf("%.2f (%s / %s)", ratio, nanoseconds(median(ours)), nanoseconds(median(y.took))), y.budget, within(ratio <= y.limit)})
	}
	return rows, nil
}

// buildExtension compiles npuext.c for the python3 on the path.
func (b *bench) buildExtension() error {
	for _, tool := range []string{"cc", "python3"} {
		if _, err := exec.LookPath(tool); err != nil {
			return errSkip{"the comparison with a C extension needs " + tool}
		}
	}
	out, err := exec.Command("python3", "-c", `import sysconfig; print(sysconfig.get_path("include"))`).Output()
	if err != nil {
		return errSkip{fmt.Sprintf("python3 does not say where its headers are: %v", err)}
	}
	include := strings.TrimSpace(string(out))
	if _, err := os.Stat(filepath.Join(include, "Python.h")); err != nil {
		return errSkip{"the comparison with a C extension needs Python.h: " + err.Error()}
	}
	cc := exec.Command("cc", "-O2", "-shared", "-fPIC", "-I", include, "-o", filepath.Join(b.dir, "npuext.so"), filepath.Join(sources, "npuext.c"))
	if out, err := cc.CombinedOutput(); err != nil {
		return fmt.Errorf("cc: %w\n%s", err, out)
	}
	return nil
}

func (b *bench) pythonLoop(variant string, n int, library ...string) (float64, error) {
	cmd := exec.Command("python3", append([]string{filepath.Join(sources, "loop.py"), variant, fmt.Sprint(n)}, library...)...)
	cmd.Env = append(append(os.Environ(), b.env...), "PYTHONPATH="+b.dir, "PYTHONDONTWRITEBYTECODE=1")
	out, err := cmd.Output()
	if err != nil {
		return 0, fmt.Errorf("loop.py: %w", err)
	}
	return number(string(out))
}
