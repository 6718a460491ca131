package tests

import (
	"bytes"
	"encoding/json"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"npulua/npu/acl/standin"
)

// reporting are the scripts that check and measure devices, with arguments that make them short.
var reporting = map[string][]string{
	"health":    {"--level", "3", "--memory", "32M"},
	"inventory": {},
	"bandwidth": {"--max-size", "64K", "--repeat", "2"},
	"latency":   {"--count", "5", "--warmup", "1"},
	"burnin":    {"--duration", "0.3", "--rounds", "2", "--size", "64", "--memory", "1M"},
	"leakcheck": {"--rounds", "3"},
}

// timed are tests, or messages of tests, that judge times, which say nothing of a library in the memory of a busy machine.
var timed = regexp.MustCompile("speed|alike|latency|slower at the end|is (less than half of|more than four times) |GB/s, below the minimum")

// report is what a test needs of a JSON report.
type report struct {
	Backend   string
	Simulated bool
	Tests     []struct {
		Name, Result string
		Device       *int
		Messages     []struct{ Kind, Text string }
	}
	Data map[string]any
}

// Scripts that check and measure do the same tests over the vendor's library as on the simulator, which pass but for
// times; no result is taken for a simulated one, and reports keep to their schemas.
func TestStandinReports(t *testing.T) {
	env := []string{"LD_LIBRARY_PATH=" + standin.Build(t), "NPULUA_KERNELS=" + standinKernels(t)}
	for name, args := range reporting {
		if testing.Short() && name == "health" {
			args = nil // the levels above take most of a minute under the race detector
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			read := func(env []string, backend string) (r report) {
				t.Helper()
				_, out, stderr, runErr := npulua(t, env, append([]string{backend, "run", name, "--json"}, args...)...)
				v, err := jsonschema.UnmarshalJSON(bytes.NewReader(out))
				if err == nil {
					err = reportSchema(t, name).Validate(v)
				}
				if err == nil {
					err = json.Unmarshal(out, &r)
				}
				if err != nil {
					t.Fatalf("%v: %v\n%s\n%s", runErr, err, out, stderr)
				}
				return r
			}
			want, got := read(nil, "--sim=910b:2"), read(env, "--backend=acl")
			if got.Backend != "acl" || got.Simulated || !want.Simulated {
				t.Errorf("backend %s, simulated %v", got.Backend, got.Simulated)
			}
			if len(got.Tests) != len(want.Tests) {
				t.Fatalf("%d tests, on the simulator %d", len(got.Tests), len(want.Tests))
			}
			for i, x := range got.Tests {
				if w := want.Tests[i]; x.Name != w.Name || (x.Device == nil) != (w.Device == nil) {
					t.Errorf("test %d is %s, on the simulator %s", i+1, x.Name, w.Name)
				}
				for _, m := range x.Messages {
					if m.Kind != "log" && m.Kind != "skip" && !timed.MatchString(x.Name+m.Text) {
						t.Errorf("%s: %s: %s: %s", x.Name, x.Result, m.Kind, m.Text)
					}
				}
			}
			if masked, like := shape(got.Data), shape(want.Data); masked != like && (name == "bandwidth" || name == "latency") {
				t.Errorf("figures of\n%s\nwant\n%s", masked, like)
			}
		})
	}
}

// reportSchema is that of a script's report.
func reportSchema(t *testing.T, script string) *jsonschema.Schema {
	t.Helper()
	schema, err := jsonschema.NewCompiler().Compile("../docs/" + script + ".schema.json")
	if err != nil {
		t.Fatal(err)
	}
	return schema
}

// shape is data of a report without its figures, which have fractions.
func shape(data map[string]any) string {
	text, err := json.MarshalIndent(data, "", " ")
	if err != nil {
		panic(err)
	}
	return string(regexp.MustCompile(`"(median|min|max|p90|p99)": [^,\n]*`).ReplaceAll(text, []byte(`"$1": #`)))
}

// TestStandinMissing has scripts that check need what the server should have, and does not: they could not run, unless
// that is allowed. The tests that need nothing of it pass all the same.
func TestStandinMissing(t *testing.T) {
	long(t, "it is TestStandinReports with less of a library")
	env := []string{"LD_LIBRARY_PATH=" + bareRuntime(t, standin.Build(t)), "NPULUA_KERNELS=" + standinKernels(t)}
	const both = "--allow-skip=operators --allow-skip=sensors"
	for _, c := range []struct {
		args    string
		status  int
		results map[string]string // of tests
		says    string            // of the table for people
	}{
		{"health", 4, map[string]string{"sensors": "error", "vector kernel": "error", "launch latency": "error", "copies": "pass"}, `(?s)\| vector kernel +\| 0 +\| ERROR +\| [^|]+\| without operators +\|.*vector kernel \(device 0\), .*, ERROR:\n  error: without operators\n    .*libopapi.so cannot be used.*\n    --allow-skip operators lets it be skipped\n.*COULD NOT RUN`},
		{"health --allow-skip operators", 4, map[string]string{"sensors": "error", "vector kernel": "skip"}, `COULD NOT RUN: sensors \(device 0\)`},
		{"health " + both, 0, map[string]string{"sensors": "skip", "vector kernel": "skip", "launch latency": "skip", "copies": "pass"}, `(?s)\| without sensors +\|.*SKIP:\n  skip: without sensors\n    .*libdcmi.so was not found.*PASS, \d+ skipped`},
		{"latency --count 5 --only launch --only h2d_4B", 4, map[string]string{"launch": "error", "h2d_4B": "pass"}, `without operators`},
		{"latency --count 5 --only launch --only h2d_4B --allow-skip operators", 0, map[string]string{"launch": "skip", "h2d_4B": "pass"}, `without operators`},
		{"leakcheck --rounds 3", 4, map[string]string{"copies and kernels": "error", "streams": "pass"}, `without operators`},
		{"leakcheck --rounds 3 --allow-skip operators", 0, map[string]string{"copies and kernels": "skip", "streams": "pass"}, `without operators`},
		{"burnin --duration 0.3 --rounds 2 --size 64 --memory 1M", 4, map[string]string{"burn": "error"}, `without operators`},
		{"burnin --duration 0.3 --rounds 2 --size 64 --memory 1M --allow-skip operators", 0, map[string]string{"burn": "warn"}, `without matrix products`},
	} {
		t.Run(c.args, func(t *testing.T) {
			t.Parallel()
			args := append([]string{"--backend=acl", "run"}, strings.Fields(c.args)...)
			_, out, stderr, err := npulua(t, env, append(args[:len(args):len(args)], "--json")...)
			var r report
			if err := json.Unmarshal(out, &r); err != nil {
				t.Fatalf("%v\n%s\n%s", err, out, stderr)
			}
			got, timely := make(map[string]string), true
			for _, x := range r.Tests {
				if x.Device == nil || *x.Device == 0 {
					got[x.Name] = x.Result
				}
				timely = timely && (x.Result != "fail" || !timed.MatchString(x.Name))
			}
			for name, want := range c.results {
				if got[name] != want && (timely || !timed.MatchString(name)) {
					t.Errorf("%s: %s, want %s", name, got[name], want)
				}
			}
			status := 0
			if exit, ok := err.(*exec.ExitError); ok {
				status = exit.ExitCode()
			}
			if timely && status != c.status {
				t.Errorf("status %d, want %d\n%s", status, c.status, out)
			}
			if _, out, stderr, _ := npulua(t, env, args...); !regexp.MustCompile(c.says).Match(out) {
				t.Errorf("no match for %s in\n%s\n%s", c.says, out, stderr)
			}
		})
	}
}
