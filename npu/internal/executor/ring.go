package executor

import (
	"sync/atomic"
	"time"

	"npulua/npu/internal/driver"
)

// argWords is how many argument words a slot holds without allocating; longer lists grow it.
const argWords = 24

// slot is one place in the ring: two cache lines, of which most commands touch only the first.
type slot struct {
	seq     atomic.Uint64 // position + 1 once the command is complete
	cmd     driver.Command
	request *request      // set where the slot carries that instead of a command
	spent   time.Duration // of a virtual time, which passes before
}

// ring is a bounded queue with many producers and one consumer. A producer claims a position,
// fills the slot in place and publishes it; the consumer publishes its own position once a batch,
// because doing so after every command would bounce a cache line between the two for each.
type ring struct {
	slots []slot
	mask  uint64
	_     [64]byte
	tail  atomic.Uint64 // next position to claim
	seen  atomic.Uint64 // the producers' last look at head
	_     [64]byte
	head  atomic.Uint64 // first position the consumer has not given back
	_     [64]byte
	next  uint64 // consumer only: next position to read
}

// newRing makes a ring of size slots; size must be a power of two.
func newRing(size int) *ring {
	r := &ring{slots: make([]slot, size), mask: uint64(size - 1)}
	words := make([]uint64, size*argWords)
	for i := range r.slots {
		r.slots[i].cmd.Args = words[i*argWords : i*argWords : (i+1)*argWords]
	}
	return r
}

// claim takes the next position, or nil where the ring is full.
func (r *ring) claim() (*slot, uint64) {
	for {
		t := r.tail.Load()
		if t-r.seen.Load() > r.mask {
			h := r.head.Load()
			if t-h > r.mask {
				return nil, 0
			}
			r.seen.Store(h)
		}
		if r.tail.CompareAndSwap(t, t+1) {
			return &r.slots[t&r.mask], t
		}
	}
}

// roomy reports whether half of the ring is free: who found it full waits for that, so that the
// two sides do not take turns for a few places each.
func (r *ring) roomy() bool { return r.tail.Load()-r.head.Load() <= (r.mask+1)/2 }

// full reports whether no place is free.
func (r *ring) full() bool { return r.tail.Load()-r.head.Load() > r.mask }

// peek returns the next published slot, or nil. Consumer only.
func (r *ring) peek() *slot {
	s := &r.slots[r.next&r.mask]
	if s.seq.Load() != r.next+1 {
		return nil
	}
	return s
}

// release gives back everything read so far. Consumer only.
func (r *ring) release() {
	if r.head.Load() != r.next {
		r.head.Store(r.next)
	}
}
