package npu

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"npulua/npu/dcmi"
	"npulua/npu/internal/driver"
)

// The state of a device beside what the runtime tells.
type (
	SensorReadings = driver.SensorReadings
	SensorSettings = driver.SensorSettings
	SensorValue    = driver.SensorValue
	SensorFault    = driver.SensorFault
	Reading        = driver.Reading
	Health         = driver.Health
	SensorLibrary  = dcmi.Library // libdcmi
)

// The levels of Health.
const (
	HealthUnknown  = driver.HealthUnknown
	HealthOK       = driver.HealthOK
	HealthWarning  = driver.HealthWarning
	HealthAlarm    = driver.HealthAlarm
	HealthCritical = driver.HealthCritical
)

// Units of a SensorValue.
const (
	UnitCelsius = driver.UnitCelsius
	UnitWatt    = driver.UnitWatt
	UnitVolt    = driver.UnitVolt
	UnitShare   = driver.UnitShare
	UnitCount   = driver.UnitCount
)

// AbsentReading is a reading that there is not, and why.
func AbsentReading(why string) Reading { return driver.Absent(why) }

// KnownReading is a reading of v.
func KnownReading(v float64) Reading { return driver.Known(v) }

// ReadingMadeUp is why a reading is absent that a program made so.
const ReadingMadeUp = driver.MadeUp

// SensorValues are all readings that are numbers, by group.
func SensorValues() []SensorValue { return driver.SensorValues }

// SensorGroups are the groups of SensorValues.
func SensorGroups() []string { return driver.SensorGroups }

// HealthNames lists the levels of Health as text.
func HealthNames() []string { return driver.HealthNames() }

// sensorLimit is how long a reading may take. It takes a fraction of a second on a healthy device.
const sensorLimit = 10 * time.Second

// sensors is the part of a session that reads them.
type sensors struct {
	limit time.Duration // 0: sensorLimit
	stuck atomic.Int32  // readings that have not come back within limit
}

// Sensors reads the state of device id, which need not be retained: temperature, power, memory errors, health. On
// hardware it takes about 150 ms, through libdcmi, on a goroutine of its own: streams, the executor and other tasks go
// on meanwhile. ErrNotSupported where nothing can be read; the detail says why, the hint what to do.
func (s *Session) Sensors(t *Thread, id int) (SensorReadings, error) {
	part, ok := s.drv.(driver.Sensors)
	if !ok {
		return SensorReadings{}, errorf(ErrNotSupported, "not available: the %s backend has no sensors", s.info.Name)
	}
	var read driver.SensorReader
	err := t.call(0, func(driver.Driver) (err error) {
		read, err = part.Sensors(id)
		return err
	})
	if err != nil {
		return SensorReadings{}, err
	}
	if _, ok := s.drv.(driver.Clock); ok { // it is modelled: whoever is ready to run stays in turn
		got, err := read(context.Background())
		return got, own(err)
	}
	return s.readOutside(t, read)
}

// readOutside runs read, which may not come back.
func (s *Session) readOutside(t *Thread, read driver.SensorReader) (SensorReadings, error) {
	if s.sensors.stuck.Load() > 0 {
		return SensorReadings{}, sensorsStuck("libdcmi has not come back from an earlier reading")
	}
	limit := s.sensors.limit
	if limit == 0 {
		limit = sensorLimit
	}
	results := make(chan SensorReadings, 1)
	var over atomic.Bool // read has come back, or is given up
	err := t.Outside("libdcmi", func(ctx context.Context) error {
		return limited(ctx, limit, func(ctx context.Context) error {
			r, err := read(ctx)
			results <- r
			if !over.CompareAndSwap(false, true) {
				s.sensors.stuck.Add(-1)
			}
			return err
		})
	})
	switch {
	case errors.Is(err, ErrStreamTimeout):
		s.sensors.stuck.Add(1)
		if !over.CompareAndSwap(false, true) { // it came back at the last moment
			s.sensors.stuck.Add(-1)
		}
		return SensorReadings{}, sensorsStuck("libdcmi did not answer within " + limit.String())
	case err != nil:
		return SensorReadings{}, own(err)
	}
	return <-results, nil
}

func sensorsStuck(what string) error {
	e := errorf(ErrNotSupported, "not available: %s", what)
	e.NoAnswer = true
	return hinted(e, "npu-smi info shows whether the driver answers; the device may need a reset")
}

// Sensors reads the state of the device, as Session.Sensors.
func (dev *Device) Sensors(t *Thread) (SensorReadings, error) {
	if err := dev.check(); err != nil {
		return SensorReadings{}, err
	}
	return dev.s.Sensors(t, dev.id)
}

// SetSensors has the simulator show other readings of device id than the modelled ones, until the next call for it;
// nil: none. ErrNotSupported on other backends.
func (s *Session) SetSensors(t *Thread, id int, settings *SensorSettings) error {
	part, _ := s.drv.(driver.SensorSetter)
	if err := need(s, part, "make up sensor readings"); err != nil {
		return err
	}
	return t.call(0, func(driver.Driver) error { return part.SetSensors(id, settings) })
}

// InspectSensors loads libdcmi, if it can be, and tells about it. The error says why nothing can be read.
func InspectSensors() (SensorLibrary, error) {
	l, err := dcmi.Inspect()
	return l, own(err)
}
