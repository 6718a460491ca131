package luabind

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"sync"
	"sync/atomic"
	"time"

	"npulua/luabind/lua51"
)

const (
	// sampleBytes is how much may be taken in pieces before the heap is looked at.
	sampleBytes = 1 << 20
	// sampleTime is how often it is looked at besides, whatever the scripts do.
	sampleTime = 5 * time.Millisecond
	// garbage is how much of it there may be in a sandbox before it is collected to see what is in use.
	garbage = 64 << 20
	// slack is how far above the limit the process is ended without teardown.
	slack = 256 << 20
)

// starving is which part of the memory is left when scripts are told that it is short, where there is no sandbox: the
// collector needs more time the less it has.
const starving = 8

// LimitError is the cause of the end of scripts that exceeded a limit of their sandbox.
type LimitError struct {
	Kind  string // "memory", "instructions" or "output"
	Limit int64  // bytes or instructions
}

func (e *LimitError) Error() string {
	switch e.Kind {
	case "memory":
		return "the scripts need more memory than the sandbox has, " + sizeText(e.Limit)
	case "output":
		return "the scripts write more than the sandbox lets them, " + sizeText(e.Limit)
	}
	return fmt.Sprintf("the scripts have run the %d instructions that the sandbox lets them", e.Limit)
}

// ledger counts what all machines of a session take. In a sandbox it ends them when that is too much; without one it
// refuses memory that the process cannot have. Its methods may be called from any goroutine.
type ledger struct {
	limits  *Sandbox // nil: there is no sandbox
	memory  int64    // bytes; 0: no limit
	end     func(error)
	base    int64 // heap in use before the first script
	before  int64 // memory limit of Go's runtime that Close sets again
	spare   int64 // what the system lets the process have beyond memory for garbage; 0: nobody knows
	garbage int64 // how much of it there may be before it is collected to see what is in use
	stop    chan struct{}
	ended   sync.WaitGroup

	instructions atomic.Int64
	written      atomic.Int64
	taken        atomic.Int64 // outside of Go's heap
	pending      atomic.Int64 // asked for in small pieces since the heap was looked at

	exceeded   atomic.Pointer[LimitError]
	collecting sync.Mutex
	collected  atomic.Int64 // how often look has had garbage collected

	mu       sync.Mutex
	reserved int64                   // granted, and not taken yet
	machines map[*lua51.Threads]bool // that are told when memory is short; nil: the ledger is closed
}

// openLedger begins to count. end is called when a limit of a sandbox is exceeded; limits is nil where there is none.
func openLedger(limits *Sandbox, end func(error)) *ledger {
	l := &ledger{limits: limits, garbage: garbage, end: end, stop: make(chan struct{}), machines: make(map[*lua51.Threads]bool)}
	l.base, _ = heap()
	if limits == nil {
		l.base = 0
		if l.memory, l.spare = mostMemory(); l.memory > 0 {
			l.garbage = l.memory / starving // so that all is granted before scripts are told
			l.before = debug.SetMemoryLimit(min(debug.SetMemoryLimit(-1), l.memory+l.spare))
			l.watchCollections()
		}
		return l
	}
	if l.memory = limits.Memory; l.memory > 0 {
		l.before = debug.SetMemoryLimit(l.base + l.memory + garbage) // collect harder before it is reached
		l.ended.Go(l.watch)
	}
	return l
}

// close stops the watching.
func (l *ledger) close() {
	close(l.stop)
	l.ended.Wait()
	l.mu.Lock()
	l.machines = nil
	l.mu.Unlock()
	if l.memory > 0 {
		debug.SetMemoryLimit(l.before)
	}
}

// join has a machine told when memory is short; leave ends that.
func (l *ledger) join(t *lua51.Threads) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.machines != nil {
		l.machines[t] = true
	}
}

func (l *ledger) leave(t *lua51.Threads) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.machines, t)
}

// most is how much memory may be in use.
func (l *ledger) most() int64 {
	if l.limits == nil {
		return l.memory - l.memory/starving
	}
	return l.memory
}

// watchCollections looks, after each collection of garbage, whether what is left is too much: scripts take most of
// their memory in pieces that nobody is asked for.
func (l *ledger) watchCollections() {
	w := &struct{ ledger *ledger }{l}
	runtime.SetFinalizer(w, func(w *struct{ ledger *ledger }) {
		l := w.ledger
		_, live := l.used()
		l.mu.Lock()
		defer l.mu.Unlock()
		if l.machines == nil {
			return
		}
		for t := range l.machines {
			if live > l.memory {
				t.Starve()
			} else {
				t.Feed()
			}
		}
		l.watchCollections()
	})
}

// watch looks at the heap all the time: a library function may take much between two instructions.
func (l *ledger) watch() {
	tick := time.NewTicker(sampleTime)
	defer tick.Stop()
	for {
		select {
		case <-l.stop:
			return
		case <-tick.C:
		}
		if err := l.look(0, l.memory, garbage); err != nil {
			l.exceed(err)
		}
		if all, _ := l.used(); l.limits.Kill != nil && all > l.memory+slack {
			l.limits.Kill(&LimitError{"memory", l.memory})
		}
	}
}

// heap is what Go's heap and the stacks take: with garbage, and what the last collection found in use.
func heap() (all, live int64) {
	s := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}, {Name: "/memory/classes/heap/stacks:bytes"}, {Name: "/gc/heap/live:bytes"}}
	metrics.Read(s)
	stacks := int64(s[1].Value.Uint64())
	return int64(s[0].Value.Uint64()) + stacks, int64(s[2].Value.Uint64()) + stacks
}

// used is heap, less what was there before, and what was taken outside of it.
func (l *ledger) used() (all, live int64) {
	all, live = heap()
	taken := l.taken.Load() - l.base
	return all + taken, live + taken
}

// look fails where n bytes more than what is in use are more than limit. It collects garbage to know that only where
// there may be much of it.
func (l *ledger) look(n, limit, garbage int64) *LimitError {
	return l.lookSince(l.collected.Load(), n, limit, garbage)
}

// lookSince is look for who asked when garbage had been collected so often: what was found since then may be refused.
func (l *ledger) lookSince(collected, n, limit, garbage int64) *LimitError {
	if l.memory == 0 {
		return nil
	}
	tooMuch := func() bool {
		all, live := l.used()
		return n > limit || live+n > limit && all+n > limit || all+n > limit+garbage
	}
	if !tooMuch() {
		return nil
	}
	l.collecting.Lock()
	defer l.collecting.Unlock()
	_, live := l.used()
	refused := live+n > limit && l.collected.Load() >= collected+2 // the second one began after that
	if n <= limit && !refused && tooMuch() {
		runtime.GC()
		l.collected.Add(1)
	}
	if _, live := l.used(); live+n <= limit {
		return nil
	}
	return &LimitError{"memory", l.memory}
}

// exceed ends the scripts.
func (l *ledger) exceed(err *LimitError) {
	if l.exceeded.CompareAndSwap(nil, err) {
		l.end(err)
	}
}

// Ran implements lua51.Limits.
func (l *ledger) Ran(n int) {
	if limit := l.limits.Instructions; limit > 0 && l.instructions.Add(int64(n)) > limit {
		l.exceed(&LimitError{"instructions", limit})
	}
	if err := l.look(0, l.memory, garbage); err != nil {
		l.exceed(err)
	}
}

// reserveTime is how long a machine waits for the memory that others have been granted and then gave back.
const reserveTime = time.Second

// Room implements lua51.Limits. What one machine is granted the next one that asks cannot have, even where it is not on
// the heap yet.
func (l *ledger) Room(before, n int) bool {
	if before >= sampleBytes {
		l.mu.Lock()
		l.reserved -= int64(before)
		l.mu.Unlock()
	}
	if n < sampleBytes {
		if n == 0 || l.pending.Add(int64(n)) < sampleBytes {
			return true
		}
		l.pending.Store(0)
		return l.granted(l.look(int64(n), l.most(), l.garbage))
	}
	for begin, wait := time.Now(), time.Millisecond; ; wait = min(2*wait, reserveTime/8) {
		collected := l.collected.Load()
		l.mu.Lock()
		others := l.reserved
		err := l.lookSince(collected, others+int64(n), l.most(), l.garbage)
		if err == nil {
			l.reserved += int64(n)
		}
		l.mu.Unlock()
		if err == nil || others == 0 || time.Since(begin) >= reserveTime || l.exceeded.Load() != nil {
			return l.granted(err)
		}
		time.Sleep(wait)
	}
}

// ask is Room for what no machine takes by an instruction.
func (l *ledger) ask(n int64) bool {
	l.mu.Lock()
	others := l.reserved
	l.mu.Unlock()
	return l.granted(l.look(others+n, l.most(), l.garbage))
}

// granted is what Room answers. In a sandbox what is too much ends the scripts, perhaps a moment later.
func (l *ledger) granted(err *LimitError) bool {
	if err != nil && l.limits != nil {
		l.exceed(err)
	}
	return err == nil
}

// write is asked before n bytes go to a file or a stream.
func (l *ledger) write(n int) error {
	limit := l.limits.Output
	if limit == 0 || l.written.Add(int64(n)) <= limit {
		return nil
	}
	err := &LimitError{"output", limit}
	l.exceed(err)
	return err
}

// hostMemory is the ledger as npu.HostMemory. What is refused is an error that scripts can catch, since nothing
// was taken.
type hostMemory struct{ *ledger }

// Take implements npu.HostMemory.
func (m hostMemory) Take(n int64) error {
	if err := m.Room(n); err != nil {
		return err
	}
	m.taken.Add(n)
	return nil
}

// Give implements npu.HostMemory.
func (m hostMemory) Give(n int64) { m.taken.Add(-n) }

// Room implements npu.HostMemory. Some of the memory is left for Lua, which has to go on.
func (m hostMemory) Room(n int64) error {
	if err := m.look(n, m.memory-m.memory/8, 0); err != nil {
		return fmt.Errorf("requested %d B, the sandbox has %s in all", n, sizeText(m.memory))
	}
	return nil
}

// limitedMemory is npu.HostMemory where there is no sandbox, and the system limits what the process has.
type limitedMemory struct{ *ledger }

// Take implements npu.HostMemory. Half is counted: what is left to Go's heap is less by all of it, of which scripts may
// have half.
func (m limitedMemory) Take(n int64) error {
	if !m.ask(n / 2) {
		return m.short(n)
	}
	m.taken.Add(n / 2)
	return nil
}

// Give implements npu.HostMemory.
func (m limitedMemory) Give(n int64) { m.taken.Add(-n / 2) }

// Room implements npu.HostMemory.
func (m limitedMemory) Room(n int64) error {
	if !m.ask(n) {
		return m.short(n)
	}
	return nil
}

func (m limitedMemory) short(n int64) error {
	return fmt.Errorf("requested %d B, scripts may have %s in all where ulimit leaves the process so little", n, sizeText(m.memory))
}
