package drivertest

import (
	"fmt"
	"slices"

	"npulua/npu/internal/driver"
)

const (
	kib = 1 << 10
	mib = 1 << 20
)

func memoryCases() []testCase {
	return slices.Concat(allocationCases(), accountingCases(), hostMemoryCases(), blockingCopyCases(),
		queuedCopyCases(), fillCases())
}

func allocationCases() []testCase {
	out := []testCase{
		{"Malloc of 0: 100000", 0, func(t *tester) {
			_, err := t.Malloc(0, driver.MemHugeFirst)
			t.want(driver.CodeInvalidParam, err, "Malloc(0)")
		}},
		{"Malloc of 2^60 bytes: 207001", 0, func(t *tester) {
			_, err := t.Malloc(1<<60, driver.MemHugeFirst)
			t.want(driver.CodeMemoryAllocation, err, "Malloc(2^60)")
			t.filled(64, 1)
		}},
		{"Malloc of more than the device has: 207001", prober, func(t *tester) {
			_, total, err := t.prober.MemInfo()
			t.must(err, "MemInfo")
			_, err = t.Malloc(total+1, driver.MemHugeFirst)
			t.want(driver.CodeMemoryAllocation, err, "Malloc")
			t.filled(64, 1)
		}},
		{"Malloc: addresses are aligned to 64, allocations do not overlap", 0, func(t *tester) {
			sizes := []int64{1, 31, 32, 33, 64, 1000, 4096, 4097, mib, mib + 1, 3 * mib}
			var at []driver.Ptr
			for i, size := range sizes {
				p := t.filled(size, byte(i+1))
				if p%64 != 0 {
					t.Errorf("Malloc(%d) = %#x, want a multiple of 64", size, p)
				}
				at = append(at, p)
			}
			for i, p := range at {
				t.wantFill(p, int(sizes[i]), byte(i+1), fmt.Sprintf("allocation of %d bytes", sizes[i]))
			}
		}},
		{"Malloc on two devices: each has its own memory", twoDevices, func(t *tester) {
			zero := t.current()
			p := t.filled(4096, 1)
			t.must(t.SetDevice(1), "SetDevice(1)")
			q := t.filled(4096, 2)
			t.wantFill(q, 4096, 2, "memory of device 1")
			t.setCurrent(zero)
			t.wantFill(p, 4096, 1, "memory of device 0")
		}},
		{"Free(NULL): 100000", 0, func(t *tester) { t.want(driver.CodeInvalidParam, t.Free(0), "Free(0)") }},
		{"Free of a bad pointer: 107000", 0, func(t *tester) {
			p := t.malloc(64)
			t.want(driver.CodeRtParamInvalid, t.Free(p+1<<50), "Free of an address far away")
			t.want(driver.CodeRtParamInvalid, t.Free(1), "Free(1)")
			t.want(driver.OK, t.Free(p), "Free")
		}},
		{"Free of a pointer into an allocation: 107000", 0, func(t *tester) {
			p := t.filled(4096, 1)
			t.want(driver.CodeRtParamInvalid, t.Free(p+64), "Free of the address plus 64")
			t.wantFill(p, 4096, 1, "memory after Free of a pointer into it")
			t.want(driver.OK, t.Free(p), "Free")
		}},
		{"double Free: 107000", 0, func(t *tester) {
			p := t.malloc(64)
			t.want(driver.OK, t.Free(p), "Free")
			t.want(driver.CodeRtParamInvalid, t.Free(p), "second Free")
		}},
		{"Free of host memory: 0", 0, func(t *tester) {
			p, b := t.host(64)
			t.want(driver.OK, t.Free(p), "Free")
			b[63] = 1 // still there
			t.want(driver.OK, t.FreeHost(p), "FreeHost after it")
		}},
		{"Free does not wait for queued work", loader, func(t *tester) {
			s, p := t.stream(), t.malloc(64)
			t.spin(s, pause)
			t.want(driver.OK, t.Free(p), "Free")
			t.wantDone(s, false, "after Free")
			t.sync(s)
		}},
		{"Free from another context and another device: 0", twoDevices, func(t *tester) {
			p, q := t.malloc(64), t.malloc(64)
			t.context(0)
			t.want(driver.OK, t.Free(p), "Free in another context")
			t.context(1)
			t.want(driver.OK, t.Free(q), "Free on another device")
		}},
		{"freed memory: Memcpy: 107000", 0, func(t *tester) {
			p := t.malloc(64)
			t.must(t.Free(p), "Free")
			h, _ := t.plain(64)
			t.want(driver.CodeRtParamInvalid, t.Memcpy(h, 64, p, 64, driver.DeviceToHost), "Memcpy")
		}},
		{"device memory is gone after the last ResetDevice", 0, func(t *tester) {
			p := t.filled(64, 1)
			t.must(t.ResetDevice(0, false), "ResetDevice")
			t.must(t.SetDevice(0), "SetDevice")
			h, _ := t.plain(64)
			t.want(driver.CodeRtParamInvalid, t.Memcpy(h, 64, p, 64, driver.DeviceToHost), "Memcpy")
			t.want(driver.CodeRtParamInvalid, t.Free(p), "Free")
		}},
		{"device memory survives the last ResetDevice while an explicit context is left", 0, func(t *tester) {
			p := t.filled(64, 1)
			c := t.context(0)
			t.must(t.ResetDevice(0, false), "ResetDevice")
			t.must(t.SetDevice(0), "SetDevice")
			t.wantFill(p, 64, 1, "memory after ResetDevice")
			t.must(t.ResetDevice(0, false), "ResetDevice")
			t.destroyContext(c)
			t.must(t.SetDevice(0), "SetDevice")
			t.want(driver.CodeRtParamInvalid, t.Free(p), "Free after the last context")
		}},
	}
	for policy := driver.MemHugeFirst; policy <= driver.MemNormalOnlyP2P; policy++ {
		out = append(out, testCase{fmt.Sprintf("Malloc with policy %d: 0", policy), 0, func(t *tester) {
			mallocWith(t, policy)
		}})
	}
	return append(out, testCase{"Malloc with policy 99: 0", 0, func(t *tester) { mallocWith(t, 99) }})
}

func mallocWith(t *tester, policy driver.MemPolicy) {
	for _, size := range []int64{1, kib, mib, 2*mib + 1} {
		p, err := t.Malloc(size, policy)
		t.must(err, fmt.Sprintf("Malloc(%d, %d)", size, policy))
		t.must(t.Memset(p, size, 7, size), "Memset")
		t.wantFill(p, int(size), 7, "memory")
		t.must(t.Free(p), "Free")
	}
}

func accountingCases() []testCase {
	return []testCase{
		{"memory info: less while memory is taken, back to the start value after Free", prober, func(t *tester) {
			start := t.free()
			var taken int64
			var all []driver.Ptr
			for _, size := range []int64{1, 4096, mib, 100 * mib} {
				for policy := driver.MemHugeFirst; policy <= driver.MemNormalOnlyP2P; policy++ {
					p, err := t.Malloc(size, policy)
					t.must(err, "Malloc")
					all = append(all, p)
					taken += size
				}
			}
			if got := t.free(); got > start-taken {
				t.Errorf("free memory is %d after %d of %d bytes were taken", got, taken, start)
			}
			for i := range all { // in another order than taken
				t.must(t.Free(all[(i*7)%len(all)]), "Free")
			}
			if got := t.free(); got != start {
				t.Errorf("free memory is %d after Free of everything, it was %d", got, start)
			}
		}},
		{"memory info: total does not change, free is not above it", prober, func(t *tester) {
			free, total, err := t.prober.MemInfo()
			t.must(err, "MemInfo")
			t.malloc(mib)
			_, after, err := t.prober.MemInfo()
			t.must(err, "MemInfo")
			if free <= 0 || free > total || after != total {
				t.Errorf("free %d, total %d, total %d after an allocation", free, total, after)
			}
		}},
		{"memory info: a small allocation with huge pages only takes 2 MiB, with normal pages less", prober, func(t *tester) {
			for _, c := range []struct {
				policy   driver.MemPolicy
				min, max int64
			}{
				{driver.MemHugeOnly, 2 * mib, 2 * mib},
				{driver.MemNormalOnly, kib, mib},
				{driver.MemHugeFirst, kib, mib},
			} {
				start := t.free()
				p, err := t.Malloc(kib, c.policy)
				t.must(err, "Malloc")
				if took := start - t.free(); took < c.min || took > c.max {
					t.Errorf("1 KiB with policy %d takes %d bytes, want %d to %d", c.policy, took, c.min, c.max)
				}
				t.must(t.Free(p), "Free")
			}
		}},
		{"out of memory: 207001, then Free and Malloc again: 0", prober, func(t *tester) {
			start := t.free()
			half := start/2 + 4*mib
			p := t.malloc(half)
			_, err := t.Malloc(half, driver.MemHugeFirst)
			t.want(driver.CodeMemoryAllocation, err, "second Malloc of half the memory")
			if got := t.free(); got > start-half {
				t.Errorf("free memory is %d after a failed Malloc", got)
			}
			t.must(t.Free(p), "Free")
			q := t.malloc(half)
			t.must(t.Memset(q+driver.Ptr(half-64), 64, 1, 64), "Memset of the end")
			t.must(t.Free(q), "Free")
			if got := t.free(); got != start {
				t.Errorf("free memory is %d at the end, it was %d", got, start)
			}
		}},
		{"memory info: back to the start value after the last ResetDevice", prober, func(t *tester) {
			start := t.free()
			t.malloc(64 * mib)
			t.must(t.ResetDevice(0, false), "ResetDevice")
			t.must(t.SetDevice(0), "SetDevice")
			if got := t.free(); got != start {
				t.Errorf("free memory is %d after ResetDevice, it was %d", got, start)
			}
		}},
	}
}

func hostMemoryCases() []testCase {
	return []testCase{
		{"MallocHost of 0: 100000", 0, func(t *tester) {
			_, err := t.MallocHost(0)
			t.want(driver.CodeInvalidParam, err, "MallocHost(0)")
		}},
		{"MallocHost: memory of this process, aligned to 64", 0, func(t *tester) {
			for _, size := range []int{1, 100, 4096, 3 * mib} {
				p, b := t.host(size)
				if p%64 != 0 {
					t.Errorf("MallocHost(%d) = %#x, want a multiple of 64", size, p)
				}
				want := pattern(size, 3)
				copy(b, want)
				d := t.malloc(int64(size))
				t.copy(0, d, p, int64(size))
				t.sync(0)
				t.wantBytes(d, want, "copy of host memory")
			}
		}},
		{"FreeHost(NULL): 100000", 0, func(t *tester) { t.want(driver.CodeInvalidParam, t.FreeHost(0), "FreeHost(0)") }},
		{"FreeHost of a bad pointer: 107000", 0, func(t *tester) {
			t.want(driver.CodeRtParamInvalid, t.FreeHost(1<<50), "FreeHost of an address far away")
			t.want(driver.CodeRtParamInvalid, t.FreeHost(driver.Ptr(t.garbage())), "FreeHost of plain memory")
		}},
		{"double FreeHost: 107000", 0, func(t *tester) {
			p, err := t.MallocHost(64)
			t.must(err, "MallocHost")
			t.want(driver.OK, t.FreeHost(p), "FreeHost")
			t.want(driver.CodeRtParamInvalid, t.FreeHost(p), "second FreeHost")
		}},
		{"host memory survives the last ResetDevice", 0, func(t *tester) {
			p, b := t.host(64)
			b[5] = 5
			t.must(t.ResetDevice(0, false), "ResetDevice")
			if b[5] != 5 {
				t.Errorf("host memory changed to %d", b[5])
			}
			t.want(driver.OK, t.FreeHost(p), "FreeHost")
		}},
		{"host memory: works on every device", twoDevices, func(t *tester) {
			p, b := t.host(64)
			copy(b, pattern(64, 1))
			t.must(t.SetDevice(1), "SetDevice(1)")
			d := t.malloc(64)
			t.copy(0, d, p, 64)
			t.sync(0)
			t.wantBytes(d, b, "memory of device 1")
		}},
	}
}
