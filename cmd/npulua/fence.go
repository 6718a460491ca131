package main

import (
	"os"
	"sync"
	"time"
)

// fenceTime is how long a signal of our own may take to arrive; it takes microseconds.
const fenceTime = 100 * time.Millisecond

// fence tells when the signals that have come so far were acted on: it sends one of our own after them, which comes to
// the same channel behind them.
type fence struct {
	mu     sync.Mutex // of one who waits at a time
	passed chan struct{}
}

// settle returns when the signals that have come so far were acted on, or nobody watches for any.
func (p *program) settle() {
	p.fence.mu.Lock()
	defer p.fence.mu.Unlock()
	if p.fence.passed == nil || !sendFence() {
		return
	}
	select {
	case <-p.fence.passed:
	case <-time.After(fenceTime):
	}
}

// open has the signal of the fence come to ch, whose receiver calls is.
func (f *fence) open(ch chan<- os.Signal) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.passed = make(chan struct{}, 1)
	notifyFence(ch)
}

func (f *fence) close() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.passed = nil
}

// is reports whether sig is that of the fence, and lets those pass who wait there.
func (f *fence) is(sig os.Signal) bool {
	if !isFence(sig) {
		return false
	}
	select {
	case f.passed <- struct{}{}:
	default:
	}
	return true
}
