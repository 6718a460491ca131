package npu

import (
	"errors"
	"slices"
	"sync/atomic"

	"npulua/npu/internal/driver"
	"npulua/npu/internal/fault"
)

// FaultRule is a fault to rehearse. ParseFault, NewFaultRule and ParseScenario make one.
type FaultRule = fault.Rule

// FaultField is one field of a rule, by name.
type FaultField = fault.Field

// The forms that the value of a FaultField can have.
const (
	FaultPlain  = fault.Plain
	FaultNumber = fault.Number
	FaultWord   = fault.Word
	FaultOther  = fault.Other
)

// FaultScenario is a list of rules with a name.
type FaultScenario = fault.Scenario

// FaultEntry is a field, a kind or an operation of rules, with what it means.
type FaultEntry = fault.Entry

// FaultFields, FaultKinds and FaultOps describe what rules are made of.
func FaultFields() []FaultEntry { return fault.Fields() }
func FaultKinds() []FaultEntry  { return fault.KindEntries() }
func FaultOps() []FaultEntry    { return fault.OpEntries() }

// ParseFault reads a rule such as "op=copy,device=0,nth=3,code=507054" or "device=1,lost".
func ParseFault(spec string) (FaultRule, error) { return fault.ParseSpec(spec) }

// NewFaultRule makes a rule of its fields.
func NewFaultRule(fields []FaultField) (FaultRule, error) { return fault.FromFields(fields) }

// ParseScenario reads a scenario: {"name": "...", "faults": [{"op": "copy", "code": 507054}]}.
func ParseScenario(data []byte) (FaultScenario, error) { return fault.ParseScenario(data) }

// Fault is a rule in force.
type Fault struct {
	s      *Session
	f      *fault.Fault
	closed atomic.Bool
}

func noRehearsal(backend string) string {
	return "faults are rehearsed on the simulator only, and this is the " + backend + " backend"
}

// InjectFault puts a rule in force. ErrNotSupported where the backend is not the simulator, ErrInvalidDevice where
// there is no such device.
func (s *Session) InjectFault(t *Thread, r FaultRule) (*Fault, error) {
	if s.injector == nil {
		return nil, hinted(errorf(ErrNotSupported, "%s", noRehearsal(s.info.Name)), "run the script with --sim")
	}
	if r.Device >= s.count {
		return nil, errorf(ErrInvalidDevice, "a fault of device %d: %d visible", r.Device, s.count)
	}
	f := &Fault{s: s}
	err := t.call(0, func(driver.Driver) error {
		f.f = s.injector.Add(r)
		return nil
	})
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults = append(s.faults, f)
	return f, nil
}

// injectFirst is InjectFault for a rule of Options.
func (s *Session) injectFirst(r FaultRule) error {
	_, err := s.InjectFault(s.main, r)
	if e, ok := err.(*Error); ok && e.Code == ErrInvalidDevice {
		e.Code = ErrInvalidParam // of Open
	}
	return err
}

// Faults are the rules in force, in the order in which they came.
func (s *Session) Faults() []*Fault {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.faults)
}

// Text is the rule as ParseFault reads it.
func (f *Fault) Text() string { return f.f.Text }

// Kind is what goes wrong: "code", "hang", "delay", "slow", "lost", "wrong", "oom" or "ecc".
func (f *Fault) Kind() string { return f.f.Rule.Kind.String() }

// Hits is how many operations went wrong by the rule so far.
func (f *Fault) Hits(t *Thread) (hits int64, err error) {
	err = t.call(0, func(driver.Driver) error {
		hits = f.f.Hits
		return nil
	})
	return hits, err
}

// Closed reports whether the rule is out of force.
func (f *Fault) Closed() bool { return f.closed.Load() }

// Close takes the rule out of force, and a device that it lost is there again. Commands that are queued go wrong
// all the same. Further calls do nothing.
func (f *Fault) Close(t *Thread) error {
	err := t.call(0, func(driver.Driver) error {
		f.s.injector.Remove(f.f)
		return nil
	})
	if err != nil {
		return err
	}
	f.closed.Store(true)
	f.s.mu.Lock()
	defer f.s.mu.Unlock()
	f.s.faults = slices.DeleteFunc(f.s.faults, func(x *Fault) bool { return x == f })
	return nil
}

// rehearsesHangs reports whether a rule had work hang.
func (s *Session) rehearsesHangs(t *Thread) (hangs bool) {
	if s.injector != nil {
		_ = t.c.Call(0, func(driver.Driver) error {
			hangs = s.injector.Hung
			return nil
		})
	}
	return hangs
}

// unlessHangs is err without what says that work hangs.
func unlessHangs(err error) error {
	return keepErrors(err, func(err error) bool {
		e, ok := err.(*Error)
		return !ok || !IsDeadlock(e) || !e.Injected
	})
}

// isLost reports whether e says that a device was made a lost one, other than by a command that failed for it. No
// work of the device is left then.
func isLost(e *Error) bool {
	return e.Injected && e.Fault == 0 && e.Op == "" && e.Code == driver.CodeLostHeartbeat
}

// onceLost is err without what says no more than that a device is lost, where it says more, or says so twice.
func onceLost(err error) error {
	var lost error
	rest := keepErrors(err, func(e error) bool {
		if unlessLost(e) != nil {
			return true
		}
		lost = e
		return false
	})
	if rest == nil {
		return lost
	}
	return rest
}

// keepErrors is err, or of joined errors those, that keep wants.
func keepErrors(err error, keep func(error) bool) error {
	j, joined := err.(interface{ Unwrap() []error })
	if _, one := err.(*Error); one || !joined {
		if err == nil || keep(err) {
			return err
		}
		return nil
	}
	var rest []error
	for _, e := range j.Unwrap() {
		rest = append(rest, keepErrors(e, keep))
	}
	return errors.Join(rest...)
}

// unlessLost is err, or nil where it says no more than that the device is lost: nobody needs it to give something
// back.
func unlessLost(err error) error {
	if e, ok := err.(*Error); ok && isLost(e) {
		return nil
	}
	return err
}
