//go:build linux && (amd64 || arm64)

package dcmi

import (
	"os"
	"strings"
	"testing"

	"npulua/npu/internal/driver"
)

// docs/hardware.md tells for every value which function it is from.
func TestHardwareDocument(t *testing.T) {
	data, err := os.ReadFile("../../docs/hardware.md")
	if err != nil {
		t.Fatal(err)
	}
	_, text, _ := strings.Cut(string(data), "\n## Sensors\n")
	text, _, _ = strings.Cut(text, "\n## ")
	a := new(api)
	found := []*function{&a.init, &a.version, &a.cards, &a.chipsInCard, &a.logicID, &a.fromLogicID, &a.phyID} // what no value is from
	for _, s := range a.symbols() {
		of := !strings.Contains(text, "`"+s.name+"`")
		for _, f := range found {
			of = of && f != s.f
		}
		if of {
			t.Errorf("no row with %s", s.name)
		}
	}
	for _, v := range driver.SensorValues {
		name := v.Name
		if v.Group == "ecc" {
			name = v.Group
		}
		if !strings.Contains(text, name+"`") {
			t.Errorf("no row for %s", v.Path())
		}
	}
}
