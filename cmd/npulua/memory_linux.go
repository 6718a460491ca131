package main

import (
	"bytes"
	"fmt"
	"math"
	"os"
	"runtime/metrics"
	"strconv"

	"npulua/internal/proc"
)

// findSpaceLimit is the smallest resource limit of the memory of the process that is less than the machine has; nil: there
// is none.
func findSpaceLimit() *memoryLimit {
	s, n, ok := proc.TightestSpace()
	if !ok {
		return nil
	}
	used := func() int64 {
		all, _ := s.Used(0)
		return all - idleHeap(true)
	}
	return &memoryLimit{fmt.Sprintf("%s %d", s.Option, n>>10), n, used}
}

// findMemoryLimit is the limit of the process that is reached first; nil: it has none.
func findMemoryLimit() *memoryLimit {
	if limit := findSpaceLimit(); limit != nil {
		return limit
	}
	if n := proc.GroupMemory(); n < math.MaxInt64 {
		return &memoryLimit{"the limit of its cgroup", n, usedMemory}
	}
	return nil
}

// usedMemory is what it has of the memory of the machine, less what Go's heap can use again.
func usedMemory() int64 { return resident() - idleHeap(false) }

// resident is what of the process is in memory.
func resident() int64 {
	text, err := os.ReadFile("/proc/self/statm")
	fields := bytes.Fields(text)
	if err != nil || len(fields) < 2 {
		return 0
	}
	pages, _ := strconv.ParseInt(string(fields[1]), 10, 64)
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
