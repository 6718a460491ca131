package npu

import (
	"runtime"
	"runtime/metrics"
	"time"

	"npulua/npu/internal/driver"
)

// Collect finds handles that nobody can reach, and gives back what no queued work uses. It takes no time of a virtual
// clock. In a host function or kernel what was found is given back later.
func (t *Thread) Collect() {
	collectGarbage()
	if t.c.Inside() {
		return
	}
	_ = t.call(0, func(driver.Driver) error { // it fails where the session has ended, with everything given back
		return t.s.exec.Again(func() error { return nil })
	})
}

const (
	cleanupRounds = 100                    // collections at most: one is enough, unless the machine is very busy
	cleanupWait   = 100 * time.Millisecond // for the goroutines of the runtime that clean up, a round
)

// collectGarbage returns once the cleanups of what it found unreachable have run.
func collectGarbage() {
	for range cleanupRounds {
		runtime.GC()
		queued, _ := cleanups()
		for begin := time.Now(); time.Since(begin) < cleanupWait; time.Sleep(20 * time.Microsecond) {
			if _, executed := cleanups(); executed >= queued {
				return
			}
		}
	}
}

// cleanups is how many there have been in this process.
func cleanups() (queued, executed uint64) {
	s := []metrics.Sample{{Name: "/gc/cleanups/queued:cleanups"}, {Name: "/gc/cleanups/executed:cleanups"}}
	metrics.Read(s)
	return s[0].Value.Uint64(), s[1].Value.Uint64()
}
