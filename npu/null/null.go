// Package null is a driver that accepts every command and does nothing: what a script costs on the
// way down, without anything below. It has one device, checks nothing, moves no data and takes no
// time, so results are meaningless by design.
package null

import (
	"time"
	"unsafe"

	"npulua/npu/internal/driver"
)

// Driver implements driver.Driver, Prober, Loader, Capturer and Namer.
type Driver struct {
	next    uintptr
	current driver.Context
	host    map[driver.Ptr][]byte

	graphs    map[driver.Graph][]func() error // their host functions
	capturing bool
	recorded  []func() error
}

var (
	_ driver.Driver   = (*Driver)(nil)
	_ driver.Prober   = (*Driver)(nil)
	_ driver.Loader   = (*Driver)(nil)
	_ driver.Capturer = (*Driver)(nil)
	_ driver.Namer    = (*Driver)(nil)
)

// Open makes the driver.
func Open() *Driver {
	return &Driver{next: 0x1000, host: make(map[driver.Ptr][]byte), graphs: make(map[driver.Graph][]func() error)}
}

// Has implements driver.Namer: every call that the module makes is accepted.
func (d *Driver) Has(symbol string) bool {
	_, ok := driver.Since(symbol)
	return ok
}

func (d *Driver) handle() uintptr {
	d.next += 0x10
	return d.next
}

// The calls that have nothing to answer.
func (d *Driver) Init() error                                                  { return nil }
func (d *Driver) Finalize() error                                              { return nil }
func (d *Driver) DeviceCount() (int, error)                                    { return 1, nil }
func (d *Driver) ResetDevice(int, bool) error                                  { return nil }
func (d *Driver) Device() (int, error)                                         { return 0, nil }
func (d *Driver) DestroyContext(driver.Context) error                          { return nil }
func (d *Driver) SetContextOption(driver.ContextOption, int64) error           { return nil }
func (d *Driver) ContextOption(driver.ContextOption) (int64, error)            { return 0, nil }
func (d *Driver) DestroyStream(driver.Stream, bool) error                      { return nil }
func (d *Driver) SetStreamFailureMode(driver.Stream, driver.FailureMode) error { return nil }
func (d *Driver) QueryStream(driver.Stream) (bool, error)                      { return true, nil }
func (d *Driver) SynchronizeStream(driver.Stream, time.Duration) error         { return nil }
func (d *Driver) SynchronizeDevice(time.Duration) error                        { return nil }
func (d *Driver) DestroyEvent(driver.Event) error                              { return nil }
func (d *Driver) QueryEvent(driver.Event) (bool, error)                        { return true, nil }
func (d *Driver) SynchronizeEvent(driver.Event, time.Duration) error           { return nil }
func (d *Driver) ElapsedTime(_, _ driver.Event) (time.Duration, error)         { return 0, nil }
func (d *Driver) Free(driver.Ptr) error                                        { return nil }
func (d *Driver) Memset(driver.Ptr, int64, byte, int64) error                  { return nil }
func (d *Driver) UnloadKernel(driver.Kernel) error                             { return nil }
func (d *Driver) StreamID(driver.Stream) (int, error)                          { return 0, nil }
func (d *Driver) Utilization(int) (driver.Utilization, error)                  { return driver.Utilization{}, nil }
func (d *Driver) LoadKernel(driver.KernelSource) (driver.Kernel, error) {
	return driver.Kernel(d.handle()), nil
}
func (d *Driver) CreateStream(driver.StreamConfig) (driver.Stream, error) {
	return driver.Stream(d.handle()), nil
}
func (d *Driver) CreateEvent(driver.EventFlags) (driver.Event, error) {
	return driver.Event(d.handle()), nil
}
func (d *Driver) Memcpy(_ driver.Ptr, _ int64, _ driver.Ptr, _ int64, _ driver.CopyKind) error {
	return nil
}

// Enqueue implements driver.Driver. Host functions run: a script may wait for what they do.
func (d *Driver) Enqueue(c *driver.Command) error {
	switch {
	case c.Op == driver.OpHostFunc && d.capturing:
		d.recorded = append(d.recorded, c.Func)
	case c.Op == driver.OpHostFunc:
		return c.Func()
	case c.Op == driver.OpReplay:
		return d.replay(c.Graph)
	}
	return nil
}

// SetDevice implements driver.Driver.
func (d *Driver) SetDevice(int) error {
	d.current = 0x1000
	return nil
}

// CreateContext implements driver.Driver.
func (d *Driver) CreateContext(int) (driver.Context, error) {
	d.current = driver.Context(d.handle())
	return d.current, nil
}

// SetCurrentContext implements driver.Driver.
func (d *Driver) SetCurrentContext(c driver.Context) error {
	d.current = c
	return nil
}

// CurrentContext implements driver.Driver.
func (d *Driver) CurrentContext() (driver.Context, error) { return d.current, nil }

// memory is what the device says it has; nothing is ever taken from it.
const memory = 1 << 50

// streams is how many there can be, no matter how many there are.
const streams = 1 << 20

// MemInfo implements driver.Prober.
func (d *Driver) MemInfo() (free, total int64, err error) { return memory, memory, nil }

// StreamsFree implements driver.Prober.
func (d *Driver) StreamsFree() (int, error) { return streams, nil }

// DeviceInfo implements driver.Prober.
func (d *Driver) DeviceInfo(int) (driver.DeviceInfo, error) {
	return driver.DeviceInfo{Name: "null", Family: "null", CubeCores: 1, VectorCores: 1, Memory: memory,
		MaxStreams: streams, MaxEvents: 1 << 20, QueueDepth: 1 << 20, Simulated: true}, nil
}

// Malloc implements driver.Driver: an address and no memory.
func (d *Driver) Malloc(size int64, _ driver.MemPolicy) (driver.Ptr, error) {
	return driver.Ptr(d.handle()) << 32, nil
}

// MallocHost implements driver.Driver: the memory is real.
func (d *Driver) MallocHost(size int64) (driver.Ptr, error) {
	if size > 1<<40 {
		return 0, driver.Errorf(driver.CodeMemoryAllocation, "aclrtMallocHost", "requested %d B", size)
	}
	b := make([]byte, size)
	p := driver.Ptr(uintptr(unsafe.Pointer(unsafe.SliceData(b))))
	d.host[p] = b
	return p, nil
}

// FreeHost implements driver.Driver.
func (d *Driver) FreeHost(p driver.Ptr) error {
	delete(d.host, p)
	return nil
}
