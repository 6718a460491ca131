package sim

import "golang.org/x/sys/unix"

// mapNoReserve lets a device of many gigabytes be larger than the host's memory.
const mapNoReserve = unix.MAP_NORESERVE

// preferHugePages has the system take large pages for buffers that are likely to be written whole: a third of the time of
// first copies goes into small ones. Larger memory is often touched here and there only.
func preferHugePages(data []byte) {
	if n := len(data); n >= 4<<20 && n <= 256<<20 {
		_ = unix.Madvise(data, unix.MADV_HUGEPAGE) // a kernel without them has small pages
	}
}
