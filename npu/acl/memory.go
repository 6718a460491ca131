//go:build linux && (amd64 || arm64)

package acl

import (
	"cmp"
	"slices"

	"npulua/npu/internal/driver"
)

// allocation is memory that the library has given.
type allocation struct {
	base   driver.Ptr
	size   int64
	device int // of device memory
	host   bool
}

// allocations are in the order of their addresses: every queued copy looks its operands up.
type allocations []allocation

// search is where the allocation with that base is, or would be.
func (l allocations) search(base driver.Ptr) (int, bool) {
	return slices.BinarySearchFunc(l, base, func(a allocation, p driver.Ptr) int { return cmp.Compare(a.base, p) })
}

// holds reports whether p is in an allocation.
func (l allocations) holds(p driver.Ptr) bool {
	i, exact := l.search(p)
	return exact || i > 0 && p < l[i-1].base+driver.Ptr(l[i-1].size)
}

func (d *Driver) allocate(f *function, size int64, a allocation, args ...uintptr) (driver.Ptr, error) {
	if d.current == nil {
		return 0, d.noContext(f)
	}
	if size <= 0 {
		return 0, driver.Errorf(driver.CodeInvalidParam, f.name, "%d B are no size", size)
	}
	if err := d.call(f, append([]uintptr{d.out.at(0), uintptr(size)}, args...)...); err != nil {
		return 0, err
	}
	p := driver.Ptr(d.out[0])
	a.base, a.size, a.device = p, size, d.current.device
	i, _ := d.memory.search(p)
	d.memory = slices.Insert(d.memory, i, a)
	return p, nil
}

// Malloc implements driver.Driver.
func (d *Driver) Malloc(size int64, policy driver.MemPolicy) (driver.Ptr, error) {
	return d.allocate(&d.malloc, size, allocation{}, uintptr(policy))
}

// MallocHost implements driver.Driver.
func (d *Driver) MallocHost(size int64) (driver.Ptr, error) {
	return d.allocate(&d.mallocHost, size, allocation{host: true})
}

// Free implements driver.Driver.
func (d *Driver) Free(p driver.Ptr) error { return d.release(&d.free, p, false) }

// FreeHost implements driver.Driver.
func (d *Driver) FreeHost(p driver.Ptr) error { return d.release(&d.freeHost, p, true) }

func (d *Driver) release(f *function, p driver.Ptr, host bool) error {
	i, ok := d.memory.search(p)
	switch {
	case p == 0:
		return driver.Errorf(driver.CodeInvalidParam, f.name, "the address is NULL")
	case ok && d.memory[i].host && !host:
		return nil // the library ignores it
	case !ok || d.memory[i].host != host:
		return driver.Errorf(driver.CodeRtParamInvalid, f.name, "%#x is no allocation", uint64(p))
	}
	if err := d.call(f, uintptr(p)); err != nil {
		return err
	}
	d.memory = slices.Delete(d.memory, i, i+1)
	return nil
}

// dropMemory forgets the memory of a device that nothing holds open any more.
func (d *Driver) dropMemory(device int) {
	if d.inUse(device) {
		return
	}
	d.memory = slices.DeleteFunc(d.memory, func(a allocation) bool { return !a.host && a.device == device })
}

// Memcpy implements driver.Driver.
func (d *Driver) Memcpy(dst driver.Ptr, dstMax int64, src driver.Ptr, size int64, kind driver.CopyKind) error {
	if size == 0 {
		return nil
	}
	return d.call(&d.memcpy, uintptr(dst), uintptr(dstMax), uintptr(src), uintptr(size), uintptr(kind))
}

// Memset implements driver.Driver.
func (d *Driver) Memset(dst driver.Ptr, dstMax int64, value byte, size int64) error {
	if size == 0 {
		return nil
	}
	return d.call(&d.memset, uintptr(dst), uintptr(dstMax), uintptr(value), uintptr(size))
}
