package drivertest

import (
	"errors"
	"fmt"

	"npulua/npu/internal/driver"
	"npulua/npu/internal/dtype"
)

// floats is n float32, a times the index plus b, as stored.
func floats(n int, a, b float64) []byte {
	out := make([]byte, 4*n)
	for i := range n {
		dtype.Float32.Put(out, i, a*float64(i)+b)
	}
	return out
}

// sum is device memory for y = a + b over n float32, and what y must hold.
func (t *tester) sum(n int) (y, a, b driver.Ptr, want []byte) {
	t.Helper()
	size := int64(4 * n)
	y, a, b = t.filled(size, 0), t.malloc(size), t.malloc(size)
	t.put(a, floats(n, 1, 0))
	t.put(b, floats(n, 2, 5))
	return y, a, b, floats(n, 3, 5)
}

func launchCases() []testCase {
	out := []testCase{
		{"launch on the default stream, and on another device", loader | twoDevices, func(t *tester) {
			for device := range 2 {
				t.must(t.SetDevice(device), "SetDevice")
				y, a, b, want := t.sum(100)
				t.enqueue(t.vectorAdd(0, y, a, b, 400, 100, 1))
				t.sync(0)
				t.wantBytes(y, want, fmt.Sprintf("sum on device %d", device))
			}
		}},
		{"launch: fewer elements than the operands hold", loader, func(t *tester) {
			y, a, b, want := t.sum(100)
			t.enqueue(t.vectorAdd(0, y, a, b, 400, 60, 4))
			t.sync(0)
			t.wantBytes(y, want[:240], "sum")
			t.wantFill(y+240, 160, 0, "behind the sum")
		}},
		{"launch: operands inside allocations", loader, func(t *tester) {
			y, a, b, want := t.sum(100)
			t.enqueue(t.vectorAdd(0, y+80, a+80, b+80, 160, 40, 2))
			t.sync(0)
			t.wantFill(y, 80, 0, "before the sum")
			t.wantBytes(y+80, want[80:240], "sum")
			t.wantFill(y+240, 160, 0, "behind the sum")
		}},
		{"launch: the arguments are the caller's again after the call", loader, func(t *tester) {
			s := t.stream()
			y, a, b, want := t.sum(100)
			t.spin(s, pause)
			c := t.vectorAdd(s, y, a, b, 400, 100, 1)
			t.enqueue(c)
			clear(c.Args)
			t.sync(s)
			t.wantBytes(y, want, "sum")
		}},
		{"launch: in order with copies, and with other streams by an event", loader, func(t *tester) {
			s, other, e := t.stream(), t.stream(), t.event(driver.EventSync)
			y, a, b, want := t.sum(1000)
			h, host := t.host(4000)
			copy(host, t.get(a, 4000))
			t.must(t.Memset(a, 4000, 0, 4000), "Memset")
			t.spin(s, pause)
			t.copy(s, a, h, 4000)
			t.record(s, e)
			t.wait(other, e)
			t.enqueue(t.vectorAdd(other, y, a, b, 4000, 1000, 3))
			g, back := t.host(4000)
			t.copy(other, g, y, 4000)
			t.sync(other)
			t.same(back, want, "sum")
		}},
		{"launch with no blocks: 107000", loader, func(t *tester) {
			y, a, b, _ := t.sum(16)
			t.want(driver.CodeRtParamInvalid, t.issue(t.vectorAdd(0, y, a, b, 64, 16, 0)), "launch")
			t.sync(0)
			t.wantFill(y, 64, 0, "memory")
		}},
		{"launch of no kernel: 107017", loader, func(t *tester) {
			c := driver.Command{Op: driver.OpLaunch, Kernel: driver.Kernel(t.garbage()), Blocks: 1, Args: []uint64{0}}
			t.want(driver.CodeInvalidHandle, t.issue(c), "launch of garbage")
		}},
		{"unloaded kernel: launch: 107017, a queued launch still runs", loader, func(t *tester) {
			s := t.stream()
			y, a, b, want := t.sum(100)
			t.spin(s, pause)
			c := t.vectorAdd(s, y, a, b, 400, 100, 1)
			t.enqueue(c)
			t.want(driver.OK, t.loader.UnloadKernel(c.Kernel), "UnloadKernel")
			t.want(driver.CodeInvalidHandle, t.issue(c), "launch after UnloadKernel")
			t.want(driver.CodeInvalidHandle, t.loader.UnloadKernel(c.Kernel), "second UnloadKernel")
			t.sync(s)
			t.wantBytes(y, want, "sum of the queued launch")
		}},
		{"load of an unknown kernel: 107000", loader, func(t *tester) {
			_, err := t.loader.LoadKernel(driver.KernelSource{Name: "no_such_kernel"})
			t.want(driver.CodeRtParamInvalid, err, "LoadKernel")
		}},
		{"load of one kernel twice: each handle works until it is unloaded", loader, func(t *tester) {
			first, err := t.loader.LoadKernel(t.source("vector_add", dtype.Float32))
			t.must(err, "LoadKernel")
			second, err := t.loader.LoadKernel(t.source("vector_add", dtype.Float32))
			t.must(err, "second LoadKernel")
			y, a, b, want := t.sum(16)
			c := t.vectorAdd(0, y, a, b, 64, 16, 1)
			for _, k := range []driver.Kernel{first, second} {
				t.must(t.Memset(y, 64, 0, 64), "Memset")
				c.Kernel = k
				t.enqueue(c)
				t.sync(0)
				t.wantBytes(y, want, "sum")
				t.must(t.loader.UnloadKernel(k), "UnloadKernel")
			}
		}},
		{"kernel that takes no time: spin of 0 seconds", loader, func(t *tester) {
			t.spin(0, 0)
			t.sync(0)
		}},
		{"kernel of the host: runs once for all blocks, in order, with its operands", loader | prober, func(t *tester) {
			t.simulated()
			const blocks = 7
			ran := 0
			k := t.hostKernel(func(l *driver.HostLaunch) error {
				ran++
				if l.Blocks != blocks || len(l.Args) != 4 || len(l.Args[0].Mem) != 64 || len(l.Args[1].Mem) != 64 {
					return fmt.Errorf("got %+v", l)
				}
				if l.Args[2].Type != dtype.Float32 || l.Args[3].Type != dtype.Uint32 {
					return fmt.Errorf("scalars of type %v and %v", l.Args[2].Type, l.Args[3].Type)
				}
				scale, n := dtype.Float32.FromBits(l.Args[2].Word), int(dtype.Uint32.FromBits(l.Args[3].Word))
				for i := range n {
					dtype.Float32.Put(l.Args[0].Mem, i, scale*dtype.Float32.Get(l.Args[1].Mem, i))
				}
				return nil
			})
			s, y, x := t.stream(), t.filled(64, 0), t.malloc(64)
			h, host := t.host(64)
			copy(host, floats(16, 1, 1))
			t.spin(s, pause)
			t.copy(s, x, h, 64)
			t.enqueue(hostLaunch(s, k, blocks, y, x))
			if ran != 0 {
				t.Error("the kernel ran before the work in front of it")
			}
			t.sync(s)
			t.wantBytes(y, floats(16, 2.5, 2.5), "result")
			if ran != 1 {
				t.Errorf("the kernel ran %d times", ran)
			}
		}},
		{"kernel of the host: an error is a fault of the launch", loader | prober, func(t *tester) {
			t.simulated()
			k := t.hostKernel(func(*driver.HostLaunch) error { return errors.New("no") })
			x := t.filled(64, 0)
			t.enqueue(hostLaunch(0, k, 2, x, x))
			if t.code(t.SynchronizeStream(0, forever)) == driver.OK {
				t.Error("SynchronizeStream = success, want a fault")
			}
			t.sync(0)
		}},
	}
	for _, blocks := range []uint32{1, 2, 7, 40, 1000} {
		out = append(out, testCase{fmt.Sprintf("launch: right data with %d blocks", blocks), loader, func(t *tester) {
			for _, n := range []int{1, 5, 1000, 100_003} {
				y, a, b, want := t.sum(n)
				t.enqueue(t.vectorAdd(0, y, a, b, 4*n, n, blocks))
				t.sync(0)
				t.wantBytes(y, want, fmt.Sprintf("sum of %d", n))
			}
		}})
	}
	return out
}

func (t *tester) hostKernel(run func(*driver.HostLaunch) error) driver.Kernel {
	sig, err := driver.ParseSignature("out float32* y, in float32* x, float32 a, uint32 n")
	if err != nil {
		t.Fatal(err)
	}
	k, err := t.loader.LoadKernel(driver.KernelSource{Name: "scale", Signature: sig, Run: run})
	t.must(err, "LoadKernel")
	return k
}

func hostLaunch(s driver.Stream, k driver.Kernel, blocks uint32, y, x driver.Ptr) driver.Command {
	return driver.Command{Op: driver.OpLaunch, Stream: s, Kernel: k, Blocks: blocks,
		Args: []uint64{uint64(y), 64, uint64(x), 64, dtype.Float32.Bits(2.5), dtype.Uint32.Bits(16)}}
}
