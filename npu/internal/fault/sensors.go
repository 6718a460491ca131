package fault

import (
	"context"

	"npulua/npu/internal/driver"
)

// Sensors implements driver.Sensors: they show the memory errors that were injected, and nothing of a lost device.
func (in *Injector) Sensors(device int) (driver.SensorReader, error) {
	read, err := in.Simulated.Sensors(device)
	if err != nil {
		return nil, err
	}
	if f := in.lost[device]; f != nil {
		e := driver.Injected(driver.CodeNotSupported, "", f.Text)
		e.Detail, e.NoAnswer = "not available: the device does not answer: an injected fault", true
		return driver.HaveRead(driver.SensorReadings{}, e), nil
	}
	errors := in.ECC(device)
	if errors == (ECCErrors{}) {
		return read, nil
	}
	r, err := read(context.Background()) // simulated: it does not wait
	errors.addTo(&r)
	return driver.HaveRead(r, err), nil
}

// addTo shows e in r. An error that could not be corrected takes a page out of use and is an alarm.
func (e ECCErrors) addTo(r *driver.SensorReadings) {
	for _, c := range []struct {
		shown *driver.Reading
		n     int64
	}{
		{&r.SingleBit, e.Single}, {&r.TotalSingleBit, e.Single}, {&r.DoubleBit, e.Multi}, {&r.TotalDoubleBit, e.Multi}, {&r.IsolatedPages, e.Multi},
	} {
		if c.shown.Known {
			c.shown.Value += float64(c.n)
		}
	}
	if e.Multi > 0 && r.Health != driver.HealthUnknown {
		r.Health = max(r.Health, driver.HealthAlarm)
	}
}
