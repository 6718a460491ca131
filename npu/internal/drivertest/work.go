package drivertest

import (
	"sync"
	"time"

	"npulua/npu/internal/driver"
	"npulua/npu/internal/dtype"
)

// issue queues a command as the executor does, with the context that it takes for current.
func (t *tester) issue(c driver.Command) error {
	if c.Context == 0 {
		c.Context, _ = t.CurrentContext() // none: the driver says so itself
	}
	return t.Enqueue(&c)
}

func (t *tester) enqueue(c driver.Command) {
	t.Helper()
	t.must(t.issue(c), "Enqueue "+c.Op.String())
}

func (t *tester) copy(s driver.Stream, dst, src driver.Ptr, size int64) {
	t.Helper()
	t.enqueue(driver.Command{Op: driver.OpCopy, Stream: s, Dst: dst, Src: src, Size: size, Kind: driver.CopyDefault})
}

func (t *tester) fill(s driver.Stream, dst driver.Ptr, size int64, v byte) {
	t.Helper()
	t.enqueue(fillCommand(s, dst, size, v))
}

func fillCommand(s driver.Stream, dst driver.Ptr, size int64, v byte) driver.Command {
	return driver.Command{Op: driver.OpFill, Stream: s, Dst: dst, Size: size, Value: uint64(v), Width: 1}
}

func (t *tester) record(s driver.Stream, e driver.Event) {
	t.Helper()
	t.enqueue(driver.Command{Op: driver.OpRecord, Stream: s, Event: e})
}

func (t *tester) wait(s driver.Stream, e driver.Event) {
	t.Helper()
	t.enqueue(driver.Command{Op: driver.OpWait, Stream: s, Event: e})
}

func (t *tester) callback(s driver.Stream, fn func() error) {
	t.Helper()
	t.enqueue(driver.Command{Op: driver.OpHostFunc, Stream: s, Func: fn})
}

// spin queues work that takes d of device time.
func (t *tester) spin(s driver.Stream, d time.Duration) {
	t.Helper()
	t.enqueue(t.spinCommand(s, d))
}

func (t *tester) spinCommand(s driver.Stream, d time.Duration) driver.Command {
	t.Helper()
	return driver.Command{Op: driver.OpLaunch, Stream: s, Kernel: t.kernel("spin"), Blocks: 1,
		Args: []uint64{dtype.Float64.Bits(d.Seconds())}}
}

// vectorAdd is a launch of y = a + b over n float32, where each operand is size bytes long.
func (t *tester) vectorAdd(s driver.Stream, y, a, b driver.Ptr, size, n int, blocks uint32) driver.Command {
	t.Helper()
	z := uint64(size)
	return driver.Command{Op: driver.OpLaunch, Stream: s, Kernel: t.kernel("vector_add", dtype.Float32), Blocks: blocks,
		Args: []uint64{uint64(y), z, uint64(a), z, uint64(b), z, dtype.Uint32.Bits(float64(n))}}
}

// fault queues a kernel that reads past its operands: CodeVectorException at synchronize.
func (t *tester) fault(s driver.Stream, site driver.Site) {
	t.Helper()
	p := t.filled(64, 0)
	c := t.vectorAdd(s, p, p, p, 64, 1<<20, 1)
	c.Site = site
	t.enqueue(c)
}

func (t *tester) sync(s driver.Stream) {
	t.Helper()
	t.must(t.SynchronizeStream(s, forever), "SynchronizeStream")
}

// done asks for the state of a stream.
func (t *tester) done(s driver.Stream) bool {
	t.Helper()
	done, err := t.QueryStream(s)
	t.must(err, "QueryStream")
	return done
}

// wantDone checks it.
func (t *tester) wantDone(s driver.Stream, want bool, what string) {
	t.Helper()
	if got := t.done(s); got != want {
		t.Errorf("QueryStream %s = %v, want %v", what, got, want)
	}
}

// soon asks again and again, for a driver that learns of failed work only now and then. The limit is for what never comes.
func (t *tester) soon(ask func() bool, what string) {
	t.Helper()
	for begin := time.Now(); !ask(); time.Sleep(time.Millisecond) {
		if t.clock != nil || time.Since(begin) > time.Minute {
			t.Fatalf("%s stays false", what)
		}
	}
}

// settle lets everything happen that can.
func (t *tester) settle() {
	t.Helper()
	if t.clock == nil {
		time.Sleep(2 * long) // hardware works on, and nothing tells when it is done
		return
	}
	for range 1 << 20 {
		if !t.clock.Advance(-1) {
			return
		}
	}
	t.Fatal("Advance(-1) never reports that nothing is left")
}

// pass lets d of time go by, with all that happens in it, on a driver with a clock.
func (t *tester) pass(d time.Duration) {
	limit := t.clock.Now() + d
	for t.clock.Advance(limit) {
	}
}

// simulated skips the rest of a case on hardware, where it could take the process down.
func (t *tester) simulated() {
	t.Helper()
	info, err := t.prober.DeviceInfo(0)
	t.must(err, "DeviceInfo")
	if !info.Simulated {
		t.Skip("for simulators only")
	}
}

// took is how long fn takes, in the driver's time where it has one.
func (t *tester) took(fn func()) time.Duration {
	if t.clock == nil {
		start := time.Now()
		fn()
		return time.Since(start)
	}
	start := t.clock.Now()
	fn()
	return t.clock.Now() - start
}

// wantTook checks a duration: on a driver's own clock never shorter and hardly longer, in real time, where the work
// may have begun before it was looked at, not much shorter.
func (t *tester) wantTook(got, want time.Duration, what string) {
	t.Helper()
	least := want
	if t.clock == nil {
		least = want / 2
	}
	if got < least || t.clock != nil && got > want+slack {
		t.Errorf("%s took %v, want %v", what, got, want)
	}
}

// order collects numbers from host functions.
type order struct {
	mu   sync.Mutex
	seen []int
}

// add is a host function that notes n.
func (o *order) add(n int) func() error {
	return func() error {
		o.mu.Lock()
		defer o.mu.Unlock()
		o.seen = append(o.seen, n)
		return nil
	}
}

// wantUpTo checks for 0 to n-1, each once, in order.
func (o *order) wantUpTo(t *tester, n int) {
	t.Helper()
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.seen) != n {
		t.Errorf("%d host functions ran, want %d", len(o.seen), n)
	}
	for i, got := range o.seen {
		if got != i {
			t.Errorf("host function %d ran in place %d", got, i)
			return
		}
	}
}
