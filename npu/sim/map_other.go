//go:build !unix

package sim

import "fmt"

// mapMemory allocates from the heap where the system has no anonymous mappings.
func mapMemory(size int64) (data []byte, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("%v", r)
		}
	}()
	return make([]byte, size), nil
}

func unmapMemory([]byte) {}
