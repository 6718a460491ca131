package guard_test

import "unsafe"

var sink byte

// guardRead reads byte i from the start of data, also beyond its end.
func guardRead(data []byte, i int) {
	sink = *(*byte)(unsafe.Add(unsafe.Pointer(unsafe.SliceData(data)), i))
}
