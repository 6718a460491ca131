package sim

import "golang.org/x/sys/unix"

// mapNoReserve lets a device of many gigabytes be larger than the host's memory.
const mapNoReserve = unix.MAP_NORESERVE
