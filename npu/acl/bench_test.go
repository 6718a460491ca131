//go:build linux && (amd64 || arm64)

package acl_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/ebitengine/purego"

	"npulua/npu/acl"
	"npulua/npu/internal/driver"
	"npulua/npu/internal/dtype"
	"npulua/npu/internal/executor"
)

// rig is an executor over the stand-in, with a stream and the kernel spin.
type rig struct {
	*fake
	e      *executor.Executor
	c      *executor.Caller
	ctx    driver.Context
	stream driver.Stream
	spin   driver.Kernel
}

func newRig(b *testing.B) *rig {
	r := &rig{fake: open(b)}
	d, err := acl.Open()
	if err != nil {
		b.Fatal(err)
	}
	r.set("restart", 1)
	r.e = executor.New(d, executor.Options{})
	r.c = r.e.NewCaller(context.Background())
	sig, err := driver.ParseSignature(signatures["spin"])
	if err != nil {
		b.Fatal(err)
	}
	src := driver.KernelSource{Name: "spin", Signature: sig, Binary: binary(b, "spin")}
	r.call(b, func(d driver.Driver) (err error) {
		if err = d.Init(); err != nil {
			return err
		}
		if r.ctx, err = d.CreateContext(0); err != nil {
			return err
		}
		if r.stream, err = d.CreateStream(driver.StreamConfig{}); err != nil {
			return err
		}
		r.spin, err = d.(driver.Loader).LoadKernel(src)
		return err
	})
	b.Cleanup(func() {
		r.call(b, func(d driver.Driver) error {
			_ = d.DestroyContext(r.ctx)
			return d.Finalize()
		})
		r.c.Close()
		r.e.Close()
	})
	return r
}

func (r *rig) call(b *testing.B, fn func(driver.Driver) error) {
	b.Helper()
	if err := r.c.Call(r.ctx, fn); err != nil {
		b.Fatal(err)
	}
}

// BenchmarkCallOverC is what a call of the library costs on the executor's thread, beyond the C function itself: the
// metric over-C-ns is the difference to a loop in C.
func BenchmarkCallOverC(b *testing.B) {
	r := newRig(b)
	loop := cLoop(b)
	var inC time.Duration
	r.call(b, func(d driver.Driver) error {
		const n = 200_000
		start := time.Now()
		loop(r.symbol("aclrtGetCurrentContext"), n)
		inC = time.Since(start) / n
		b.ResetTimer()
		for range b.N {
			if err := acl.CallForBenchmark(d.(*acl.Driver)); err != nil {
				return err
			}
		}
		b.StopTimer()
		return nil
	})
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)-float64(inC.Nanoseconds()), "over-C-ns")
}

func (f *fake) symbol(name string) uintptr {
	h, err := purego.Dlopen(filepath.Join(f.dir, "libacl_rt.so"), purego.RTLD_NOW)
	if err != nil {
		f.t.Fatal(err)
	}
	p, err := purego.Dlsym(h, name)
	if err != nil {
		f.t.Fatal(err)
	}
	return p
}

// cLoop calls a function with the address of a word, n times.
func cLoop(b *testing.B) func(fn uintptr, n int) {
	dir := b.TempDir()
	source := filepath.Join(dir, "loop.c")
	text := "void loop(int (*fn)(void **), long n) { void *p; for (long i = 0; i < n; i++) fn(&p); }\n"
	if err := os.WriteFile(source, []byte(text), 0o600); err != nil {
		b.Fatal(err)
	}
	lib := filepath.Join(dir, "loop.so")
	if out, err := exec.Command("cc", "-O2", "-shared", "-fPIC", "-o", lib, source).CombinedOutput(); err != nil {
		b.Fatalf("%v\n%s", err, out)
	}
	h, err := purego.Dlopen(lib, purego.RTLD_NOW)
	if err != nil {
		b.Fatal(err)
	}
	p, err := purego.Dlsym(h, "loop")
	if err != nil {
		b.Fatal(err)
	}
	return func(fn uintptr, n int) { purego.SyscallN(p, fn, uintptr(n)) }
}

// The two ways to hear that a stream is done, for work of several lengths: asking again and again, which waits use, and
// a host function that the stream reaches. The metric late-us is how long after the end of the work.
func BenchmarkWait(b *testing.B) {
	for _, work := range []time.Duration{0, 20 * time.Microsecond, 200 * time.Microsecond, 5 * time.Millisecond} {
		launch := func(r *rig) {
			r.call(b, func(d driver.Driver) error {
				return d.Enqueue(&driver.Command{Op: driver.OpLaunch, Stream: r.stream, Context: r.ctx, Kernel: r.spin, Blocks: 1,
					Args: []uint64{dtype.Float64.Bits(work.Seconds())}})
			})
		}
		report := func(b *testing.B) {
			b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N)-float64(work.Microseconds()), "late-us")
		}
		b.Run("asking/"+work.String(), func(b *testing.B) {
			r := newRig(b)
			b.ResetTimer()
			for range b.N {
				launch(r)
				if err := r.c.Wait(&executor.Target{Context: r.ctx, Stream: r.stream, Timeout: -1}); err != nil {
					b.Fatal(err)
				}
			}
			report(b)
		})
		b.Run("host function/"+work.String(), func(b *testing.B) {
			r := newRig(b)
			done := make(chan struct{})
			b.ResetTimer()
			for range b.N {
				launch(r)
				r.call(b, func(d driver.Driver) error {
					return d.Enqueue(&driver.Command{Op: driver.OpHostFunc, Stream: r.stream, Context: r.ctx,
						Func: func() error { done <- struct{}{}; return nil }})
				})
				<-done
			}
			report(b)
		})
	}
}

// BenchmarkQueuedCopy is a copy of 4 KiB handed to the library on the executor's thread; the metric over-C-ns is the
// difference to a loop in C.
func BenchmarkQueuedCopy(b *testing.B) {
	r := newRig(b)
	const size = 4096
	var dst, src driver.Ptr
	r.call(b, func(d driver.Driver) (err error) {
		if dst, err = d.Malloc(size, driver.MemHugeFirst); err != nil {
			return err
		}
		src, err = d.MallocHost(size)
		return err
	})
	r.call(b, func(d driver.Driver) error {
		c := driver.Command{Op: driver.OpCopy, Kind: driver.HostToDevice, Stream: r.stream, Context: r.ctx, Dst: dst, Src: src, Size: size}
		b.ResetTimer()
		for range b.N {
			if err := d.Enqueue(&c); err != nil {
				return err
			}
		}
		b.StopTimer()
		return d.SynchronizeStream(r.stream, -1)
	})
}
