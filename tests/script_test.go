// Package tests holds what is tested from outside: the built binary, as users run it.
package tests

import (
	"encoding/json"
	"encoding/xml"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/santhosh-tekuri/jsonschema/v6"
)

var update = flag.Bool("update", false, "rewrite the golden output of the script tests")

// binary is the npulua that the tests run, built once.
var binary string

func TestMain(m *testing.M) {
	flag.Parse()
	_ = os.Unsetenv("ASCEND_RT_VISIBLE_DEVICES") // tests that need it set it
	os.Exit(runTests(m))
}

func runTests(m *testing.M) int {
	dir, err := os.MkdirTemp("", "npulua-test-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	binary = filepath.Join(dir, "npulua")
	args := []string{"build", "-o", binary}
	if raceEnabled {
		args = append(args, "-race")
	}
	build := exec.Command("go", append(args, "npulua/cmd/npulua")...)
	build.Stderr = os.Stderr
	if err := build.Run(); err != nil {
		fmt.Fprintln(os.Stderr, "build:", err)
		return 1
	}
	return m.Run()
}

// long skips t with -short, as `make race` runs the tests.
func long(t *testing.T, why string) {
	t.Helper()
	if testing.Short() {
		t.Skip("not with -short: " + why)
	}
}

// TestScripts runs testdata/*.txtar. $REPO is the repository, for its scripts.
func TestScripts(t *testing.T) {
	repo, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{
		Dir:           "testdata",
		UpdateScripts: *update,
		Setup: func(env *testscript.Env) error {
			env.Setenv("PATH", filepath.Dir(binary)+string(os.PathListSeparator)+env.Getenv("PATH"))
			env.Setenv("REPO", repo)
			env.Setenv("ASCEND_LAUNCH_BLOCKING", "")
			env.Setenv("GORACE", "atexit_sleep_ms=0") // else a binary with the race detector sleeps a second
			return nil
		},
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){
			"json":   checkJSON,
			"schema": checkSchema,
			"status": runStatus,
			"xsd":    checkXML,
			"web":    runWeb,
		},
	})
}

// checkJSON is the command `json FILE`: the file, or stdout of the last program, holds one JSON
// document and nothing else.
func checkJSON(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: json FILE")
	}
	var v any
	if err := json.Unmarshal([]byte(ts.ReadFile(args[0])), &v); err != nil {
		ts.Fatalf("%s: %v", args[0], err)
	}
}

// runStatus is the command `status N program [args]`: it runs a program and checks its exit status.
// Output is compared as after exec.
func runStatus(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: status N program [args...]")
	}
	err := ts.Exec(args[1], args[2:]...)
	got := 0
	if exit, ok := err.(*exec.ExitError); ok {
		got = exit.ExitCode()
	} else if err != nil {
		ts.Fatalf("%s: %v", args[1], err)
	}
	if fmt.Sprint(got) != args[0] {
		ts.Fatalf("exit status %d, want %s", got, args[0])
	}
}

// checkSchema is the command `schema SCHEMA FILE`: the JSON document in the file, or in stdout of the last program, is
// what the JSON schema says.
func checkSchema(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: schema SCHEMA FILE")
	}
	schema, err := jsonschema.NewCompiler().Compile(args[0])
	if err != nil {
		ts.Fatalf("%v", err)
	}
	v, err := jsonschema.UnmarshalJSON(strings.NewReader(ts.ReadFile(args[1])))
	if err == nil {
		err = schema.Validate(v)
	}
	if err != nil {
		ts.Fatalf("%s: %v", args[1], err)
	}
}

// checkXML is the command `xsd SCHEMA FILE`: the XML file is what the schema says, where xmllint is there to tell.
func checkXML(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: xsd SCHEMA FILE")
	}
	if err := xml.Unmarshal([]byte(ts.ReadFile(args[1])), new(struct{})); err != nil {
		ts.Fatalf("%s: %v", args[1], err)
	}
	if _, err := exec.LookPath("xmllint"); err != nil {
		ts.Logf("xmllint (Debian's libxml2-utils) is not installed: %s is not compared with its schema", args[1])
		return
	}
	if err := ts.Exec("xmllint", "--noout", "--schema", args[0], ts.MkAbs(args[1])); err != nil {
		ts.Fatalf("%s: %v", args[1], err)
	}
}
