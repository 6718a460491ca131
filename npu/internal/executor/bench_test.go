package executor_test

import (
	"context"
	"runtime"
	"slices"
	"testing"
	"time"

	"npulua/npu/internal/driver"
	"npulua/npu/internal/executor"
	"npulua/npu/null"
)

// channelWorker is the yardstick: closures through an unbuffered channel to a goroutine that is
// locked to its thread, and back, for every call.
type channelWorker struct {
	work chan func() error
	errs chan error
}

func newChannelWorker() *channelWorker {
	w := &channelWorker{work: make(chan func() error), errs: make(chan error)}
	go func() {
		runtime.LockOSThread()
		for fn := range w.work {
			w.errs <- fn()
		}
	}()
	return w
}

func (w *channelWorker) do(fn func() error) error {
	w.work <- fn
	return <-w.errs
}

// rig is an executor over the null driver with a context and a stream, and the yardstick over
// another null driver.
type rig struct {
	e       *executor.Executor
	c       *executor.Caller
	ctx     driver.Context
	stream  driver.Stream
	channel *channelWorker
	other   *null.Driver
}

func newRig(b *testing.B) *rig {
	r := &rig{e: executor.New(null.Open(), executor.Options{}), channel: newChannelWorker(), other: null.Open()}
	r.c = r.e.NewCaller(context.Background())
	err := r.c.Call(0, func(d driver.Driver) (err error) {
		if r.ctx, err = d.CreateContext(0); err == nil {
			r.stream, err = d.CreateStream(driver.StreamConfig{})
		}
		return err
	})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		r.c.Close()
		r.e.Close()
		close(r.channel.work)
	})
	return r
}

func (r *rig) submit() {
	p, c := r.c.Begin()
	c.Op = driver.OpCopy
	c.Kind = driver.DeviceToDevice
	c.Context, c.Stream = r.ctx, r.stream
	c.Dst, c.Src, c.Size = 0x1000, 0x2000, 4096
	p.Submit()
}

func (r *rig) drained(b *testing.B) {
	if err := r.c.Wait(&executor.Target{Kind: executor.WaitStream, Context: r.ctx, Stream: r.stream, Timeout: -1}); err != nil {
		b.Fatal(err)
	}
}

// copyByChannel is what submit stands for, in the yardstick's way.
func (r *rig) copyByChannel(b *testing.B) {
	c := driver.Command{Op: driver.OpCopy, Kind: driver.DeviceToDevice, Context: r.ctx, Stream: r.stream, Dst: 0x1000, Src: 0x2000, Size: 4096}
	if err := r.channel.do(func() error { return r.other.Enqueue(&c) }); err != nil {
		b.Fatal(err)
	}
}

// pairs is how often the two sides of a ratio are measured in turn; the median counts.
const pairs = 7

// compare runs ours and the yardstick in turn, and reports the medians and the median ratio.
func compare(b *testing.B, ours func(n int), yardstick func(n int), perOurs, perYardstick int) {
	var a, y, ratio []float64
	ours(perOurs / 10)
	yardstick(perYardstick/10 + 1)
	b.ResetTimer()
	for range pairs {
		start := time.Now()
		ours(perOurs)
		mid := time.Now()
		yardstick(perYardstick)
		end := time.Now()
		x := float64(mid.Sub(start)) / float64(perOurs)
		z := float64(end.Sub(mid)) / float64(perYardstick)
		a, y, ratio = append(a, x), append(y, z), append(ratio, z/x)
	}
	b.ReportMetric(median(a), "ns/op")
	b.ReportMetric(median(y), "channel-ns/op")
	b.ReportMetric(median(ratio), "ratio")
}

func median(v []float64) float64 { return slices.Sorted(slices.Values(v))[len(v)/2] }

// BenchmarkQueued: a queued command against the channel design. The budget is a ratio of 100.
func BenchmarkQueued(b *testing.B) {
	r := newRig(b)
	compare(b, func(n int) {
		for range n {
			r.submit()
		}
		r.drained(b)
	}, func(n int) {
		for range n {
			r.copyByChannel(b)
		}
	}, max(b.N/pairs, 1), max(b.N/pairs/200, 1))
}

// BenchmarkCall: a synchronous call of a hot executor against the channel design. The budget is
// 1.5 us and a ratio of 20.
func BenchmarkCall(b *testing.B) {
	r := newRig(b)
	nop := func(driver.Driver) error { return nil }
	compare(b, func(n int) {
		for range n {
			if err := r.c.Call(r.ctx, nop); err != nil {
				b.Fatal(err)
			}
		}
	}, func(n int) {
		for range n {
			if err := r.channel.do(func() error { return nil }); err != nil {
				b.Fatal(err)
			}
		}
	}, max(b.N/pairs, 1), max(b.N/pairs/20, 1))
}

// BenchmarkPaced is a queued command by a producer that works for about as long as a script does
// between two calls: what the handover itself costs the producer, with the executor right behind.
// ns/op is the submission alone.
func BenchmarkPaced(b *testing.B) {
	r := newRig(b)
	for _, work := range []int{0, 50, 100, 200, 400} {
		b.Run(time.Duration(work).String(), func(b *testing.B) {
			var net []float64
			n := max(b.N/5, 1)
			spin(work, n/10)
			b.ResetTimer()
			for range 5 {
				bare := spin(work, n)
				start := time.Now()
				for range n {
					spinOnce(work)
					r.submit()
				}
				net = append(net, float64(time.Since(start)-bare)/float64(n))
				r.drained(b)
			}
			b.ReportMetric(median(net), "ns/op")
		})
	}
}

func spin(work, n int) time.Duration {
	start := time.Now()
	for range n {
		spinOnce(work)
	}
	return time.Since(start)
}

var spun uint64

// spinOnce takes about ns nanoseconds.
//
//go:noinline
func spinOnce(ns int) {
	x := spun
	for range ns {
		x = x*6364136223846793005 + 1
	}
	spun = x
}

// BenchmarkWakeUp is a synchronous call of an executor that has parked.
func BenchmarkWakeUp(b *testing.B) {
	r := newRig(b)
	var took []float64
	for range min(max(b.N, 10), 200) {
		time.Sleep(2 * time.Millisecond)
		start := time.Now()
		if err := r.c.Call(r.ctx, func(driver.Driver) error { return nil }); err != nil {
			b.Fatal(err)
		}
		took = append(took, float64(time.Since(start)))
	}
	b.ReportMetric(median(took), "ns/op")
}
