//go:build linux && (amd64 || arm64)

package loader

import (
	"os"
	"sync"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// The library installs handlers for fatal and terminal signals when it is loaded and initialized, or later, on threads
// of its own. They would take Ctrl-C and the signals of Go's runtime away from the program.

// coredumpVariable, set to "none", asks newer libraries to install none.
const coredumpVariable = "ASCEND_COREDUMP_SIGNAL"

// action is the kernel's struct sigaction, which has the same size on both machines: handler, flags, restorer, mask.
type action struct {
	handler  uintptr
	flags    uint64
	restorer uintptr
	mask     uint64
}

const (
	firstRealtime = 32
	lastSignal    = 64
	onStack       = 0x08000000 // SA_ONSTACK: Go runs handlers on stacks of their own
)

// GuardSignals calls fn, which may install signal handlers, and puts back those that were there: at its end, and
// meanwhile again and again, since fn may take seconds, in which Ctrl-C is ours too. Several may run at a time.
func GuardSignals(fn func() error) error {
	guard.begin()
	done, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		for {
			select {
			case <-done:
				return
			case <-time.After(guardPeriod):
				guard.restore()
			}
		}
	}()
	err := fn()
	close(done)
	<-ended
	guard.end()
	return err
}

// guard is that of the process, as what it guards is. What was there before the first of several calls is what was
// there before all of them: a later one would find the handlers that an earlier one is about to take away.
var guard guardState

type guardState struct {
	mu      sync.Mutex
	calls   int // of GuardSignals under way
	before  actions
	watched bool
	again   chan struct{} // a call has ended: handlers may come soon
}

func (g *guardState) begin() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.calls == 0 {
		g.before.read()
	}
	g.calls++
}

func (g *guardState) restore() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.before.restore()
}

func (g *guardState) end() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.before.restore()
	if g.calls--; g.watched {
		select {
		case g.again <- struct{}{}:
		default:
		}
	}
}

// WatchSignals puts back, from now on, what handlers of the library take the place of, whenever it installs them. Once
// called it goes on until the process ends, as threads of the library do.
func WatchSignals() {
	guard.mu.Lock()
	defer guard.mu.Unlock()
	if guard.watched {
		return
	}
	guard.watched, guard.again = true, make(chan struct{}, 1)
	if guard.calls == 0 {
		guard.before.read()
	}
	go guard.watch()
}

// watchPeriod is the longest time between two looks of the watch, of some microseconds each. After a call it begins
// anew with guardPeriod.
const watchPeriod = 200 * time.Millisecond

func (g *guardState) watch() {
	period := guardPeriod
	for {
		select {
		case <-time.After(period):
			period = min(period*5/4, watchPeriod)
		case <-g.again:
			period = guardPeriod
		}
		if g.takeBack() {
			period = guardPeriod
		}
	}
}

// takeBack is restore while no call is under way: Go's own changes of actions are the program's, and are kept for the
// next time. It reports whether there was anything to put back.
func (g *guardState) takeBack() (found bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.calls > 0 {
		return false
	}
	const always = int(unix.SIGURG) // Go needs it, and has one handler for all
	ours := g.before[always].handler
	for sig := 1; sig < firstRealtime; sig++ {
		var now action
		get(sig, &now)
		if now.handler != ours && (now.handler > 1 || sig == always) { // neither the default, nor ignored, nor Go's
			set(sig, &g.before[sig])
			found = true
		} else {
			g.before[sig] = now
		}
	}
	for sig := firstRealtime; sig <= lastSignal; sig++ {
		keepOnStack(sig)
	}
	return found
}

// guardPeriod is how long a handler that was installed meanwhile can stay.
const guardPeriod = 2 * time.Millisecond

// actions are what the process does on each signal, by number.
type actions [lastSignal + 1]action

func (a *actions) read() {
	for sig := 1; sig <= lastSignal; sig++ {
		get(sig, &a[sig])
	}
}

// restore puts back the actions of all signals that have a meaning. The realtime ones, which the library may use
// among its own threads, it may keep, on a stack that is large enough.
func (a *actions) restore() {
	for sig := 1; sig <= lastSignal; sig++ {
		var now action
		get(sig, &now)
		switch {
		case now.handler == a[sig].handler && now.flags == a[sig].flags:
		case sig < firstRealtime:
			set(sig, &a[sig])
		default:
			keepOnStack(sig)
		}
	}
}

// keepOnStack lets a handler of the library run on a stack that is large enough.
func keepOnStack(sig int) {
	var now action
	get(sig, &now)
	if now.handler > 1 && now.flags&onStack == 0 { // neither the default nor ignored
		now.flags |= onStack
		set(sig, &now)
	}
}

func get(sig int, a *action) {
	unix.RawSyscall6(unix.SYS_RT_SIGACTION, uintptr(sig), 0, uintptr(unsafe.Pointer(a)), 8, 0, 0)
}

func set(sig int, a *action) {
	unix.RawSyscall6(unix.SYS_RT_SIGACTION, uintptr(sig), uintptr(unsafe.Pointer(a)), 0, 8, 0, 0)
}

// AskForNoHandlers sets coredumpVariable unless somebody else has.
func AskForNoHandlers() {
	if _, set := os.LookupEnv(coredumpVariable); !set {
		_ = os.Setenv(coredumpVariable, "none")
	}
}
