package tests

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// normal takes out of an output what differs from run to run, and the names of functions that lua5.1 does not know
// where pcall calls them.
var normal = []*regexp.Regexp{regexp.MustCompile(`0x[0-9a-f]+`), regexp.MustCompile(`to '[a-z?]+'`)}

// TestLuaIdioms runs what scripts do with debug, environments and modules here and on lua5.1.
func TestLuaIdioms(t *testing.T) {
	long(t, "one goroutine runs Lua here")
	lua, err := exec.LookPath("lua5.1")
	if err != nil {
		t.Skip("lua5.1 is not installed: there is nothing to compare with")
	}
	files, err := filepath.Glob("testdata/idioms/*.lua")
	if err != nil || len(files) == 0 {
		t.Fatal("no scripts", err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			dir := t.TempDir()
			code, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(dir, "main.lua"), code, 0o600); err != nil {
				t.Fatal(err)
			}
			want := normalOutput(t, dir, lua)
			got := normalOutput(t, dir, binary, "--backend=null")
			for i := range max(len(want), len(got)) {
				if a, b := at(want, i), at(got, i); a != b {
					t.Fatalf("line %d:\nlua5.1: %s\nnpulua: %s", i+1, a, b)
				}
			}
		})
	}
}

func normalOutput(t *testing.T, dir, program string, options ...string) []string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), program, append(options, "main.lua")...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Errorf("%s: %v\n%s", program, err, out)
	}
	text := string(out)
	for _, re := range normal {
		text = re.ReplaceAllString(text, "_")
	}
	return strings.Split(text, "\n")
}
