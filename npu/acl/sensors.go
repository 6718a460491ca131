//go:build linux && (amd64 || arm64)

package acl

import (
	"context"
	"os"
	"strconv"
	"strings"

	"npulua/npu/dcmi"
	"npulua/npu/internal/driver"
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
		ids.Logical = visible(os.Getenv("ASCEND_RT_VISIBLE_DEVICES"), id)
	}
	device := dcmi.Device(ids)
	return func(ctx context.Context) (driver.SensorReadings, error) { return d.sensors.Read(ctx, device) }, nil
}

// visible is the logical id of a device as ASCEND_RT_VISIBLE_DEVICES numbers them: ids with commas, up to the first
// character that cannot be. Without the variable logical ids are user ids.
func visible(value string, user int) int {
	fields := strings.Split(value, ",")
	if value == "" || user >= len(fields) {
		return user
	}
	f := fields[user]
	end := 0
	for end < len(f) && f[end] >= '0' && f[end] <= '9' {
		end++
	}
	if id, err := strconv.Atoi(f[:end]); err == nil {
		return id
	}
	return user
}
