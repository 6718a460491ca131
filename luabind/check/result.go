// Package check holds what tests of devices found, and writes it for people and programs: as a table, as JSON, as
// JUnit XML and as Markdown. It knows nothing of Lua and of devices.
//
// Texts that are given to it are shown to people: they hold no control characters but line ends and tabs, and are
// UTF-8. See Report for the rules of the verdict and of the exit status.
package check

import (
	"fmt"
	"math"
	"time"

	"npulua/luabind/quantity"
)

// Result is how a test ended.
type Result uint8

// The results, from good to bad as far as one attempt has several: the worst counts.
const (
	Pass   Result = iota
	Warn          // it held, and something is to be looked at
	Skip          // the test does not apply here
	Error         // the test could not run, so that nothing is known
	Fail          // what was tested does not hold
	NotRun        // nobody asked for it
)

var resultNames = [...]string{"pass", "warn", "skip", "error", "fail", "not_run"}

// String is the result as JSON and scripts have it.
func (r Result) String() string { return resultNames[r] }

// Label is the result as tables show it.
func (r Result) Label() string {
	return [...]string{"pass", "WARN", "SKIP", "ERROR", "FAIL", "not run"}[r]
}

// Message is something that a test said.
type Message struct {
	Kind Kind
	Text string
	Lack string // what the machine should have and has not; "": the message is of something else
}

// Kind is what a message is about.
type Kind uint8

// The kinds.
const (
	Log    Kind = iota // for the record
	Warned             // the test warns
	Skipped
	Failed
	Errored // the test could not run, or not to its end
)

// String is the kind as JSON has it.
func (k Kind) String() string {
	return [...]string{"log", "warn", "skip", "fail", "error"}[k]
}

// result is what a message of the kind makes of the test.
func (k Kind) result() Result {
	return [...]Result{Pass, Warn, Skip, Fail, Error}[k]
}

// Metric is a number that a test measured.
type Metric struct {
	Name, Unit string
	Value      *float64 // nil: there is none, which is an error
	Min, Max   *float64 // nil: no bound
	Result     Result
}

// Judge says what a value makes of the metric, and a text where that is not a pass.
func (m *Metric) Judge() string {
	m.Result = Pass
	switch {
	case m.Value == nil:
		m.Result = Error
		return fmt.Sprintf("%s has no value", m.Name)
	case math.IsNaN(*m.Value) || math.IsInf(*m.Value, 0):
		text := fmt.Sprintf("%s is no number: %s", m.Name, Number(*m.Value))
		m.Value, m.Result = nil, Error
		return text
	case m.Min != nil && *m.Value < *m.Min:
		m.Result = Fail
		return m.against("below the minimum", *m.Min)
	case m.Max != nil && *m.Value > *m.Max:
		m.Result = Fail
		return m.against("above the maximum", *m.Max)
	}
	return ""
}

// against says that the value is on the wrong side of a bound, with all digits where four do not show it.
func (m *Metric) against(side string, bound float64) string {
	value, limit := quantity.Text(*m.Value, m.Unit), quantity.Text(bound, m.Unit)
	if value == limit {
		value, limit = quantity.Exact(*m.Value, m.Unit), quantity.Exact(bound, m.Unit)
	}
	return fmt.Sprintf("%s is %s, %s of %s", m.Name, value, side, limit)
}

// Attempt is one run of a test's function.
type Attempt struct {
	Result   Result
	Messages []Message
	Metrics  []Metric
	Checks   int // expectations and metrics
}

// Add notes a message, of one that is very long the beginning.
func (a *Attempt) Add(k Kind, text string) {
	a.Messages = append(a.Messages, Message{Kind: k, Text: kept(text)})
	a.Result = worse(a.Result, k.result())
}

// Lack notes, in a first line for tables, that the machine has not what the test needs and it should have. That keeps the
// test from running, unless it is allowed: then it is skipped.
func (a *Attempt) Lack(what, reason string, allowed bool) {
	between := "\n"
	if len(reason) <= maxLack && firstLine(reason) == reason {
		between = ": "
	}
	text := fmt.Sprintf("without %s%s%s", what, between, reason)
	if allowed {
		a.Add(Skipped, text)
	} else {
		a.Add(Errored, fmt.Sprintf("%s\n--allow-skip %s lets it be skipped", text, what))
	}
	a.Messages[len(a.Messages)-1].Lack = what
}

// HostMemory is what LackHost says that the machine lacks.
const HostMemory = "host memory"

// LackHost notes, in a first line for tables, that the host has not the memory that the test needs, which keeps it from
// running.
func (a *Attempt) LackHost(reason string) {
	a.Add(Errored, fmt.Sprintf("without %s\n%s", HostMemory, reason))
	a.Messages[len(a.Messages)-1].Lack = HostMemory
}

// Lacks is what the machine lacks, where that is why the test could not run or was skipped; "": nothing.
func (a *Attempt) Lacks() string {
	if n := len(a.Messages); n > 0 && (a.Result == Error || a.Result == Skip) {
		return a.Messages[n-1].Lack
	}
	return ""
}

// Measure notes a metric.
func (a *Attempt) Measure(m Metric) {
	text := m.Judge()
	a.Checks++
	a.Metrics = append(a.Metrics, m)
	switch m.Result {
	case Fail:
		a.Add(Failed, text)
	case Error:
		a.Add(Errored, text)
	}
}

// worse is the one of two results that counts.
func worse(a, b Result) Result { return max(a, b) }

// End ends an attempt: one that looked at nothing could not run.
func (a *Attempt) End() {
	if a.Checks == 0 && (a.Result == Pass || a.Result == Warn) {
		a.Add(Errored, "checked nothing: the test made no expectation and no metric")
	}
}

// Test is one test of a report.
type Test struct {
	Attempt // the last one

	Name, Group string
	Device      int    // NoDevice: the test is of none
	Level       int    // that it belongs to
	Prepares    bool   // what others need: that it passes is no reason for the report to pass
	Where       string // it stands in the script
	Earlier     []Attempt
	Running     bool
	Begin, Took time.Duration // of the backend's clock
}

// NoDevice stands for no device.
const NoDevice = -1

// Attempts is how often the test was run.
func (t *Test) Attempts() int {
	if t.Result == NotRun {
		return 0
	}
	return len(t.Earlier) + 1
}

// Flaky reports whether the test passed, but not at its first attempt.
func (t *Test) Flaky() bool {
	return len(t.Earlier) > 0 && (t.Result == Pass || t.Result == Warn)
}

// Skip says why the test is not run.
func (t *Test) Skip(reason string) {
	t.Result, t.Messages = NotRun, []Message{{Kind: Skipped, Text: reason}}
}
