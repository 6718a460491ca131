package guard_test

import (
	"runtime"
	"runtime/debug"
	"testing"

	"npulua/npu/internal/guard"
)

// faults reports whether fn touches what cannot be touched.
func faults(fn func()) (hit bool) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() { hit = recover() != nil }()
	fn()
	return false
}

func TestGuard(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("memory is guarded on Linux only")
	}
	for _, size := range []int64{1, 7, 8, 4095, 4096, 4097, 1 << 20} {
		data, err := guard.Map(size)
		if err != nil {
			t.Fatal(err)
		}
		if int64(len(data)) != size {
			t.Fatalf("Map(%d) gave %d B", size, len(data))
		}
		for i := range data {
			if data[i] != 0 {
				t.Fatalf("Map(%d): byte %d is %d", size, i, data[i])
			}
			data[i] = 1
		}
		beyond := int(-size & 7) // up to the next address that can be asked for
		if !faults(func() { guardRead(data, len(data)+beyond) }) {
			t.Errorf("the byte behind %d B can be read", size)
		}
		guard.Free(data)
		if !faults(func() { guardRead(data, 0) }) {
			t.Errorf("%d B can be read after Free", size)
		}
	}
}
