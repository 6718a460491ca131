package sim

import (
	"math"
	"time"

	"npulua/npu/internal/driver"
)

// Thermal is what the sensors of a part show. Every figure is per device. Temperatures and power follow how busy the
// device was between two readings: from that of idle to that of busy, power at once, temperatures with a lag.
type Thermal struct {
	IdleCelsius    float64 `json:"idle_celsius"`
	BusyCelsius    float64 `json:"busy_celsius"`
	HBMIdleCelsius float64 `json:"hbm_idle_celsius"` // 0: the part has no HBM, its memory is DDR
	HBMBusyCelsius float64 `json:"hbm_busy_celsius"`
	SettleSeconds  float64 `json:"settle_seconds"` // in which 63 % of a step in temperature is done
	IdleWatts      float64 `json:"idle_watts"`
	BusyWatts      float64 `json:"busy_watts"`
	Volts          float64 `json:"volts"`
}

// check returns the name of a figure that cannot be meant, and why; "" for none.
func (t *Thermal) check() (name, why string) {
	for _, f := range []struct {
		name string
		v    float64
	}{
		{"idle_celsius", t.IdleCelsius}, {"settle_seconds", t.SettleSeconds}, {"idle_watts", t.IdleWatts}, {"volts", t.Volts},
	} {
		if !(f.v > 0) {
			return f.name, "must be greater than 0"
		}
	}
	for _, f := range []struct {
		name       string
		idle, busy float64
	}{
		{"busy_celsius", t.IdleCelsius, t.BusyCelsius}, {"busy_watts", t.IdleWatts, t.BusyWatts}, {"hbm_busy_celsius", t.HBMIdleCelsius, t.HBMBusyCelsius},
	} {
		if !(f.busy >= f.idle) {
			return f.name, "must be no less than that of idle"
		}
	}
	if t.HBMIdleCelsius < 0 {
		return "hbm_idle_celsius", "must not be less than 0"
	}
	return "", ""
}

// thermals is the state of the sensors of a device at their last reading.
type thermals struct {
	at                          time.Duration
	vector, cube, h2d, d2h, d2d time.Duration // busy times of the engines
	cores, vectors              float64       // shares in the time before it
	load                        float64
	celsius, hbm                float64 // 0: not read yet
	made                        *driver.SensorSettings
}

// Source is what readings of the simulator are from.
const Source = "simulated"

// Sensors implements driver.Sensors. The reading is taken at once.
func (d *Driver) Sensors(id int) (driver.SensorReader, error) {
	dev, err := d.device("", id)
	if err != nil {
		return nil, err
	}
	d.host(costQuery)
	r := dev.readings(d.now)
	var refused error
	if made := dev.thermals.made; made != nil {
		if made.Unavailable != "" {
			refused = &driver.Error{Code: driver.CodeNotSupported, Detail: "not available: " + made.Unavailable, Hint: "npu.sim.set_sensors(device, nil) shows what is modelled again"}
		}
		made.Apply(&r)
	}
	return driver.HaveRead(r, refused), nil
}

// SetSensors implements driver.SensorSetter.
func (d *Driver) SetSensors(id int, s *driver.SensorSettings) error {
	dev, err := d.device("", id)
	if err == nil {
		dev.thermals.made = s
	}
	return err
}

// readings are what the sensors show now.
func (dev *device) readings(now time.Duration) driver.SensorReadings {
	t, p := &dev.thermals, dev.profile.Sensors
	t.pass(dev, now)
	r := driver.SensorReadings{Source: Source, Health: driver.HealthOK, FaultsKnown: true}
	for _, n := range []*driver.Reading{&r.SingleBit, &r.DoubleBit, &r.TotalSingleBit, &r.TotalDoubleBit, &r.IsolatedPages} {
		*n = driver.Known(0)
	}
	r.Cores, r.Vector = driver.Known(rounded(t.cores, 100)), driver.Known(rounded(t.vectors, 100))
	if dev.cube == dev.vector {
		r.Vector = driver.Absent("the cores of this part are fused")
	}
	used := driver.Known(rounded(float64(dev.used)/float64(dev.profile.MemoryBytes), 100))
	r.HBMBandwidth = driver.Absent("not modelled")
	r.CardPower = driver.Absent("not modelled")
	if p == nil {
		why := "the profile says nothing about sensors"
		r.Memory, r.HBM = used, driver.Absent(why)
		for _, n := range []*driver.Reading{&r.Temperature, &r.HBMTemperature, &r.Power, &r.Voltage} {
			*n = driver.Absent(why)
		}
		return r
	}
	r.Temperature = driver.Known(rounded(t.celsius, 1))
	r.Power = driver.Known(rounded(p.IdleWatts+(p.BusyWatts-p.IdleWatts)*t.load, 10))
	r.Voltage = driver.Known(p.Volts)
	if p.HBMIdleCelsius > 0 {
		r.HBM, r.HBMTemperature = used, driver.Known(rounded(t.hbm, 1))
		r.Memory = driver.Absent("the memory of this part is HBM")
	} else {
		r.Memory = used
		r.HBM = driver.Absent("this part has no HBM")
		r.HBMTemperature, r.HBMBandwidth = r.HBM, r.HBM
	}
	return r
}

// All assumed.
const (
	copyLoad     = 0.1                    // what copies count for in the load, beside cores
	sampleSensor = 100 * time.Millisecond // sensors are sampled no more often
)

// pass takes a sample, where the last one is old enough.
func (t *thermals) pass(dev *device, now time.Duration) {
	p := dev.profile.Sensors
	if p != nil && t.celsius == 0 {
		t.celsius, t.hbm = p.IdleCelsius, p.HBMIdleCelsius
	}
	span := now - t.at
	if span < sampleSensor {
		return
	}
	t.at = now
	share := func(last *time.Duration, busy time.Duration, of int) float64 {
		s := float64(busy-*last) / float64(span) / float64(of)
		*last = busy
		return s
	}
	t.vectors = share(&t.vector, dev.vector.busy(now), dev.vector.total)
	t.cores = t.vectors
	if dev.cube != dev.vector {
		t.cores = share(&t.cube, dev.cube.busy(now), dev.cube.total)
	}
	copies := max(share(&t.h2d, dev.h2d.busyTime(now), 1), share(&t.d2h, dev.d2h.busyTime(now), 1), share(&t.d2d, dev.d2d.busyTime(now), 1))
	t.load = min(max(t.cores, t.vectors)+copyLoad*copies, 1)
	if p == nil {
		return
	}
	done := 1 - math.Exp(-span.Seconds()/p.SettleSeconds)
	t.celsius += (p.IdleCelsius + (p.BusyCelsius-p.IdleCelsius)*t.load - t.celsius) * done
	t.hbm += (p.HBMIdleCelsius + (p.HBMBusyCelsius-p.HBMIdleCelsius)*t.load - t.hbm) * done
}

// rounded is v to a fraction, as real sensors tell it.
func rounded(v, fraction float64) float64 { return math.Round(v*fraction) / fraction }
