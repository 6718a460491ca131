//go:build !linux

package luabind

// mostMemory is how much memory scripts may have without a sandbox; 0: nobody knows.
func mostMemory() (most, spare int64) { return 0, 0 }
