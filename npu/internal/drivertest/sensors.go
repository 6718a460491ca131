package drivertest

import (
	"strings"

	"npulua/npu/internal/driver"
)

func sensorCases() []testCase {
	return []testCase{
		{"sensors: each value is read, or absent with a reason", sensors | fresh, func(t *tester) {
			read, err := t.sensors.Sensors(0)
			t.must(err, "Sensors")
			r, err := read(t.Context())
			if err != nil { // what tells is optional
				t.want(driver.CodeNotSupported, err, "reading")
				if !strings.Contains(err.Error(), "not available: ") {
					t.Errorf("the reason is %v", err)
				}
				return
			}
			if some, _ := r.Read(); !some || r.Source == "" {
				t.Errorf("a reading of nothing: %+v", r)
			}
			for _, v := range driver.SensorValues {
				switch got := v.Of(&r); {
				case got.Known == (got.Why != ""):
					t.Errorf("%s is read: %v, and absent because %q", v.Path(), got.Known, got.Why)
				case !got.Known && got.Value != 0:
					t.Errorf("%s is absent and %v", v.Path(), got.Value)
				case v.Unit == driver.UnitShare && (got.Value < 0 || got.Value > 1):
					t.Errorf("%s is %v", v.Path(), got.Value)
				}
			}
			if (r.Health == driver.HealthUnknown) != (r.HealthWhy != "") || r.FaultsKnown != (r.FaultsWhy == "") {
				t.Errorf("health and faults: %+v", r)
			}
		}},
		{"sensors: of a device that there is not: 107001", sensors | fresh, func(t *tester) {
			n, err := t.DeviceCount()
			t.must(err, "DeviceCount")
			for _, device := range []int{-1, n} {
				_, err := t.sensors.Sensors(device)
				t.want(driver.CodeInvalidDevice, err, "Sensors")
			}
		}},
	}
}
