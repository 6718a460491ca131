package drivertest

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"slices"

	"npulua/npu/internal/driver"
)

// blockingCopyCases are those of Memcpy and Memset.
func blockingCopyCases() []testCase {
	return []testCase{
		{"Memcpy: count 0: 0, before any other check", fresh, func(t *tester) {
			t.want(driver.OK, t.Memcpy(0, 0, 0, 0, 77), "Memcpy")
			t.want(driver.OK, t.Memset(0, 0, 1, 0), "Memset")
		}},
		{"Memcpy with a NULL pointer: 100000", 0, func(t *tester) {
			p, h := t.malloc(64), t.plainObjects().src
			t.want(driver.CodeInvalidParam, t.Memcpy(0, 64, h, 64, driver.HostToDevice), "Memcpy to NULL")
			t.want(driver.CodeInvalidParam, t.Memcpy(p, 64, 0, 64, driver.HostToDevice), "Memcpy from NULL")
			t.want(driver.CodeInvalidParam, t.Memset(0, 64, 1, 64), "Memset of NULL")
		}},
		{"Memcpy with kind 77: 100000", 0, func(t *tester) {
			p, h := t.malloc(64), t.plainObjects().src
			t.want(driver.CodeInvalidParam, t.Memcpy(p, 64, h, 64, 77), "Memcpy with kind 77")
			t.want(driver.CodeInvalidParam, t.Memcpy(p, 64, h, 64, 6), "Memcpy with kind 6")
		}},
		{"Memcpy: destMax smaller than count: 107000", 0, func(t *tester) {
			p, h := t.filled(64, 1), t.plainObjects().src
			t.want(driver.CodeRtParamInvalid, t.Memcpy(p, 63, h, 64, driver.HostToDevice), "Memcpy")
			t.want(driver.CodeRtParamInvalid, t.Memcpy(p, 0, h, 64, driver.HostToDevice), "Memcpy")
			t.wantFill(p, 64, 1, "memory")
		}},
		{"Memset: destMax smaller than count: 107000", 0, func(t *tester) {
			p := t.filled(64, 1)
			t.want(driver.CodeRtParamInvalid, t.Memset(p, 63, 2, 64), "Memset")
			t.wantFill(p, 64, 1, "memory")
		}},
		{"Memcpy and Memset without a context: NULL: 100000, as that is checked first; destMax: 107000 of Memcpy, 107002 of Memset", fresh, func(t *tester) {
			o := t.plainObjects()
			t.want(driver.CodeInvalidParam, t.Memcpy(0, 64, o.src, 64, driver.HostToHost), "Memcpy to NULL")
			t.want(driver.CodeInvalidParam, t.Memcpy(o.dst, 64, o.src, 64, 77), "Memcpy with kind 77")
			t.want(driver.CodeRtParamInvalid, t.Memcpy(o.dst, 63, o.src, 64, driver.HostToHost), "Memcpy")
			t.want(driver.CodeInvalidParam, t.Memset(0, 64, 1, 64), "Memset of NULL")
			t.want(driver.CodeContextNull, t.Memset(o.dst, 63, 1, 64), "Memset")
		}},
		{"Memcpy beyond the allocation: 107000", 0, func(t *tester) {
			const size = 4096
			p, q := t.filled(size, 1), t.filled(2*size, 2)
			h, _ := t.plain(2 * size)
			for _, c := range []struct {
				what     string
				dst, src driver.Ptr
				size     int64
			}{
				{"to the device", p, h, size + 64},
				{"to its end", p + size - 64, h, 128},
				{"from the device", h, p, size + 64},
				{"from its end", h, p + size - 64, 128},
				{"inside the device", p, q, size + 64},
				{"inside the device, from its end", q, p + size - 64, 128},
			} {
				t.want(driver.CodeRtParamInvalid, t.Memcpy(c.dst, c.size, c.src, c.size, driver.CopyDefault), "Memcpy "+c.what)
			}
			t.wantFill(p, size, 1, "first allocation")
			t.wantFill(q, 2*size, 2, "second allocation")
		}},
		{"Memset beyond the allocation: 107000", 0, func(t *tester) {
			p := t.filled(4096, 1)
			t.want(driver.CodeRtParamInvalid, t.Memset(p, 5000, 2, 4096+64), "Memset")
			t.want(driver.CodeRtParamInvalid, t.Memset(p+4096-64, 5000, 2, 128), "Memset of the end")
			t.wantFill(p, 4096, 1, "memory")
		}},
		{"Memcpy: every direction, with the kind or the default", 0, func(t *tester) {
			const size = 3*mib + 5
			want := pattern(size, 1)
			for _, byDefault := range []bool{false, true} {
				kind := func(k driver.CopyKind) driver.CopyKind {
					if byDefault {
						return driver.CopyDefault
					}
					return k
				}
				h, host := t.plain(size)
				g, back := t.plain(size)
				f, end := t.plain(size)
				copy(host, want)
				p, q := t.malloc(size), t.malloc(size)
				t.must(t.Memcpy(p, size, h, size, kind(driver.HostToDevice)), "Memcpy to the device")
				t.must(t.Memcpy(q, size, p, size, kind(driver.DeviceToDevice)), "Memcpy inside the device")
				t.must(t.Memcpy(g, size, q, size, kind(driver.DeviceToHost)), "Memcpy to the host")
				t.must(t.Memcpy(f, size, g, size, kind(driver.HostToHost)), "Memcpy inside the host")
				t.same(back, want, "after the device")
				t.same(end, want, "inside the host")
			}
		}},
		{"Memcpy: parts of allocations", 0, func(t *tester) {
			const size = 2*mib + 100
			want := bytes.Repeat([]byte{9}, size)
			p := t.filled(size, 9)
			for _, part := range []struct{ at, size int }{{0, 1}, {1, 4095}, {4095, 3}, {8192, 4096}, {100001, 70007}, {size - 1, 1}} {
				data := pattern(part.size, uint32(part.at))
				t.put(p+driver.Ptr(part.at), data)
				copy(want[part.at:], data)
			}
			t.wantBytes(p, want, "memory")
			t.wantBytes(p+100001, want[100001:170008], "part of the memory")
		}},
		{"Memcpy: overlapping ranges of the device move as a whole", 0, func(t *tester) {
			const size = mib
			for _, shift := range []int{1, 64, 4097, 70000} {
				for _, up := range []bool{true, false} {
					data := pattern(size, uint32(shift))
					p := t.malloc(size)
					t.put(p, data)
					from, to := 0, shift
					if !up {
						from, to = shift, 0
					}
					n := int64(size - shift)
					t.must(t.Memcpy(p+driver.Ptr(to), n, p+driver.Ptr(from), n, driver.DeviceToDevice), "Memcpy")
					copy(data[to:], data[from:from+int(n)])
					t.wantBytes(p, data, fmt.Sprintf("moved by %d, up: %v", shift, up))
					t.must(t.Free(p), "Free")
				}
			}
		}},
		{"Memcpy onto itself: 0", 0, func(t *tester) {
			p := t.filled(64, 1)
			t.want(driver.OK, t.Memcpy(p, 64, p, 64, driver.DeviceToDevice), "Memcpy")
			t.wantFill(p, 64, 1, "memory")
		}},
		{"host-to-device copy labelled device-to-host: 0, and goes to the device", 0, func(t *tester) {
			p := t.filled(64, 1)
			h, host := t.host(64)
			copy(host, pattern(64, 1))
			t.want(driver.OK, t.Memcpy(p, 64, h, 64, driver.DeviceToHost), "Memcpy")
			t.wantBytes(p, pattern(64, 1), "device memory")
			t.want(driver.OK, t.Memcpy(h, 64, t.filled(64, 2), 64, driver.HostToDevice), "Memcpy labelled host-to-device")
			t.same(host, bytes.Repeat([]byte{2}, 64), "host memory")
		}},
		{"Memset: device and host memory", 0, func(t *tester) {
			const size = 2*mib + 3
			p := t.filled(size, 1)
			t.must(t.Memset(p+4095, size-4095, 2, mib), "Memset of a part")
			t.wantFill(p, 4095, 1, "before the part")
			t.wantFill(p+4095, mib, 2, "the part")
			t.wantFill(p+4095+mib, size-4095-mib, 1, "after the part")
			h, host := t.host(64)
			t.must(t.Memset(h, 64, 3, 64), "Memset of host memory")
			t.same(host, bytes.Repeat([]byte{3}, 64), "host memory")
		}},
		{"Memcpy and Memset do not wait for queued work", loader, func(t *tester) {
			s, p, q := t.stream(), t.filled(64, 1), t.malloc(64)
			t.spin(s, long)
			t.fill(s, p, 64, 2)
			t.copy(s, q, p, 64)
			t.wantFill(p, 64, 1, "memory that queued work will change")
			t.must(t.Memset(q, 64, 9, 64), "Memset")
			t.wantFill(q, 64, 9, "memory set at once")
			t.wantDone(s, false, "after Memcpy and Memset")
			t.sync(s)
			t.wantFill(p, 64, 2, "memory after the work")
			t.wantFill(q, 64, 2, "memory after the copy")
		}},
	}
}

func queuedCopyCases() []testCase {
	return []testCase{
		{"MemcpyAsync and MemsetAsync: count 0: 0", 0, func(t *tester) {
			p, h := t.filled(64, 1), t.plainObjects().src
			t.want(driver.OK, t.issue(driver.Command{Op: driver.OpCopy, Dst: p, Src: h, Kind: driver.HostToDevice}), "copy")
			t.want(driver.OK, t.issue(driver.Command{Op: driver.OpCopy, Kind: driver.HostToDevice}), "copy from NULL to NULL")
			t.want(driver.OK, t.issue(fillCommand(0, p, 0, 2)), "fill")
			t.sync(0)
			t.wantFill(p, 64, 1, "memory")
		}},
		{"MemcpyAsync and MemsetAsync with a NULL pointer or kind 77: 100000", 0, func(t *tester) {
			p := t.filled(64, 1)
			h, _ := t.host(64)
			c := driver.Command{Op: driver.OpCopy, Dst: p, Src: h, Size: 64, Kind: driver.HostToDevice}
			for _, change := range []func(c *driver.Command){
				func(c *driver.Command) { c.Dst = 0 },
				func(c *driver.Command) { c.Src = 0 },
				func(c *driver.Command) { c.Kind = 77 },
			} {
				bad := c
				change(&bad)
				t.want(driver.CodeInvalidParam, t.issue(bad), fmt.Sprintf("copy %+v", bad))
			}
			t.want(driver.CodeInvalidParam, t.issue(fillCommand(0, 0, 64, 1)), "fill of NULL")
			t.sync(0)
			t.wantFill(p, 64, 1, "memory")
		}},
		{"MemcpyAsync and MemsetAsync beyond the allocation: 107000 at the call or at synchronize", 0, func(t *tester) {
			p := t.filled(4096, 1)
			h, _ := t.host(8192)
			for _, c := range []driver.Command{
				{Op: driver.OpCopy, Dst: p, Src: h, Size: 4096 + 64, Kind: driver.HostToDevice},
				{Op: driver.OpCopy, Dst: h, Src: p + 4096 - 64, Size: 128, Kind: driver.DeviceToHost},
				fillCommand(0, p, 4096+64, 2),
			} {
				err := t.issue(c)
				if err == nil {
					err = t.SynchronizeStream(0, forever)
				}
				t.want(driver.CodeRtParamInvalid, err, c.Op.String())
			}
			t.wantFill(p, 4096, 1, "memory")
			t.sync(0)
		}},
		{"MemcpyAsync: every direction", 0, func(t *tester) {
			const size = 3*mib + 5
			s, p, q := t.stream(), t.malloc(size), t.malloc(size)
			h, host := t.host(size)
			g, back := t.host(size)
			copy(host, pattern(size, 2))
			for _, c := range []struct {
				dst, src driver.Ptr
				kind     driver.CopyKind
			}{{p, h, driver.HostToDevice}, {q, p, driver.DeviceToDevice}, {g, q, driver.DeviceToHost}} {
				t.enqueue(driver.Command{Op: driver.OpCopy, Stream: s, Dst: c.dst, Src: c.src, Size: size, Kind: c.kind})
			}
			t.sync(s)
			t.same(back, host, "after the device")
		}},
		{"MemcpyAsync: host-to-device copy labelled device-to-host: 0", 0, func(t *tester) {
			p := t.filled(64, 1)
			h, host := t.host(64)
			copy(host, pattern(64, 1))
			t.enqueue(driver.Command{Op: driver.OpCopy, Dst: p, Src: h, Size: 64, Kind: driver.DeviceToHost})
			t.sync(0)
			t.wantBytes(p, pattern(64, 1), "device memory")
		}},
		{"MemcpyAsync inside the host: 207000", 0, func(t *tester) {
			h, _ := t.host(64)
			g, _ := t.host(64)
			c := driver.Command{Op: driver.OpCopy, Dst: g, Src: h, Size: 64, Kind: driver.HostToHost}
			t.want(driver.CodeNotSupported, t.issue(c), "copy inside the host")
			t.sync(0)
		}},
		{"MemcpyAsync with plain host memory: waits for the stream, and is done on return", loader, func(t *tester) {
			s, p, q := t.stream(), t.filled(64, 0), t.malloc(64)
			h, host := t.plain(64)
			t.spin(s, pause)
			t.fill(s, p, 64, 1)
			t.wantTook(t.took(func() { t.copy(s, h, p, 64) }), pause, "copy from the device")
			t.same(host, bytes.Repeat([]byte{1}, 64), "plain host memory")
			copy(host, pattern(64, 1))
			t.copy(s, q, h, 64)
			clear(host)
			t.sync(s)
			t.wantBytes(q, pattern(64, 1), "device memory")
		}},
		{"memory freed while queued work uses it: a fault at most", loader | prober, func(t *tester) {
			t.simulated()
			s, p, q := t.stream(), t.filled(64, 0), t.filled(64, 0)
			h, err := t.MallocHost(64)
			t.must(err, "MallocHost")
			for _, c := range []driver.Command{
				fillCommand(s, p, 64, 1),
				{Op: driver.OpCopy, Stream: s, Dst: q, Src: p, Size: 64, Kind: driver.CopyDefault},
				{Op: driver.OpCopy, Stream: s, Dst: q, Src: h, Size: 64, Kind: driver.CopyDefault},
				t.vectorAdd(s, q, p, p, 64, 16, 1),
			} {
				t.spin(s, pause)
				t.enqueue(c)
			}
			t.must(t.Free(p), "Free")
			t.must(t.FreeHost(h), "FreeHost")
			t.wantAny(t.SynchronizeStream(s, forever), "SynchronizeStream",
				driver.OK, driver.CodeAICoreException, driver.CodeVectorException)
			t.sync(s)
		}},
		{"MemcpyAsync: overlapping ranges of the device move as a whole", 0, func(t *tester) {
			const size = 256 * kib
			data := pattern(size, 4)
			p := t.malloc(size)
			t.put(p, data)
			t.copy(0, p+4097, p, size-4097)
			t.copy(0, p, p+1, size-1)
			t.sync(0)
			copy(data[4097:], slices.Clone(data[:size-4097]))
			copy(data, data[1:])
			t.wantBytes(p, data, "memory")
		}},
		{"copies queued on one stream take effect in order", 0, func(t *tester) {
			s, p, q := t.stream(), t.malloc(64), t.malloc(64)
			h, host := t.host(192)
			copy(host, pattern(128, 5))
			t.copy(s, p, h, 64)
			t.copy(s, q, p, 64)
			t.copy(s, p, h+64, 64)
			t.copy(s, h+128, q, 64)
			t.sync(s)
			t.same(host[128:], host[:64], "first half, there and back")
			t.wantBytes(p, host[64:128], "second half")
		}},
		{"copies queued behind work have no effect before it is done", loader, func(t *tester) {
			s, p := t.stream(), t.filled(64, 1)
			h, host := t.host(64)
			t.spin(s, long)
			t.copy(s, h, p, 64)
			t.same(host, make([]byte, 64), "host memory before the copy")
			t.sync(s)
			t.same(host, bytes.Repeat([]byte{1}, 64), "host memory after the copy")
		}},
	}
}

func fillCases() []testCase {
	const value = 0x1122334455667788
	var out []testCase
	for _, width := range []uint8{1, 2, 4, 8} {
		out = append(out, testCase{fmt.Sprintf("fill with a pattern of %d bytes", width), 0, func(t *tester) {
			var pat [8]byte
			binary.LittleEndian.PutUint64(pat[:], value)
			for _, size := range []int{int(width), 64, 4096, 2*mib + 8} {
				p := t.filled(int64(size)+64, 0xee)
				t.enqueue(driver.Command{Op: driver.OpFill, Dst: p, Size: int64(size), Value: value, Width: width})
				t.sync(0)
				t.wantBytes(p, bytes.Repeat(pat[:width], size/int(width)), fmt.Sprintf("%d bytes", size))
				t.wantFill(p+driver.Ptr(size), 64, 0xee, "after the filled range")
				t.must(t.Free(p), "Free")
			}
		}})
	}
	return append(out, testCase{"fill of a part of an allocation", 0, func(t *tester) {
		p := t.filled(3*mib, 1)
		t.fill(0, p+4097, 2*mib, 2)
		t.sync(0)
		t.wantFill(p, 4097, 1, "before the part")
		t.wantFill(p+4097, 2*mib, 2, "the part")
		t.wantFill(p+4097+2*mib, mib-4097, 1, "after the part")
	}})
}
