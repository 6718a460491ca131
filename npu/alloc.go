package npu

import (
	"fmt"
	"maps"
	"runtime"
	"slices"

	"npulua/npu/internal/driver"
	"npulua/npu/internal/dtype"
	"npulua/npu/internal/guard"
	"npulua/npu/internal/span"
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
	if err := c.res.usable(); err != nil {
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
	m := newMemory(c.dev)
	b := &Buffer{root: m, space: DeviceMemory, typ: typ, count: count, bytes: n}
	p := new(driver.Ptr)
	m.res = &resource{kind: "device memory", detail: describe(typ, count, n), parent: c.dev.res, explicit: true,
		ctx: c.dev.deflt.h, destroy: func(d driver.Driver, _ bool) error { return d.Free(*p) }}
	m.guard(m.res)
	err = t.create(c.h, m.res, func(d driver.Driver) (err error) {
		if err = c.res.usable(); err != nil {
			return err
		}
		*p, err = d.Malloc(n, pol)
		return err
	})
	if err != nil {
		return nil, hintMemory(goneOr(err, c.res.usable))
	}
	b.span = span.Whole(span.Device(*p), n)
	runtime.AddCleanup(b, (*resource).collect, m.res)
	return b, nil
}

// Host takes host memory for count elements, all zero. pinned memory can be used by queued copies
// and needs a current context; pageable memory is ordinary memory of the process. ErrMemoryAllocation for more than the
// machine can have.
func (t *Thread) Host(typ DType, count int64, pinned bool) (*Buffer, error) {
	n, err := size(typ, count)
	if err != nil {
		return nil, err
	}
	m := newMemory(nil)
	b := &Buffer{root: m, space: PageableMemory, typ: typ, count: count, bytes: n}
	detail := describe(typ, count, n)
	if pinned {
		b.space = PinnedMemory
		err = t.pin(b, detail)
	} else {
		err = t.takePageable(b, detail)
	}
	if err != nil {
		return nil, err
	}
	runtime.AddCleanup(b, (*resource).collect, m.res)
	return b, nil
}

// takePageable gives b memory of the process.
func (t *Thread) takePageable(b *Buffer, detail string) error {
	s, n := t.s, b.bytes
	if n > maxPageable {
		return noHostMemory("requested %d B of pageable host memory, at most %d B", n, int64(maxPageable))
	}
	if s.host.take(n) != nil { // once more, without what nobody can reach
		if err := t.retry(nil, 0, func(driver.Driver) error { return s.host.take(n) }); err != nil {
			return err
		}
	}
	if n > askFirst && !reservable(n) {
		s.host.give(n)
		return hinted(noHostMemory("requested %d B of pageable host memory, the system has less", n), hostHint)
	}
	err := s.memory().Room(n)
	var data []byte
	give := func() { s.host.give(n) }
	switch {
	case err != nil:
	case s.opts.Guarded:
		data, err = guard.Map(n)
		give = func() { s.host.give(n); guard.Free(data) }
	default:
		data = make([]byte, n)
	}
	if err != nil {
		s.host.give(n)
		return noHostMemory("%v", err)
	}
	block := span.Host(data, give)
	b.span = span.Whole(block, n)
	b.root.res = &resource{kind: "host memory", detail: detail, explicit: true, drop: block.Release}
	if err := s.adopt(b.root.res, t.origin()); err != nil {
		block.Release()
		return err
	}
	return nil
}

// pin gives b memory that the driver can copy from and to by itself.
func (t *Thread) pin(b *Buffer, detail string) error {
	ctx, err := t.CurrentContext()
	if err != nil {
		return hinted(errorf(ErrContextNull, "pinned host memory needs a current context"),
			t.contextHint(", or pass {pinned = false} for ordinary memory"))
	}
	m, s, n := b.root, t.s, b.bytes
	var block *span.Block
	m.res = &resource{kind: "pinned memory", detail: detail, explicit: true, destroy: s.unpinLast(&block)}
	m.guard(m.res)
	err = t.create(ctx.h, m.res, func(d driver.Driver) error {
		p, err := s.mallocHost(d, n)
		if err == nil {
			block = s.pinned(p, n)
		}
		return err
	})
	if err != nil {
		return goneOr(err, ctx.res.check)
	}
	b.span = span.Whole(block, n)
	return nil
}

// pinned is the block of pinned memory; the session gives it back at its end, where somebody holds it until then.
func (s *Session) pinned(p driver.Ptr, n int64) *span.Block {
	var block *span.Block
	block = span.At(p, n, func() {
		s.exec.Release(func(d driver.Driver) bool {
			_ = s.unpin(d, block) // nobody is left to tell
			return true
		})
	})
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pins[block] = pin{p, n}
	return block
}

// pin is a block of pinned memory as the driver knows it.
type pin struct {
	p driver.Ptr
	n int64
}

// unpinLast ends the hold of a handle; with the last one it gives the memory to the driver.
func (s *Session) unpinLast(block **span.Block) func(driver.Driver, bool) error {
	return func(d driver.Driver, _ bool) error {
		if !(*block).Drop() {
			return nil
		}
		return s.unpin(d, *block)
	}
}

// unpin gives a block that nobody holds to the driver, on the executor's thread.
func (s *Session) unpin(d driver.Driver, block *span.Block) error {
	s.mu.Lock()
	x, ok := s.pins[block]
	delete(s.pins, block)
	s.mu.Unlock()
	if !ok {
		return nil
	}
	s.givenHost(x.n)
	return d.FreeHost(x.p)
}

// unpinRest gives back, at the end of the session, what is on its way between threads and nobody will receive.
func (s *Session) unpinRest(t *Thread) {
	_ = t.c.Call(0, func(d driver.Driver) error {
		s.mu.Lock()
		left := slices.Collect(maps.Keys(s.pins))
		s.mu.Unlock()
		for _, block := range left {
			_ = s.unpin(d, block) // the session ends either way
		}
		return nil
	})
}

// mallocHost takes pinned memory. That of the simulator asks the sandbox for itself; of the machine's memory the library
// knows best.
func (s *Session) mallocHost(d driver.Driver, n int64) (p driver.Ptr, err error) {
	if n > maxPageable { // the driver says so
		p, err = d.MallocHost(n)
		return p, ofHost(err)
	}
	if s.info.Simulated {
		if err := s.host.take(n); err != nil {
			return 0, err
		}
	} else if err := s.memory().Take(n); err != nil {
		return 0, driver.Errorf(driver.CodeMemoryAllocation, "aclrtMallocHost", "%v", err).OfHost()
	}
	if p, err = d.MallocHost(n); err != nil {
		s.givenHost(n)
	}
	return p, ofHost(err)
}

// ofHost is err of an allocation that the driver made of host memory.
func ofHost(err error) error {
	err = own(err)
	if e, ok := err.(*Error); ok {
		return e.OfHost()
	}
	return err
}

// givenHost says that n bytes of mallocHost are given back.
func (s *Session) givenHost(n int64) {
	if s.info.Simulated {
		s.host.give(n)
	} else {
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

// retry calls create where usable returns nil, and once more after giving back what nobody can reach where memory, streams
// or events are short, and no rule has them so. The second call takes no time of a virtual clock: it must not show when
// garbage was collected.
func (t *Thread) retry(usable func() error, ctx driver.Context, create func(driver.Driver) error) error {
	err := t.callWhere(usable, ctx, create)
	e, ok := err.(*Error)
	if !ok || e.Injected || e.Code != ErrMemoryAllocation && e.Code != driver.CodeResourceStream && e.Code != driver.CodeResourceEvent {
		return err
	}
	collectGarbage()
	return t.callWhere(usable, ctx, func(d driver.Driver) error {
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

func hintMemory(err error) error {
	if e, ok := err.(*Error); ok && e.Code == ErrMemoryAllocation && !e.Injected {
		e.Hint = "close buffers that are no longer used; `npulua --leaks` lists them"
	}
	return err
}
