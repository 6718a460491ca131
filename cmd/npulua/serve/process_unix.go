//go:build unix && !linux

package serve

import "syscall"

// groupAttributes put a run in a process group of its own, so that it can be ended as a whole and Ctrl-C does not reach it.
func groupAttributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

func signalGroup(pid int, sig syscall.Signal) error { return syscall.Kill(-pid, sig) }
