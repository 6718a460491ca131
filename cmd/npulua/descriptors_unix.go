//go:build linux || darwin

package main

import "syscall"

// mostDescriptors bounds the files that a script in a sandbox has open at a time, and what the process needs itself.
const mostDescriptors = 1024

// limitDescriptors leaves files to the other processes of the machine.
func limitDescriptors() {
	var limit syscall.Rlimit
	if syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit) == nil && limit.Cur > mostDescriptors {
		limit.Cur = mostDescriptors
		_ = syscall.Setrlimit(syscall.RLIMIT_NOFILE, &limit) // lowering is always allowed
	}
}
