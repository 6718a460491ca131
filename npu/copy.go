package npu

import (
	"runtime"

	"npulua/npu/internal/driver"
)

// Copy queues a copy of src to dst, which have the same type and count. The direction follows from
// the operands. Host memory must be pinned; neither may be touched by the host, nor closed, before
// the stream has passed the copy (the host is refused, and Close waits).
func (s *Stream) Copy(t *Thread, dst, src *Buffer) error {
	if err := checkCopy(dst, src); err != nil {
		return err
	}
	if err := s.check(); err != nil {
		return err
	}
	kind := driver.DeviceToDevice
	switch {
	case dst.space == PinnedMemory && src.space == DeviceMemory:
		kind = driver.DeviceToHost
	case dst.space == DeviceMemory && src.space == PinnedMemory:
		kind = driver.HostToDevice
	case dst.space != DeviceMemory || src.space != DeviceMemory:
		return queuedCopyError(dst, src)
	}
	if dev := s.ctx.dev; dst.root.dev != dev && src.root.dev != dev {
		return s.foreignCopyError(dst, src)
	}
	p, c, err := s.begin(t, driver.OpCopy)
	if err != nil {
		return err
	}
	c.Kind = kind
	c.Dst = dst.ptr
	c.Src = src.ptr
	c.Size = dst.bytes
	dst.used(s.state, t.Site, true)
	src.used(s.state, t.Site, false)
	return s.submit(t, p)
}

// checkCopy is what every copy needs.
func checkCopy(dst, src *Buffer) error {
	if dst.root.res.closed.Load() || src.root.res.closed.Load() {
		if err := dst.check(); err != nil {
			return err
		}
		return src.check()
	}
	if dst.typ != src.typ || dst.count != src.count {
		return hinted(errorf(ErrParamInvalid, "destination is %s x %d, source is %s x %d", dst.typ, dst.count, src.typ, src.count),
			"use buf:slice for a part, and the kernel \"cast\" for another type")
	}
	if dst.root == src.root && dst.ptr < src.ptr+driver.Ptr(src.bytes) && src.ptr < dst.ptr+driver.Ptr(dst.bytes) {
		return errorf(ErrParamInvalid, "destination and source overlap")
	}
	return nil
}

func queuedCopyError(dst, src *Buffer) error {
	if dst.space != DeviceMemory && src.space != DeviceMemory {
		return hinted(errorf(ErrNotSupported, "a queued copy between two host buffers"), "use npu.copy(dst, src)")
	}
	return hinted(errorf(ErrParamInvalid, "a queued copy with pageable host memory would block without saying so"),
		"use pinned memory (npu.host without pinned = false), or npu.copy(dst, src), which blocks")
}

func (s *Stream) foreignCopyError(dst, src *Buffer) error {
	return hinted(s.foreignError(eitherDevice(dst, src)), "use a stream of the buffer's device")
}

// eitherDevice is the device of a copy that has one: the destination's, where both have.
func eitherDevice(dst, src *Buffer) *Device {
	if dst.root.dev != nil {
		return dst.root.dev
	}
	return src.root.dev
}

// Copy copies src to dst, which have the same type and count, and returns when it is done. It first
// waits for queued work that writes src or uses dst; faults stay with their streams.
func Copy(t *Thread, dst, src *Buffer) error {
	if err := checkCopy(dst, src); err != nil {
		return err
	}
	if dst.readOnly {
		return dst.touch(true)
	}
	if t.recording != nil && (dst.space == DeviceMemory || src.space == DeviceMemory) {
		return hinted(errorf(driver.CodeCaptureMode, "a blocking copy while a graph is being recorded"), "use s:copy with pinned memory, or copy before the recording")
	}
	if err := dst.root.settle(t, false); err != nil {
		return err
	}
	if err := src.root.settle(t, true); err != nil {
		return err
	}
	if dst.data != nil && src.data != nil {
		copy(dst.data, src.data)
		runtime.KeepAlive(dst)
		runtime.KeepAlive(src)
		return nil
	}
	ctx := eitherDevice(dst, src).deflt.h
	var err error
	for at, n := int64(0), int64(0); at < dst.bytes && err == nil; at += n {
		n = min(dst.bytes-at, t.s.piece)
		err = t.call(ctx, func(d driver.Driver) error {
			return d.Memcpy(dst.ptr+driver.Ptr(at), n, src.ptr+driver.Ptr(at), n, driver.CopyDefault)
		})
	}
	runtime.KeepAlive(dst)
	runtime.KeepAlive(src)
	return err
}

// copyPiece is how much a blocking copy moves in one call where that takes real time: a millisecond or so, in which
// the thread of the executor serves nobody else.
const copyPiece = 16 << 20
