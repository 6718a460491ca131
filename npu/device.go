package npu

import (
	"cmp"
	"errors"
	"time"

	"npulua/npu/internal/driver"
)

// Device is one NPU, retained until it is closed or the session is.
type Device struct {
	// Bound is free for bindings: what stands for the handle there.
	Bound any

	id    int
	s     *Session
	res   *resource
	deflt *Context

	contexts int // explicit ones made so far
}

// DeviceInfo describes a device.
type DeviceInfo = driver.DeviceInfo

// Utilization is shares of time, 0 to 1, since the last call for the device.
type Utilization = driver.Utilization

// Device retains device id, unless the session has already, and makes its default context current.
// Ids count from 0 over the visible devices; ErrInvalidDevice where there is none.
func (t *Thread) Device(id int) (*Device, error) {
	if t.c.Inside() {
		return nil, insideError()
	}
	s := t.s
	if id < 0 || id >= s.count {
		e := s.NoDevice(int64(id))
		e.Call = "aclrtSetDevice"
		return nil, e
	}
	dev, err := s.retained(id)
	if err != nil {
		return nil, err
	}
	if dev == nil {
		if dev, err = t.retain(id); err != nil {
			return nil, err
		}
	}
	t.setCurrent(dev.deflt)
	return dev, nil
}

// retained is the handle of device id, nil where the session has not retained it. It fails while the device is being closed.
func (s *Session) retained(id int) (*Device, error) {
	s.mu.Lock()
	dev := s.devices[id]
	s.mu.Unlock()
	if dev == nil || dev.res.closed.Load() {
		return nil, nil
	}
	return dev, dev.res.usable()
}

// retain makes the handle of device id, unless another thread does just now: the executor's thread takes them in turn.
func (t *Thread) retain(id int) (*Device, error) {
	s := t.s
	dev := &Device{id: id, s: s}
	dev.res = &resource{kind: "device", destroy: func(d driver.Driver, force bool) error { return d.ResetDevice(id, force) }}
	var others *Device
	from := t.origin()
	err := t.create(0, dev.res, func(d driver.Driver) (err error) {
		if others, err = s.retained(id); err != nil || others != nil {
			return cmp.Or(err, errRetained)
		}
		if err := d.SetDevice(id); err != nil {
			return err
		}
		h, err := d.CurrentContext()
		if err != nil {
			return err
		}
		dev.deflt = newContext(dev, 0, h, &resource{kind: "default context", session: s, parent: dev.res})
		s.mu.Lock()
		s.devices[id] = dev
		s.mu.Unlock()
		return s.adopt(dev.deflt.res, from)
	})
	if others != nil {
		return others, nil
	}
	if err != nil { // also where the session is being closed
		dev.res.ending.Store(true)
		dev.res.closed.Store(true)
	}
	return dev, err
}

// errRetained says that another thread was faster.
var errRetained = errors.New("retained")

// ID is the number of the device among the visible ones, from 0.
func (dev *Device) ID() int { return dev.id }

// Closed reports whether the device was closed.
func (dev *Device) Closed() bool { return dev.res.closed.Load() }

// DefaultContext is the context that the device has without being asked. It cannot be closed.
func (dev *Device) DefaultContext() *Context { return dev.deflt }

// DeviceInfo describes device id. ErrNotSupported where the backend cannot tell.
func (s *Session) DeviceInfo(t *Thread, id int) (DeviceInfo, error) {
	var info DeviceInfo
	if err := need(s, s.prober, "describe devices"); err != nil {
		return info, err
	}
	err := t.call(0, func(driver.Driver) (err error) {
		info, err = s.prober.DeviceInfo(id)
		return err
	})
	return info, err
}

// Memory is free and total device memory in bytes.
func (dev *Device) Memory(t *Thread) (free, total int64, err error) {
	if err := dev.check(); err != nil {
		return 0, 0, err
	}
	if err := need(dev.s, dev.s.prober, "tell its memory"); err != nil {
		return 0, 0, err
	}
	err = t.callOn(dev.deflt.h, func(driver.Driver) (err error) {
		free, total, err = dev.s.prober.MemInfo()
		return err
	}, dev.check)
	return free, total, err
}

// StreamsFree is how many streams can still be made on the device, by this process or others. ErrNotSupported where the
// library does not tell.
func (dev *Device) StreamsFree(t *Thread) (free int, err error) {
	if err := dev.check(); err != nil {
		return 0, err
	}
	if err := need(dev.s, dev.s.prober, "tell its streams"); err != nil {
		return 0, err
	}
	err = t.callOn(dev.deflt.h, func(driver.Driver) (err error) {
		free, err = dev.s.prober.StreamsFree()
		return err
	}, dev.check)
	return free, err
}

// Utilization tells how busy the device was since the last call.
func (dev *Device) Utilization(t *Thread) (Utilization, error) {
	var u Utilization
	if err := dev.check(); err != nil {
		return u, err
	}
	if err := need(dev.s, dev.s.prober, "tell its utilization"); err != nil {
		return u, err
	}
	err := t.callOn(0, func(driver.Driver) (err error) {
		u, err = dev.s.prober.Utilization(dev.id)
		return err
	}, dev.check)
	return u, err
}

// CanAccessPeer reports whether dev can reach the memory of peer.
func (dev *Device) CanAccessPeer(t *Thread, peer *Device) (bool, error) {
	var ok bool
	err := dev.peerCall(t, peer, func(p driver.Peers) (err error) {
		ok, err = p.CanAccessPeer(dev.id, peer.id)
		return err
	})
	return ok, err
}

// EnablePeerAccess lets dev and peer reach each other's memory: both ways, because one way is
// nearly always a mistake. Enabling twice changes nothing.
func (dev *Device) EnablePeerAccess(t *Thread, peer *Device) error {
	return dev.bothWays(t, peer, true)
}

// DisablePeerAccess undoes EnablePeerAccess.
func (dev *Device) DisablePeerAccess(t *Thread, peer *Device) error {
	return dev.bothWays(t, peer, false)
}

func (dev *Device) bothWays(t *Thread, peer *Device, on bool) error {
	for _, pair := range [][2]*Device{{dev, peer}, {peer, dev}} {
		from, to := pair[0], pair[1]
		err := from.peerCall(t, to, func(p driver.Peers) error {
			if on {
				return p.EnablePeerAccess(to.id, 0)
			}
			return p.DisablePeerAccess(to.id)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// PeerAccess reports whether dev may reach the memory of peer now.
func (dev *Device) PeerAccess(t *Thread, peer *Device) (bool, error) {
	var ok bool
	err := dev.peerCall(t, peer, func(p driver.Peers) (err error) {
		ok, err = p.PeerAccess(dev.id, peer.id)
		return err
	})
	return ok, err
}

func (dev *Device) peerCall(t *Thread, peer *Device, fn func(driver.Peers) error) error {
	if err := dev.check(); err != nil {
		return err
	}
	if err := peer.check(); err != nil {
		return err
	}
	if err := need(dev.s, dev.s.peers, "copy between devices directly"); err != nil {
		return err
	}
	return t.callOn(dev.deflt.h, func(driver.Driver) error { return fn(dev.s.peers) }, dev.check, peer.check)
}

// Synchronize waits for the work of all streams of the device, in all its contexts. timeout: see
// Stream.Synchronize.
func (dev *Device) Synchronize(t *Thread, timeout time.Duration) error {
	if err := dev.check(); err != nil {
		return err
	}
	return goneOr(t.s.synchronizeAll(t, dev.res, timeout, toSynchronize), dev.check)
}

// Close waits for all queued work, which the runtime would drop, closes everything on the device, contexts and memory
// included, and resets it. A later
// Thread.Device opens it again.
func (dev *Device) Close(t *Thread) error { return dev.res.close(t, "", false) }

// Reset does the same by force: it waits for nothing that may not end. What has not started is dropped, what runs has
// undefined results, and faults are forgotten.
func (dev *Device) Reset(t *Thread) error { return dev.res.close(t, "", true) }

func (dev *Device) check() error { return dev.res.check() }
