package main

import (
	"fmt"
	"os"
	"runtime"
	"sync"
	"time"
)

// The memory of a process may be limited from outside (ulimit -v, a cgroup). Go's runtime ends the process there, with
// pages of its own state. Scripts get an error that they can catch before; where that does not help the process ends
// with a line, or its watcher says it.

const (
	// memoryPeriod is how often it is looked at.
	memoryPeriod = 5 * time.Millisecond
	// memoryReserve is what the end needs, at least; a share of the limit where that is more.
	memoryReserve = 96 << 20
	reserveShare  = 16
)

// memoryLimit is a limit of the process, and how much is used of it.
type memoryLimit struct {
	name  string // for people
	bytes int64
	used  func() int64
}

func (m *memoryLimit) String() string {
	return fmt.Sprintf("not enough memory: the process may have %d MiB (%s), and ends without teardown; raise the limit, or keep less at a time", m.bytes>>20, m.name)
}

func (m *memoryLimit) left() int64 { return m.bytes - m.used() }

// reserve is what is left when the process ends.
func (m *memoryLimit) reserve() int64 { return max(memoryReserve, m.bytes/reserveShare) }

// watchMemory looks at how much memory is left. A sandbox does so itself.
func (p *program) watchMemory(o *options) (stop func()) {
	if o.sandbox.on && p.watcher != nil {
		return func() {}
	}
	limit := findMemoryLimit()
	if limit == nil {
		return func() {}
	}
	if limit.left() < 3*limit.reserve() { // it would end the process at once
		if p.watcher == nil {
			fmt.Fprintf(p.stderr, "npulua: memory is not watched: the process may have %d MiB (%s), of which %d are left at its start; where a script uses them up, Go ends it with a report\n",
				limit.bytes>>20, limit.name, limit.left()>>20)
		}
		return func() {}
	}
	done, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		tick := time.NewTicker(memoryPeriod)
		defer tick.Stop()
		for {
			select {
			case <-done:
				return
			case <-tick.C:
			}
			if limit.left() >= limit.reserve() {
				continue
			}
			if runtime.GC(); limit.left() < limit.reserve() {
				p.outOfMemory(limit)
			}
		}
	}()
	return sync.OnceFunc(func() {
		close(done)
		<-ended
	})
}

// outOfMemory ends the process, which has none to tear anything down.
func (p *program) outOfMemory(limit *memoryLimit) {
	p.display.End()
	time.AfterFunc(lastWords, func() { os.Exit(exitMemory) })
	fmt.Fprintf(p.stderr, "npulua: %v\n", limit)
	os.Exit(exitMemory)
}
