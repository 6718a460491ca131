package guard

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// Map takes size bytes, all zero. Pages take memory when first touched.
func Map(size int64) ([]byte, error) {
	page := int64(unix.Getpagesize())
	inner := roundUp(size, page)
	all, err := unix.Mmap(-1, 0, int(inner+2*page), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON|unix.MAP_NORESERVE)
	if err != nil {
		return nil, err
	}
	for _, edge := range [][]byte{all[:page], all[page+inner:]} {
		if err := unix.Mprotect(edge, unix.PROT_NONE); err != nil {
			_ = unix.Munmap(all)
			return nil, err
		}
	}
	first := page + (inner-size)&^(align-1)
	return all[first : first+size : first+size], nil
}

// Free gives the memory of Map back, and keeps its addresses from ever being used again.
func Free(data []byte) {
	page := int64(unix.Getpagesize())
	skip := int64(uintptr(unsafe.Pointer(unsafe.SliceData(data)))) & (page - 1)
	start := unsafe.Add(unsafe.Pointer(unsafe.SliceData(data)), -skip)
	pages := unsafe.Slice((*byte)(start), roundUp(int64(len(data)), page))
	if err := unix.Mprotect(pages, unix.PROT_NONE); err != nil {
		panic("guard: " + err.Error())
	}
	_ = unix.Madvise(pages, unix.MADV_DONTNEED) // it only saves memory
}

func roundUp(n, unit int64) int64 { return (n + unit - 1) / unit * unit }
