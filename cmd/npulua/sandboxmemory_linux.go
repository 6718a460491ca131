package main

import (
	"syscall"

	"golang.org/x/sys/unix"

	"npulua/internal/proc"
)

// hardSlack is how much more than the limit of a sandbox the system grants, in private memory: for garbage that is not
// collected in time, and what the limit does not count. With what is shared with other processes it stays below slack of
// package luabind.
const hardSlack = 160 << 20

// spaceSlack is the same in address space, which also bounds what is taken at once: the Go runtime reserves so much of it.
const spaceSlack = hardSlack + 64<<20

// limitMemory has the system refuse memory beyond the limit of the sandbox, whatever takes it.
func limitMemory(memory int64) {
	if raceDetector {
		return
	}
	for _, s := range proc.Spaces() {
		slack := int64(hardSlack)
		if s.Resource == unix.RLIMIT_AS {
			slack = spaceSlack
		}
		now, err := s.Used(0)
		var limit syscall.Rlimit
		if err == nil && memory > 0 && syscall.Getrlimit(s.Resource, &limit) == nil {
			limit.Cur = min(limit.Cur, uint64(now+memory+slack))
			_ = syscall.Setrlimit(s.Resource, &limit) // lowering is always allowed
		}
	}
}
