package npu

import (
	"fmt"
	"runtime"
	"time"
	"unsafe"

	"npulua/npu/internal/driver"
	"npulua/npu/internal/dtype"
)

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

// policies are the page policies of Alloc, the default first.
var policies = []struct {
	name   string
	policy driver.MemPolicy
}{
	{"huge_first", driver.MemHugeFirst},
	{"huge_only", driver.MemHugeOnly},
	{"normal_only", driver.MemNormalOnly},
	{"huge_first_p2p", driver.MemHugeFirstP2P},
	{"huge_only_p2p", driver.MemHugeOnlyP2P},
	{"normal_only_p2p", driver.MemNormalOnlyP2P},
}

// Policies lists the names that Alloc takes.
func Policies() []string {
	var names []string
	for _, p := range policies {
		names = append(names, p.name)
	}
	return names
}

func policyOf(name string) (driver.MemPolicy, error) {
	if name == "" {
		return policies[0].policy, nil
	}
	for _, p := range policies {
		if p.name == name {
			return p.policy, nil
		}
	}
	return 0, errorf(ErrInvalidParam, "unknown policy %q%s", name, Suggest(name, Policies()))
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
	pol, err := policyOf(policy)
	if err != nil {
		return nil, err
	}
	var p driver.Ptr
	alloc := func(d driver.Driver) (err error) {
		p, err = d.Malloc(n, pol)
		return err
	}
	if err := t.retry(c.h, alloc); err != nil {
		return nil, hintMemory(err)
	}
	m := newMemory(c.dev)
	m.res = t.s.adopt(t, &resource{kind: "device memory", detail: describe(typ, count, n), parent: c.dev.res, explicit: true,
		ctx: c.dev.deflt.h, destroy: func(d driver.Driver, _ bool) error { return d.Free(p) }})
	m.guard(m.res)
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
	m := newMemory(nil)
	b := &Buffer{root: m, space: PageableMemory, typ: typ, count: count, bytes: n}
	if !pinned {
		if n > maxPageable {
			return nil, errorf(ErrMemoryAllocation, "requested %d B of pageable host memory, at most %d B", n, int64(maxPageable))
		}
		if n > askFirst && !reservable(n) {
			return nil, hinted(errorf(ErrMemoryAllocation, "requested %d B of pageable host memory, the system has less", n),
				"work on slices of the buffer")
		}
		if err := t.s.memory().Room(n); err != nil {
			return nil, errorf(ErrMemoryAllocation, "%v", err)
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
			t.contextHint(", or pass {pinned = false} for ordinary memory"))
	}
	b.space = PinnedMemory
	alloc := func(d driver.Driver) (err error) {
		b.ptr, err = t.s.mallocHost(d, n)
		return err
	}
	if err := t.retry(ctx.h, alloc); err != nil {
		return nil, err
	}
	b.data = bytesAt(b.ptr, n)
	p, session := b.ptr, t.s
	m.res = t.s.adopt(t, &resource{kind: "pinned memory", detail: describe(typ, count, n), explicit: true,
		destroy: m.freeHost(p, func() { session.givenHost(n) })})
	m.guard(m.res)
	runtime.AddCleanup(b, (*resource).collect, m.res)
	return b, nil
}

// mallocHost takes pinned memory. That of the simulator asks for itself.
func (s *Session) mallocHost(d driver.Driver, n int64) (p driver.Ptr, err error) {
	if !s.info.Simulated {
		if err := s.memory().Take(n); err != nil {
			return 0, driver.Errorf(driver.CodeMemoryAllocation, "aclrtMallocHost", "%v", err)
		}
	}
	if p, err = d.MallocHost(n); err != nil && !s.info.Simulated {
		s.memory().Give(n)
	}
	return p, err
}

// givenHost says that n bytes of mallocHost are given back.
func (s *Session) givenHost(n int64) {
	if !s.info.Simulated {
		s.memory().Give(n)
	}
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

// retry calls create, and once more after giving back what nobody can reach where memory, streams
// or events are short, and no rule has them so. The second call takes no time of a virtual clock: it must not show when
// garbage was collected.
func (t *Thread) retry(ctx driver.Context, create func(driver.Driver) error) error {
	err := t.call(ctx, create)
	e, ok := err.(*Error)
	if !ok || e.Injected || e.Code != ErrMemoryAllocation && e.Code != driver.CodeResourceStream && e.Code != driver.CodeResourceEvent {
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
	if e, ok := err.(*Error); ok && e.Code == ErrMemoryAllocation && !e.Injected {
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
