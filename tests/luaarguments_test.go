package tests

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// argumentExceptions are calls of testdata/arguments.lua, by the beginnings of their lines, whose outcome differs; each
// with how a row of docs/lua.md begins, or with the reason after "reference: ".
var argumentExceptions = []struct{ call, why string }{
	{"collectgarbage(", "`collectgarbage \"count\"` is memory of the whole process"},
	{"gcinfo(", "`collectgarbage \"count\"` is memory of the whole process"},
	{"pcall(print)/0 only", "a function that ends with `return pcall(f)`"},
	{"os.setlocale('C', 'all')/1/''", "`os.setlocale` knows `C` and `POSIX`"},
	{"os.time({year = 2000, month = 1, day = 1, hour = 12})/0 only", "reference: it is later"},
	{"os.time({year = 2000, month = 1, day = 1, hour = 12})/1/nil", "reference: it is later"},
	{"os.date(", "reference: it is later where no time is given"},
	{"io.stdout.close(FILE)/0 only", "reference: it takes its environment for a file"},
	{"debug.sethook(function() end, '', 1000000)/2/'abc'", "hooks of `debug.sethook` are called for lines and counts"},
	{"debug.traceback(", "`debug.traceback(message, level)` passes over a level"},
	{"package.loadlib(", "`require` looks beside the script, no C modules"},
	{"loadstring('return 1', 'n')/1/", "other words"},
}

// TestLibraryArguments compares what every function of the libraries does with arguments of every kind with lua5.1.
func TestLibraryArguments(t *testing.T) {
	long(t, "one goroutine runs Lua here")
	t.Parallel()
	lua, err := exec.LookPath("lua5.1")
	if err != nil {
		t.Skip("lua5.1 is not installed: arguments of library functions are not compared with it")
	}
	manual, err := os.ReadFile("../docs/lua.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range argumentExceptions {
		if !strings.HasPrefix(e.why, "reference: ") && !strings.Contains(string(manual), "\n| "+e.why) {
			t.Errorf("%s: docs/lua.md has no row that starts with %q", e.call, e.why)
		}
	}
	want := runArguments(t, lua)
	got := runArguments(t, binary, "--backend=null")
	if len(want) != len(got) || len(want) < 6000 {
		t.Fatalf("%d calls here, %d on lua5.1", len(got), len(want))
	}
	excepted := func(line string) bool {
		for _, e := range argumentExceptions {
			if strings.HasPrefix(line, e.call) {
				return true
			}
		}
		return false
	}
	differ := 0
	for i := range want {
		if want[i] == got[i] || excepted(want[i]) {
			continue
		}
		if differ++; differ <= 20 {
			t.Errorf("lua5.1: %s\nnpulua: %s", want[i], got[i])
		}
	}
	if differ > 0 {
		t.Errorf("%d calls differ", differ)
	}
}

// runArguments is what a program writes of the calls, a line each.
func runArguments(t *testing.T, program string, options ...string) []string {
	t.Helper()
	script, err := filepath.Abs("testdata/arguments.lua")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	code, err := os.ReadFile(script)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "arguments.lua"), code, 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), program, append(options, "arguments.lua", "outcomes")...)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Logf("%s: %v\n%s", program, err, out[max(0, len(out)-1000):]) // what it wrote shows whether it came to the end
	}
	f, err := os.Open(filepath.Join(dir, "outcomes"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var lines []string
	for s := bufio.NewScanner(f); s.Scan(); {
		lines = append(lines, s.Text())
	}
	return lines
}
