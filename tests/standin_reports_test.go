package tests

import (
	"bytes"
	"encoding/json"
	"regexp"
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
var timed = regexp.MustCompile("speed|alike|latency|is (less than half of|more than four times) ")

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
