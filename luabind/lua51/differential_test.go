package lua51

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

const casesPerChunk = 200

// TestAgainstLua51 runs random calls here and in lua5.1, and compares results and error messages.
func TestAgainstLua51(t *testing.T) {
	longTest(t, "one goroutine runs Lua here")
	program, err := exec.LookPath("lua5.1")
	if err != nil {
		t.Skip("lua5.1 is not installed, so there is nothing to compare with")
	}
	cases := newCaseMaker(51).make(24000)
	dir := t.TempDir()
	files := []string{"driver.lua"}
	chunks := map[string]string{"driver.lua": caseDriver}
	for start := 0; start < len(cases); start += casesPerChunk {
		var b strings.Builder
		for i := start; i < min(start+casesPerChunk, len(cases)); i++ {
			fmt.Fprintf(&b, "case(%d, function() %s end)\n", i, cases[i])
		}
		name := fmt.Sprintf("c%d.lua", start)
		files = append(files, name)
		chunks[name] = b.String()
	}
	for name, source := range chunks {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(source), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	main := `for i = 1, #arg do dofile(arg[i]) end`
	if err := os.WriteFile(filepath.Join(dir, "main.lua"), []byte(main), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(program, append([]string{"main.lua"}, files...)...)
	cmd.Dir = dir
	cmd.Stderr = os.Stderr
	want, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	var got bytes.Buffer
	L := newTestState(t, &got)
	for _, name := range files {
		runCases(t, L, name, chunks[name])
	}
	wantLines, gotLines := strings.Split(string(want), "\n"), strings.Split(got.String(), "\n")
	if len(wantLines) != len(gotLines) {
		t.Errorf("%d lines, want %d", len(gotLines), len(wantLines))
	}
	failed := 0
	for i := range min(len(wantLines), len(gotLines), len(cases)) {
		if !sameLine(gotLines[i], wantLines[i]) && failed < 40 {
			failed++
			number, _, _ := strings.Cut(wantLines[i], "\t")
			n, _ := strconv.Atoi(number)
			t.Errorf("%s\n got %s\nwant %s", cases[n], gotLines[i], wantLines[i])
		}
	}
}

// functionName is the name in an argument error.
var functionName = regexp.MustCompile(`to '[a-z]+' \(`)

// sameLine takes a function's own name for the "?" of PUC Lua, where the call names nothing.
func sameLine(got, want string) bool {
	return got == want || strings.Contains(want, "to '?' (") && functionName.ReplaceAllString(got, "to '?' (") == want
}
