package main

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"npulua/npu"
	"npulua/scripts"
)

// withArgs is a script as one that comes with npulua, which reads its command line with the module args.
var withArgs = scripts.Script{Name: "probe", Code: "-- probe: the comment\nlocal opt = require(\"args\").parse{summary = \"look at devices\", options = {{\"json\", \"print JSON\"}}}\nprint(npu.backend, opt.json, arg[1])\n"}

// TestRunScriptHelp runs the script in a process of its own, since its help ends that.
func TestRunScriptHelp(t *testing.T) {
	const variable = "NPULUA_TEST_RUN"
	if words, ok := os.LookupEnv(variable); ok {
		p := newProgram(strings.NewReader(""), os.Stdout, os.Stderr)
		os.Exit(p.runScript(&options{session: npu.Options{Backend: "null"}}, withArgs, strings.Fields(words)))
	}
	const help = "probe: look at devices\n\nusage: npulua run probe [--json]\n\nOptions:\n      --json  print JSON\n  -h, --help  show this text\n"
	for _, tt := range []struct {
		words, out, err string
		status          int
	}{
		{"--help", help, "", 0},
		{"--json --help", help, "", 0},
		{"--json", "null\ttrue\t--json\n", "", 0},
		{"-- --help", "", "probe: unexpected argument \"--help\"\nusage: npulua run probe [--json]\n", 2},
		{"--jsn", "", "probe: unknown option --jsn, did you mean --json?\nusage: npulua run probe [--json]\n", 2},
	} {
		var out, errs strings.Builder
		cmd := exec.Command(os.Args[0], "-test.run=^TestRunScriptHelp$")
		cmd.Env = append(os.Environ(), variable+"="+tt.words)
		cmd.Stdout, cmd.Stderr = &out, &errs
		_ = cmd.Run() // the status tells
		if got := cmd.ProcessState.ExitCode(); got != tt.status || out.String() != tt.out || errs.String() != tt.err {
			t.Errorf("run probe %s: status %d, output %q, errors %q; want %d, %q, %q", tt.words, got, out.String(), errs.String(), tt.status, tt.out, tt.err)
		}
	}
}
