package main

import (
	"bytes"
	"math"
	"os"
	"runtime/metrics"
	"strconv"
	"syscall"

	"npulua/internal/proc"
)

// findMemoryLimit is the limit of the process that is reached first; nil: it has none.
func findMemoryLimit() *memoryLimit {
	var space syscall.Rlimit
	if syscall.Getrlimit(syscall.RLIMIT_AS, &space) == nil && space.Cur < math.MaxInt64 {
		return &memoryLimit{"ulimit -v", int64(space.Cur), usedSpace}
	}
	if n := proc.GroupMemory(); n < math.MaxInt64 {
		return &memoryLimit{"the limit of its cgroup", n, usedMemory}
	}
	return nil
}

// usedSpace is what the process takes of its address space, less what Go's heap has reserved and not used.
func usedSpace() int64 { return mapped(0) - idleHeap(true) }

// usedMemory is what it has of the memory of the machine, less what Go's heap can use again.
func usedMemory() int64 { return mapped(1) - idleHeap(false) }

// mapped is a column of /proc/self/statm in bytes: 0 is all of the address space, 1 what is in memory.
func mapped(column int) int64 {
	text, err := os.ReadFile("/proc/self/statm")
	fields := bytes.Fields(text)
	if err != nil || len(fields) <= column {
		return 0
	}
	pages, _ := strconv.ParseInt(string(fields[column]), 10, 64)
	return pages * int64(os.Getpagesize())
}

// idleHeap is what Go's heap has from the system and does not use; released: also what the system may use elsewhere
// meanwhile.
func idleHeap(released bool) int64 {
	s := []metrics.Sample{{Name: "/memory/classes/heap/free:bytes"}, {Name: "/memory/classes/heap/released:bytes"}}
	metrics.Read(s)
	n := int64(s[0].Value.Uint64())
	if released {
		n += int64(s[1].Value.Uint64())
	}
	return n
}
