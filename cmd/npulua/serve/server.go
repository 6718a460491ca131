package serve

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Config of a Server. Every and Timeout are above zero.
type Config struct {
	Script  string        // what is run, for people
	Version string        // of npulua
	Every   time.Duration // from the beginning of a run to that of the next
	Timeout time.Duration // of one run
	// Run makes one run, which writes its report into dir, and returns its exit status: -1 where a signal has ended it. It returns soon
	// after the end of ctx, with nothing left running. It is called for one run at a time.
	Run func(ctx context.Context, dir string) Output
	// Now is the clock; nil: time.Now.
	Now func() time.Time
	// Hosts are the names by which clients may ask for this server, besides addresses and localhost.
	Hosts []string
	// Log is told of what the operator should know, a line each; nil: nobody.
	Log func(format string, args ...any)
}

// Output is what a run has said, and how it has ended.
type Output struct {
	Status         int
	Problem        string // why it could not be started or has no status; "" else
	Stdout, Stderr string // the last part of each
	Left           int    // processes that it left behind, which were ended
}

// kept is how many runs the page and /status.json tell of.
const kept = 100

// Server runs the schedule and answers requests.
type Server struct {
	cfg      Config
	registry *prometheus.Registry

	mu      sync.Mutex
	began   time.Time
	newest  *Result // nil: no run has ended
	history []Past  // the last ones, the newest among them, oldest first
	running *run    // nil: none
	ending  bool    // no run begins any more
	runs    int     // begun so far
	skipped int
	counts  map[Outcome]int
	// simulated is how many of counts were on the simulator.
	simulated map[Outcome]int
	report    Report // of the last run
	changes   int    // how often something of all that was another

	answers chan struct{} // has one of each document that is being sent

	done sync.WaitGroup
}

// run is one that has not ended.
type run struct {
	number int
	start  time.Time
	cancel context.CancelCauseFunc

	skipped int // runs that were due meanwhile
}

// Causes of the end of a run's context.
var (
	errTimedOut = errors.New("timed out")
	errStopped  = errors.New("the server ends")
)

// errNoReport is why a run that says it was done does not count: nobody knows whether it was on the simulator.
var errNoReport = errors.New("it left no report: " + SessionFile + ", which says what it ran on, is gone")

// New makes a server that has not begun.
func New(cfg Config) *Server {
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.Log == nil {
		cfg.Log = func(string, ...any) {}
	}
	s := &Server{cfg: cfg, counts: make(map[Outcome]int), simulated: make(map[Outcome]int), began: cfg.Now(), answers: make(chan struct{}, maxAnswers)}
	s.registry = prometheus.NewRegistry()
	s.registry.MustRegister(&collector{s})
	return s
}

// Serve keeps the schedule and answers requests on l until ctx is done. Then no run begins any more, the one under
// way may end for drain, and the listener is closed; requests are answered until then. A run that does not end even when it is killed is
// an error, and left behind.
func (s *Server) Serve(ctx context.Context, l net.Listener, drain time.Duration) error {
	h := &http.Server{
		Handler: s.guard(s.Handler()), ReadHeaderTimeout: 10 * time.Second, ReadTimeout: 20 * time.Second, IdleTimeout: time.Minute, WriteTimeout: time.Minute,
		MaxHeaderBytes: 16 << 10,
	}
	failed := make(chan error, 1)
	go func() { failed <- h.Serve(limit(l)) }()
	schedule, stop := context.WithCancel(ctx)
	defer stop()
	ended := make(chan struct{})
	go func() {
		s.keep(schedule)
		close(ended)
	}()
	var err error
	select {
	case <-ctx.Done():
	case err = <-failed:
	}
	stop()
	<-ended
	if e := s.drain(drain); err == nil {
		err = e
	}
	finish, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	if e := h.Shutdown(finish); e != nil {
		_ = h.Close() // a client that takes no answer
	}
	return err
}

// drain lets the run under way end, or ends it after limit.
func (s *Server) drain(limit time.Duration) error {
	s.mu.Lock()
	s.ending = true
	r := s.running
	s.mu.Unlock()
	if r == nil {
		return nil
	}
	s.cfg.Log("run %d is under way and may take %v to end", r.number, limit)
	t := time.AfterFunc(limit, func() { r.cancel(errStopped) })
	defer t.Stop()
	ended := make(chan struct{})
	go func() {
		s.done.Wait()
		close(ended)
	}()
	late := time.NewTimer(limit + 2*endTime)
	defer late.Stop()
	select {
	case <-ended:
		return nil
	case <-late.C:
		return fmt.Errorf("run %d was killed and has not ended: it waits in the kernel", r.number)
	}
}

// keep begins a run at once and then every Every, until ctx is done.
func (s *Server) keep(ctx context.Context) {
	t := time.NewTicker(s.cfg.Every)
	defer t.Stop()
	for ctx.Err() == nil {
		s.begin()
		select {
		case <-ctx.Done():
		case <-t.C:
		}
	}
}

// begin starts a run, or counts it as skipped where one is under way.
func (s *Server) begin() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.changes++
	if s.running != nil {
		s.skipped++
		if s.running.skipped++; s.running.skipped == 1 { // the end tells of the rest
			s.cfg.Log("a run is due, but run %d has not ended: skipped", s.running.number)
		}
		return
	}
	s.runs++
	ctx, cancel := context.WithCancelCause(context.Background())
	r := &run{number: s.runs, start: s.cfg.Now(), cancel: cancel}
	s.running = r
	s.done.Go(func() { s.make(ctx, r) })
}

// make makes one run and keeps its result.
func (s *Server) make(ctx context.Context, r *run) {
	defer r.cancel(nil)
	t := time.AfterFunc(s.cfg.Timeout, func() { r.cancel(errTimedOut) })
	defer t.Stop()
	res := &Result{Number: r.number, Start: r.start, Status: -1, Outcome: Broken}
	var report Report
	f, err := newFolder(os.TempDir())
	if err == nil {
		defer f.remove()
		out := s.cfg.Run(ctx, f.path)
		res.Status, res.Problem, res.Stdout, res.Stderr = out.Status, out.Problem, out.Stdout, out.Stderr
		res.Outcome = outcomeOf(out.Status)
		if out.Left > 0 {
			s.cfg.Log("run %d left %d of its processes behind, which were ended", r.number, out.Left)
		}
		report, err = readReport(f.lock)
		if err == nil && report.Session == nil && (res.Outcome == Passed || res.Outcome == Failed) { // on the simulator, perhaps
			err = errNoReport
		}
	}
	if err != nil {
		res.Outcome, res.Problem = Broken, err.Error()
	}
	s.mu.Lock()
	ending := s.ending
	s.mu.Unlock()
	switch cause := context.Cause(ctx); {
	case cause == errTimedOut:
		res.Outcome, res.Problem = TimedOut, fmt.Sprintf("it took longer than %v", s.cfg.Timeout)
	case cause == errStopped:
		res.Outcome, res.Problem = Stopped, "the server was ended"
	case ending && endedBySignal(res.Status):
		res.Outcome, res.Problem = Stopped, "a signal ended it while the server was ending"
	}
	res.Session, res.Check, res.checks, res.timeline = report.Session, report.Check, report.checks, report.Timeline
	res.explain()
	res.Seconds = s.cfg.Now().Sub(r.start).Seconds()
	if res.Outcome != Passed {
		problem := res.Problem
		if problem != "" {
			problem = ": " + problem
		}
		s.cfg.Log("run %d: %s, exit status %d%s", res.Number, res.Outcome, res.Status, problem)
	}

	s.mu.Lock()
	defer s.mu.Unlock()
	if was := s.last(); res.simulatedRun() && (was == nil || !was.simulatedRun()) {
		s.cfg.Log("run %d was simulated: its results say nothing about real hardware", res.Number)
	}
	if r.skipped > 1 {
		s.cfg.Log("run %d has ended after %.3g s; %d runs were skipped", res.Number, res.Seconds, r.skipped)
	}
	s.changes++
	s.running = nil
	s.counts[res.Outcome]++
	if res.simulatedRun() {
		s.simulated[res.Outcome]++
	}
	s.report = report
	s.newest = res
	if s.history = append(s.history, res.past()); len(s.history) > kept {
		s.history = slices.Delete(s.history, 0, 1)
	}
}

// last is the newest result, nil before the first run has ended. s.mu is held.
func (s *Server) last() *Result { return s.newest }

// stale says why the figures are too old, "" where they are not: no run has ended for two intervals, a timeout, and
// the time that ending a run may take. s.mu is held.
func (s *Server) stale() string {
	since, what := s.began, "no run has ended since the start"
	if last := s.last(); last != nil {
		since, what = last.End(), "no run has ended"
	}
	limit := 2*s.cfg.Every + s.cfg.Timeout + endTime
	if age := s.cfg.Now().Sub(since); age > limit {
		return fmt.Sprintf("%s for %v, one is due every %v", what, age.Round(time.Second), s.cfg.Every)
	}
	return ""
}
