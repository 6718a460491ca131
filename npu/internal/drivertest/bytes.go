package drivertest

import (
	"bytes"
	"runtime"
	"unsafe"

	"npulua/npu/internal/driver"
)

func (t *tester) malloc(size int64) driver.Ptr {
	t.Helper()
	p, err := t.Malloc(size, driver.MemHugeFirst)
	t.must(err, "Malloc")
	return p
}

// filled is device memory where every byte is v.
func (t *tester) filled(size int64, v byte) driver.Ptr {
	t.Helper()
	p := t.malloc(size)
	t.must(t.Memset(p, size, v, size), "Memset")
	return p
}

// host is pinned host memory, zeroed.
func (t *tester) host(size int) (driver.Ptr, []byte) {
	t.Helper()
	p, err := t.MallocHost(int64(size))
	t.must(err, "MallocHost")
	t.Cleanup(func() { _ = t.FreeHost(p) })
	b := hostBytes(p, size)
	clear(b)
	return p, b
}

// hostBytes is the memory at an address of this process.
func hostBytes(p driver.Ptr, size int) []byte {
	address := uintptr(p)
	return unsafe.Slice((*byte)(*(*unsafe.Pointer)(unsafe.Pointer(&address))), size)
}

// plain is host memory that no driver knows. It stays where it is until the case ends.
func (t *tester) plain(size int) (driver.Ptr, []byte) {
	b := make([]byte, size)
	pin := new(runtime.Pinner)
	pin.Pin(&b[0])
	t.Cleanup(pin.Unpin)
	return driver.Ptr(uintptr(unsafe.Pointer(&b[0]))), b
}

// garbage is an address that is no handle but can be read.
func (t *tester) garbage() uintptr {
	p, _ := t.plain(4096)
	return uintptr(p)
}

// put writes device memory at once.
func (t *tester) put(dst driver.Ptr, data []byte) {
	t.Helper()
	p, b := t.plain(len(data))
	copy(b, data)
	t.must(t.Memcpy(dst, int64(len(b)), p, int64(len(b)), driver.HostToDevice), "Memcpy to the device")
}

// get reads device memory at once.
func (t *tester) get(src driver.Ptr, size int) []byte {
	t.Helper()
	p, b := t.plain(size)
	t.must(t.Memcpy(p, int64(size), src, int64(size), driver.DeviceToHost), "Memcpy from the device")
	return b
}

// wantBytes compares device memory.
func (t *tester) wantBytes(p driver.Ptr, want []byte, what string) {
	t.Helper()
	t.same(t.get(p, len(want)), want, what)
}

// wantFill compares device memory with a repeated byte.
func (t *tester) wantFill(p driver.Ptr, size int, v byte, what string) {
	t.Helper()
	t.wantBytes(p, bytes.Repeat([]byte{v}, size), what)
}

// same compares memory of one size and names the first difference.
func (t *tester) same(got, want []byte, what string) {
	t.Helper()
	if bytes.Equal(got, want) {
		return
	}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("%s: byte %d of %d is %#02x, want %#02x", what, i, len(want), got[i], want[i])
			return
		}
	}
}

// pattern is size bytes without a short period, different for each seed.
func pattern(size int, seed uint32) []byte {
	b := make([]byte, size)
	x := seed*2654435761 + 1
	for i := range b {
		x = x*1664525 + 1013904223
		b[i] = byte(x >> 24)
	}
	return b
}

// free is free memory of the current device.
func (t *tester) free() int64 {
	t.Helper()
	free, _, err := t.prober.MemInfo()
	t.must(err, "MemInfo")
	return free
}
