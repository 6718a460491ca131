//go:build linux && (amd64 || arm64)

package acl

import (
	"fmt"
	"runtime"
	"strings"
	"sync/atomic"
	"unsafe"

	"npulua/npu/dcmi"
	"npulua/npu/internal/driver"
	"npulua/npu/internal/loader"
)

// Driver implements driver.Driver and its optional parts but for a clock and several threads. Make one with Open.
type Driver struct {
	api
	lib  *library
	out  cells
	args [15]uintptr // of the call under way
	next uintptr     // last handle given out

	contexts map[driver.Context]*ctx
	devices  map[int]*device
	streams  map[driver.Stream]*stream
	events   map[driver.Event]*event
	kernels  map[driver.Kernel]*kernel
	graphs   map[driver.Graph]*graph
	models   map[driver.Model]*model
	memory   allocations
	current  *ctx // nil: none

	lastStream *stream // found last; nil: look it up

	stopped  atomic.Bool // waits in the library end
	underWay atomic.Pointer[function]

	sensors    *dcmi.Reader // any goroutine may use it
	exceptions exceptions
	operators  operators
	pack       []uint64    // arguments of a launch, for the duration of the call
	faults     uint64      // given a number so far
	strange    []exception // of streams that nobody made: see claim
}

var (
	_ driver.Driver    = (*Driver)(nil)
	_ driver.Prober    = (*Driver)(nil)
	_ driver.Loader    = (*Driver)(nil)
	_ driver.Capturer  = (*Driver)(nil)
	_ driver.Modeler   = (*Driver)(nil)
	_ driver.Peers     = (*Driver)(nil)
	_ driver.Watcher   = (*Driver)(nil)
	_ driver.Stopper   = (*Driver)(nil)
	_ driver.Aborter   = (*Driver)(nil)
	_ driver.Inspector = (*Driver)(nil)
	_ driver.Namer     = (*Driver)(nil)
	_ driver.Busy      = (*Driver)(nil)
	_ driver.Sensors   = (*Driver)(nil)
)

// Open loads the library. It calls nothing of it yet. The error says for every place what was wrong with it.
func Open() (*Driver, error) {
	loader.AskForNoHandlers()
	d := &Driver{
		contexts: make(map[driver.Context]*ctx), devices: make(map[int]*device), streams: make(map[driver.Stream]*stream),
		events: make(map[driver.Event]*event), kernels: make(map[driver.Kernel]*kernel), graphs: make(map[driver.Graph]*graph),
		models: make(map[driver.Model]*model), sensors: dcmi.NewReader(),
	}
	err := loader.GuardSignals(func() (err error) {
		d.lib, err = load()
		return err
	})
	if err != nil {
		return nil, asDriverError(err)
	}
	if missing := d.bind(d.lib.lookup); len(missing) > 0 {
		last := &d.lib.attempts[len(d.lib.attempts)-1]
		last.Path, last.Problem = d.lib.path(), lacks(missing)
		return nil, asDriverError(&LoadError{Attempts: d.lib.attempts, Missing: missing, Hint: loadHint(d.lib.attempts), loaded: d})
	}
	return d, nil
}

// handle makes a number that was never used before.
func (d *Driver) handle() uintptr {
	d.next += 0x10
	return d.next
}

// Describe says what is driven: "2 x Ascend910B3, AscendCL 1.17.0". The error is for no device.
func (d *Driver) Describe(devices int) (string, error) {
	if devices == 0 {
		return "", &driver.Error{Code: driver.CodeInvalidDevice, Call: d.deviceCount.name, Detail: "the runtime sees no device",
			Hint: "npu-smi info lists what the driver sees; ASCEND_RT_VISIBLE_DEVICES may hide some"}
	}
	text := fmt.Sprintf("%d x %s", devices, d.socName())
	if major, minor, patch, err := d.Version(); err == nil {
		text += fmt.Sprintf(", AscendCL %d.%d.%d", major, minor, patch)
	}
	return text, nil
}

// Has implements driver.Namer.
func (d *Driver) Has(symbol string) bool {
	return strings.HasPrefix(symbol, "acl") && d.lib.lookup(symbol) != 0 // else those of the C library, too
}

// Init implements driver.Driver.
func (d *Driver) Init() error {
	err := loader.GuardSignals(func() error { return d.call(&d.init, 0) })
	if err != nil {
		if code(err) == codeStub {
			return stubError(d.lib)
		}
		if e, ok := err.(*driver.Error); ok && code(err) != driver.CodeRepeatInitialize {
			e.Hint = "npu-smi info tells whether the driver is loaded; runtime and driver have to be of releases that go together; npulua doctor shows both"
		}
		return err
	}
	loader.WatchSignals()
	d.watch()
	return nil
}

// Finalize implements driver.Driver.
func (d *Driver) Finalize() error { return d.call(&d.finalize) }

// codeStub is what the library that programs are linked against answers in place of the real one.
const codeStub driver.Code = 100039

func stubError(l *library) error {
	return &driver.Error{Code: codeStub, Call: "aclInit", Detail: l.path() + " is a stub for building programs, which does nothing",
		Hint: "take the folder that ends in devlib or stub out of LD_LIBRARY_PATH, and put the one that ends in lib64 in its place"}
}

func code(err error) driver.Code {
	switch e := err.(type) {
	case *driver.Error:
		return e.Code
	case driver.Code:
		return e
	}
	return driver.OK
}

// Version is the version of the runtime's API: 1.17.0.
func (d *Driver) Version() (major, minor, patch int, err error) {
	var v [3]int32
	var pin runtime.Pinner // the stack moves when it grows: v must not be there
	pin.Pin(&v)
	defer pin.Unpin()
	err = d.call(&d.getVersion, uintptr(unsafe.Pointer(&v[0])), uintptr(unsafe.Pointer(&v[1])), uintptr(unsafe.Pointer(&v[2])))
	return int(v[0]), int(v[1]), int(v[2]), err
}
