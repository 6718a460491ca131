package luabind

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// sampleBytes is how much may be taken in pieces before the heap is looked at.
	sampleBytes = 1 << 20
	// sampleTime is how often it is looked at besides, whatever the scripts do.
	sampleTime = 5 * time.Millisecond
	// garbage is how much of it there may be before it is collected to see what is in use.
	garbage = 64 << 20
	// slack is how far above the limit the process is ended without teardown.
	slack = 256 << 20
)

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

// ledger counts what all machines of a session take, and ends them when that is too much. Its methods may be called
// from any goroutine.
type ledger struct {
	limits *Sandbox
	end    func(error) // called once
	base   int64       // heap in use before the first script
	before int64       // memory limit of Go's runtime that Close sets again
	stop   chan struct{}
	ended  sync.WaitGroup

	instructions atomic.Int64
	written      atomic.Int64
	taken        atomic.Int64 // outside of Go's heap
	pending      atomic.Int64 // asked for since the heap was looked at

	exceeded   atomic.Pointer[LimitError]
	collecting sync.Mutex
}

// openLedger begins to count. end is called when a limit is exceeded.
func openLedger(limits *Sandbox, end func(error)) *ledger {
	l := &ledger{limits: limits, end: end, stop: make(chan struct{})}
	l.base, _ = heap()
	if limits.Memory > 0 {
		l.before = debug.SetMemoryLimit(l.base + limits.Memory + garbage) // collect harder before it is reached
		l.ended.Go(l.watch)
	}
	return l
}

// close stops the watching.
func (l *ledger) close() {
	close(l.stop)
	l.ended.Wait()
	if l.limits.Memory > 0 {
		debug.SetMemoryLimit(l.before)
	}
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
		if err := l.look(0, l.limits.Memory, garbage); err != nil {
			l.exceed(err)
		}
		if all, _ := l.used(); l.limits.Kill != nil && all > l.limits.Memory+slack {
			l.limits.Kill(&LimitError{"memory", l.limits.Memory})
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
	if l.limits.Memory == 0 {
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
	if n <= limit && tooMuch() {
		runtime.GC()
	}
	if _, live := l.used(); live+n <= limit {
		return nil
	}
	return &LimitError{"memory", l.limits.Memory}
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
	if err := l.look(0, l.limits.Memory, garbage); err != nil {
		l.exceed(err)
	}
}

// Room implements lua51.Limits.
func (l *ledger) Room(n int) {
	if l.pending.Add(int64(n)) < sampleBytes {
		return
	}
	l.pending.Store(0)
	if err := l.look(int64(n), l.limits.Memory, garbage); err != nil {
		l.exceed(err)
	}
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
	limit := m.limits.Memory
	if err := m.look(n, limit-limit/8, 0); err != nil {
		return fmt.Errorf("requested %d B, the sandbox has %s in all", n, sizeText(m.limits.Memory))
	}
	return nil
}
