package npu

import (
	"fmt"
	"strings"
	"sync/atomic"

	"npulua/npu/internal/driver"
	"npulua/npu/internal/executor"
)

// deadlocks counts them in this process; their numbers as faults are above those of drivers.
var deadlocks atomic.Uint64

// deadlockError is what every wait that nothing can end returns: the same fault, wherever it is told.
// waits says who waits for what.
func (s *Session) deadlockError(waits []string) *Error {
	e := errorf(ErrStreamTimeout, "deadlock: nothing that is left to run can end %s", plural(len(waits), "this wait", "these waits"))
	e.Fault = deadlockFault | deadlocks.Add(1)
	e.Report = waits
	return hinted(e, "look for a channel that nobody sends to or closes, tasks that join each other, or an event that is waited for and never recorded")
}

// IsDeadlock reports whether e says that nothing could end a wait.
func IsDeadlock(e *Error) bool { return e.Fault&deadlockFault != 0 }

const deadlockFault = 1 << 63

// deadlock ends all waits with one error that names them.
func (s *Scheduler) deadlock() {
	var waits []string
	all := s.everyone()
	for _, t := range all {
		if t.wait != nil {
			waits = append(waits, t.String()+" "+t.wait.text(s.s))
		}
	}
	e := s.s.deadlockError(waits)
	for _, t := range all {
		own := *e
		t.wake(&own)
	}
}

// Waits says for every task that waits what it waits for, the first task first.
func (s *Scheduler) Waits() []string {
	var lines []string
	for _, t := range s.everyone() {
		if t.wait != nil {
			lines = append(lines, t.String()+" "+t.wait.text(s.s))
		}
	}
	return lines
}

// text says what is waited for, and where in the program.
func (w *suspension) text(s *Session) string {
	at := s.at(w.site)
	switch x := w.on.(type) {
	case *Task:
		return "waits for " + x.String() + at
	case *Channel:
		if w.sends {
			return "sends to " + x.String() + at
		}
		return "receives from " + x.String() + at
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
		return "an event recorded in " + s.streamText(t.StreamContext, t.Stream)
	}
	return s.streamText(t.Context, t.Stream)
}

// at is " at script.lua:12", or nothing.
func (s *Session) at(site Site) string {
	if text := s.Where(site); text != "" {
		return ", at " + text
	}
	return ""
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

// streamText names a stream for messages, also one whose handle is gone.
func (s *Session) streamText(ctx driver.Context, h driver.Stream) string {
	x := s.streamOf(driver.Exception{Context: ctx, Stream: h})
	if x == nil {
		return "a stream"
	}
	name := "stream " + fmt.Sprint(x.number)
	if x.IsDefault() {
		name = "the default stream"
	}
	if x.ctx.IsDefault() {
		return fmt.Sprintf("%s of device %d", name, x.ctx.dev.id)
	}
	return fmt.Sprintf("%s of context %d of device %d", name, x.ctx.id, x.ctx.dev.id)
}
