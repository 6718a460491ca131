package tests

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

var (
	luaPrograms = flag.Int("lua-programs", 0, "how many generated programs to compare with lua5.1; 0: 2000")
	luaSeed     = flag.Uint64("lua-seed", 1, "first seed of the generated programs")
)

// runner runs a batch of program files, each in an environment of its own.
const runner = `for _, name in ipairs(arg) do
	print("=== " .. name)
	local f, e = loadfile(name)
	if not f then print("load", e) else
		setfenv(f, setmetatable({}, {__index = _G}))
		local ok, e = pcall(f)
		if not ok then print("error", e) end
	end
end
`

// TestLuaDifferential runs generated programs here and on PUC Lua 5.1, and compares what they print.
func TestLuaDifferential(t *testing.T) {
	long(t, "one goroutine runs Lua here")
	lua, err := exec.LookPath("lua5.1")
	if err != nil {
		t.Skip("lua5.1 is not installed: generated programs are not compared with it")
	}
	n := *luaPrograms
	if n == 0 {
		n = 2000
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "runner.lua"), []byte(runner), 0o644); err != nil {
		t.Fatal(err)
	}
	total := make(map[string]int)
	const batch = 50
	for first := 0; first < n; first += batch {
		args := []string{"runner.lua"}
		sources := make(map[string]string)
		for i := first; i < min(first+batch, n); i++ {
			seed := *luaSeed + uint64(i)
			program, used := generate(seed)
			for k, v := range used {
				total[k] += v
			}
			name := fmt.Sprintf("p%d.lua", seed)
			sources[name] = program
			args = append(args, name)
			if err := os.WriteFile(filepath.Join(dir, name), []byte(program), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want := runLua(t, dir, lua, args...)
		got := runLua(t, dir, binary, append([]string{"--backend=null"}, args...)...)
		compareOutputs(t, want, got, sources)
		if t.Failed() {
			t.Logf("rerun with -lua-seed=%d -lua-programs=%d", *luaSeed+uint64(first), batch)
			return
		}
	}
	for _, c := range constructs {
		if total[c] < n/50 {
			t.Errorf("the generator wrote %q %d times in %d programs: too seldom to prove anything", c, total[c], n)
		}
	}
}

func runLua(t *testing.T, dir, program string, args ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute) // a program that does not end is a defect
	defer cancel()
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Errorf("%s: %v", filepath.Base(program), err)
	}
	return string(out)
}

// compareOutputs reports the first difference of each program.
func compareOutputs(t *testing.T, want, got string, sources map[string]string) {
	w, g := sections(want), sections(got)
	reported := 0
	for name, lines := range w {
		other := g[name]
		for i := 0; i < max(len(lines), len(other)); i++ {
			a, b := at(lines, i), at(other, i)
			if a == b {
				continue
			}
			if reported++; reported <= 3 {
				t.Errorf("%s: line %d of the output:\n  lua5.1: %s\n  npulua: %s\n--- program\n%s", name, i+1, a, b, number(sources[name]))
			}
			break
		}
	}
}

func at(lines []string, i int) string {
	if i < len(lines) {
		return lines[i]
	}
	return "(nothing)"
}

func sections(out string) map[string][]string {
	m := make(map[string][]string)
	name := ""
	for line := range strings.Lines(out) {
		line = strings.TrimSuffix(line, "\n")
		if s, ok := strings.CutPrefix(line, "=== "); ok {
			name = s
		}
		m[name] = append(m[name], line)
	}
	return m
}

func number(program string) string {
	var b strings.Builder
	i := 0
	for line := range strings.Lines(program) {
		i++
		fmt.Fprintf(&b, "%4d %s", i, line)
	}
	return b.String()
}
