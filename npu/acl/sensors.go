//go:build linux && (amd64 || arm64)

package acl

import (
	"context"

	"npulua/npu/dcmi"
	"npulua/npu/internal/driver"
	"npulua/npu/internal/visible"
)

// Sensors implements driver.Sensors, through libdcmi.
func (d *Driver) Sensors(id int) (driver.SensorReader, error) {
	n, err := d.DeviceCount()
	if err != nil {
		return nil, err
	}
	if id < 0 || id >= n {
		return nil, driver.Errorf(driver.CodeInvalidDevice, d.logicID.name, "there is no device %d, only %d", id, n)
	}
	ids := d.DeviceIDs(id)
	if ids.Logical < 0 { // a library before 8.5
		ids.Logical = visible.FromEnvironment(visible.Unknown).Logical(id)
	}
	device := dcmi.Device(ids)
	return func(ctx context.Context) (driver.SensorReadings, error) { return d.sensors.Read(ctx, device) }, nil
}
