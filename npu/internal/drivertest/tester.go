package drivertest

import (
	"errors"
	"testing"
	"time"

	"npulua/npu/internal/driver"
	"npulua/npu/internal/dtype"
)

const (
	pause   = 50 * time.Millisecond  // work that is still pending a few calls later
	forever = time.Duration(-1)      // as a timeout
	slack   = 10 * time.Millisecond  // what calls may cost beside the work, on a driver's own clock
	long    = 500 * time.Millisecond // work that outlives several pauses
)

// tester is one case in progress: the test, its driver, and helpers in lower case that end the case
// where a call fails that must not. Methods of the driver itself are the plain ones.
type tester struct {
	*testing.T
	driver.Driver

	clock   driver.Clock   // nil where the driver has none, as are the next ones
	prober  driver.Prober  //
	loader  driver.Loader  //
	peers   driver.Peers   //
	threads driver.Threads //
	graphs  driver.Capturer
	watcher driver.Watcher
	inspect driver.Inspector
	models  driver.Modeler
	sensors driver.Sensors
	aborter driver.Aborter

	harness Harness
	kernels map[kernelKey]driver.Kernel
	gone    map[any]bool // handles that the case destroyed itself
}

type kernelKey struct {
	device int
	name   string
}

// open makes the tester of one case, or skips it where the driver lacks what it needs.
func open(t *testing.T, h Harness, needs need) *tester {
	d := h.Open(t)
	tt := &tester{T: t, Driver: d, harness: h, kernels: map[kernelKey]driver.Kernel{}, gone: map[any]bool{}}
	count, err := d.DeviceCount()
	tt.Cleanup(func() {
		for device := range count {
			_ = d.ResetDevice(device, true) // fails where it is not set
		}
		for d.Finalize() == nil { // a library is in the process once: the next case finds it as it was
		}
		if c, ok := d.(driver.Closer); ok {
			tt.want(driver.OK, c.Close(), "Close")
		}
	})
	tt.must(err, "DeviceCount")

	tt.clock, _ = d.(driver.Clock)
	tt.prober, _ = d.(driver.Prober)
	tt.loader, _ = d.(driver.Loader)
	tt.peers, _ = d.(driver.Peers)
	tt.threads, _ = d.(driver.Threads)
	tt.graphs, _ = d.(driver.Capturer)
	tt.watcher, _ = d.(driver.Watcher)
	tt.inspect, _ = d.(driver.Inspector)
	tt.models, _ = d.(driver.Modeler)
	tt.sensors, _ = d.(driver.Sensors)
	tt.aborter, _ = d.(driver.Aborter)
	for _, n := range []struct {
		bit  need
		has  bool
		what string
	}{
		{twoDevices, count >= 2, "two devices"},
		{clock, tt.clock != nil, "driver.Clock"},
		{prober, tt.prober != nil, "driver.Prober"},
		{loader, tt.loader != nil, "driver.Loader"},
		{peers, tt.peers != nil, "driver.Peers"},
		{threads, tt.threads != nil, "driver.Threads"},
		{capturer, tt.graphs != nil, "driver.Capturer"},
		{watcher, tt.watcher != nil, "driver.Watcher"},
		{inspector, tt.inspect != nil && !h.Together, "driver.Inspector for each command"},
		{sensors, tt.sensors != nil, "driver.Sensors"},
		{aborter, tt.aborter != nil, "driver.Aborter"},
		{modeler, tt.models != nil && h.Model != nil, "driver.Modeler"},
	} {
		if needs&n.bit != 0 && !n.has {
			t.Skipf("needs %s", n.what)
		}
	}
	if needs&fresh == 0 {
		tt.must(d.Init(), "Init")
		tt.must(d.SetDevice(0), "SetDevice(0)")
	}
	return tt
}

// code is the return code in err. An error without one fails the test.
func (t *tester) code(err error) driver.Code {
	t.Helper()
	if err == nil {
		return driver.OK
	}
	var c driver.Code
	if !errors.As(err, &c) {
		t.Errorf("error without a code: %v", err)
		return -1 << 31
	}
	return c
}

// want compares a return code and goes on.
func (t *tester) want(want driver.Code, err error, what string) {
	t.Helper()
	if got := t.code(err); got != want {
		t.Errorf("%s = %v, want %s", what, show(err), codeText(want))
	}
}

// wantAny is want with a choice.
func (t *tester) wantAny(err error, what string, wants ...driver.Code) {
	t.Helper()
	got := t.code(err)
	for _, w := range wants {
		if got == w {
			return
		}
	}
	t.Errorf("%s = %v, want one of %v", what, show(err), wants)
}

func show(err error) string {
	if err == nil {
		return "success"
	}
	return err.Error()
}

func codeText(c driver.Code) string {
	if c == driver.OK {
		return "success"
	}
	return c.Error()
}

// must ends the case where a call failed. Not for use in otherThread.
func (t *tester) must(err error, what string) {
	t.Helper()
	if err != nil {
		t.Fatalf("%s = %v, want success", what, err)
	}
}

// otherThread runs fn as a new host thread. fn must not end the case.
func (t *tester) otherThread(fn func()) { t.threads.OnNewThread(fn) }

// Handles. What they create is destroyed at the end, newest first, unless the case did it.

func (t *tester) context(device int) driver.Context {
	t.Helper()
	c, err := t.CreateContext(device)
	t.must(err, "CreateContext")
	t.Cleanup(func() {
		if !t.gone[c] {
			_ = t.DestroyContext(c)
		}
	})
	return c
}

func (t *tester) destroyContext(c driver.Context) {
	t.Helper()
	t.gone[c] = true
	t.must(t.DestroyContext(c), "DestroyContext")
}

func (t *tester) current() driver.Context {
	t.Helper()
	c, err := t.CurrentContext()
	t.must(err, "CurrentContext")
	return c
}

func (t *tester) setCurrent(c driver.Context) {
	t.Helper()
	t.must(t.SetCurrentContext(c), "SetCurrentContext")
}

// wantCurrent checks which context is current.
func (t *tester) wantCurrent(want driver.Context) {
	t.Helper()
	if got := t.current(); got != want {
		t.Errorf("CurrentContext() = %#x, want %#x", got, want)
	}
}

// wantDevice checks the device of the current context.
func (t *tester) wantDevice(want int) {
	t.Helper()
	got, err := t.Device()
	t.must(err, "Device")
	if got != want {
		t.Errorf("Device() = %d, want %d", got, want)
	}
}

func (t *tester) stream() driver.Stream {
	t.Helper()
	s, err := t.CreateStream(driver.StreamConfig{})
	t.must(err, "CreateStream")
	return s
}

func (t *tester) event(flags driver.EventFlags) driver.Event {
	t.Helper()
	e, err := t.CreateEvent(flags)
	t.must(err, "CreateEvent")
	t.Cleanup(func() {
		if !t.gone[e] {
			_ = t.DestroyEvent(e)
		}
	})
	return e
}

func (t *tester) destroyEvent(e driver.Event) {
	t.Helper()
	t.gone[e] = true
	t.must(t.DestroyEvent(e), "DestroyEvent")
}

// kernel loads a kernel into the current device, once a case.
func (t *tester) kernel(name string, types ...dtype.DType) driver.Kernel {
	t.Helper()
	device, err := t.Device()
	t.must(err, "Device")
	key := kernelKey{device, name}
	if k, ok := t.kernels[key]; ok {
		return k
	}
	k, err := t.loader.LoadKernel(t.source(name, types...))
	if err != nil && t.harness.Hardware {
		t.Skipf("there is no kernel %s: %v", name, err)
	}
	t.must(err, "LoadKernel "+name)
	t.kernels[key] = k
	return k
}

func (t *tester) source(name string, types ...dtype.DType) driver.KernelSource {
	if t.harness.Kernel != nil {
		return t.harness.Kernel(name, types)
	}
	return driver.KernelSource{Name: name, Types: types}
}
