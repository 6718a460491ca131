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
	q, err := s.begin(t, driver.OpCopy, dst.root.res, src.root.res)
	if err != nil {
		return err
	}
	q.Kind = kind
	q.Dst = q.memory(dst, true)
	q.Src = q.memory(src, false)
	q.Size = dst.bytes
	return q.submit()
}

// checkCopy is what every copy needs.
func checkCopy(dst, src *Buffer) error {
	if err := bothUsable(dst, src); err != nil {
		return err
	}
	if dst.typ != src.typ || dst.count != src.count {
		return hinted(errorf(ErrParamInvalid, "destination is %s x %d, source is %s x %d", dst.typ, dst.count, src.typ, src.count),
			"use buf:slice for a part, and the kernel \"cast\" for another type")
	}
	if dst.span.Overlaps(src.span) {
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
	if dst.space != DeviceMemory && src.space != DeviceMemory {
		return dst.Write(func(to []byte) error {
			return src.Read(func(from []byte) error {
				copy(to, from)
				return nil
			})
		})
	}
	usable := func() error { return bothUsable(dst, src) }
	ctx := eitherDevice(dst, src).deflt.h
	for at, n := int64(0), int64(0); at < dst.bytes; at += n {
		n = min(dst.bytes-at, t.s.piece)
		err := t.callOn(ctx, func(d driver.Driver) error {
			return d.Memcpy(dst.span.On(d)+driver.Ptr(at), n, src.span.On(d)+driver.Ptr(at), n, driver.CopyDefault)
		}, usable)
		if err != nil {
			return err
		}
	}
	runtime.KeepAlive(dst) // pinned memory is not the collector's: it goes with the handle
	runtime.KeepAlive(src)
	return nil
}

// bothUsable fails where one of two operands was closed, or is being closed.
func bothUsable(dst, src *Buffer) error {
	if dst.root.res.ending.Load() {
		return dst.usable()
	}
	return src.usable()
}

// copyPiece is how much a blocking copy moves in one call where that takes real time: a millisecond or so, in which
// the thread of the executor serves nobody else.
const copyPiece = 16 << 20
