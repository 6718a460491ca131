package sim

import (
	"fmt"
	"slices"
	"sort"
	"unsafe"

	"npulua/npu/internal/driver"
	"npulua/npu/internal/guard"
)

// poison fills device memory that nobody has written: NaN in every float type, -1 in signed
// integers, so that a result computed from it does not look right.
const poison = 0xff

// chunk is the unit in which poison is laid, when a command first touches it.
const chunk = 64 << 10

// mapAbove is the size from which memory is mapped, untouched and outside the garbage collector's
// heap, instead of allocated.
const mapAbove = 256 << 10

// block is one allocation of device or pinned host memory, with real bytes.
type block struct {
	base    driver.Ptr
	size    int64
	charged int64   // what it takes of the device
	dev     *device // nil for host memory
	data    []byte
	laid    []uint64          // a bit a chunk: holds poison or data; nil: all do
	unmap   func([]byte)      // gives data back; nil: it is Go's
	host    driver.HostMemory // that what is not Go's was taken of
	freed   bool
}

// newBlock reserves size bytes. Device memory is poisoned when touched; host memory is zero.
func (d *Driver) newBlock(size int64, dev *device) (*block, error) {
	b := &block{size: size, dev: dev, host: d.memory}
	if size >= mapAbove || d.guarded {
		if err := d.memory.Take(size); err != nil {
			return nil, err
		}
		take := mapMemory
		b.unmap = unmapMemory
		if d.guarded {
			take, b.unmap = guard.Map, guard.Free
		}
		var err error
		if b.data, err = take(size); err != nil {
			d.memory.Give(size)
			return nil, fmt.Errorf("requested %d B: %w", size, err)
		}
		if dev != nil {
			b.laid = make([]uint64, (size+chunk*64-1)/(chunk*64))
		}
		return b, nil
	}
	buf := make([]byte, size+63)
	skip := int64(-uintptr(unsafe.Pointer(unsafe.SliceData(buf))) & 63)
	b.data = buf[skip : skip+size : skip+size]
	if dev != nil {
		fill(b.data, poison, 1)
	}
	return b, nil
}

func (b *block) release() {
	if b.unmap != nil {
		b.unmap(b.data)
		b.host.Give(b.size)
	}
	b.data = nil
	b.freed = true
}

// bytes is n bytes from offset off, with poison laid where nobody wrote. The range must be inside.
// overwrite says that the caller writes all of it, so that whole chunks need no poison.
func (b *block) bytes(off, n int64, overwrite bool) []byte {
	if b.laid != nil && n > 0 {
		b.lay(off, n, overwrite)
	}
	return b.data[off : off+n : off+n]
}

func (b *block) lay(off, n int64, overwrite bool) {
	for c := off / chunk; c <= (off+n-1)/chunk; c++ {
		word, bit := c/64, uint64(1)<<(c%64)
		if b.laid[word]&bit != 0 {
			continue
		}
		b.laid[word] |= bit
		first, last := c*chunk, min((c+1)*chunk, b.size)
		if overwrite && off <= first && last <= off+n {
			continue
		}
		fill(b.data[first:last], poison, 1)
	}
}

// space finds the block that holds an address. Blocks are sorted by address. Freed device blocks
// stay as tombstones until they are many, which is safe because device addresses are not reused.
type space struct {
	blocks []*block
	dead   int
	last   *block
}

func (s *space) add(b *block) {
	i := len(s.blocks)
	if i > 0 && s.blocks[i-1].base > b.base {
		i = sort.Search(i, func(i int) bool { return s.blocks[i].base >= b.base })
	}
	s.blocks = append(s.blocks, nil)
	copy(s.blocks[i+1:], s.blocks[i:])
	s.blocks[i] = b
}

// find returns the live block that holds p, or nil.
func (s *space) find(p driver.Ptr) *block {
	if b := s.last; b != nil && p >= b.base && p-b.base < driver.Ptr(b.size) {
		return b
	}
	i := sort.Search(len(s.blocks), func(i int) bool { return s.blocks[i].base > p })
	if i == 0 {
		return nil
	}
	b := s.blocks[i-1]
	if b.freed || p-b.base >= driver.Ptr(b.size) {
		return nil
	}
	s.last = b
	return b
}

func (s *space) remove(b *block) {
	b.release()
	if s.last == b {
		s.last = nil
	}
	if b.dev == nil {
		i := sort.Search(len(s.blocks), func(i int) bool { return s.blocks[i].base >= b.base })
		s.blocks = slices.Delete(s.blocks, i, i+1)
		return
	}
	if s.dead++; s.dead > 64 && s.dead > len(s.blocks)/2 {
		live := s.blocks[:0]
		for _, b := range s.blocks {
			if !b.freed {
				live = append(live, b)
			}
		}
		clear(s.blocks[len(live):])
		s.blocks, s.dead = live, 0
	}
}

// clear frees every block.
func (s *space) clear() {
	for _, b := range s.blocks {
		if !b.freed {
			b.release()
		}
	}
	*s = space{}
}

// Device addresses say their device: each has a range of its own, far from any host address.
const deviceShift = 48

func deviceBase(id int) driver.Ptr { return driver.Ptr(id+1) << deviceShift }

// maxDevices is the runtime's own limit.
const maxDevices = 64

// Malloc implements driver.Driver. The device is charged as the runtime does: 32 bytes more,
// rounded up to 32; with a huge-page policy whole 2 MiB pages.
func (d *Driver) Malloc(size int64, policy driver.MemPolicy) (driver.Ptr, error) {
	const call = "aclrtMalloc"
	if size <= 0 {
		return 0, driver.Errorf(driver.CodeInvalidParam, call, "size is %d B", size)
	}
	ctx, err := d.needContext(call)
	if err != nil {
		return 0, err
	}
	d.host(costMalloc)
	dev := ctx.dev
	if size > dev.profile.MemoryBytes-dev.used {
		return 0, outOfMemory(call, size, dev)
	}
	small := (size+31)/32*32 + 32
	charged := small
	if hugePages(size, policy) {
		charged = (size + hugePage - 1) / hugePage * hugePage
	}
	if charged > dev.profile.MemoryBytes-dev.used {
		if policy == driver.MemHugeOnly || policy == driver.MemHugeOnlyP2P {
			return 0, outOfMemory(call, size, dev)
		}
		charged = min(small, dev.profile.MemoryBytes-dev.used)
	}
	b, err := d.newBlock(size, dev)
	if err != nil {
		return 0, driver.Errorf(driver.CodeMemoryAllocation, call, "the host cannot reserve %d B for the simulated device: %v", size, err).OfHost()
	}
	b.base = dev.nextAddr
	b.charged = charged
	dev.nextAddr += driver.Ptr((size+32+63)/64*64 + 64)
	dev.used += charged
	dev.mem.add(b)
	return b.base, nil
}

const hugePage = 2 << 20

func hugePages(size int64, policy driver.MemPolicy) bool {
	switch policy {
	case driver.MemHugeOnly, driver.MemHugeOnlyP2P:
		return true
	case driver.MemNormalOnly, driver.MemNormalOnlyP2P:
		return false
	}
	return size > 1<<20
}

func outOfMemory(call string, size int64, dev *device) error {
	return driver.Errorf(driver.CodeMemoryAllocation, call, "requested %d B, %d B free on device %d",
		size, dev.profile.MemoryBytes-dev.used, dev.id)
}

// Free implements driver.Driver.
func (d *Driver) Free(p driver.Ptr) error {
	const call = "aclrtFree"
	if p == 0 {
		return driver.Errorf(driver.CodeInvalidParam, call, "address is NULL")
	}
	d.host(costMalloc)
	dev := d.deviceOf(p)
	if dev == nil {
		if b := d.pinned.find(p); b != nil && b.base == p {
			return nil // accepted and ignored, as seen on the runtime
		}
		return driver.Errorf(driver.CodeRtParamInvalid, call, "%#x is no allocation", uint64(p))
	}
	b := dev.mem.find(p)
	if b == nil || b.base != p {
		return driver.Errorf(driver.CodeRtParamInvalid, call, "%#x is no allocation", uint64(p))
	}
	dev.used -= b.charged
	dev.mem.remove(b)
	return nil
}

// MallocHost implements driver.Driver.
func (d *Driver) MallocHost(size int64) (driver.Ptr, error) {
	const call = "aclrtMallocHost"
	if size <= 0 {
		return 0, driver.Errorf(driver.CodeInvalidParam, call, "size is %d B", size)
	}
	if _, err := d.needContext(call); err != nil {
		return 0, err
	}
	d.host(costMalloc)
	if size > maxPinned {
		return 0, driver.Errorf(driver.CodeMemoryAllocation, call, "requested %d B, at most %d B", size, int64(maxPinned))
	}
	b, err := d.newBlock(size, nil)
	if err != nil {
		return 0, driver.Errorf(driver.CodeMemoryAllocation, call, "%v", err)
	}
	b.base = addressOf(b.data)
	d.pinned.add(b)
	return b.base, nil
}

// maxPinned bounds one pinned allocation: larger ones fail on real hosts too.
const maxPinned = 1 << 40

// FreeHost implements driver.Driver.
func (d *Driver) FreeHost(p driver.Ptr) error {
	const call = "aclrtFreeHost"
	if p == 0 {
		return driver.Errorf(driver.CodeInvalidParam, call, "address is NULL")
	}
	d.host(costMalloc)
	b := d.pinned.find(p)
	if b == nil || b.base != p {
		return driver.Errorf(driver.CodeRtParamInvalid, call, "%#x is no allocation of pinned host memory", uint64(p))
	}
	d.pinned.remove(b)
	return nil
}

func addressOf(data []byte) driver.Ptr {
	return driver.Ptr(uintptr(unsafe.Pointer(unsafe.SliceData(data))))
}

// hostBytes is the memory at an address of this process. The caller of the driver keeps it alive.
func hostBytes(p driver.Ptr, n int64) []byte {
	addr := uintptr(p)
	return unsafe.Slice(*(**byte)(unsafe.Pointer(&addr)), n)
}
