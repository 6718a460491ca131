//go:build !linux

package luabind

// mostMemory is how much memory scripts may have without a sandbox; 0: nobody knows.
func mostMemory() int64 { return 0 }
