package npu

import (
	"npulua/npu/internal/dtype"
	"npulua/npu/internal/span"
)

// DType is the type of a buffer's elements.
type DType = dtype.DType

// Space is where a buffer lies.
type Space uint8

// The spaces.
const (
	DeviceMemory   Space = iota
	PinnedMemory         // host memory that queued copies can use
	PageableMemory       // ordinary host memory: blocking copies only
)

// String is the space in words.
func (s Space) String() string {
	return [...]string{"device", "pinned host", "pageable host"}[s]
}

// Buffer is typed memory: elements of one type, in a device or on the host. A slice of a buffer
// shares its memory and its lifetime.
type Buffer struct {
	// Bound is free for bindings: what stands for the handle there.
	Bound any

	root     *memory
	owner    *Buffer // the allocation that this slices; nil: itself. Keeps it reachable.
	space    Space
	typ      DType
	count    int64
	bytes    int64
	span     span.Span // where its bytes are
	readOnly bool      // host memory that may not be written: an input of a kernel
	shape    []int     // of what was read from a file; nil: a vector
}

// Type is the type of the elements.
func (b *Buffer) Type() DType { return b.typ }

// Count is the number of elements.
func (b *Buffer) Count() int64 { return b.count }

// Bytes is the size in bytes.
func (b *Buffer) Bytes() int64 { return b.bytes }

// Space is where the buffer lies.
func (b *Buffer) Space() Space { return b.space }

// Device is the owner of device memory, nil for host memory.
func (b *Buffer) Device() *Device { return b.root.dev }

// Shape is the shape of what was read from a file, or nil for a vector. Read only.
func (b *Buffer) Shape() []int { return b.shape }

// Closed reports whether the memory was given back.
func (b *Buffer) Closed() bool { return b.root.res.closed.Load() }

func (b *Buffer) check() error { return b.root.res.check() }

// usable fails where nothing new may begin to use b.
func (b *Buffer) usable() error { return b.root.res.usable() }

// Slice is the part of b from element first (from 0) on. It shares the memory; closing either
// closes both.
func (b *Buffer) Slice(first, count int64) (*Buffer, error) {
	if err := b.usable(); err != nil {
		return nil, err
	}
	if first < 0 || count <= 0 || first > b.count || count > b.count-first {
		return nil, errorf(ErrParamInvalid, "slice of %d elements from %d on is not inside 1 to %d", count, first+1, b.count)
	}
	size := int64(b.typ.Size())
	return &Buffer{root: b.root, owner: b.allocation(), space: b.space, typ: b.typ, count: count, bytes: count * size, readOnly: b.readOnly,
		span: b.span.Slice(first*size, count*size)}, nil
}

func (b *Buffer) allocation() *Buffer {
	if b.owner != nil {
		return b.owner
	}
	return b
}

// Close gives the memory back, with all slices of it, once queued work that uses it is done.
func (b *Buffer) Close(t *Thread) error {
	return b.root.res.close(t, "", false)
}

// ParseDType returns the type called name ("float32") or an alias of it ("float").
func ParseDType(name string) (DType, bool) { return dtype.Parse(name) }

// DTypes lists the names of all types.
func DTypes() []string {
	var out []string
	for _, t := range dtype.All() {
		out = append(out, t.String())
	}
	return out
}
