package serve

import (
	"cmp"
	"encoding/json"
	"strings"
	"syscall"
	"time"
)

// Outcome is how a run ended, in one word for people and labels.
type Outcome string

// The outcomes.
const (
	Passed   Outcome = "passed"    // exit status 0
	Failed   Outcome = "failed"    // exit status 3: a check failed
	Broken   Outcome = "error"     // any other: it could not run
	TimedOut Outcome = "timed_out" // ended by its timeout
	Stopped  Outcome = "stopped"   // ended because the server ends
)

// outcomes are all of them, in the order of the page.
var outcomes = []Outcome{Passed, Failed, Broken, TimedOut, Stopped}

// Exit statuses of a script with checks.
const (
	statusFailed     = 3 // they have found a failure
	statusNotChecked = 4 // a test could not run, or none has passed
)

// Result is one run, done.
type Result struct {
	Number   int             `json:"number"` // from 1
	Start    time.Time       `json:"start"`
	Seconds  float64         `json:"seconds"`
	Status   int             `json:"exit_status"` // -1: ended by a signal, or never begun
	Outcome  Outcome         `json:"outcome"`
	Problem  string          `json:"problem,omitempty"` // why it could not run, or what of its report cannot be read
	Session  *Session        `json:"session,omitempty"`
	Check    json.RawMessage `json:"check,omitempty"`
	Stdout   string          `json:"stdout"` // the last part
	Stderr   string          `json:"stderr"` // the last part
	timeline []byte
	checks   *checked
}

// End is when the run was over.
func (r *Result) End() time.Time { return r.Start.Add(time.Duration(r.Seconds * float64(time.Second))) }

// simulatedRun reports whether the run is known to have been on the simulator.
func (r *Result) simulatedRun() bool { return r.Session != nil && r.Session.Simulated }

// past is what the history keeps of it.
func (r *Result) past() Past {
	return Past{r.Number, r.Start, r.Seconds, r.Status, r.Outcome, r.Problem}
}

// maxProblem bounds the text of a problem, which the history keeps, in characters.
const maxProblem = 1000

// explain adds to the problem of a run that has not passed what its checks blame, or else what it said last.
func (r *Result) explain() {
	if r.Outcome != Passed {
		why := ""
		if r.checks != nil {
			why = r.checks.blame()
			if why == "" && r.Status == statusNotChecked {
				why = "no test has passed"
			}
		}
		switch {
		case r.Problem == "":
			r.Problem = cmp.Or(why, lastWords(r.Stderr))
		case why != "":
			r.Problem += "; " + why
		}
	}
	r.Problem = clip(r.Problem, maxProblem)
}

// lastWords is the last message of npulua in text, which hints and a traceback may follow; else the last line, "" where there is none.
func lastWords(text string) (last string) {
	lines := strings.Split(text, "\n")
	for i := len(lines) - 1; i >= 0; i-- {
		line := strings.TrimSpace(lines[i])
		if strings.HasPrefix(line, "npulua: ") {
			return clip(line, maxBlame)
		}
		last = cmp.Or(last, line)
	}
	return clip(last, maxBlame)
}

// clip is text of at most limit characters, and "..." where there are more.
func clip(text string, limit int) string {
	if runes := []rune(text); len(runes) > limit {
		return string(runes[:limit]) + "..."
	}
	return text
}

// endedBySignal reports whether a run with this exit status was ended by SIGHUP, SIGINT, SIGTERM, or one that npulua does not catch.
func endedBySignal(status int) bool {
	switch status {
	case -1, 128 + int(syscall.SIGHUP), 128 + int(syscall.SIGINT), 128 + int(syscall.SIGTERM):
		return true
	}
	return false
}

func outcomeOf(status int) Outcome {
	switch status {
	case 0:
		return Passed
	case statusFailed:
		return Failed
	}
	return Broken
}
