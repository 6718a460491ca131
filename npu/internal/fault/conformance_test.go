package fault_test

import (
	"reflect"
	"testing"

	"npulua/npu/internal/driver"
	"npulua/npu/internal/drivertest"
	"npulua/npu/internal/fault"
	"npulua/npu/sim"
)

func open(t testing.TB, devices int) *fault.Injector {
	t.Helper()
	d, err := sim.Open(sim.Config{Devices: devices})
	if err != nil {
		t.Fatal(err)
	}
	return fault.New(d)
}

// TestConformance runs the suite of drivers through an Injector: without rules, and with one that nothing
// matches, so that every operation is judged.
func TestConformance(t *testing.T) {
	for _, tt := range []struct{ name, rule string }{
		{"no rules", ""},
		{"a rule that nothing matches", "code=507054,op=any,nth=1000000000"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			drivertest.Run(t, drivertest.Harness{
				Open: func(t *testing.T) driver.Driver {
					in := open(t, 2)
					if tt.rule != "" {
						in.Add(parse(t, tt.rule))
					}
					return in
				},
				Model: func(name string) driver.ModelSource {
					return driver.ModelSource{Path: "../../../scripts/data/" + name + ".json"}
				},
				Parallel: true,
			})
		})
	}
}

// The optional parts of the simulator are all there: what a session finds by assertion.
func TestForwardsAll(t *testing.T) {
	below, above := reflect.TypeFor[*sim.Driver](), reflect.TypeFor[*fault.Injector]()
	for m := range below.Methods() {
		if _, ok := above.MethodByName(m.Name); !ok {
			t.Errorf("Simulated lacks %s of the simulator", m.Name)
		}
	}
}

func parse(t testing.TB, spec string) fault.Rule {
	t.Helper()
	r, err := fault.ParseSpec(spec)
	if err != nil {
		t.Fatalf("ParseSpec(%q): %v", spec, err)
	}
	return r
}
