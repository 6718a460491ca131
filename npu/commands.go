package npu

import (
	"fmt"
	"slices"
	"time"

	"npulua/npu/internal/driver"
)

// CommandInfo is what became of one command of a stream.
type CommandInfo struct {
	Op       string // "launch"
	Name     string // of the kernel of a launch, or ""
	Site     Site   // where it was queued
	State    string // "queued", "running", "done", "failed", "skipped"
	Code     Code   // of a failed one
	Fault    uint64 // number of the fault of a failed one, as in Error; 0 where it was refused
	WaitsFor string // of the first one that is not over, where something holds it back; for people
	Way      string // of a copy: "H2D", "D2H", "D2D", "H2H"
	// Start is when the device began with the command, as Now tells the time, and End when that was over. Both
	// are zero of a command that never ran, End of one that is not over.
	Start, End time.Duration
}

// wayNames are short names of the ways that copies go.
var wayNames = map[driver.CopyKind]string{
	driver.HostToHost: "H2H", driver.HostToDevice: "H2D", driver.DeviceToHost: "D2H", driver.DeviceToDevice: "D2D",
}

// Commands lists the last commands of s that are over, a hundred or so, and then all that are not; each
// part in the order in which they were queued. It neither waits nor takes time, and takes no fault. A
// skipped command never ran, because a failure had stopped its context or it was dropped by force. A
// replay of a graph is one command, and what is being recorded is none. ErrNotSupported where the
// backend does not tell.
func (s *Stream) Commands(t *Thread) ([]CommandInfo, error) {
	if err := s.check(); err != nil {
		return nil, err
	}
	insp := t.s.inspector()
	if err := need(t.s, insp, "tell what became of commands"); err != nil {
		return nil, err
	}
	var list []driver.CommandInfo
	err := t.callOn(s.state.ctx, func(driver.Driver) (err error) {
		list, err = insp.Commands(s.state.h)
		return err
	}, s.check)
	if err != nil {
		return nil, err
	}
	return t.s.commandInfos(list), nil
}

func (s *Session) commandInfos(list []driver.CommandInfo) []CommandInfo {
	out := make([]CommandInfo, len(list))
	for i, c := range list {
		out[i] = CommandInfo{Op: c.Op.String(), Name: c.Name, Site: c.Site, State: c.State.String(), Code: c.Code, Fault: c.Fault,
			WaitsFor: s.holdText(c.Hold), Start: c.Start, End: c.End}
		if c.Op == driver.OpCopy {
			out[i].Way = wayNames[c.Copy]
		}
	}
	return out
}

// StreamCommands is what became of the commands of one stream.
type StreamCommands struct {
	Name            string // of the stream, as its String
	Device, Context int
	Number          int // of the stream in its context; 0: the default stream
	Commands        []CommandInfo
	Closed          bool // the stream is gone: its number may have been given again
}

// maxGone bounds how many closed streams History tells of.
const maxGone = 64

// keepHistory keeps the commands of st, whose stream or context is about to be destroyed. On the executor's
// thread; the current context is as before.
func (s *Session) keepHistory(d driver.Driver, st *streamState) {
	insp := s.inspector()
	if !s.opts.History || st == nil || insp == nil {
		return
	}
	found := make([][]driver.CommandInfo, 1)
	_ = s.exec.Untimed(func() error { return s.commandsOf(d, insp, []*streamState{st}, found) }) // it returns none
	if len(found[0]) == 0 {
		return
	}
	entry := s.streamCommands(st, found[0])
	entry.Closed = true
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.gone) == maxGone {
		s.gone = slices.Delete(s.gone, 0, 1)
	}
	s.gone = append(s.gone, entry)
}

func (s *Session) streamCommands(st *streamState, list []driver.CommandInfo) StreamCommands {
	return StreamCommands{Name: st.name.String(), Device: st.name.device, Context: st.name.context, Number: st.name.number,
		Commands: s.commandInfos(list)}
}

// History is what Commands lists for every open stream of the session, by device, context and number, then for
// streams that were closed, in order, where Options.History is set; and the time now. Default streams that never
// had a command are left out. It takes no time and no fault. ErrNotSupported where the backend does not tell.
func (s *Session) History(t *Thread) (list []StreamCommands, now time.Duration, err error) {
	insp := s.inspector()
	if err := need(s, insp, "tell what became of commands"); err != nil {
		return nil, 0, err
	}
	var states []*streamState
	s.mu.Lock()
	s.root.each(func(r *resource) {
		if r.stream != nil {
			states = append(states, r.stream)
		}
	})
	s.mu.Unlock()
	slices.SortFunc(states, func(a, b *streamState) int { return a.name.compare(b.name) })
	found := make([][]driver.CommandInfo, len(states))
	err = t.call(0, func(d driver.Driver) error {
		now = s.exec.Now()
		return s.exec.Untimed(func() error { return s.commandsOf(d, insp, states, found) })
	})
	for i, st := range states {
		if len(found[i]) > 0 || st.h != 0 {
			list = append(list, s.streamCommands(st, found[i]))
		}
	}
	s.mu.Lock()
	list = append(list, s.gone...)
	s.mu.Unlock()
	return list, now, err
}

// commandsOf asks for the commands of states, on the executor's thread; the current context is as before.
func (s *Session) commandsOf(d driver.Driver, insp driver.Inspector, states []*streamState, found [][]driver.CommandInfo) error {
	if old, err := d.CurrentContext(); err == nil {
		defer func() { _ = d.SetCurrentContext(old) }() // it was current: it can be again
	}
	for i, st := range states {
		if d.SetCurrentContext(st.ctx) == nil {
			found[i], _ = insp.Commands(st.h) // a stream that is gone has none
		}
	}
	return nil
}

// inspector is the driver's, or nil.
func (s *Session) inspector() driver.Inspector {
	insp, _ := s.drv.(driver.Inspector)
	return insp
}

// holdText says what a command waits for, "" for nothing.
func (s *Session) holdText(h driver.Hold) string {
	switch h.Kind {
	case driver.HoldRecord:
		return "the record" + s.at(h.Site) + " in " + s.nameOf(h.Context, h.Stream)
	case driver.HoldEngine:
		return fmt.Sprintf("the engine for %s, which is at the command%s in %s", h.Name, s.at(h.Site), s.nameOf(h.Context, h.Stream))
	case driver.HoldCores:
		if h.Want > h.Free {
			return fmt.Sprintf("%d %s cores, of which %d are free", h.Want, h.Name, h.Free)
		}
		return fmt.Sprintf("its turn on the %s cores", h.Name)
	case driver.HoldCallback:
		return "its function to run"
	}
	return ""
}

// at is " at a.lua:9", or "" where the place is not known.
func (s *Session) at(site Site) string {
	if where := s.Where(site); where != "" {
		return " at " + where
	}
	return ""
}

// nameOf names a stream by the driver's handles.
func (s *Session) nameOf(ctx driver.Context, h driver.Stream) string {
	if st := s.stateOf(ctx, h); st != nil {
		return st.name.String()
	}
	return "a stream that is gone"
}

// stateOf finds a stream by the driver's handles; nil where the session has none.
func (s *Session) stateOf(ctx driver.Context, h driver.Stream) (found *streamState) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.root.each(func(r *resource) {
		if st := r.stream; st != nil && st.ctx == ctx && st.h == h {
			found = st
		}
	})
	return found
}
