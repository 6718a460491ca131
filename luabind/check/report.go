package check

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"npulua/luabind/quantity"
)

// Exit statuses of a program whose purpose is its checks.
const (
	StatusOK    = 0 // all passed; warnings and skips do not change that
	StatusFail  = 3 // something failed
	StatusError = 4 // something could not run, or nothing was checked
)

// Report is what all tests of a program found.
//
// A failure must not be hidden by anything else: one failed test is StatusFail. Else one that could not run is
// StatusError, as is a report in which no test passed. Else warnings are StatusFail where Strict.
type Report struct {
	Title  string
	Info   Info
	Level  int // tests above it were not run
	Strict bool
	Tests  []*Test // in the order in which they began
	Data   []Datum // by name
	Took   time.Duration
	// Ended is what ended the program before its end: "interrupted", "timeout". "": it came to its end, and
	// Status counts.
	Ended string
	// ExitStatus is that of the program.
	ExitStatus int
}

// Datum is a value that the program gave to its report.
type Datum struct {
	Name string
	JSON []byte
}

// Info is where tests ran.
type Info struct {
	Version   string // of npulua
	Backend   string // "sim"
	Detail    string // what the backend says of itself
	Simulated bool   // the results say nothing about hardware
	Devices   []Device
}

// Device is a device that was there.
type Device struct {
	ID           int
	Name, Family string
	Memory       int64 // bytes; 0: the backend does not tell
}

// Totals counts tests by result.
type Totals struct {
	Pass, Warn, Skip, Error, Fail, NotRun int
	Flaky                                 int // of those that passed or warned: not at the first attempt
}

// Totals counts the tests.
func (r *Report) Totals() (n Totals) {
	counts := [...]*int{&n.Pass, &n.Warn, &n.Skip, &n.Error, &n.Fail, &n.NotRun}
	for _, t := range r.Tests {
		*counts[t.Result]++
		if t.Flaky() {
			n.Flaky++
		}
	}
	return n
}

// Verdict is what the report comes down to: Pass, Warn, Fail or Error.
func (r *Report) Verdict() Result {
	n := r.Totals()
	switch {
	case n.Fail > 0:
		return Fail
	case n.Error > 0, !r.checked(), r.Ended != "":
		return Error
	case n.Warn > 0 && r.Strict:
		return Fail
	case n.Warn > 0:
		return Warn
	}
	return Pass
}

// checked reports whether a test passed that does not only prepare others.
func (r *Report) checked() bool {
	return slices.ContainsFunc(r.Tests, func(t *Test) bool { return (t.Result == Pass || t.Result == Warn) && !t.Prepares })
}

// Status is the exit status for the verdict.
func (r *Report) Status() int {
	switch r.Verdict() {
	case Fail:
		return StatusFail
	case Error:
		return StatusError
	}
	return StatusOK
}

// Sentence is the verdict in one line.
func (r *Report) Sentence() string {
	n := r.Totals()
	text := ""
	switch r.Verdict() {
	case Fail:
		text = "FAIL: " + r.blame(Fail)
		if n.Fail == 0 {
			text = fmt.Sprintf("FAIL: %s, and warnings count as failures", plural(n.Warn, "warning"))
		}
		if n.Error > 0 {
			text += "; could not run: " + r.blame(Error)
		}
	case Error:
		switch {
		case n.Error > 0:
			text = "COULD NOT RUN: " + r.blame(Error)
		case r.Ended != "":
			text = "COULD NOT RUN to the end"
		case len(r.Tests) == 0:
			text = "COULD NOT RUN: there was no test"
		default:
			text = "COULD NOT RUN: no test checked anything"
		}
	case Warn:
		text = "PASS, with " + plural(n.Warn, "warning")
	case Pass:
		text = "PASS"
	}
	if verdict := r.Verdict(); n.Skip > 0 && (verdict == Pass || verdict == Warn) {
		text += fmt.Sprintf(", %d skipped", n.Skip)
	}
	if r.Ended != "" {
		text += "; " + r.Ended + ": what comes later in the script was not run"
	}
	if r.Info.Simulated {
		text += " (simulated: this says nothing about hardware)"
	}
	return text
}

// maxBlamed bounds how many tests the verdict names, and of how many devices.
const maxBlamed = 3

// blame names the tests with a result: those of one device together.
func (r *Report) blame(of Result) string {
	type part struct {
		device int
		names  []string
	}
	var parts []*part
	for _, t := range r.Tests {
		if t.Result != of {
			continue
		}
		i := slices.IndexFunc(parts, func(p *part) bool { return p.device == t.Device && t.Device != NoDevice })
		if i < 0 {
			i = len(parts)
			parts = append(parts, &part{device: t.Device})
		}
		parts[i].names = append(parts[i].names, short(t.Name, maxName))
	}
	var out []string
	for _, p := range parts {
		text := strings.Join(atMost(p.names), ", ")
		if p.device != NoDevice {
			text += fmt.Sprintf(" (device %d)", p.device)
		}
		out = append(out, text)
	}
	return strings.Join(atMost(out), "; ")
}

// atMost is the first ones of a list, and how many more there are.
func atMost(list []string) []string {
	if more := len(list) - maxBlamed; more > 0 {
		return append(slices.Clone(list[:maxBlamed]), fmt.Sprintf("and %d more", more))
	}
	return list
}

// title is the name of a test with its device, as lines for people have it.
func (t *Test) title() string { return t.titled(short(t.Name, maxName)) }

func (t *Test) titled(name string) string {
	if t.Device == NoDevice {
		return name
	}
	return fmt.Sprintf("%s (device %d)", name, t.Device)
}

// Counts is how many tests had which result: "3 passed, 1 failed".
func (r *Report) Counts() string {
	n := r.Totals()
	var parts []string
	for _, p := range []struct {
		n    int
		what string
	}{
		{n.Pass, "passed"}, {n.Warn, "with warnings"}, {n.Fail, "failed"}, {n.Error, "could not run"},
		{n.Skip, "skipped"}, {n.NotRun, "not run"}, {n.Flaky, "needed more than one attempt"},
	} {
		if p.n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", p.n, p.what))
		}
	}
	if parts == nil {
		parts = []string{"no tests"}
	}
	return strings.Join(parts, ", ") + "; " + quantity.Took(r.Took)
}

// Where says what the tests ran on.
func (r *Report) Where() string {
	text := fmt.Sprintf("npulua %s, backend %s", r.Info.Version, r.Info.Backend)
	if r.Info.Detail != "" {
		text += ": " + r.Info.Detail
	}
	if r.Info.Simulated && !strings.Contains(strings.ToLower(r.Info.Detail), "simulated") {
		text += ", simulated"
	}
	return text
}

func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
