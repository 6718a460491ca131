package sim

import (
	"npulua/npu/internal/driver"
)

// copyPath is the way that a copy takes, which decides its engine and its time.
type copyPath uint8

const (
	pathH2H copyPath = iota
	pathH2D
	pathD2H
	pathD2D
	pathPeer
)

// operand is one side of a copy, resolved: a block at an offset, or plain host memory.
type operand struct {
	addr  driver.Ptr
	block *block // nil: pageable host memory
}

func (o operand) onDevice() bool { return o.block != nil && o.block.dev != nil }
func (o operand) pageable() bool { return o.block == nil }

func (o operand) bytes(n int64, overwrite bool) []byte {
	if o.block == nil {
		return hostBytes(o.addr, n)
	}
	return o.block.bytes(int64(o.addr-o.block.base), n, overwrite)
}

// resolve finds what p is and checks that n bytes from there are inside it.
func (d *Driver) resolve(call, what string, p driver.Ptr, n int64) (operand, error) {
	o := operand{addr: p}
	if dev := d.deviceOf(p); dev != nil {
		if o.block = dev.mem.find(p); o.block == nil {
			return o, driver.Errorf(driver.CodeRtParamInvalid, call, "%s %#x is no live device memory", what, uint64(p))
		}
	} else {
		o.block = d.pinned.find(p)
	}
	if b := o.block; b != nil && n > b.size-int64(p-b.base) {
		return o, driver.Errorf(driver.CodeRtParamInvalid, call, "%s has %d B from its address on, %d B wanted",
			what, b.size-int64(p-b.base), n)
	}
	return o, nil
}

// transfer is a copy whose operands were checked.
type transfer struct {
	dst, src operand
	path     copyPath
}

// plan checks a copy in the runtime's order and finds its path. ok is false where there is nothing
// to do.
func (d *Driver) plan(call string, dst driver.Ptr, dstMax int64, src driver.Ptr, n int64, kind driver.CopyKind) (t transfer, ctx *context, ok bool, err error) {
	switch {
	case n == 0:
		return t, nil, false, nil
	case n < 0 || dstMax < 0:
		return t, nil, false, driver.Errorf(driver.CodeRtParamInvalid, call, "size is %d B", min(n, dstMax))
	case dst == 0 || src == 0:
		return t, nil, false, driver.Errorf(driver.CodeInvalidParam, call, "address is NULL")
	case kind > 5:
		return t, nil, false, driver.Errorf(driver.CodeInvalidParam, call, "there is no copy kind %d", kind)
	case dstMax < n:
		return t, nil, false, driver.Errorf(driver.CodeRtParamInvalid, call, "destination holds %d B, %d B wanted", dstMax, n)
	case dst == src:
		return t, nil, false, nil
	}
	if ctx, err = d.needContext(call); err != nil {
		return t, nil, false, err
	}
	if t.dst, err = d.resolve(call, "destination", dst, n); err != nil {
		return t, nil, false, err
	}
	if t.src, err = d.resolve(call, "source", src, n); err != nil {
		return t, nil, false, err
	}
	if err = checkKind(call, t, kind); err != nil {
		return t, nil, false, err
	}
	t.path, err = d.path(call, t, ctx)
	return t, ctx, err == nil, err
}

// checkKind refuses a label that cannot be meant. Where the runtime knows both addresses, it
// overwrites the label with the real direction; with pageable memory it trusts some labels.
func checkKind(call string, t transfer, kind driver.CopyKind) error {
	if kind >= driver.CopyDefault {
		return nil
	}
	var ok bool
	switch d, s := t.dst, t.src; {
	case !d.pageable() && !s.pageable(), d.pageable() && s.pageable():
		return nil
	case d.onDevice():
		ok = kind == driver.HostToDevice || kind == driver.DeviceToDevice
	case s.onDevice():
		ok = kind == driver.DeviceToHost || kind == driver.DeviceToDevice
	case d.pageable():
		ok = kind == driver.HostToHost || kind == driver.HostToDevice
	default:
		ok = kind == driver.HostToHost || kind == driver.DeviceToHost
	}
	if !ok {
		return driver.Errorf(driver.CodeRtParamInvalid, call, "kind %d does not fit: destination is %s memory, source is %s memory",
			kind, where(t.dst), where(t.src))
	}
	return nil
}

func where(o operand) string {
	switch {
	case o.onDevice():
		return "device"
	case o.pageable():
		return "pageable host"
	}
	return "pinned host"
}

func (d *Driver) path(call string, t transfer, ctx *context) (copyPath, error) {
	dd, sd := t.dst.onDevice(), t.src.onDevice()
	switch {
	case dd && sd:
		a, b := t.dst.block.dev, t.src.block.dev
		if a == b {
			return pathD2D, nil
		}
		if d.profile.PeerNeedsEnable && !a.peers[b.id] && !b.peers[a.id] {
			return 0, &driver.Error{Code: driver.CodeRtParamInvalid, Call: call,
				Detail: "peer access between devices " + itoa(a.id) + " and " + itoa(b.id) + " is not enabled",
				Hint:   "enable peer access in both directions before the copy"}
		}
		return pathPeer, nil
	case dd:
		return pathH2D, nil
	case sd:
		return pathD2H, nil
	}
	return pathH2H, nil
}

// run moves the bytes.
func (t transfer) run(n int64) {
	src := t.src.bytes(n, false)
	copy(t.dst.bytes(n, true), src)
}

// Memcpy implements driver.Driver.
func (d *Driver) Memcpy(dst driver.Ptr, dstMax int64, src driver.Ptr, size int64, kind driver.CopyKind) error {
	m := d.takeArmed()
	t, _, ok, err := d.plan("aclrtMemcpy", dst, dstMax, src, size, kind)
	if err != nil || !ok {
		return err
	}
	if err := d.blockingAllowed("aclrtMemcpy"); err != nil {
		return err
	}
	pageable := t.dst.pageable() || t.src.pageable()
	took := costBlocking + d.profile.copyTime(size, t.path, pageable)
	if m != nil {
		took = later(took, d.profile.lag(m, size, t.path, pageable))
	}
	d.host(took)
	t.run(size)
	if m != nil {
		spoil(t.dst.bytes(size, false), m.Wrong)
	}
	return nil
}

// blockingAllowed refuses blocking copies while a capture is under way: its order could not hold them.
func (d *Driver) blockingAllowed(call string) error {
	if d.capturing > 0 {
		return driver.Errorf(driver.CodeCaptureMode, call, "a blocking call while a graph is being recorded")
	}
	return nil
}

// Memset implements driver.Driver.
func (d *Driver) Memset(dst driver.Ptr, dstMax int64, value byte, size int64) error {
	const call = "aclrtMemset"
	m := d.takeArmed()
	o, ok, err := d.planFill(call, dst, dstMax, size)
	if err != nil || !ok {
		return err
	}
	if err := d.blockingAllowed(call); err != nil {
		return err
	}
	d.host(costBlocking + d.profile.fillTime(size))
	fill(o.bytes(size, true), uint64(value), 1)
	if m != nil {
		spoil(o.bytes(size, false), m.Wrong)
	}
	return nil
}

func (d *Driver) planFill(call string, dst driver.Ptr, dstMax, n int64) (o operand, ok bool, err error) {
	switch {
	case n == 0:
		return o, false, nil
	case dst == 0:
		return o, false, driver.Errorf(driver.CodeInvalidParam, call, "address is NULL")
	}
	if _, err = d.needContext(call); err != nil {
		return o, false, err
	}
	if n < 0 || dstMax < n {
		return o, false, driver.Errorf(driver.CodeRtParamInvalid, call, "destination holds %d B, %d B wanted", dstMax, n)
	}
	o, err = d.resolve(call, "destination", dst, n)
	return o, err == nil, err
}

// fill repeats the low width bytes of v over p; what does not fit at the end is cut.
func fill(p []byte, v uint64, width int) {
	if len(p) == 0 {
		return
	}
	for i := 0; i < width && i < len(p); i++ {
		p[i] = byte(v >> (8 * i))
	}
	for n := width; n < len(p); n *= 2 {
		copy(p[n:], p[:n])
	}
}
