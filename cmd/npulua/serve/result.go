package serve

import (
	"encoding/json"
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

// statusFailed is the exit status of a script whose checks have found a failure.
const statusFailed = 3

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

func outcomeOf(status int) Outcome {
	switch status {
	case 0:
		return Passed
	case statusFailed:
		return Failed
	}
	return Broken
}
