// Package drivertest is the conformance suite of the Driver interface: one table of cases that
// every backend passes. A backend's test is a Harness and a call of Run.
//
// The cases follow what was observed on the vendor's runtime, then what was read about it; a name
// says the situation and, where there is one, the code that it gives. These observations cannot be
// said through the Go interface:
//
//   - CreateContext(NULL), GetCurrentContext(NULL), CreateStream(NULL), Malloc(NULL): 100000. Results
//     are Go results, there is no out parameter that could be missing.
//   - MemcpyAsync and MemsetAsync with destMax smaller than count: 107000. A Command has one size.
//   - A wild pointer as a stream, and an event used after its context is destroyed: SIGSEGV. Neither a
//     stale handle nor a dead event is ever passed down; that is the host's duty, not a driver's.
package drivertest

import (
	"runtime"
	"slices"
	"testing"

	"npulua/npu/internal/driver"
	"npulua/npu/internal/dtype"
)

// Harness is what the suite must know of a backend.
type Harness struct {
	// Open returns a driver on which nothing was called yet, with two devices at least where the
	// backend can have them. Where a library keeps state in the process, Open starts it afresh. The
	// suite closes the driver if it is a driver.Closer.
	Open func(t *testing.T) driver.Driver
	// Kernel says where "spin" ("float64 seconds") and "vector_add" ("out T* y, in T* a, in T* b,
	// uint32 n", with T bound to types) come from. Nil: the driver's own of that name.
	Kernel func(name string, types []dtype.DType) driver.KernelSource
	// Model says where the example models "mlp" (2 rows of 3 numbers) and "mlp_batch" (1, 2 or 4 rows)
	// are, in the format of the backend. Nil: its models are not tested.
	Model func(name string) driver.ModelSource
	// Skip names cases that the backend cannot pass, and why.
	Skip map[string]string
	// Hardware says that the device is a real one, for which there may be no kernel of a name: cases that need it are
	// skipped then.
	Hardware bool
	// Together says that the driver knows only of all commands of a stream together whether they are done.
	Together bool
	// Parallel says that drivers share nothing, so that cases may run side by side.
	Parallel bool
}

// need is what a case asks of a driver beyond the interface, as bits.
type need uint

const (
	fresh      need = 1 << iota // nothing was called yet; without it device 0 is set
	twoDevices                  // two of them at least
	clock                       // driver.Clock, and so on
	prober
	loader
	peers
	threads
	capturer
	watcher
	inspector
	modeler
	sensors
	aborter
)

// testCase is one row of the table.
type testCase struct {
	name  string
	needs need
	run   func(t *tester)
}

// cases is the table, in reading order.
func cases() []testCase {
	return slices.Concat(initCases(), deviceCases(), contextCases(), streamCases(), memoryCases(),
		eventCases(), launchCases(), callbackCases(), peerCases(), optionCases(), failureCases(),
		clockCases(), graphCases(), exceptionCases(), inspectCases(), modelCases(), sensorCases(), abortCases())
}

// Run runs every case against a driver of its own.
func Run(t *testing.T, h Harness) {
	all := cases()
	for name := range h.Skip {
		if !slices.ContainsFunc(all, func(c testCase) bool { return c.name == name }) {
			t.Errorf("Harness.Skip names no case: %q", name)
		}
	}
	for _, c := range all {
		t.Run(c.name, func(t *testing.T) {
			if why, skip := h.Skip[c.name]; skip {
				t.Skip(why)
			}
			if h.Parallel {
				t.Parallel()
			}
			// The current context belongs to the thread. The thread is never unlocked: it ends with
			// the case, and no context of it leaks into the next one.
			runtime.LockOSThread()
			c.run(open(t, h, c.needs))
		})
	}
}
