package npu

import (
	"runtime"
	"slices"
	"unsafe"

	"npulua/npu/internal/driver"
)

// Peek reads the first elements of b, count at most, to show them to people. ok is false where they cannot be
// read now: queued work may write them, a graph is being recorded, or b is closed. It neither waits nor takes
// virtual time, takes no fault, and the current context stays.
func (b *Buffer) Peek(t *Thread, count int64) (values []Value, ok bool) {
	if b.Closed() {
		return nil, false
	}
	count = min(count, b.count)
	list := func(data []byte) error {
		for i := range count {
			values = append(values, b.typ.Value(data, int(i)))
		}
		return nil
	}
	if b.space == DeviceMemory {
		data := make([]byte, count*int64(b.typ.Size()))
		done := false
		err := t.call(0, func(d driver.Driver) error {
			return t.s.exec.Untimed(func() error {
				done = b.peek(d, data)
				return nil
			})
		})
		runtime.KeepAlive(b)
		if err != nil || !done {
			return nil, false
		}
		return values, list(data) == nil
	}
	return values, b.Read(list) == nil
}

// peek copies the start of device memory to data, on the executor's thread.
func (b *Buffer) peek(d driver.Driver, data []byte) bool {
	s := b.root.dev.s
	if b.usable() != nil {
		return false
	}
	if slices.ContainsFunc(s.streams(), func(st *streamState) bool { return st.recording.Load() != nil }) {
		return false // a blocking copy would spoil the recording
	}
	if old, err := d.CurrentContext(); err == nil {
		defer func() { _ = d.SetCurrentContext(old) }() // it was current: it can be again
	}
	unlock := b.root.lock()
	uses := slices.Clone(b.root.uses)
	unlock()
	for _, u := range uses {
		if u.write > u.st.synced.Load() && !u.st.idle(d) {
			return false
		}
	}
	if d.SetCurrentContext(b.root.dev.deflt.h) != nil {
		return false
	}
	n := int64(len(data))
	to := driver.Ptr(uintptr(unsafe.Pointer(unsafe.SliceData(data))))
	return d.Memcpy(to, n, b.span.On(d), n, driver.CopyDefault) == nil
}
