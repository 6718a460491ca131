package sim

import (
	"time"

	"npulua/npu/internal/driver"
	"npulua/npu/sim/kernel"
)

// device is one simulated NPU.
type device struct {
	id      int
	profile *Profile

	sets     int      // calls of SetDevice not undone
	primary  *context // the default context; made at the first SetDevice, then reused
	explicit int      // live explicit contexts: each retains the device

	mem      space
	used     int64
	nextAddr driver.Ptr
	streams  int // live, default ones included
	events   int // live
	streamID int
	peers    map[int]bool // devices whose memory this one may reach

	vector, cube *cores // one and the same where cores are fused
	h2d, d2h     engine
	d2d          engine
	links        map[int]*engine // copies to each peer

	probe    probe
	lost     *driver.Error // what all its work fails with; nil: it is there
	thermals thermals
}

// probe is the state of the engines at the last Utilization call.
type probe struct {
	at            time.Duration
	vector, cube  time.Duration
	h2d, d2h, d2d time.Duration
}

func newDevice(id int, p *Profile) *device {
	dev := &device{
		id: id, profile: p,
		nextAddr: deviceBase(id) + 0x1000,
		peers:    make(map[int]bool),
		links:    make(map[int]*engine),
		vector:   &cores{total: p.VectorCores, free: p.VectorCores},
	}
	dev.cube = dev.vector
	if p.SplitCores {
		dev.cube = &cores{total: p.CubeCores, free: p.CubeCores}
	}
	return dev
}

func (dev *device) cores(u kernel.Unit) *cores {
	if u == kernel.Cube {
		return dev.cube
	}
	return dev.vector
}

func (dev *device) link(peer int) *engine {
	e := dev.links[peer]
	if e == nil {
		e = new(engine)
		dev.links[peer] = e
	}
	return e
}

// deviceOf is the device in whose address range p lies, or nil.
func (d *Driver) deviceOf(p driver.Ptr) *device {
	id := int(p>>deviceShift) - 1
	if id < 0 || id >= len(d.devices) {
		return nil
	}
	return d.devices[id]
}

func (d *Driver) device(call string, id int) (*device, error) {
	if id < 0 || id >= len(d.devices) {
		return nil, driver.Errorf(driver.CodeInvalidDevice, call, "there is no device %d: %d visible", id, len(d.devices))
	}
	return d.devices[id], nil
}

// DeviceCount implements driver.Driver.
func (d *Driver) DeviceCount() (int, error) { return len(d.devices), nil }

// SetDevice implements driver.Driver.
func (d *Driver) SetDevice(id int) error {
	dev, err := d.device("aclrtSetDevice", id)
	if err != nil {
		return err
	}
	if dev.sets == 0 {
		d.host(costOpenDevice)
		if err := d.openPrimary(dev); err != nil {
			return err
		}
	} else {
		d.host(costSetDevice)
	}
	dev.sets++
	d.thread.ctx = dev.primary
	return nil
}

// openPrimary makes the default context of dev usable, with a new default stream.
func (d *Driver) openPrimary(dev *device) error {
	if dev.primary == nil {
		dev.primary = &context{h: driver.Context(d.newHandle()), dev: dev, primary: true, dead: true}
	}
	return d.openContext(dev.primary)
}

// ResetDevice implements driver.Driver.
func (d *Driver) ResetDevice(id int, force bool) error {
	call := "aclrtResetDevice"
	if force {
		call = "aclrtResetDeviceForce"
	}
	dev, err := d.device(call, id)
	if err != nil {
		return err
	}
	if dev.sets == 0 {
		return driver.Errorf(driver.CodeDeviceNotSet, call, "device %d is not set, or was reset already", id)
	}
	dev.sets--
	if force {
		dev.sets = 0
	}
	if dev.sets > 0 {
		return nil
	}
	d.closeContext(dev.primary)
	d.closeDevice(dev)
	return nil
}

// closeDevice gives up the memory of dev once no context of it is left.
func (d *Driver) closeDevice(dev *device) {
	if dev.sets > 0 || dev.explicit > 0 {
		return
	}
	dev.mem.clear()
	dev.used = 0
	clear(dev.peers)
	for h, k := range d.kernels {
		if k.dev == dev {
			delete(d.kernels, h)
		}
	}
}

// Device implements driver.Driver.
func (d *Driver) Device() (int, error) {
	ctx, err := d.needContext("aclrtGetDevice")
	if err != nil {
		return 0, err
	}
	return ctx.dev.id, nil
}

// DeviceInfo implements driver.Prober.
func (d *Driver) DeviceInfo(id int) (driver.DeviceInfo, error) {
	dev, err := d.device("aclrtGetDeviceInfo", id)
	if err != nil {
		return driver.DeviceInfo{}, err
	}
	p := dev.profile
	return driver.DeviceInfo{
		Name: p.SoC, Family: p.Family, CubeCores: p.CubeCores, VectorCores: p.VectorCores,
		Memory: p.MemoryBytes, MaxStreams: p.Streams, MaxEvents: p.Events, QueueDepth: p.QueueDepth,
		Simulated: true,
	}, nil
}

// DeviceIDs implements driver.Numberer. The server has no containers: its numbers are physical, too.
func (d *Driver) DeviceIDs(user int) driver.DeviceIDs {
	ids := driver.DeviceIDs{User: user, Logical: user, Physical: user}
	if user >= 0 && user < len(d.logical) {
		ids.Logical, ids.Physical = d.logical[user], d.logical[user]
	}
	return ids
}

// StreamsFree implements driver.Prober.
func (d *Driver) StreamsFree() (int, error) {
	ctx, err := d.needContext("aclrtGetStreamAvailableNum")
	if err != nil {
		return 0, err
	}
	d.host(costQuery)
	return ctx.dev.profile.Streams - ctx.dev.streams, nil
}

// MemInfo implements driver.Prober.
func (d *Driver) MemInfo() (free, total int64, err error) {
	ctx, err := d.needContext("aclrtGetMemInfo")
	if err != nil {
		return 0, 0, err
	}
	d.host(costQuery)
	total = ctx.dev.profile.MemoryBytes
	return total - ctx.dev.used, total, nil
}

// Utilization implements driver.Prober.
func (d *Driver) Utilization(id int) (driver.Utilization, error) {
	dev, err := d.device("aclrtGetDeviceUtilizationRate", id)
	if err != nil {
		return driver.Utilization{}, err
	}
	d.host(costQuery)
	now := probe{
		at: d.now, vector: dev.vector.busy(d.now),
		h2d: dev.h2d.busyTime(d.now), d2h: dev.d2h.busyTime(d.now), d2d: dev.d2d.busyTime(d.now),
	}
	coreTime, coreCount := now.vector-dev.probe.vector, dev.vector.total
	if dev.cube != dev.vector {
		now.cube = dev.cube.busy(d.now)
		coreTime, coreCount = coreTime+now.cube-dev.probe.cube, coreCount+dev.cube.total
	}
	var u driver.Utilization
	if span := float64(now.at - dev.probe.at); span > 0 {
		u.Cores = float64(coreTime) / span / float64(coreCount)
		u.Copies = float64(max(now.h2d-dev.probe.h2d, now.d2h-dev.probe.d2h, now.d2d-dev.probe.d2d)) / span
	}
	u.Memory = float64(dev.used) / float64(dev.profile.MemoryBytes)
	dev.probe = now
	return u, nil
}

// CanAccessPeer implements driver.Peers.
func (d *Driver) CanAccessPeer(id, peer int) (bool, error) {
	const call = "aclrtDeviceCanAccessPeer"
	if _, err := d.device(call, id); err != nil {
		return false, err
	}
	if _, err := d.device(call, peer); err != nil {
		return false, err
	}
	if id == peer {
		return false, driver.Errorf(driver.CodeInvalidParam, call, "device and peer are both %d", id)
	}
	return true, nil
}

// EnablePeerAccess implements driver.Peers.
func (d *Driver) EnablePeerAccess(peer int, flags uint32) error {
	return d.setPeer("aclrtDeviceEnablePeerAccess", peer, flags, true)
}

// DisablePeerAccess implements driver.Peers.
func (d *Driver) DisablePeerAccess(peer int) error {
	return d.setPeer("aclrtDeviceDisablePeerAccess", peer, 0, false)
}

func (d *Driver) setPeer(call string, peer int, flags uint32, on bool) error {
	ctx, err := d.needContext(call)
	if err != nil {
		return err
	}
	if flags != 0 {
		return driver.Errorf(driver.CodePeerFlags, call, "flags must be 0, got %d", flags)
	}
	if _, err := d.device(call, peer); err != nil {
		return err
	}
	if peer == ctx.dev.id {
		return driver.Errorf(driver.CodeInvalidParam, call, "device %d is its own peer", peer)
	}
	d.host(costMalloc)
	ctx.dev.peers[peer] = on
	return nil
}

// PeerAccess implements driver.Peers.
func (d *Driver) PeerAccess(id, peer int) (bool, error) {
	const call = "aclrtDevicePeerAccessStatus"
	dev, err := d.device(call, id)
	if err != nil {
		return false, err
	}
	if _, err := d.device(call, peer); err != nil {
		return false, err
	}
	return dev.peers[peer], nil
}
