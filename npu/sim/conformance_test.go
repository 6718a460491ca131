package sim_test

import (
	"testing"

	"npulua/npu/internal/driver"
	"npulua/npu/internal/drivertest"
	"npulua/npu/sim"
)

// peersOpen is why a part without the need for EnablePeerAccess cannot refuse a copy.
const peersOpen = "devices of this part reach each other without EnablePeerAccess"

// skips are the cases that a profile cannot pass, by its name.
var skips = map[string]map[string]string{
	"910_93": {
		"copy between devices without EnablePeerAccess: refused at the call or at synchronize": peersOpen,
		"Memcpy between devices without EnablePeerAccess: 107000":                              peersOpen,
		"copy between devices after DisablePeerAccess: refused":                                peersOpen,
	},
}

// TestConformance runs the suite on every profile: limits and core counts differ.
func TestConformance(t *testing.T) {
	for _, p := range sim.Profiles() {
		t.Run(p.Name, func(t *testing.T) {
			drivertest.Run(t, drivertest.Harness{
				Open: func(t *testing.T) driver.Driver {
					d, err := sim.Open(sim.Config{Profile: p, Devices: 2})
					if err != nil {
						t.Fatal(err)
					}
					return d
				},
				Model: func(name string) driver.ModelSource {
					return driver.ModelSource{Path: "../../scripts/data/" + name + ".json"}
				},
				Skip:     skips[p.Name],
				Parallel: true,
			})
		})
	}
}
