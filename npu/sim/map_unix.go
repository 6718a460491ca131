//go:build unix

package sim

import "golang.org/x/sys/unix"

// mapMemory reserves size bytes of zeros; pages take memory when first touched.
func mapMemory(size int64) ([]byte, error) {
	data, err := unix.Mmap(-1, 0, int(size), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON|mapNoReserve)
	if err == nil {
		preferHugePages(data)
	}
	return data, err
}

func unmapMemory(data []byte) {
	// It fails only for memory that is not a mapping, which would be a defect here.
	if err := unix.Munmap(data); err != nil {
		panic("sim: unmap: " + err.Error())
	}
}
