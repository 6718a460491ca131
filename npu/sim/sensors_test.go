package sim

import (
	"math"
	"strings"
	"testing"
	"time"

	"npulua/npu/internal/driver"
)

// reading reads device 0 of d.
func reading(t *testing.T, d *Driver) driver.SensorReadings {
	t.Helper()
	read, err := d.Sensors(0)
	if err != nil {
		t.Fatal(err)
	}
	r, err := read(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// heat has cores of device 0 busy for d, all of one kind.
func heat(drv *Driver, cores *cores, d time.Duration) {
	cores.busy(drv.now)
	cores.free = 0
	drv.Advance(drv.now + d)
	cores.busy(drv.now)
	cores.free = cores.total
}

// Temperature and power go from idle to busy and back, power at once, temperature in its time.
func TestSensorsFollowTheLoad(t *testing.T) {
	for _, p := range Profiles() {
		t.Run(p.Name, func(t *testing.T) {
			d, err := Open(Config{Profile: p, Devices: 1})
			if err != nil {
				t.Fatal(err)
			}
			s := p.Sensors
			if s == nil || p.Sources["sensors"] == "" {
				t.Fatal("the profile has no sensors, or does not say where their figures are from")
			}
			check := func(when string, celsius, watts, cores float64) {
				t.Helper()
				r := reading(t, d)
				if math.Abs(r.Temperature.Value-celsius) > 0.5 || math.Abs(r.Power.Value-watts) > 0.1 || r.Cores.Value != cores || !r.Cores.Known {
					t.Errorf("%s: %+v; want %.1f °C, %.1f W, cores %v", when, r, celsius, watts, cores)
				}
			}
			settle := time.Duration(s.SettleSeconds * 1e9)
			check("at first", s.IdleCelsius, s.IdleWatts, 0)
			heat(d, d.devices[0].cube, settle)
			part := 1 - math.Exp(-1)
			check("after one time constant", s.IdleCelsius+part*(s.BusyCelsius-s.IdleCelsius), s.BusyWatts, 1)
			heat(d, d.devices[0].cube, 20*settle)
			check("in the end", s.BusyCelsius, s.BusyWatts, 1)
			check("at the same time", s.BusyCelsius, s.BusyWatts, 1)
			d.Advance(d.now + 20*settle)
			check("idle again", s.IdleCelsius, s.IdleWatts, 0)
			heat(d, d.devices[0].cube, time.Second)
			d.Advance(d.now + time.Second)
			if r := reading(t, d); r.Cores.Value != 0.5 || math.Abs(r.Power.Value-(s.IdleWatts+s.BusyWatts)/2) > 0.1 {
				t.Errorf("busy half of the time: %+v", r)
			}
			r := reading(t, d)
			if hbm := s.HBMIdleCelsius > 0; r.HBMTemperature.Known != hbm || r.HBM.Known != hbm || r.Memory.Known == hbm || r.Vector.Known != p.SplitCores {
				t.Errorf("HBM %v, split cores %v: %+v", hbm, p.SplitCores, r)
			}
		})
	}
}

// A profile without figures for sensors has none, and says so.
func TestSensorsWithoutFigures(t *testing.T) {
	p := *Profiles()[0]
	p.Sensors = nil
	d, err := Open(Config{Profile: &p, Devices: 1})
	if err != nil {
		t.Fatal(err)
	}
	heat(d, d.devices[0].vector, time.Second)
	r := reading(t, d)
	if r.Temperature.Known || r.Power.Known || !strings.Contains(r.Temperature.Why, "profile") || !r.Memory.Known || r.Health != driver.HealthOK {
		t.Errorf("%+v", r)
	}
}

func TestSetSensors(t *testing.T) {
	d, err := Open(Config{Devices: 2})
	if err != nil {
		t.Fatal(err)
	}
	critical := driver.HealthCritical
	set := &driver.SensorSettings{
		Values: map[string]driver.Reading{"temperature": driver.Known(95), "ecc.double_bit": driver.Known(2), "power": driver.Absent("gone")},
		Health: &critical, Faults: []driver.SensorFault{{Code: 0x80E01801}},
	}
	if err := d.SetSensors(0, set); err != nil {
		t.Fatal(err)
	}
	r := reading(t, d)
	if r.Temperature.Value != 95 || r.DoubleBit.Value != 2 || r.Power.Known || r.Power.Why != "gone" || r.Health != critical || len(r.Faults) != 1 || r.SingleBit != driver.Known(0) {
		t.Errorf("%+v", r)
	}
	if other, err := d.Sensors(1); err != nil {
		t.Error(err)
	} else if r, _ := other(t.Context()); r.Temperature.Value == 95 {
		t.Error("the other device shows it, too")
	}
	if err := d.SetSensors(0, &driver.SensorSettings{Unavailable: "away"}); err != nil {
		t.Fatal(err)
	}
	read, err := d.Sensors(0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := read(t.Context()); err == nil || !strings.Contains(err.Error(), "not available: away") {
		t.Errorf("%v", err)
	}
	if err := d.SetSensors(0, nil); err != nil {
		t.Fatal(err)
	}
	if r := reading(t, d); r.Temperature.Value == 95 || r.Health != driver.HealthOK {
		t.Errorf("%+v", r)
	}
	if err := d.SetSensors(2, nil); err == nil {
		t.Error("there is no device 2")
	}
}

func TestThermalFigures(t *testing.T) {
	good := *Profiles()[0].Sensors
	if name, _ := good.check(); name != "" {
		t.Errorf("%s", name)
	}
	for name, spoil := range map[string]func(*Thermal){
		"idle_celsius":     func(t *Thermal) { t.IdleCelsius = 0 },
		"settle_seconds":   func(t *Thermal) { t.SettleSeconds = -1 },
		"idle_watts":       func(t *Thermal) { t.IdleWatts = 0 },
		"volts":            func(t *Thermal) { t.Volts = 0 },
		"busy_celsius":     func(t *Thermal) { t.BusyCelsius = 1 },
		"busy_watts":       func(t *Thermal) { t.BusyWatts = 1 },
		"hbm_busy_celsius": func(t *Thermal) { t.HBMIdleCelsius, t.HBMBusyCelsius = 40, 0 },
		"hbm_idle_celsius": func(t *Thermal) { t.HBMIdleCelsius, t.HBMBusyCelsius = -1, 0 },
	} {
		bad := good
		spoil(&bad)
		if got, _ := bad.check(); got != name {
			t.Errorf("%s is not refused, but %q", name, got)
		}
	}
}
