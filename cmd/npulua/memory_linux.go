package main

import (
	"bytes"
	"cmp"
	"math"
	"os"
	"path"
	"runtime/metrics"
	"strconv"
	"strings"
	"syscall"
)

// findMemoryLimit is the limit of the process that is reached first; nil: it has none.
func findMemoryLimit() *memoryLimit {
	var space syscall.Rlimit
	if syscall.Getrlimit(syscall.RLIMIT_AS, &space) == nil && space.Cur < math.MaxInt64 {
		return &memoryLimit{"ulimit -v", int64(space.Cur), usedSpace}
	}
	if n := cgroupLimit(); n > 0 {
		return &memoryLimit{"the limit of its cgroup", n, usedMemory}
	}
	return nil
}

// cgroupLimit is the smallest limit of the groups that the process is in, version 2; 0: there is none.
func cgroupLimit() int64 {
	list, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return 0
	}
	smallest := int64(0)
	for line := range strings.Lines(string(list)) {
		dir, ok := strings.CutPrefix(strings.TrimSpace(line), "0::")
		for ok {
			text, _ := os.ReadFile(path.Join("/sys/fs/cgroup", dir, "memory.max"))
			if n, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64); err == nil && n > 0 && (smallest == 0 || n < smallest) {
				smallest = n
			}
			if dir == "/" {
				break
			}
			dir = path.Dir(cmp.Or(dir, "/"))
		}
	}
	return smallest
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
