//go:build !linux

package guard

// Map takes memory of Go's, where there is nothing to guard it with.
func Map(size int64) ([]byte, error) { return make([]byte, size), nil }

// Free does nothing.
func Free([]byte) {}
