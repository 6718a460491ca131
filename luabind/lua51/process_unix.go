//go:build unix

package lua51

import (
	"cmp"
	"os"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

func shellArgs(command string) []string { return []string{"/bin/sh", "-c", "--", command} }

// hasShell is what os.execute gives without a command.
func hasShell() int {
	if syscall.Access("/bin/sh", 1) != nil {
		return 0
	}
	return 1
}

func waitStatus(s *os.ProcessState) int {
	if w, ok := s.Sys().(syscall.WaitStatus); ok {
		return int(w)
	}
	return -1
}

// processClock is the CPU time that the process has used, in seconds.
func processClock() float64 {
	var use syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &use) != nil {
		return -1
	}
	return float64(use.Utime.Nano()+use.Stime.Nano()) / 1e9
}

// exitOf splits a status as wait(2) gives it.
func exitOf(status int) (code int, signal string) {
	if w := syscall.WaitStatus(status); w.Signaled() {
		return 0, cmp.Or(unix.SignalName(w.Signal()), "signal "+strconv.Itoa(int(w.Signal())))
	}
	return status >> 8 & 0xff, ""
}
