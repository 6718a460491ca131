// Package sim is the simulated driver: a discrete-event model of one process on a server with
// NPUs. Time is virtual and nothing reads the wall clock, so that two runs of one program give the
// same bytes at the same times. Data is real: a command takes effect on memory when it completes
// in virtual time; ties go in order of submission.
//
// Time moves for two reasons: a host call costs what its row in cost.go says, and Advance jumps to
// the next completion.
package sim

import (
	"strconv"
	"sync/atomic"
	"time"

	"npulua/npu/internal/driver"
)

// Config of Open.
type Config struct {
	Profile *Profile          // the part; nil: 910b
	Devices int               // number of devices; negative: none
	Logical []int             // numbers of the devices in the server; nil: those that they have here
	Memory  driver.HostMemory // of the simulated devices and of pinned memory; nil: what the host has
	Guarded bool              // for tests: misuse of memory ends the process
}

// Driver is one simulated process. It implements driver.Driver and the optional interfaces Clock,
// Prober, Numberer, Loader, Peers, Capturer, Modeler, Watcher, Inspector, Threads, Stopper, Namer, Aborter, Rehearser, Sensors,
// SensorSetter and Closer. Not safe for concurrent use.
type Driver struct {
	profile *Profile
	devices []*device
	logical []int
	memory  driver.HostMemory
	guarded bool

	now      time.Duration
	pending  eventHeap // completions to come
	seq      uint64    // order of submission
	freeTask *task
	untimed  bool   // host calls take no time
	progress uint64 // of driver.Clock
	faults   uint64
	failed   func(driver.Exception) // set by OnException
	stopped  atomic.Bool            // kernels compute no further blocks
	rehearsal

	thread *thread // the host thread that calls now
	inits  int
	ended  bool // finalized, and not initialized since

	handles  uintptr // last one given out; never reused
	contexts map[driver.Context]*context
	streams  map[driver.Stream]*stream
	events   map[driver.Event]*event
	kernels  map[driver.Kernel]*loadedKernel
	pinned   space

	graphs    map[driver.Graph]*graph
	models    map[driver.Model]*model
	capturing int // captures under way
}

// thread is the thread-local state of the runtime.
type thread struct{ ctx *context }

var (
	_ driver.Driver    = (*Driver)(nil)
	_ driver.Clock     = (*Driver)(nil)
	_ driver.Prober    = (*Driver)(nil)
	_ driver.Loader    = (*Driver)(nil)
	_ driver.Peers     = (*Driver)(nil)
	_ driver.Capturer  = (*Driver)(nil)
	_ driver.Modeler   = (*Driver)(nil)
	_ driver.Inspector = (*Driver)(nil)
	_ driver.Threads   = (*Driver)(nil)
	_ driver.Stopper   = (*Driver)(nil)
	_ driver.Namer     = (*Driver)(nil)
	_ driver.Aborter   = (*Driver)(nil)
	_ driver.Rehearser = (*Driver)(nil)
	_ driver.Sensors   = (*Driver)(nil)
	_ driver.Closer    = (*Driver)(nil)

	_ driver.SensorSetter = (*Driver)(nil)
)

// Open makes a simulated server. Close it to give its memory back.
func Open(cfg Config) (*Driver, error) {
	p := cfg.Profile
	if p == nil {
		var err error
		if p, err = findProfile("910b"); err != nil {
			return nil, err
		}
	}
	d := &Driver{
		profile:  p,
		logical:  cfg.Logical,
		guarded:  cfg.Guarded,
		memory:   driver.Unbounded{},
		thread:   new(thread),
		handles:  0x1000,
		contexts: make(map[driver.Context]*context),
		streams:  make(map[driver.Stream]*stream),
		events:   make(map[driver.Event]*event),
		kernels:  make(map[driver.Kernel]*loadedKernel),
		graphs:   make(map[driver.Graph]*graph),
		models:   make(map[driver.Model]*model),
	}
	if cfg.Memory != nil {
		d.memory = cfg.Memory
	}
	for i := 0; i < cfg.Devices; i++ {
		d.devices = append(d.devices, newDevice(i, p))
	}
	return d, nil
}

// Close frees the memory of all devices and all pinned host memory.
func (d *Driver) Close() error {
	for _, dev := range d.devices {
		dev.mem.clear()
	}
	d.pinned.clear()
	return nil
}

// Stop implements driver.Stopper: kernels compute no further blocks.
func (d *Driver) Stop() { d.stopped.Store(true) }

// newHandle returns a number that was never a handle before.
func (d *Driver) newHandle() uintptr {
	d.handles += 0x10
	return d.handles
}

// Init implements driver.Driver.
func (d *Driver) Init() error {
	d.inits++
	d.ended = false
	if d.inits > 1 {
		return driver.Errorf(driver.CodeRepeatInitialize, "aclInit", "initialized already")
	}
	return nil
}

// Finalize implements driver.Driver.
func (d *Driver) Finalize() error {
	if d.ended {
		return driver.Errorf(driver.CodeRepeatFinalize, "aclFinalize", "finalized already")
	}
	d.ended = true
	d.inits = 0
	return nil
}

// OnNewThread implements driver.Threads.
func (d *Driver) OnNewThread(fn func()) {
	old := d.thread
	d.thread = new(thread)
	defer func() { d.thread = old }()
	fn()
}

// needContext returns the current context. One that was destroyed elsewhere is dropped.
func (d *Driver) needContext(call string) (*context, error) {
	ctx := d.thread.ctx
	if ctx != nil && !ctx.dead {
		return ctx, nil
	}
	detail := "the thread has no current context"
	if ctx != nil {
		detail = "the current context was destroyed"
		d.thread.ctx = nil
	}
	return nil, &driver.Error{Code: driver.CodeContextNull, Call: call, Detail: detail}
}

func itoa(n int) string { return strconv.Itoa(n) }
