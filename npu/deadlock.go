package npu

import (
	"fmt"
	"slices"
	"strings"
	"sync/atomic"

	"npulua/npu/internal/driver"
	"npulua/npu/internal/executor"
)

// deadlocks counts them in this process; their numbers as faults are above those of drivers.
var deadlocks atomic.Uint64

// deadlockError is what every wait that nothing can end returns: the same fault, wherever it is told.
// waits says who waits for what; the report adds the streams that have work left. c waits for nothing.
func (s *Session) deadlockError(c *executor.Caller, waits []string) *Error {
	waits = append(waits, s.otherWaits(c)...)
	e := errorf(ErrStreamTimeout, "deadlock: nothing that is left to run can end %s", plural(len(waits), "this wait", "these waits"))
	e.Fault = deadlockFault | deadlocks.Add(1)
	e.Report = append(bounded(waits, "waits"), s.queues(c)...)
	if s.workHangs(c) {
		e.Injected = true
		s.hangTold.Store(true)
		e.Detail = fmt.Sprintf("work that hangs holds up %s, by an injected fault, and virtual time has no end to wait for", plural(len(waits), "this wait", "these waits"))
		return hinted(e, "nothing is broken: give the wait a timeout, or use --clock=wall to wait as on hardware")
	}
	return hinted(e, "look for a channel that nobody sends to or closes, tasks that join each other, or an event that is waited for and never recorded")
}

// workHangs reports whether work runs that was made to hang.
func (s *Session) workHangs(c *executor.Caller) (hangs bool) {
	_ = c.Call(0, func(d driver.Driver) error {
		if r, ok := d.(driver.Rehearser); ok {
			hangs = r.Hangs()
		}
		return nil
	})
	return hangs
}

// bounded is the first lines of a report, and how many more there are.
func bounded(lines []string, what string) []string {
	if more := len(lines) - maxReport; more > 0 {
		return append(slices.Clone(lines[:maxReport]), fmt.Sprintf("and %d more %s", more, what))
	}
	return lines
}

// IsDeadlock reports whether e says that nothing could end a wait.
func IsDeadlock(e *Error) bool { return e.Fault&deadlockFault != 0 }

const deadlockFault = 1 << 63

// deadlock ends all waits with one error that names them.
func (s *Scheduler) deadlock() {
	e := s.s.deadlockError(s.c, s.waitTexts())
	for _, t := range s.everyone() {
		own := *e
		t.wake(&own)
	}
}

// waitTexts says for every task that waits what it waits for, the first task first.
func (s *Scheduler) waitTexts() []string {
	var lines []string
	if s.direct != nil {
		lines = append(lines, s.main.String()+" waits for "+s.s.targetText(s.direct)+s.s.at(s.directSite))
	}
	for _, t := range s.everyone() {
		if t.wait != nil {
			who := t.String()
			if t.number > 0 && s.name != "" {
				who += " of " + s.name
			}
			lines = append(lines, who+" "+t.wait.text(s.s))
		}
	}
	return lines
}

// otherWaits is waitTexts of the schedulers that wait, but for the one of c, whose goroutine calls it.
func (s *Session) otherWaits(c *executor.Caller) (lines []string) {
	s.mu.Lock()
	list := slices.Clone(s.schedulers)
	s.mu.Unlock()
	slices.SortStableFunc(list, func(a, b *Scheduler) int { return a.number - b.number })
	for _, sch := range list {
		if sch.c == c || !sch.turn.TryLock() {
			continue
		}
		lines = append(lines, sch.waitTexts()...)
		sch.turn.Unlock()
	}
	return lines
}

// Waits says what every task waits for, of the schedulers in which all tasks wait now, a line each. It may be
// called from anywhere.
func (s *Session) Waits() []string { return s.otherWaits(nil) }

// hang is what the tasks of a scheduler waited for when they were interrupted.
type hang struct {
	scheduler int
	waits     []string
}

// noteHang keeps what waits said, when the first wait of a scheduler was interrupted, and the streams that
// had work left at the first of all.
func (s *Session) noteHang(c *executor.Caller, scheduler int, waits func() []string) {
	s.mu.Lock()
	first, known := s.hangs == nil, slices.ContainsFunc(s.hangs, func(h hang) bool { return h.scheduler == scheduler })
	s.mu.Unlock()
	if known {
		return
	}
	texts := waits()
	var queues []string
	if first {
		queues = s.queues(c)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.hangs == nil {
		s.hungQueues = queues
	}
	s.hangs = append(s.hangs, hang{scheduler, texts})
}

// HangReport says what was waited for when the context of Open ended, and which streams had work left then,
// a line each, for people; nil where nothing was waited for.
func (s *Session) HangReport() (lines []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	slices.SortStableFunc(s.hangs, func(a, b hang) int { return a.scheduler - b.scheduler })
	for _, h := range s.hangs {
		lines = append(lines, h.waits...)
	}
	return append(bounded(lines, "waits"), s.hungQueues...)
}

// queues is a line for each stream that has work left.
func (s *Session) queues(c *executor.Caller) (lines []string) {
	_ = c.Call(0, func(d driver.Driver) error { // without it the report is poorer
		lines = bounded(s.pendingReport(d), "streams with work left")
		return nil
	})
	return lines
}

// Report says what tasks wait for, other than the running one, and which streams have work left, a line each.
func (s *Scheduler) Report() []string {
	return append(bounded(s.waitTexts(), "waits"), s.s.queues(s.c)...)
}

// text says what is waited for, and where in the program.
func (w *suspension) text(s *Session) string {
	at := s.at(w.site)
	switch x := w.on.(type) {
	case *Task:
		return "waits for " + x.String() + at
	case *Channel:
		if x.name != "" {
			return "waits for " + x.name + at
		}
		if w.sends {
			return "sends to " + x.String() + at
		}
		return "receives from " + x.String() + at
	case outsideWait:
		return "waits for " + string(x) + at
	case []Case:
		var what []string
		for _, c := range x {
			what = append(what, c.String())
		}
		return "selects from " + strings.Join(what, ", ") + at
	}
	if w.target != nil {
		return "waits for " + s.targetText(w.target) + at
	}
	return "waits" + at
}

// targetText names what a wait on the backend is for.
func (s *Session) targetText(t *executor.Target) string {
	switch t.Kind {
	case executor.WaitTimer:
		return fmt.Sprintf("%v to pass", t.Timeout)
	case executor.WaitEvent:
		return "an event recorded in " + s.nameOf(t.StreamContext, t.Stream)
	}
	return s.nameOf(t.Context, t.Stream)
}

// made is " (verb at script.lua:12)", or nothing.
func (s *Session) made(verb string, site Site) string {
	if text := s.Where(site); text != "" {
		return " (" + verb + " at " + text + ")"
	}
	return ""
}

func plural(n int, one, many string) string {
	if n == 1 {
		return one
	}
	return many
}
