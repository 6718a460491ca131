//go:build linux && (amd64 || arm64)

package dcmi

import (
	"context"

	"npulua/npu/internal/driver"
)

// Source is what readings are from.
const Source = "libdcmi"

// Reader reads devices, one at a time. Any goroutine may use it.
type Reader struct {
	turn    chan struct{} // taken while calls are made
	lib     *library      // nil: not opened yet, or it could not be
	folders []string
}

// NewReader makes a reader. The library is opened at the first reading.
func NewReader() *Reader {
	return &Reader{turn: make(chan struct{}, 1), folders: folders}
}

// Read reads a device. It takes some hundred milliseconds; ctx is looked at between calls of the library, and while
// another reading is under way. CodeNotSupported, with a reason, where nothing can be read.
func (r *Reader) Read(ctx context.Context, d Device) (driver.SensorReadings, error) {
	select {
	case r.turn <- struct{}{}:
	case <-ctx.Done():
		return driver.SensorReadings{}, context.Cause(ctx)
	}
	defer func() { <-r.turn }()
	if r.lib == nil {
		l, err := open(r.folders)
		if err != nil { // the next reading tries again: the driver may be starting
			return driver.SensorReadings{}, err
		}
		r.lib = l
	}
	if err := r.lib.checkPhysical(d); err != nil {
		return driver.SensorReadings{}, err
	}
	c, err := r.lib.find(d.Logical)
	if err != nil {
		return driver.SensorReadings{}, notAvailable(err)
	}
	s := &reading{l: r.lib, c: c, out: driver.SensorReadings{Source: Source}}
	for _, step := range steps {
		if ctx.Err() != nil {
			return driver.SensorReadings{}, context.Cause(ctx)
		}
		step(s)
	}
	if some, why := s.out.Read(); !some {
		e := &driver.Error{Code: driver.CodeNotSupported, Call: name, Detail: "not available: " + why, Hint: remedyOfDriver, NoAnswer: true}
		if s.refused != nil {
			e.Hint, e.NoAnswer = s.refused.code.remedy(), false
		}
		return driver.SensorReadings{}, e
	}
	return s.out, nil
}
