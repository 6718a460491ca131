//go:build linux && (amd64 || arm64)

package acl

import (
	"runtime"
	"strings"
	"unsafe"

	"github.com/ebitengine/purego"

	"npulua/npu/internal/driver"
	"npulua/npu/internal/loader"
)

// device is a device that was set.
type device struct {
	id    int
	count int  // of SetDevice
	main  *ctx // the default context; nil where count is zero
}

// DeviceCount implements driver.Driver.
func (d *Driver) DeviceCount() (int, error) {
	err := d.call(&d.deviceCount, d.out.at(0))
	return int(d.out.int32(0)), err
}

// SetDevice implements driver.Driver.
func (d *Driver) SetDevice(id int) error {
	dev := d.devices[id]
	first := dev == nil || dev.count == 0
	set := func() error { return d.call(&d.setDevice, uintptr(int32(id))) }
	err := error(nil)
	if first { // the device's threads start, and may install handlers
		err = loader.GuardSignals(set)
	} else {
		err = set()
	}
	if err != nil {
		return err
	}
	if dev == nil {
		dev = &device{id: id}
		d.devices[id] = dev
	}
	dev.count++
	if first {
		if err := d.call(&d.getContext, d.out.at(0)); err != nil {
			return err
		}
		dev.main = d.newContext(uintptr(d.out[0]), id)
		dev.main.isDefault = true
	}
	d.current = dev.main
	return nil
}

// ResetDevice implements driver.Driver.
func (d *Driver) ResetDevice(id int, force bool) error {
	dev := d.devices[id]
	if dev == nil || dev.count == 0 {
		return d.call(&d.resetDevice, uintptr(int32(id))) // it has the code for that
	}
	last := dev.count == 1 || force
	if last {
		d.abandon(dev.main, force)
	}
	f := &d.resetDevice
	if force {
		if f = &d.resetDeviceForce; f.address == 0 { // an older library: as many as were set
			for dev.count > 1 {
				if err := d.call(&d.resetDevice, uintptr(int32(id))); err != nil {
					return err
				}
				dev.count--
			}
			f = &d.resetDevice
		}
	}
	err := d.call(f, uintptr(int32(id)))
	if err != nil && !last {
		return err
	}
	if dev.count--; last {
		dev.count = 0
		d.forget(dev.main)
		dev.main = nil
		d.dropMemory(id)
	}
	return err
}

// inUse reports whether a context of a device is left.
func (d *Driver) inUse(id int) bool {
	for _, c := range d.contexts {
		if c.device == id {
			return true
		}
	}
	return false
}

// Device implements driver.Driver.
func (d *Driver) Device() (int, error) {
	err := d.call(&d.getDevice, d.out.at(0))
	return int(d.out.int32(0)), err
}

// Utilization implements driver.Prober. The library tells neither copies nor memory.
func (d *Driver) Utilization(id int) (driver.Utilization, error) {
	u := new(struct {
		cube, vector, aicpu, memory int32
		extend                      uintptr // must be NULL
	})
	var pin runtime.Pinner // the stack moves when it grows: u must not be there
	pin.Pin(u)
	defer pin.Unpin()
	err := d.call(&d.utilization, uintptr(int32(id)), uintptr(unsafe.Pointer(u)))
	return driver.Utilization{Cores: float64(max(u.cube, u.vector, 0)) / 100}, err
}

// StreamsFree implements driver.Prober.
func (d *Driver) StreamsFree() (int, error) {
	d.out[0] = 0
	err := d.call(&d.streamsFree, d.out.at(0))
	return int(uint32(d.out[0])), err
}

// MemInfo implements driver.Prober.
func (d *Driver) MemInfo() (free, total int64, err error) {
	const hbm = 1 // a part without it answers for its DDR
	err = d.call(&d.memInfo, hbm, d.out.at(0), d.out.at(1))
	return int64(d.out[0]), int64(d.out[1]), err
}

// Attributes of aclrtGetDeviceInfo.
const (
	attrCubeCores   = 102
	attrVectorCores = 201
	attrMemory      = 301
)

// DeviceInfo implements driver.Prober. What only newer libraries tell is zero on others.
func (d *Driver) DeviceInfo(id int) (driver.DeviceInfo, error) {
	n, err := d.DeviceCount()
	if err != nil {
		return driver.DeviceInfo{}, err
	}
	if id < 0 || id >= n {
		return driver.DeviceInfo{}, driver.Errorf(driver.CodeInvalidDevice, d.deviceInfo.name, "there is no device %d, only %d", id, n)
	}
	info := driver.DeviceInfo{Name: d.socName()}
	info.Family = family(info.Name)
	for _, x := range []struct {
		attr uintptr
		set  func(int64)
	}{
		{attrCubeCores, func(v int64) { info.CubeCores = int(v) }},
		{attrVectorCores, func(v int64) { info.VectorCores = int(v) }},
		{attrMemory, func(v int64) { info.Memory = v }},
	} {
		if d.call(&d.deviceInfo, uintptr(id), x.attr, d.out.at(0)) == nil {
			x.set(int64(d.out[0]))
		}
	}
	return info, nil
}

// families are the beginnings of SoC names by family, longer ones first.
var families = []struct{ prefix, family string }{
	{"910_93", "910_93"}, {"910B", "910B"}, {"910", "910"}, {"950", "950"}, {"310P", "310P"}, {"310B", "310B"}, {"310", "310"},
}

// family is the product family of a SoC name, "910B" for "Ascend910B3"; "" for an unknown one.
func family(soc string) string {
	name := strings.TrimPrefix(soc, "Ascend")
	if name == "910B" { // despite its name a part of the first generation
		return "910"
	}
	for _, f := range families {
		if strings.HasPrefix(name, f.prefix) {
			return f.family
		}
	}
	return ""
}

// socName is the name of device 0, which the library tells for all.
func (d *Driver) socName() string {
	r, _, _ := purego.SyscallN(d.getSocName.address)
	return goString(r)
}
