//go:build !linux

package executor

import "runtime"

// yieldCPU gives the CPU away.
func yieldCPU() { runtime.Gosched() }
