package npu

import (
	"slices"

	"npulua/npu/internal/driver"
)

// memory is one allocation, as one handle sees it, and who uses it.
type memory struct {
	res *resource
	dev *Device // nil for host memory
	*usage
	own usage // usage, unless the handle came by Receive
}

type use struct {
	st     *streamState
	ticket uint64 // last command that touches the memory
	write  uint64 // last one that writes it; 0: none
	site   Site   // of the last write, else of the last use
}

// guard lets res live as long as queued work uses it.
func (m *usage) guard(res *resource) {
	res.before = func(t *Thread) error { return m.settle(t, false) }
	res.idle = func(d driver.Driver) bool {
		defer m.lock()()
		for _, u := range m.uses {
			if !u.st.idle(d) {
				return false
			}
		}
		return true
	}
}

// used notes that the next command of st touches b.
func (b *Buffer) used(st *streamState, site Site, write bool) {
	if g := st.recording.Load(); g != nil {
		g.rec.use(b, write)
		return
	}
	b.root.used(st, site, write)
}

func (m *usage) used(st *streamState, site Site, write bool) {
	if m.shared.Load() {
		m.mu.Lock()
		defer m.mu.Unlock()
	}
	ticket := st.queued + 1
	uses := m.uses
	for i := range uses {
		if u := &uses[i]; u.st == st {
			u.ticket = ticket
			if write {
				u.write, u.site = ticket, site
			} else if u.write == 0 {
				u.site = site
			}
			return
		}
	}
	m.note(st, ticket, site, write)
}

func (m *usage) note(st *streamState, ticket uint64, site Site, write bool) {
	live := m.uses[:0]
	for _, u := range m.uses {
		if u.ticket > u.st.synced.Load() {
			live = append(live, u)
		}
	}
	u := use{st: st, ticket: ticket, site: site}
	if write {
		u.write = ticket
	}
	m.uses = append(live, u)
}

// settle waits for the queued work that uses the memory, or only for that which writes it. Faults
// stay with their streams.
func (m *usage) settle(t *Thread, writesOnly bool) error {
	unlock := m.lock()
	uses := slices.Clone(m.uses) // others go on meanwhile
	unlock()
	for _, u := range uses {
		last := u.ticket
		if writesOnly {
			last = u.write
		}
		if last <= u.st.synced.Load() {
			continue
		}
		if u.st.recording.Load() != nil {
			return recordingError()
		}
		ticket := u.ticket
		if !u.st.foreign(t.scheduler()) {
			ticket = u.st.queued
		}
		u.st.pins.Add(1)
		left, err := t.s.unfinished(t, []*streamState{u.st}, nil) // at no cost: it may be gone
		if err == nil && left != nil {
			err = u.st.unlessGone(t.wait(u.st.target(-1, true)))
		}
		u.st.pins.Add(-1)
		if err != nil {
			return err
		}
		u.st.known(ticket)
	}
	return nil
}

// pendingError is the refusal to touch host memory that queued work still uses.
func (b *Buffer) pendingError(write bool) error {
	defer b.root.lock()()
	for _, u := range b.root.uses {
		last := u.write
		if write {
			last = u.ticket
		}
		if last > u.st.synced.Load() && !u.st.held.Load() {
			verb := "reads"
			if u.write > u.st.synced.Load() {
				verb = "writes"
			}
			at := b.root.res.session.Where(u.site)
			if at != "" {
				at = " from " + at
			}
			return hinted(errorf(ErrParamInvalid, "a queued command%s still %s this buffer", at, verb),
				"synchronize the stream, or wait for an event after it, before the host touches the buffer")
		}
	}
	return nil
}

// touch refuses to let the host read (or write) memory that queued work writes (or uses).
func (b *Buffer) touch(write bool) error {
	if b.root.res.closed.Load() {
		return b.check()
	}
	if write && b.readOnly {
		return errorf(ErrParamInvalid, "an input of the kernel cannot be written")
	}
	if b.root.shared.Load() || len(b.root.uses) > 0 {
		return b.pendingError(write)
	}
	return nil
}
