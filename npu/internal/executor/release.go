package executor

import (
	"npulua/npu/internal/driver"
)

// release is something to give back, once the commands published before have reached the driver:
// they may use it.
type release struct {
	fn    func(driver.Driver) bool
	after uint64 // position in the ring
}

// Release has fn run on the thread some time later, again after the next wait where it reports
// false. It takes no time of a virtual clock, since it comes when garbage collection does. It
// never blocks and may be called from anywhere.
func (e *Executor) Release(fn func(driver.Driver) bool) {
	e.mu.Lock()
	e.releases = append(e.releases, release{fn, e.ring.tail.Load()})
	e.mu.Unlock()
	e.hasRel.Store(true)
	e.kick()
}

func (e *Executor) runReleases() {
	e.mu.Lock()
	list := append(e.unreleased, e.releases...)
	e.releases = nil
	e.hasRel.Store(false)
	e.mu.Unlock()
	e.unreleased = nil
	run := func() {
		for _, r := range list {
			if r.after > e.ring.next {
				e.unreleased = append(e.unreleased, r)
				e.hasRel.Store(true)
			} else if !e.tryRelease(r.fn) {
				e.unreleased = append(e.unreleased, r)
			}
		}
		if e.current != 0 && e.d.SetCurrentContext(e.current) != nil {
			e.current = 0
		}
	}
	if e.clock != nil {
		e.clock.Untimed(run)
	} else {
		run()
	}
}

func (e *Executor) tryRelease(fn func(driver.Driver) bool) (done bool) {
	defer func() {
		if recover() != nil {
			done = true // nobody waits for it; what it held is lost
		}
	}()
	return fn(e.d)
}

// Again runs what Release was given so far, and then fn, which takes no time of a virtual clock.
// Only inside Call.
func (e *Executor) Again(fn func() error) error {
	e.runReleases()
	return e.Untimed(fn)
}

// Untimed runs fn, which takes no time of a virtual clock. Only inside Call.
func (e *Executor) Untimed(fn func() error) (err error) {
	if e.clock == nil {
		return fn()
	}
	e.clock.Untimed(func() { err = fn() })
	return err
}
