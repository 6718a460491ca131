package npu

import (
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"npulua/npu/internal/driver"
)

// usage is who uses memory: one of all handles that share it.
type usage struct {
	// uses are the streams with queued work on the memory, with the last command of each; under mu once
	// the memory is shared.
	uses   []use
	first  [2]use // backs uses
	shared atomic.Bool
	mu     sync.Mutex

	holders atomic.Int32 // handles that share the memory
}

// lock is for uses.
func (u *usage) lock() (unlock func()) {
	if !u.shared.Load() {
		return func() {}
	}
	u.mu.Lock()
	return u.mu.Unlock
}

// newMemory makes what stands for an allocation, with one handle.
func newMemory(dev *Device) *memory {
	m := &memory{dev: dev}
	m.usage = &m.own
	m.uses = m.first[:0]
	m.holders.Store(1)
	return m
}

// Shared is host memory on its way to another scheduler.
type Shared struct {
	b       Buffer
	u       *usage
	kind    string
	destroy func(driver.Driver, bool) error
}

// Share prepares host memory for the tasks of another scheduler: Receive makes their handle of it. Both
// handles stand for the same bytes; each is closed by itself, and the last one gives the memory back. What
// the two sides do with the bytes they have to order themselves, by channels. ErrInvalidParam for device
// memory and arguments of kernels.
func (b *Buffer) Share() (*Shared, error) {
	if err := b.check(); err != nil {
		return nil, err
	}
	if b.space == DeviceMemory || b.root.res.kind == "kernel argument" {
		return nil, hinted(errorf(ErrInvalidParam, "only host buffers of one's own can be handed to another worker"), "copy it to a buffer made by npu.host")
	}
	u := b.root.usage
	u.shared.Store(true)
	u.holders.Add(1)
	return &Shared{u: u, kind: b.root.res.kind, destroy: b.root.res.destroy, b: Buffer{
		space: b.space, typ: b.typ, count: b.count, bytes: b.bytes, ptr: b.ptr, data: b.data, shape: slices.Clone(b.shape),
	}}, nil
}

// Drop gives up what nobody will Receive.
func (s *Shared) Drop() { s.u.holders.Add(-1) }

// Receive makes the handle of shared memory on the side of t. Once for each Share.
func (t *Thread) Receive(s *Shared) *Buffer {
	m := &memory{usage: s.u}
	m.res = t.s.adopt(t, &resource{kind: s.kind, detail: describe(s.b.typ, s.b.count, s.b.bytes), explicit: true, destroy: s.destroy})
	m.guard(m.res)
	b := s.b
	b.root = m
	runtime.AddCleanup(&b, (*resource).collect, m.res)
	return &b
}

// freeHost gives pinned memory back with the last of its handles, and calls given then.
func (u *usage) freeHost(p driver.Ptr, given func()) func(driver.Driver, bool) error {
	return func(d driver.Driver, _ bool) error {
		if u.holders.Add(-1) > 0 {
			return nil
		}
		given()
		return d.FreeHost(p)
	}
}
