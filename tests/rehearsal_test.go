package tests

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"npulua/scripts"
)

// Every fault that comes with npulua is noticed by a check of a script that comes with it, and nothing is where nothing
// goes wrong.
func TestRehearsal(t *testing.T) {
	long(t, "a hundred processes run one after the other")
	t.Parallel()
	_, out, stderr, err := npulua(t, nil, "--sim=910b:2", "run", "health", "--scenario", "all", "--json")
	if err != nil {
		t.Errorf("%v\n%s", err, stderr)
	}
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(out))
	if err == nil {
		err = reportSchema(t, "health").Validate(v)
	}
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	var r struct {
		Tests []struct{ Name, Result, Reason string }
		Data  struct {
			Rehearsal []struct {
				Scenario string
				Faults   []string
				Found    map[string][]string
			}
		}
	}
	if err := json.Unmarshal(out, &r); err != nil {
		t.Fatal(err)
	}
	for _, x := range r.Tests {
		if x.Result != "pass" {
			t.Errorf("%s: %s: %s", x.Name, x.Result, x.Reason)
		}
	}
	if got, want := len(r.Data.Rehearsal), len(scripts.Scenarios()); got != want || len(r.Tests) != want {
		t.Errorf("%d scenarios in %d tests, want %d", got, len(r.Tests), want)
	}
	for _, x := range r.Data.Rehearsal {
		for script, found := range x.Found {
			if found == nil {
				t.Errorf("%s: %s did not run", x.Scenario, script)
			}
		}
		// What the scripts are for: health notices all that a thorough check of the devices can.
		if len(x.Faults) > 0 && len(x.Found["health"]) == 0 && x.Scenario != "leak" {
			t.Errorf("%s: health noticed nothing", x.Scenario)
		}
	}
}
