package npu_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"npulua/npu"
)

// lives is a session in which several goroutines make, use, share and close everything at once, by a program of bytes,
// over guarded memory: whatever touches memory that is gone ends the process.
type lives struct {
	t    testing.TB
	s    *npu.Session
	acts []lifeAct

	mu     sync.Mutex
	shared []*npu.Shared // anybody may receive them, and more than once
	ctxs   []*npu.Context
}

// lifeAct is one thing that a task does; w is its goroutine.
type lifeAct func(w *lifeWorker, th *npu.Thread)

// lifeWorker is one goroutine, whose tasks share its handles.
type lifeWorker struct {
	*lives
	code   []byte
	number int
	sch    *npu.Scheduler
	depth  int

	streams []*npu.Stream
	events  []*npu.Event
	bufs    []*npu.Buffer
	graphs  []*npu.Graph
	kernels []*npu.Kernel
	tasks   []*npu.Task
}

// lifeElements is the size of all buffers, so that most copies fit.
const lifeElements = 32

func (w *lifeWorker) next(n int) int {
	if len(w.code) == 0 {
		return 0
	}
	b := int(w.code[0])
	w.code = w.code[1:]
	return b % n
}

func pickOf[T any](w *lifeWorker, list []T) (v T, ok bool) {
	if len(list) == 0 {
		return v, false
	}
	return list[w.next(len(list))], true
}

func keepOf[T any](list *[]T, v T, err error) error {
	if err == nil {
		if *list = append(*list, v); len(*list) > 6 {
			*list = (*list)[1:] // garbage collection may close it
		}
	}
	return err
}

// told checks that an error is one of ours.
func (w *lifeWorker) told(err error) {
	if err == nil || w.t.Context().Err() != nil { // the test has given up
		return
	}
	if e, ok := err.(*npu.Error); ok {
		if e.Code.Name() == "" || e.Error() == "" {
			w.t.Errorf("worker %d: %#v has no name", w.number, e)
		}
		if strings.Contains(e.Error(), "is no live") { // says only the simulator, of a handle that was destroyed
			w.t.Errorf("worker %d: the driver was asked about what is gone: %v", w.number, e)
		}
		return
	}
	if j, ok := err.(interface{ Unwrap() []error }); ok {
		for _, e := range j.Unwrap() {
			w.told(e)
		}
		return
	}
	w.t.Errorf("worker %d: %T %v", w.number, err, err)
}

// step does the next act of the program.
func (w *lifeWorker) step(th *npu.Thread) bool {
	if len(w.code) == 0 {
		return false
	}
	th.Site++
	w.acts[w.next(len(w.acts))](w, th)
	return true
}

func (w *lifeWorker) steps(th *npu.Thread, n int) {
	for i := 0; i < n && w.step(th); i++ {
	}
}

// run is the goroutine of w.
func (w *lifeWorker) run(th *npu.Thread) {
	m := &turns{tb: w.t}
	w.sch = w.s.NewScheduler(th, m)
	m.now = w.sch.Current()
	for _, name := range []string{"spin", "vector_add"} {
		k, err := w.s.Kernel(name)
		w.told(keepOf(&w.kernels, k, err))
	}
	k, err := w.s.NewKernel(npu.KernelOptions{Name: "view", Signature: "inout float32* x, uint32 n", Sim: func(l *npu.HostLaunch) error {
		v, done := th.View(l.Args[0].Type, l.Args[0].Mem, false)
		defer done()
		w.told(keepOf(&w.bufs, v, nil)) // it is closed when the launch is over
		if s, err := v.Slice(1, 2); err == nil {
			w.told(keepOf(&w.bufs, s, nil))
		}
		w.told(v.Close(th)) // refused
		return v.SetElement(0, 1)
	}})
	w.told(keepOf(&w.kernels, k, err))
	w.told(w.device(th))
	w.steps(th, len(w.code))
	for !w.sch.Alone() {
		w.told(w.sch.Finish())
	}
}

func (w *lifeWorker) device(th *npu.Thread) error {
	d, err := th.Device(w.next(2))
	if err == nil {
		w.addContext(d.DefaultContext())
	}
	return err
}

func (l *lives) addContext(c *npu.Context) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ctxs = append(l.ctxs, c); len(l.ctxs) > 8 {
		l.ctxs = l.ctxs[1:]
	}
}

// context is one of whatever worker.
func (w *lifeWorker) context() (*npu.Context, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return pickOf(w, w.ctxs)
}

func (w *lifeWorker) timeout() time.Duration {
	return []time.Duration{-1, 0, time.Microsecond, time.Millisecond}[w.next(4)]
}

// The acts.

func lifeDevice(w *lifeWorker, th *npu.Thread) { w.told(w.device(th)) }

func lifeContext(w *lifeWorker, th *npu.Thread) {
	if c, ok := w.context(); ok {
		c, err := c.Device().CreateContext(th)
		if w.told(err); err == nil {
			w.addContext(c)
		}
	}
}

func lifeStream(w *lifeWorker, th *npu.Thread) {
	if c, ok := w.context(); ok {
		s, err := c.CreateStream(th, npu.StreamOptions{Failure: []string{"", "", "", "stop"}[w.next(4)]})
		w.told(keepOf(&w.streams, s, err))
	}
}

func lifeEvent(w *lifeWorker, th *npu.Thread) {
	if c, ok := w.context(); ok {
		e, err := c.CreateEvent(th, true)
		w.told(keepOf(&w.events, e, err))
	}
}

func lifeAlloc(w *lifeWorker, th *npu.Thread) {
	if c, ok := w.context(); ok {
		b, err := c.Alloc(th, float32Type, lifeElements, "")
		w.told(keepOf(&w.bufs, b, err))
	}
}

func lifeHost(w *lifeWorker, th *npu.Thread) {
	b, err := th.Host(float32Type, lifeElements, w.next(3) > 0)
	w.told(keepOf(&w.bufs, b, err))
}

func lifeSlice(w *lifeWorker, th *npu.Thread) {
	if b, ok := pickOf(w, w.bufs); ok {
		s, err := b.Slice(int64(w.next(4)), 8)
		w.told(keepOf(&w.bufs, s, err))
	}
}

func lifeCopy(w *lifeWorker, th *npu.Thread) {
	s, ok1 := pickOf(w, w.streams)
	dst, ok2 := pickOf(w, w.bufs)
	src, ok3 := pickOf(w, w.bufs)
	if ok1 && ok2 && ok3 {
		w.told(s.Copy(th, dst, src))
	}
}

func lifeBlockingCopy(w *lifeWorker, th *npu.Thread) {
	dst, ok1 := pickOf(w, w.bufs)
	src, ok2 := pickOf(w, w.bufs)
	if ok1 && ok2 {
		w.told(npu.Copy(th, dst, src))
	}
}

func lifeFill(w *lifeWorker, th *npu.Thread) {
	s, ok1 := pickOf(w, w.streams)
	b, ok2 := pickOf(w, w.bufs)
	if ok1 && ok2 {
		w.told(s.Fill(th, b, 1))
	}
}

func lifeLaunch(w *lifeWorker, th *npu.Thread) {
	s, ok1 := pickOf(w, w.streams)
	a, ok2 := pickOf(w, w.bufs)
	b, ok3 := pickOf(w, w.bufs)
	if !ok1 || !ok2 || !ok3 {
		return
	}
	switch w.next(3) {
	case 0:
		w.told(s.Launch(th, w.kernels[0], 1, []npu.Arg{{Number: []float64{1e-6, 1e-3, 0.1}[w.next(3)]}}))
	case 1:
		w.told(s.Launch(th, w.kernels[1], 2, []npu.Arg{{Buffer: a}, {Buffer: b}, {Buffer: a}, {Number: 8}}))
	case 2:
		w.told(s.Launch(th, w.kernels[2], 1, []npu.Arg{{Buffer: a}, {Number: 8}}))
	}
}

func lifeCallback(w *lifeWorker, th *npu.Thread) {
	s, ok1 := pickOf(w, w.streams)
	b, ok2 := pickOf(w, w.bufs)
	if !ok1 || !ok2 {
		return
	}
	fn := func() error {
		w.told(b.SetElement(0, 2))
		w.told(b.Close(th)) // refused
		_, err := b.Sum()
		return err
	}
	if w.next(2) == 0 {
		w.told(s.Callback(th, fn))
	} else {
		w.told(s.Notify(th, fn))
	}
}

func lifeOrder(w *lifeWorker, th *npu.Thread) {
	s, ok1 := pickOf(w, w.streams)
	o, ok2 := pickOf(w, w.streams)
	e, ok3 := pickOf(w, w.events)
	if ok1 && ok2 && ok3 {
		w.told(s.Record(th, e))
		w.told(o.Wait(th, e))
	}
}

func lifeWait(w *lifeWorker, th *npu.Thread) {
	switch w.next(4) {
	case 0:
		if s, ok := pickOf(w, w.streams); ok {
			w.told(s.Synchronize(th, w.timeout()))
		}
	case 1:
		if e, ok := pickOf(w, w.events); ok {
			w.told(e.Synchronize(th, w.timeout()))
		}
	case 2:
		if c, ok := w.context(); ok {
			w.told(c.Synchronize(th, w.timeout()))
		}
	case 3:
		w.told(th.Sleep([]time.Duration{0, time.Microsecond, time.Millisecond}[w.next(3)]))
	}
}

func lifeAccess(w *lifeWorker, th *npu.Thread) {
	b, ok := pickOf(w, w.bufs)
	if !ok {
		return
	}
	switch w.next(5) {
	case 0:
		_, err := b.Element(3)
		w.told(err)
	case 1:
		w.told(b.SetAll(4, func(i int64) (float64, error) {
			w.steps(th, 1)
			return float64(i), nil
		}))
	case 2:
		_, _ = b.Peek(th, 4)
	case 3:
		w.told(b.Read(func(data []byte) error {
			w.steps(th, 1) // it may close b
			sum := 0
			for _, x := range data {
				sum += int(x)
			}
			if sum < 0 {
				return errors.New("no sum")
			}
			return nil
		}))
	case 4:
		w.told(b.SetPattern(1))
	}
}

func lifeClose(w *lifeWorker, th *npu.Thread) {
	switch w.next(6) {
	case 0, 1, 2:
		if b, ok := pickOf(w, w.bufs); ok {
			w.told(b.Close(th))
		}
	case 3:
		if s, ok := pickOf(w, w.streams); ok {
			w.told(s.Close(th))
		}
	case 4:
		if e, ok := pickOf(w, w.events); ok {
			w.told(e.Close(th))
		}
	case 5:
		if g, ok := pickOf(w, w.graphs); ok {
			w.told(g.Close(th))
		}
	}
}

func lifeCloseContext(w *lifeWorker, th *npu.Thread) {
	if c, ok := w.context(); ok {
		w.told(c.Close(th))
	}
}

func lifeCloseDevice(w *lifeWorker, th *npu.Thread) {
	if c, ok := w.context(); ok {
		if w.next(2) == 0 {
			w.told(c.Device().Close(th))
		} else {
			w.told(c.Device().Reset(th))
		}
	}
}

func lifeScope(w *lifeWorker, th *npu.Thread) {
	if w.depth > 2 {
		return
	}
	w.depth++
	defer func() { w.depth-- }()
	w.told(th.Scope(func() error {
		w.steps(th, w.next(8))
		if b, ok := pickOf(w, w.bufs); ok {
			th.Keep(b)
		}
		return nil
	}))
}

func lifeCapture(w *lifeWorker, th *npu.Thread) {
	s, ok := pickOf(w, w.streams)
	if !ok || w.depth > 2 {
		return
	}
	w.depth++
	defer func() { w.depth-- }()
	g, err := s.Capture(th, func() error {
		w.steps(th, w.next(6))
		return nil
	})
	w.told(keepOf(&w.graphs, g, err))
}

func lifeReplay(w *lifeWorker, th *npu.Thread) {
	s, ok1 := pickOf(w, w.streams)
	g, ok2 := pickOf(w, w.graphs)
	if !ok1 || !ok2 {
		return
	}
	if b, ok := pickOf(w, w.bufs); ok && w.next(3) == 0 {
		w.told(g.Update(th, "vector_add", []npu.Arg{{Buffer: b}, {Buffer: b}, {Buffer: b}, {Number: 8}}))
	}
	w.told(g.Replay(th, s))
}

func lifeSpawn(w *lifeWorker, th *npu.Thread) {
	n := w.next(12)
	t, err := w.sch.Spawn(th, func(th *npu.Thread) error {
		w.told(w.device(th))
		w.steps(th, n)
		return nil
	})
	w.told(keepOf(&w.tasks, t, err))
}

func lifeCancel(w *lifeWorker, th *npu.Thread) {
	if t, ok := pickOf(w, w.tasks); ok && t.Thread() != th {
		t.Cancel(th)
	}
}

func lifeShare(w *lifeWorker, th *npu.Thread) {
	b, ok := pickOf(w, w.bufs)
	if !ok {
		return
	}
	s, err := b.Share()
	if w.told(err); err != nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.shared = append(w.shared, s); len(w.shared) > 6 {
		w.shared = w.shared[1:] // lost without Drop
	}
}

func lifeReceive(w *lifeWorker, th *npu.Thread) {
	w.mu.Lock()
	s, ok := pickOf(w, w.shared)
	w.mu.Unlock()
	if ok {
		for range 1 + w.next(3) {
			b, err := th.Receive(s)
			w.told(keepOf(&w.bufs, b, err))
		}
	}
}

func lifeDrop(w *lifeWorker, th *npu.Thread) {
	w.mu.Lock()
	s, ok := pickOf(w, w.shared)
	w.mu.Unlock()
	if ok {
		s.Drop()
	}
}

func lifeCollect(w *lifeWorker, th *npu.Thread) {
	if w.next(8) == 0 {
		runtime.GC()
	}
}

// live runs a program: its first byte says how many goroutines share the rest.
func live(t *testing.T, code []byte, acts []lifeAct) {
	if len(code) > 600 {
		t.Skip("long programs find nothing that short ones do not")
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	s, err := npu.Open(ctx, npu.Options{Backend: "sim", Sim: "910b:2", Where: where, Guarded: true})
	if err != nil {
		t.Fatal(err)
	}
	l := &lives{t: t, s: s, acts: acts}
	n := 1
	if len(code) > 0 {
		n, code = 1+int(code[0]%4), code[1:]
	}
	within(t, "the program", func() {
		var wg sync.WaitGroup
		var running atomic.Int32
		part := (len(code) + n - 1) / n
		for i := range n {
			w := &lifeWorker{lives: l, number: i, code: code[min(i*part, len(code)):min((i+1)*part, len(code))]}
			th := s.NewThread(ctx)
			running.Add(1)
			wg.Go(func() {
				defer running.Add(-1)
				defer th.Close()
				w.run(th)
			})
		}
		for running.Load() > 0 && s.Main().Sleep(time.Second) == nil { // or time would stand still
		}
		wg.Wait()
	})
	force := len(code) > 0 && code[0]&1 == 0
	within(t, "Close", func() { (&lifeWorker{lives: l}).told(s.Close(force)) })
	noExecutor(t)
	if n := s.Pinned(); n != 0 {
		t.Errorf("%d blocks of pinned memory are left", n)
	}
	l.shared = nil
}

// lifeSeeds are programs to begin with: two goroutines and more, by dice.
func lifeSeeds(f *testing.F) {
	state := uint32(7)
	for n := 40; n <= 600; n += 40 {
		code := make([]byte, n)
		for i := range code {
			state = state*1664525 + 1013904223
			code[i] = byte(state >> 24)
		}
		f.Add(code)
	}
}

// FuzzShares: buffers go between goroutines, to one receiver or many, and are closed on both sides.
func FuzzShares(f *testing.F) {
	lifeSeeds(f)
	f.Fuzz(func(t *testing.T, code []byte) { live(t, code, sharesActs) })
}

var sharesActs = []lifeAct{lifeHost, lifeHost, lifeShare, lifeShare, lifeReceive, lifeReceive, lifeReceive, lifeDrop, lifeClose, lifeClose, lifeCollect,
	lifeAccess, lifeAccess, lifeStream, lifeAlloc, lifeCopy, lifeBlockingCopy, lifeWait, lifeSpawn, lifeScope, lifeCancel, lifeSlice, lifeCallback}

// FuzzWaits: operands are closed by other tasks while something waits that is to use them.
func FuzzWaits(f *testing.F) {
	lifeSeeds(f)
	f.Fuzz(func(t *testing.T, code []byte) { live(t, code, waitsActs) })
}

var waitsActs = []lifeAct{lifeSpawn, lifeSpawn, lifeStream, lifeAlloc, lifeHost, lifeSlice, lifeLaunch, lifeLaunch, lifeCopy, lifeCopy, lifeBlockingCopy, lifeBlockingCopy,
	lifeAccess, lifeFill, lifeCallback, lifeWait, lifeWait, lifeClose, lifeClose, lifeEvent, lifeOrder, lifeCapture, lifeReplay, lifeCancel, lifeCollect, lifeScope}

// FuzzClosing: parents are closed and reset while others make something in them.
func FuzzClosing(f *testing.F) {
	lifeSeeds(f)
	f.Fuzz(func(t *testing.T, code []byte) { live(t, code, closingActs) })
}

var closingActs = []lifeAct{lifeDevice, lifeContext, lifeStream, lifeStream, lifeEvent, lifeAlloc, lifeAlloc, lifeHost, lifeLaunch, lifeCopy, lifeBlockingCopy, lifeFill,
	lifeOrder, lifeCapture, lifeReplay, lifeSpawn, lifeSpawn, lifeWait, lifeCloseContext, lifeCloseDevice, lifeCloseDevice, lifeClose, lifeScope, lifeCancel, lifeCollect}

var (
	livesCount = flag.Int("lives", 20, "random programs of TestLives for each kind")
	livesSeed  = flag.Uint64("lives-seed", 1, "of TestLives")
)

// TestLives is the fuzz targets by dice, in one process that tells what ends it.
func TestLives(t *testing.T) {
	for _, kind := range []struct {
		name string
		acts []lifeAct
	}{{"shares", sharesActs}, {"waits", waitsActs}, {"closing", closingActs}} {
		dice := rand.New(rand.NewPCG(*livesSeed, 1))
		for i := range *livesCount {
			code := make([]byte, 40+dice.IntN(500))
			for j := range code {
				code[j] = byte(dice.Uint32())
			}
			t.Run(fmt.Sprint(kind.name, " ", i), func(t *testing.T) { live(t, code, kind.acts) })
			if t.Failed() {
				t.Fatalf("program %x", code)
			}
		}
	}
}
