package npu

import (
	"fmt"
	"runtime"
	"strings"
	"time"
	"unsafe"

	"npulua/npu/internal/driver"
	"npulua/npu/internal/dtype"
	"npulua/npu/internal/executor"
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
	ptr      driver.Ptr
	data     []byte // host memory only
	readOnly bool   // host memory that may not be written: an input of a kernel
	shape    []int  // of what was read from a file; nil: a vector
}

// memory is one allocation and who uses it.
type memory struct {
	res *resource
	dev *Device // nil for host memory
	// uses are the streams with queued work on the memory, with the last command of each.
	uses  []use
	first [2]use // backs uses
}

type use struct {
	st     *streamState
	ticket uint64 // last command that touches the memory
	write  uint64 // last one that writes it; 0: none
	site   Site   // of the last write, else of the last use
}

// MaxBytes is the size that a buffer can have at most: beyond it sizes are no exact Lua numbers.
const MaxBytes = 1 << 53

// size checks a number of elements and returns the bytes.
func size(typ DType, count int64) (int64, error) {
	if typ == dtype.Invalid {
		return 0, errorf(ErrInvalidParam, "no type")
	}
	if count <= 0 {
		return 0, errorf(ErrInvalidParam, "count must be 1 or more, got %d", count)
	}
	if count > MaxBytes/int64(typ.Size()) {
		return 0, errorf(ErrInvalidParam, "%d x %s is more than 2^53 B", count, typ)
	}
	return count * int64(typ.Size()), nil
}

// Policies names the page policies of Alloc.
var policies = map[string]driver.MemPolicy{
	"huge_first": driver.MemHugeFirst, "huge_only": driver.MemHugeOnly, "normal_only": driver.MemNormalOnly,
	"huge_first_p2p": driver.MemHugeFirstP2P, "huge_only_p2p": driver.MemHugeOnlyP2P, "normal_only_p2p": driver.MemNormalOnlyP2P,
}

// Policies lists the names that Alloc takes.
func Policies() []string {
	return []string{"huge_first", "huge_only", "normal_only", "huge_first_p2p", "huge_only_p2p", "normal_only_p2p"}
}

// Alloc takes device memory for count elements on the device of c; its contents are undefined.
// policy is one of Policies, or "" for huge_first. ErrMemoryAllocation where that much is not free,
// after unreachable buffers were given back.
func (c *Context) Alloc(t *Thread, typ DType, count int64, policy string) (*Buffer, error) {
	if err := c.res.check(); err != nil {
		return nil, err
	}
	n, err := size(typ, count)
	if err != nil {
		return nil, err
	}
	if policy == "" {
		policy = "huge_first"
	}
	pol, ok := policies[policy]
	if !ok {
		return nil, errorf(ErrInvalidParam, "unknown policy %q%s", policy, Suggest(policy, Policies()))
	}
	var p driver.Ptr
	alloc := func(d driver.Driver) (err error) {
		p, err = d.Malloc(n, pol)
		return err
	}
	if err := t.retry(c.h, alloc); err != nil {
		return nil, hintMemory(err)
	}
	m := &memory{dev: c.dev}
	m.uses = m.first[:0]
	m.res = t.s.adopt(t, &resource{kind: "device memory", detail: describe(typ, count, n), parent: c.dev.res, explicit: true,
		ctx: c.dev.deflt.h, destroy: func(d driver.Driver, _ bool) error { return d.Free(p) }})
	m.setLifetime()
	b := &Buffer{root: m, space: DeviceMemory, typ: typ, count: count, bytes: n, ptr: p}
	runtime.AddCleanup(b, (*resource).collect, m.res)
	return b, nil
}

// Host takes host memory for count elements, all zero. pinned memory can be used by queued copies
// and needs a current context; pageable memory is ordinary memory of the process.
func (t *Thread) Host(typ DType, count int64, pinned bool) (*Buffer, error) {
	n, err := size(typ, count)
	if err != nil {
		return nil, err
	}
	m := &memory{}
	m.uses = m.first[:0]
	b := &Buffer{root: m, space: PageableMemory, typ: typ, count: count, bytes: n}
	if !pinned {
		if n > maxPageable {
			return nil, errorf(ErrMemoryAllocation, "requested %d B of pageable host memory, at most %d B", n, int64(maxPageable))
		}
		if n > askFirst && !reservable(n) {
			return nil, hinted(errorf(ErrMemoryAllocation, "requested %d B of pageable host memory, the system has less", n),
				"work on slices of the buffer")
		}
		b.data = make([]byte, n)
		b.ptr = addressOf(b.data)
		m.res = t.s.adopt(t, &resource{kind: "host memory", detail: describe(typ, count, n), explicit: true})
		runtime.AddCleanup(b, (*resource).collect, m.res)
		return b, nil
	}
	ctx, err := t.CurrentContext()
	if err != nil {
		return nil, hinted(errorf(ErrContextNull, "pinned host memory needs a current context"),
			"call npu.device(0) first, or pass {pinned = false} for ordinary memory")
	}
	b.space = PinnedMemory
	alloc := func(d driver.Driver) (err error) {
		b.ptr, err = d.MallocHost(n)
		return err
	}
	if err := t.retry(ctx.h, alloc); err != nil {
		return nil, err
	}
	b.data = bytesAt(b.ptr, n)
	p := b.ptr
	m.res = t.s.adopt(t, &resource{kind: "pinned memory", detail: describe(typ, count, n), explicit: true,
		destroy: func(d driver.Driver, _ bool) error { return d.FreeHost(p) }})
	m.setLifetime()
	runtime.AddCleanup(b, (*resource).collect, m.res)
	return b, nil
}

// maxPageable bounds one pageable buffer, as the simulator bounds pinned ones. Above askFirst the
// system is asked.
const (
	maxPageable = 1 << 40
	askFirst    = 256 << 20
)

func describe(typ DType, count, bytes int64) string {
	return fmt.Sprintf("%s x %d (%d B)", typ, count, bytes)
}

// setLifetime lets the memory live as long as queued work uses it.
func (m *memory) setLifetime() {
	m.res.before = func(t *Thread) error { return m.settle(t, false) }
	m.res.idle = func(d driver.Driver) bool {
		for _, u := range m.uses {
			if !u.st.idle(d) {
				return false
			}
		}
		return true
	}
}

// retry calls create, and once more after giving back what nobody can reach where memory, streams
// or events are short. The second call takes no time of a virtual clock: it must not show when
// garbage was collected.
func (t *Thread) retry(ctx driver.Context, create func(driver.Driver) error) error {
	err := t.call(ctx, create)
	e, ok := err.(*Error)
	if !ok || e.Code != ErrMemoryAllocation && e.Code != driver.CodeResourceStream && e.Code != driver.CodeResourceEvent {
		return err
	}
	t.s.collectGarbage()
	return t.call(ctx, func(d driver.Driver) error {
		return t.s.exec.Again(func() error {
			if ctx != 0 {
				if err := d.SetCurrentContext(ctx); err != nil {
					return err
				}
			}
			return create(d)
		})
	})
}

// collectGarbage finds unreachable handles. Their cleanups run on a goroutine of the runtime, after
// the collection that found them; the second collection waits for the first one's queue.
func (s *Session) collectGarbage() {
	done := make(chan struct{})
	mark := new([64]byte)
	runtime.AddCleanup(mark, func(ch chan struct{}) { close(ch) }, done)
	for range 2 {
		runtime.GC()
	}
	select {
	case <-done:
	case <-time.After(time.Second): // the runtime's goroutine has no time
	}
}

func hintMemory(err error) error {
	if e, ok := err.(*Error); ok && e.Code == ErrMemoryAllocation {
		e.Hint = "close buffers that are no longer used; `npulua --leaks` lists them"
	}
	return err
}

func addressOf(data []byte) driver.Ptr {
	return driver.Ptr(uintptr(unsafe.Pointer(unsafe.SliceData(data))))
}

// bytesAt is driver memory as a slice. It is not the garbage collector's: the handle frees it.
func bytesAt(p driver.Ptr, n int64) []byte {
	addr := uintptr(p)
	return unsafe.Slice(*(**byte)(unsafe.Pointer(&addr)), n)
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
func (b *Buffer) Closed() bool { return b.root.res.closed }

func (b *Buffer) check() error {
	if b.root.res.closed {
		e := b.root.res.closedError()
		e.Detail = "buffer " + strings.TrimPrefix(e.Detail, b.root.res.kind+" ")
		return e
	}
	return nil
}

// Slice is the part of b from element first (from 0) on. It shares the memory; closing either
// closes both.
func (b *Buffer) Slice(first, count int64) (*Buffer, error) {
	if err := b.check(); err != nil {
		return nil, err
	}
	if first < 0 || count <= 0 || first > b.count || count > b.count-first {
		return nil, errorf(ErrParamInvalid, "slice of %d elements from %d on is not inside 1 to %d", count, first+1, b.count)
	}
	size := int64(b.typ.Size())
	s := &Buffer{root: b.root, owner: b.allocation(), space: b.space, typ: b.typ, count: count, bytes: count * size, readOnly: b.readOnly,
		ptr: b.ptr + driver.Ptr(first*size)}
	if b.data != nil {
		s.data = b.data[first*size : (first+count)*size : (first+count)*size]
	}
	return s, nil
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

// used notes that the next command of st touches b.
func (b *Buffer) used(st *streamState, site Site, write bool) {
	ticket := st.queued + 1
	uses := b.root.uses
	for i := range uses {
		if u := &uses[i]; u.st == st {
			u.ticket = ticket
			if write {
				u.write, u.site = ticket, site
			} else if u.write == 0 {
				u.site = site
			}
			return
		}
	}
	b.root.note(st, ticket, site, write)
}

func (m *memory) note(st *streamState, ticket uint64, site Site, write bool) {
	live := m.uses[:0]
	for _, u := range m.uses {
		if u.ticket > u.st.synced {
			live = append(live, u)
		}
	}
	u := use{st: st, ticket: ticket, site: site}
	if write {
		u.write = ticket
	}
	m.uses = append(live, u)
}

// settle waits for the queued work that uses the memory, or only for that which writes it. Faults
// stay with their streams.
func (m *memory) settle(t *Thread, writesOnly bool) error {
	for _, u := range m.uses {
		last := u.ticket
		if writesOnly {
			last = u.write
		}
		if last <= u.st.synced {
			continue
		}
		ticket := u.st.queued
		u.st.pins.Add(1)
		left, err := t.s.unfinished(t, []*streamState{u.st}, nil) // at no cost: it may be gone
		if err == nil && left != nil {
			err = t.wait(&executor.Target{Kind: executor.WaitStream, Context: u.st.ctx, Stream: u.st.h, Timeout: -1, KeepFaults: true})
		}
		u.st.pins.Add(-1)
		if err != nil {
			return err
		}
		u.st.known(ticket)
	}
	return nil
}

// pendingError is the refusal to touch host memory that queued work still uses.
func (b *Buffer) pendingError(write bool) error {
	for _, u := range b.root.uses {
		last := u.write
		if write {
			last = u.ticket
		}
		if last > u.st.synced && !u.st.held {
			verb := "reads"
			if u.write > u.st.synced {
				verb = "writes"
			}
			at := b.root.res.session.Where(u.site)
			if at != "" {
				at = " from " + at
			}
			return hinted(errorf(ErrParamInvalid, "a queued command%s still %s this buffer", at, verb),
				"synchronize the stream, or wait for an event after it, before the host touches the buffer")
		}
	}
	return nil
}

// touch refuses to let the host read (or write) memory that queued work writes (or uses).
func (b *Buffer) touch(write bool) error {
	if b.root.res.closed {
		return b.check()
	}
	if write && b.readOnly {
		return errorf(ErrParamInvalid, "an input of the kernel cannot be written")
	}
	if len(b.root.uses) > 0 {
		return b.pendingError(write)
	}
	return nil
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
