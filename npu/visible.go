package npu

import (
	"fmt"

	"npulua/npu/internal/visible"
	"npulua/npu/sim"
)

// VisibleVariable is the environment variable that says which devices a process sees, and how they are numbered.
const VisibleVariable = visible.Variable

// VisibleDevices is what the variable says.
type VisibleDevices = visible.Devices

// ParseVisible reads a value of the variable as the vendor's runtime does, and the simulator. count is the number of
// devices of the system; -1: not known.
func ParseVisible(value string, count int) VisibleDevices { return visible.Parse(value, count) }

// SimulatedDevices is how many devices Options.Sim names, visible or not; -1 where it cannot be read.
func SimulatedDevices(spec string) int {
	if spec == "" {
		spec = defaultSim
	}
	if _, count, err := sim.ParseSpec(spec); err == nil {
		return count
	}
	return visible.Unknown
}

// unseen notes ids of the variable that the runtime has not taken, of count devices that are visible.
func unseen(v visible.Devices, count int) visible.Devices {
	if v.Fatal() == "" && len(v.IDs) > count {
		return visible.Parse(v.Value, v.IDs[count])
	}
	return v
}

// NoDevice is the error for a device that there is not.
func (s *Session) NoDevice(id int64) *Error {
	e := errorf(ErrInvalidDevice, "there is no device %d: %d visible", id, s.count)
	if v := s.info.visible; v.Set {
		e.Hint = fmt.Sprintf("%s=%q lets %d of the devices be seen, and numbers them from 0", visible.Variable, v.Value, s.count)
		if fatal := v.Fatal(); fatal != "" {
			e.Hint = fatal
		}
	}
	return e
}
