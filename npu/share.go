package npu

import (
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"npulua/npu/internal/span"
)

// usage is who uses memory: one of all handles that share it.
type usage struct {
	// uses are the streams with queued work on the memory, with the last command of each; under mu once
	// the memory is shared.
	uses   []use
	first  [2]use // backs uses
	shared atomic.Bool
	mu     sync.Mutex
}

// lock is for uses.
func (u *usage) lock() (unlock func()) {
	if !u.shared.Load() {
		return func() {}
	}
	u.mu.Lock()
	return u.mu.Unlock
}

// newMemory makes what stands for an allocation.
func newMemory(dev *Device) *memory {
	m := &memory{dev: dev}
	m.usage = &m.own
	m.uses = m.first[:0]
	return m
}

// Shared is host memory on its way to other schedulers. It holds the memory, as each handle does, until Drop; where nobody can
// reach it any more, until garbage collection; and at most until the end of the session.
type Shared struct {
	b     Buffer // what the handles are like; no handle itself
	usage *usage
	hold  *sharedHold
}

// sharedHold is the hold of a Shared. It ends once.
type sharedHold struct {
	block *span.Block
	ended atomic.Bool
}

func (h *sharedHold) end() {
	if !h.ended.Swap(true) {
		h.block.Release()
	}
}

// Share prepares host memory for the tasks of another scheduler: each Receive makes a handle of it there. All
// handles stand for the same bytes; each is closed by itself, and the memory lives as long as one is open. What
// the sides do with the bytes they have to order themselves, by channels. ErrInvalidParam for device
// memory and arguments of kernels.
func (b *Buffer) Share() (*Shared, error) {
	if err := b.usable(); err != nil {
		return nil, err
	}
	if b.space == DeviceMemory || b.root.res.kind == "kernel argument" {
		return nil, hinted(errorf(ErrInvalidParam, "only host buffers of one's own can be handed to another worker"), "copy it to a buffer made by npu.host")
	}
	block := b.span.Block()
	if !block.Hold() { // b holds it
		return nil, b.root.res.closedError()
	}
	b.root.shared.Store(true)
	s := &Shared{usage: b.root.usage, hold: &sharedHold{block: block}, b: Buffer{
		space: b.space, typ: b.typ, count: b.count, bytes: b.bytes, span: b.span, shape: slices.Clone(b.shape),
	}}
	runtime.AddCleanup(s, (*sharedHold).end, s.hold)
	return s, nil
}

// Drop gives up what nobody will Receive any more. Again it does nothing.
func (s *Shared) Drop() { s.hold.end() }

// Receive makes a handle of shared memory on the side of t; each call makes another one. ErrInvalidHandle where the memory
// was given back, because Drop was called and all handles are closed.
func (t *Thread) Receive(s *Shared) (*Buffer, error) {
	block := s.hold.block
	if !block.Hold() {
		return nil, hinted(errorf(ErrInvalidHandle, "the buffer was given back before it was received"), "close it later")
	}
	b := s.b
	b.root = &memory{usage: s.usage}
	res := &resource{kind: "host memory", detail: describe(b.typ, b.count, b.bytes), explicit: true}
	if b.space == PinnedMemory {
		res.kind, res.destroy = "pinned memory", t.s.unpinLast(&block)
		s.usage.guard(res)
	} else {
		res.drop = block.Release
	}
	if err := t.s.adopt(res, t.origin()); err != nil {
		block.Release()
		return nil, err
	}
	b.root.res = res
	runtime.AddCleanup(&b, (*resource).collect, res)
	runtime.KeepAlive(s) // its hold is the last one until then
	return &b, nil
}
