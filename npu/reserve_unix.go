//go:build unix

package npu

import "syscall"

// reservable reports whether the system would give the process n bytes more. Go ends the process
// where it does not, so large allocations ask first.
func reservable(n int64) bool {
	m, err := syscall.Mmap(-1, 0, int(n), syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_PRIVATE|syscall.MAP_ANON)
	if err != nil {
		return false
	}
	return syscall.Munmap(m) == nil
}
