package executor

import "golang.org/x/sys/unix"

// yieldCPU gives the CPU away. The kernel may have put the two threads that spin for each other on
// one CPU; without this, each would spin out its time slice before the other could run.
func yieldCPU() { _, _, _ = unix.RawSyscall(unix.SYS_SCHED_YIELD, 0, 0, 0) }
