package fault

import (
	"fmt"
	"slices"
	"time"

	"npulua/npu/internal/driver"
)

// Simulated is a driver that an Injector can wrap: one that does all that the simulator does.
type Simulated interface {
	driver.Driver
	driver.Clock
	driver.Prober
	driver.Numberer
	driver.Loader
	driver.Peers
	driver.Capturer
	driver.Modeler
	driver.Watcher
	driver.Inspector
	driver.Threads
	driver.Stopper
	driver.Namer
	driver.Closer
	driver.Rehearser
	driver.Aborter
	driver.Sensors
	driver.SensorSetter
}

// Injector is a driver that lets operations of the one below go wrong, by rules. Without rules it hands everything
// on. Like any driver it is used from one thread.
type Injector struct {
	Simulated
	faults  []*Fault
	lost    map[int]*Fault // devices, and what made them so
	ecc     map[int]*ECCErrors
	matched []match // scratch
	Hung    bool    // a command was made to hang
}

// Fault is a rule in force.
type Fault struct {
	Rule Rule
	Text string // the rule as a spec
	Hits int64  // operations that went wrong by it so far
	seen int64  // that matched
}

// ECCErrors counts memory errors that were injected.
type ECCErrors struct{ Single, Multi int64 }

// New wraps d.
func New(d Simulated) *Injector {
	return &Injector{Simulated: d, lost: make(map[int]*Fault), ecc: make(map[int]*ECCErrors)}
}

// Add puts a rule in force.
func (in *Injector) Add(r Rule) *Fault {
	f := &Fault{Rule: r, Text: r.String()}
	in.faults = append(in.faults, f)
	return f
}

// Remove takes f out of force, and devices that it lost are there again. What is queued already goes wrong as it
// would have.
func (in *Injector) Remove(f *Fault) {
	in.faults = slices.DeleteFunc(in.faults, func(x *Fault) bool { return x == f })
	for device, by := range in.lost {
		if by == f {
			delete(in.lost, device)
			in.LoseDevice(device, nil)
		}
	}
}

// ECC is how many memory errors were injected on device, with commands and blocking copies that were issued so far.
func (in *Injector) ECC(device int) ECCErrors {
	if e := in.ecc[device]; e != nil {
		return *e
	}
	return ECCErrors{}
}

// use is one operation, as rules see it.
type use struct {
	op       Op
	call     string // vendor's function
	device   int    // -1: none
	queued   bool   // a command of a stream
	size     int64  // of an allocation
	copies   bool   // to and from count
	to, from int    // devices of a copy; -1: the host
	keeps    bool   // it goes on where the device is lost: it gives something back, or finds what queued work has left
}

// match is a rule that u matches.
type match struct {
	f   *Fault
	hit bool
}

// verdict is what goes wrong with an operation.
type verdict struct {
	err    *driver.Error // a call, or the queueing of a command, fails with it
	delay  time.Duration // of a call
	mishap driver.Mishap // of a command, or a blocking copy
	wrong  bool          // mishap is something
	leak   bool          // of giving memory back: it stays in use
}

// judge finds what goes wrong with u. It changes nothing before commit, but for a device that is lost.
func (in *Injector) judge(u *use) (v verdict) {
	in.matched = in.matched[:0]
	for _, f := range in.faults {
		if !f.matches(u) || f.Rule.InUse > 0 && !in.exceeds(f, u) {
			continue
		}
		r, n := &f.Rule, f.seen+1
		hit := n >= r.Nth && (r.Count == 0 || n-r.Nth < r.Count)
		in.matched = append(in.matched, match{f, hit})
		if hit {
			in.apply(&v, u, f)
		}
	}
	if device := in.lostOf(u); device >= 0 && !u.keeps {
		v = verdict{err: in.lostError(u.call, device)}
	}
	if v.err != nil && u.queued {
		v.mishap, v.wrong = driver.Mishap{Refuse: v.err}, true
	}
	return v
}

// matches reports whether rule f counts u.
func (f *Fault) matches(u *use) bool {
	r := &f.Rule
	if !r.covers(u.op) || r.Kind == Hang && !u.queued {
		return false
	}
	if r.Device >= 0 && r.Device != u.device && (!u.copies || r.Device != u.to && r.Device != u.from) {
		return false
	}
	switch r.Kind {
	case Slow:
		return u.copies && (r.Direction == "" || r.Direction == u.direction())
	case OutOfMemory:
		return u.size >= r.Size
	case Lost:
		return u.device >= 0
	}
	return true
}

// direction is the way of a copy.
func (u *use) direction() string {
	switch {
	case u.to >= 0 && u.from >= 0 && u.to != u.from:
		return "p2p"
	case u.to >= 0 && u.from >= 0:
		return "d2d"
	case u.to >= 0:
		return "h2d"
	case u.from >= 0:
		return "d2h"
	}
	return "" // between two host buffers
}

// exceeds reports whether allocation u would bring its device above what f allows.
func (in *Injector) exceeds(f *Fault, u *use) bool {
	var used int64
	in.Untimed(func() {
		if free, total, err := in.Simulated.MemInfo(); err == nil {
			used = total - free
		}
	})
	return u.size > f.Rule.InUse-used
}

// apply adds what f does to v. The first failure stays.
func (in *Injector) apply(v *verdict, u *use, f *Fault) {
	r := &f.Rule
	m := &v.mishap
	switch r.Kind {
	case Failure:
		v.fail(u, r.Code, r.Code >= deferred, f.Text)
	case ECC:
		if !r.Single {
			v.fail(u, driver.CodeMultiBitECC, true, f.Text)
		}
	case OutOfMemory:
		if v.err == nil {
			v.err = driver.Injected(driver.CodeMemoryAllocation, u.call, f.Text)
			v.err.Detail = fmt.Sprintf("requested %d B, and there is no room: an injected fault", u.size)
		}
	case Hang:
		m.Hang, v.wrong = true, true
	case Delay:
		if u.queued {
			m.Delay, v.wrong = later(m.Delay, r.Delay), true
		} else {
			v.delay = later(v.delay, r.Delay)
		}
	case Slow:
		if m.Rate == 0 {
			m.Rate = 1
		}
		m.Rate, v.wrong = m.Rate*r.Factor, true
	case Wrong:
		m.Wrong, v.wrong = max(m.Wrong, r.Bytes), true
	case Lost:
		in.lose(u, f)
	case Leak:
		v.leak = true
	}
}

// fail lets u fail with a code: a command when it runs, where atRun says so.
func (v *verdict) fail(u *use, code driver.Code, atRun bool, text string) {
	switch e := driver.Injected(code, u.call, text); {
	case u.queued && atRun:
		if v.mishap.Fault == nil {
			v.mishap.Fault, v.wrong = e, true
		}
	case v.err == nil:
		v.err = e
	}
}

func later(a, b time.Duration) time.Duration {
	if sum := a + b; sum >= a {
		return sum
	}
	return a
}

// lose makes the device of f, or else that of u, a lost one.
func (in *Injector) lose(u *use, f *Fault) {
	device := f.Rule.Device
	if device < 0 {
		device = u.device
	}
	if count, err := in.DeviceCount(); device < 0 || in.lost[device] != nil || err != nil || device >= count {
		return
	}
	in.lost[device] = f
	in.LoseDevice(device, in.lostError("", device))
}

// lostError is what everything of a lost device fails with.
func (in *Injector) lostError(call string, device int) *driver.Error {
	e := driver.Injected(driver.CodeLostHeartbeat, call, in.lost[device].Text)
	e.Detail = fmt.Sprintf("device %d is lost: an injected fault", device)
	return e
}

// lostOf is a device of u that is lost, or -1.
func (in *Injector) lostOf(u *use) int {
	if len(in.lost) == 0 {
		return -1
	}
	devices := [...]int{u.device, u.to, u.from}
	for _, device := range devices[:] {
		if in.lost[device] != nil && (u.copies || device == u.device) {
			return device
		}
	}
	return -1
}

// commit counts the operation that was judged last.
func (in *Injector) commit(u *use) {
	for _, m := range in.matched {
		m.f.seen++
		if !m.hit {
			continue
		}
		m.f.Hits++
		switch r := &m.f.Rule; r.Kind {
		case ECC:
			in.countECC(u.device, r.Single)
		case Hang:
			in.Hung = true
		}
	}
}

func (in *Injector) countECC(device int, single bool) {
	e := in.ecc[device]
	if e == nil {
		e = new(ECCErrors)
		in.ecc[device] = e
	}
	if single {
		e.Single++
	} else {
		e.Multi++
	}
}
