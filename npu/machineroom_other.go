//go:build !linux

package npu

import "math"

// machineRoom is not known on this system.
func machineRoom(int64) int64 { return math.MaxInt64 }
