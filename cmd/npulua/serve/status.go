package serve

import (
	"time"
)

// SchemaVersion is that of /status.json. It goes up when a field changes its meaning or goes away.
const SchemaVersion = 1

// Status is /status.json: the schedule, and the last runs.
type Status struct {
	SchemaVersion  int             `json:"schema_version"`
	Version        string          `json:"npulua"`
	Script         string          `json:"script"`
	EverySeconds   float64         `json:"every_seconds"`
	TimeoutSeconds float64         `json:"timeout_seconds"`
	Began          time.Time       `json:"began"`
	Now            time.Time       `json:"now"`
	Running        int             `json:"running"` // number of the run under way, 0: none
	Skipped        int             `json:"skipped"`
	Counts         map[Outcome]int `json:"counts"`
	State          State           `json:"state"`
	Stale          string          `json:"stale,omitempty"` // why the figures are too old
	Last           *Result         `json:"last"`            // null: no run has ended
	History        []Past          `json:"history"`         // oldest first
}

// State is the outcome of the last run while that is not too old; else one of those below.
type State string

// States that are no outcomes.
const (
	StateNone  State = "none"  // no run has ended yet
	StateStale State = "stale" // the last result is too old, or there should be one by now
)

// state is what is known now. s.mu is held.
func (s *Server) state() State {
	switch last := s.last(); {
	case s.stale() != "":
		return StateStale
	case last == nil:
		return StateNone
	default:
		return State(last.Outcome)
	}
}

// Past is a run of the history.
type Past struct {
	Number  int       `json:"number"`
	Start   time.Time `json:"start"`
	Seconds float64   `json:"seconds"`
	Status  int       `json:"exit_status"`
	Outcome Outcome   `json:"outcome"`
	Problem string    `json:"problem,omitempty"`
}

func (s *Server) status() Status {
	s.mu.Lock()
	defer s.mu.Unlock()
	st := Status{
		SchemaVersion: SchemaVersion, Version: s.cfg.Version, Script: s.cfg.Script, EverySeconds: s.cfg.Every.Seconds(),
		TimeoutSeconds: s.cfg.Timeout.Seconds(), Began: s.began, Now: s.cfg.Now(), Skipped: s.skipped, Counts: make(map[Outcome]int),
		State: s.state(), Stale: s.stale(), Last: s.last(), History: []Past{},
	}
	for _, o := range outcomes {
		st.Counts[o] = s.counts[o]
	}
	if s.running != nil {
		st.Running = s.running.number
	}
	st.History = append(st.History, s.history...)
	return st
}
