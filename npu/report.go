package npu

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"npulua/npu/internal/driver"
)

// maxReport bounds the lines that an error gets.
const maxReport = 16

// pendingReport is one line for every stream of the session that has work left, by device, context and
// number; nil where the driver does not tell. On the executor's thread; the current context is as before.
func (s *Session) pendingReport(d driver.Driver) []string {
	return s.report(d, s.streams())
}

// streams are those of the session that are open.
func (s *Session) streams() (states []*streamState) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.root.each(func(r *resource) {
		if r.stream != nil {
			states = append(states, r.stream)
		}
	})
	return states
}

// Pending is one line for every stream that has work left: how far it is, and what it is at. It may be called
// from any goroutine, and returns once the executor has time to answer; nil where the backend does not tell.
func (s *Session) Pending() []string {
	c := s.exec.NewCaller(context.Background())
	defer c.Close()
	var lines []string
	_ = c.Call(0, func(d driver.Driver) error { // it fails where the session has ended: nothing is pending then
		return s.exec.Untimed(func() error {
			lines = s.pendingReport(d)
			return nil
		})
	})
	return lines
}

// Stuck says which call of the vendor's library does not return, and from where it came: "aclrtDestroyStream did not
// return (called at a.lua:3)"; "" where none is under way. It does not wait, and may be called from any goroutine.
func (s *Session) Stuck() string {
	b, ok := s.drv.(driver.Busy)
	if !ok {
		return ""
	}
	name := b.UnderWay()
	site, called := s.exec.Serving()
	if name == "" || !called {
		return ""
	}
	if s.at(site) == "" {
		return name + " did not return"
	}
	return name + " did not return (called" + s.at(site) + ")"
}

// report is pendingReport for some streams. Those that the driver has no more are left out.
func (s *Session) report(d driver.Driver, states []*streamState) []string {
	insp := s.inspector()
	if insp == nil {
		return nil
	}
	if old, err := d.CurrentContext(); err == nil {
		defer func() { _ = d.SetCurrentContext(old) }() // it was current: it can be again
	}
	states = slices.Clone(states)
	slices.SortFunc(states, func(a, b *streamState) int { return a.name.compare(b.name) })
	var lines []string
	for _, st := range states {
		if d.SetCurrentContext(st.ctx) != nil {
			continue
		}
		if line := s.progressLine(insp, st); line != "" {
			lines = append(lines, line)
		}
	}
	return lines
}

// progressLine says how far st is and what it is at; "" where it has no work left. On the executor's
// thread, with the context of st current.
func (s *Session) progressLine(insp driver.Inspector, st *streamState) string {
	p, err := insp.Progress(st.h)
	if err != nil || p.Pending == 0 {
		return ""
	}
	if p.Head.State == driver.CommandPending {
		return fmt.Sprintf("%s: %s may not be over; the first of them: %s", st.name, plural(p.Pending, "1 command", fmt.Sprintf("%d commands", p.Pending)), s.commandText(p.Head))
	}
	total := p.Over + uint64(p.Pending)
	line := fmt.Sprintf("%s: %d of %d commands left", st.name, p.Pending, total)
	if total == 1 {
		line = fmt.Sprintf("%s: 1 command left", st.name)
	}
	if p.Last.Op != driver.OpNone {
		line += fmt.Sprintf("; last %s: %s", p.Last.State, s.commandText(p.Last))
	}
	line += "; now: " + s.commandText(p.Head)
	if p.Head.Hangs {
		return line + ", " + hangsText
	}
	if hold := s.holdText(p.Head.Hold); hold != "" {
		return line + ", for " + hold
	}
	return line + ", " + p.Head.State.String()
}

const hangsText = "hangs by an injected fault"

// commandText is `launch "spin" (a.lua:5)`.
func (s *Session) commandText(c driver.CommandInfo) string {
	text := c.Op.String()
	if c.Name != "" {
		text += fmt.Sprintf(" %q", c.Name)
	}
	if where := s.Where(c.Site); where != "" {
		text += " (" + where + ")"
	}
	return text
}

// reported adds to the error of a wait that timed out what those of states look like that have work
// left. Other errors, and one with a report, stay as they are. It takes no virtual time.
func (t *Thread) reported(err error, states ...*streamState) error {
	e, ok := err.(*Error)
	if !ok || e.Code != ErrStreamTimeout && e.Code != ErrEventTimeout || len(e.Report) > 0 || t.s.inspector() == nil {
		return err
	}
	_ = t.call(0, func(d driver.Driver) error { // without it the error is poorer, no other
		e.Report = t.s.report(d, states)
		return nil
	})
	e.Report = bounded(e.Report, "streams with work left")
	if slices.ContainsFunc(e.Report, func(line string) bool { return strings.HasSuffix(line, hangsText) }) {
		e.Injected = true
		t.s.hangTold.Store(true)
		return hinted(e, "nothing is broken, and waiting longer does not help: a rule has this work hang")
	}
	return err
}
