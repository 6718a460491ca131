package fault

import (
	"time"

	"npulua/npu/internal/driver"
)

// quiet reports whether there is nothing to let go wrong.
func (in *Injector) quiet() bool { return len(in.faults) == 0 }

// current is the device of the current context, -1 where there is none.
func (in *Injector) current() int {
	device, err := in.Simulated.Device()
	if err != nil {
		return -1
	}
	return device
}

// Enqueue implements driver.Driver.
func (in *Injector) Enqueue(c *driver.Command) error {
	if in.quiet() {
		return in.Simulated.Enqueue(c)
	}
	device := in.current()
	if device < 0 || int(c.Op) >= len(commandOps) || commandOps[c.Op] == OpAny {
		return in.Simulated.Enqueue(c)
	}
	u := use{op: commandOps[c.Op], call: c.Op.Call(), device: device, queued: true}
	if c.Op == driver.OpCopy {
		u.copies = true
		u.to, u.from = in.Route(c.Dst, c.Src)
	}
	v := in.judge(&u)
	if v.wrong {
		m := v.mishap
		in.Arm(&m)
	}
	err := in.Simulated.Enqueue(c)
	if err != driver.CodeQueueFull { // it comes again
		in.commit(&u)
	}
	return err
}

// check judges a call, which takes its delay; an error ends the call.
func (in *Injector) check(u use) error {
	_, err := in.checkLeak(u)
	return err
}

// checkLeak is check for giving memory back; leak is whether it must stay in use although the call succeeds.
func (in *Injector) checkLeak(u use) (leak bool, err error) {
	if in.quiet() {
		return false, nil
	}
	v := in.judge(&u)
	in.commit(&u)
	if v.delay > 0 {
		in.Pass(v.delay)
	}
	if v.err != nil {
		return false, v.err
	}
	return v.leak, nil
}

// checkLost fails where device is lost, for calls that are no operation of rules.
func (in *Injector) checkLost(call string, device int) error {
	if in.lost[device] != nil {
		return in.lostError(call, device)
	}
	return nil
}

// SetDevice implements driver.Driver.
func (in *Injector) SetDevice(device int) error {
	if err := in.check(use{op: OpSetDevice, call: "aclrtSetDevice", device: device}); err != nil {
		return err
	}
	return in.Simulated.SetDevice(device)
}

// CreateContext implements driver.Driver.
func (in *Injector) CreateContext(device int) (driver.Context, error) {
	if err := in.check(use{op: OpCreateContext, call: "aclrtCreateContext", device: device}); err != nil {
		return 0, err
	}
	return in.Simulated.CreateContext(device)
}

// onCurrent is check for a call that works in the current context.
func (in *Injector) onCurrent(u use) error {
	if in.quiet() {
		return nil
	}
	if u.device = in.current(); u.device < 0 {
		return nil // the call fails by itself
	}
	return in.check(u)
}

// CreateStream implements driver.Driver.
func (in *Injector) CreateStream(cfg driver.StreamConfig) (driver.Stream, error) {
	if err := in.onCurrent(use{op: OpCreateStream, call: "aclrtCreateStreamWithConfig"}); err != nil {
		return 0, err
	}
	return in.Simulated.CreateStream(cfg)
}

// CreateEvent implements driver.Driver.
func (in *Injector) CreateEvent(flags driver.EventFlags) (driver.Event, error) {
	if err := in.onCurrent(use{op: OpCreateEvent, call: "aclrtCreateEventExWithFlag"}); err != nil {
		return 0, err
	}
	return in.Simulated.CreateEvent(flags)
}

// QueryStream implements driver.Driver. Of a lost device it tells what SynchronizeStream has to take.
func (in *Injector) QueryStream(s driver.Stream) (bool, error) {
	if err := in.onCurrent(use{op: OpQuery, call: "aclrtStreamQuery", keeps: true}); err != nil {
		return false, err
	}
	return in.Simulated.QueryStream(s)
}

// QueryEvent implements driver.Driver.
func (in *Injector) QueryEvent(e driver.Event) (bool, error) {
	if err := in.onCurrent(use{op: OpQuery, call: "aclrtQueryEventStatus", keeps: true}); err != nil {
		return false, err
	}
	return in.Simulated.QueryEvent(e)
}

// SynchronizeStream implements driver.Driver.
func (in *Injector) SynchronizeStream(s driver.Stream, timeout time.Duration) error {
	return in.synchronize("aclrtSynchronizeStreamWithTimeout", func() error { return in.Simulated.SynchronizeStream(s, timeout) })
}

// SynchronizeDevice implements driver.Driver.
func (in *Injector) SynchronizeDevice(timeout time.Duration) error {
	return in.synchronize("aclrtSynchronizeDeviceWithTimeout", func() error { return in.Simulated.SynchronizeDevice(timeout) })
}

// SynchronizeEvent implements driver.Driver.
func (in *Injector) SynchronizeEvent(e driver.Event, timeout time.Duration) error {
	return in.synchronize("aclrtSynchronizeEventWithTimeout", func() error { return in.Simulated.SynchronizeEvent(e, timeout) })
}

// synchronize is a call that takes the faults of queued work, which come first.
func (in *Injector) synchronize(call string, wait func() error) error {
	if in.quiet() {
		return wait()
	}
	if err := in.onCurrent(use{op: OpSynchronize, call: call, keeps: true}); err != nil {
		return err
	}
	err := wait()
	if err == nil {
		err = in.checkLost(call, in.current())
	}
	return err
}

// ElapsedTime implements driver.Driver.
func (in *Injector) ElapsedTime(start, stop driver.Event) (time.Duration, error) {
	if len(in.lost) > 0 {
		if err := in.checkLost("aclrtEventElapsedTime", in.current()); err != nil {
			return 0, err
		}
	}
	return in.Simulated.ElapsedTime(start, stop)
}

// Malloc implements driver.Driver.
func (in *Injector) Malloc(size int64, policy driver.MemPolicy) (driver.Ptr, error) {
	if err := in.onCurrent(use{op: OpAlloc, call: "aclrtMalloc", size: size}); err != nil {
		return 0, err
	}
	return in.Simulated.Malloc(size, policy)
}

// MallocHost implements driver.Driver.
func (in *Injector) MallocHost(size int64) (driver.Ptr, error) {
	if err := in.onCurrent(use{op: OpHostAlloc, call: "aclrtMallocHost", size: size}); err != nil {
		return 0, err
	}
	return in.Simulated.MallocHost(size)
}

// Free implements driver.Driver.
func (in *Injector) Free(p driver.Ptr) error {
	if !in.quiet() {
		device, _ := in.Route(p, 0)
		if leak, err := in.checkLeak(use{op: OpFree, call: "aclrtFree", device: device, keeps: true}); leak || err != nil {
			return err
		}
	}
	return in.Simulated.Free(p)
}

// FreeHost implements driver.Driver.
func (in *Injector) FreeHost(p driver.Ptr) error {
	if leak, err := in.checkLeak(use{op: OpFree, call: "aclrtFreeHost", device: -1, keeps: true}); leak || err != nil {
		return err
	}
	return in.Simulated.FreeHost(p)
}

// blocking is a blocking copy or fill: it fails at once, or goes wrong as its mishap says.
func (in *Injector) blocking(u use, call func() error) error {
	if u.device = in.current(); u.device < 0 {
		return call()
	}
	v := in.judge(&u)
	in.commit(&u)
	if v.delay > 0 {
		in.Pass(v.delay)
	}
	if v.err != nil {
		return v.err
	}
	if v.wrong {
		in.Arm(&v.mishap)
	}
	return call()
}

// Memcpy implements driver.Driver.
func (in *Injector) Memcpy(dst driver.Ptr, dstMax int64, src driver.Ptr, size int64, kind driver.CopyKind) error {
	if in.quiet() {
		return in.Simulated.Memcpy(dst, dstMax, src, size, kind)
	}
	u := use{op: OpCopy, call: "aclrtMemcpy", copies: true}
	u.to, u.from = in.Route(dst, src)
	return in.blocking(u, func() error { return in.Simulated.Memcpy(dst, dstMax, src, size, kind) })
}

// Memset implements driver.Driver.
func (in *Injector) Memset(dst driver.Ptr, dstMax int64, value byte, size int64) error {
	if in.quiet() {
		return in.Simulated.Memset(dst, dstMax, value, size)
	}
	return in.blocking(use{op: OpFill, call: "aclrtMemset"}, func() error { return in.Simulated.Memset(dst, dstMax, value, size) })
}

// LoadKernel implements driver.Loader.
func (in *Injector) LoadKernel(src driver.KernelSource) (driver.Kernel, error) {
	if err := in.onCurrent(use{op: OpKernel, call: "aclrtBinaryGetFunction"}); err != nil {
		return 0, err
	}
	return in.Simulated.LoadKernel(src)
}

// LoadModel implements driver.Modeler.
func (in *Injector) LoadModel(src driver.ModelSource) (driver.Model, driver.ModelInfo, error) {
	if err := in.onCurrent(use{op: OpModel, call: "aclmdlLoadFromFileWithMem"}); err != nil {
		return 0, driver.ModelInfo{}, err
	}
	return in.Simulated.LoadModel(src)
}

// StreamsFree implements driver.Prober.
func (in *Injector) StreamsFree() (int, error) {
	if len(in.lost) > 0 {
		if err := in.checkLost("aclrtGetStreamAvailableNum", in.current()); err != nil {
			return 0, err
		}
	}
	return in.Simulated.StreamsFree()
}

// MemInfo implements driver.Prober.
func (in *Injector) MemInfo() (free, total int64, err error) {
	if len(in.lost) > 0 {
		if err := in.checkLost("aclrtGetMemInfo", in.current()); err != nil {
			return 0, 0, err
		}
	}
	return in.Simulated.MemInfo()
}

// Utilization implements driver.Prober.
func (in *Injector) Utilization(device int) (driver.Utilization, error) {
	if err := in.checkLost("aclrtGetDeviceUtilizationRate", device); err != nil {
		return driver.Utilization{}, err
	}
	return in.Simulated.Utilization(device)
}

// BeginCapture implements driver.Capturer.
func (in *Injector) BeginCapture(s driver.Stream) error {
	if len(in.lost) > 0 {
		if err := in.checkLost("aclmdlRICaptureBegin", in.current()); err != nil {
			return err
		}
	}
	return in.Simulated.BeginCapture(s)
}

// EnablePeerAccess implements driver.Peers.
func (in *Injector) EnablePeerAccess(peer int, flags uint32) error {
	const call = "aclrtDeviceEnablePeerAccess"
	for _, device := range []int{peer, in.current()} {
		if err := in.checkLost(call, device); err != nil {
			return err
		}
	}
	return in.Simulated.EnablePeerAccess(peer, flags)
}
