package serve

import (
	"github.com/prometheus/client_golang/prometheus"
)

// collector are the metrics of the schedule, of the last run, and of its checks. Those of a run have the label simulated, "true" or
// empty, which Prometheus takes as none.
type collector struct{ s *Server }

var (
	runsDesc     = prometheus.NewDesc("npulua_serve_runs_total", "Runs of the script that have ended, by outcome.", []string{"outcome", simulatedLabel}, nil)
	skippedDesc  = prometheus.NewDesc("npulua_serve_skipped_total", "Runs that were skipped because the one before had not ended.", nil, nil)
	runningDesc  = prometheus.NewDesc("npulua_serve_running", "Whether a run is under way.", nil, nil)
	intervalDesc = prometheus.NewDesc("npulua_serve_interval_seconds", "Time from the beginning of a run to that of the next.", nil, nil)

	ofRun         = []string{simulatedLabel}
	successDesc   = prometheus.NewDesc("npulua_run_success", "Whether the last run passed, and ended not too long ago.", ofRun, nil)
	endDesc       = prometheus.NewDesc("npulua_run_timestamp_seconds", "When the last run ended, in Unix time: the age of all values of the script and of its checks.", ofRun, nil)
	durationDesc  = prometheus.NewDesc("npulua_run_duration_seconds", "How long the last run took.", ofRun, nil)
	statusDesc    = prometheus.NewDesc("npulua_run_exit_status", "Exit status of the last run: 0 passed, 3 a check failed, 4 could not run; -1 ended by a signal.", ofRun, nil)
	simulatedDesc = prometheus.NewDesc("npulua_run_simulated", "Whether the last run was on the simulator, and says nothing about real hardware.", nil, nil)

	resultDesc = prometheus.NewDesc("npulua_check_result", "Tests of the last run by result: pass, warn, fail, error, skip or not_run.", []string{"test", "group", "device", "result", simulatedLabel}, nil)
	metricDesc = prometheus.NewDesc("npulua_check_metric", "Numbers that the tests of the last run measured.", []string{"test", "group", "device", "metric", "unit", simulatedLabel}, nil)
)

// Describe implements prometheus.Collector.
func (c *collector) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{runsDesc, skippedDesc, runningDesc, intervalDesc, successDesc, endDesc, durationDesc, statusDesc, simulatedDesc, resultDesc, metricDesc} {
		ch <- d
	}
}

// Collect implements prometheus.Collector.
func (c *collector) Collect(ch chan<- prometheus.Metric) {
	s := c.s
	s.mu.Lock()
	defer s.mu.Unlock()
	gauge := func(d *prometheus.Desc, v float64, labels ...string) {
		ch <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, labels...)
	}
	for _, o := range outcomes {
		for _, n := range []struct {
			count     int
			simulated string
		}{{s.counts[o] - s.simulated[o], ""}, {s.simulated[o], "true"}} {
			ch <- prometheus.MustNewConstMetric(runsDesc, prometheus.CounterValue, float64(n.count), string(o), n.simulated)
		}
	}
	ch <- prometheus.MustNewConstMetric(skippedDesc, prometheus.CounterValue, float64(s.skipped))
	gauge(runningDesc, truth(s.running != nil))
	gauge(intervalDesc, s.cfg.Every.Seconds())
	last := s.last()
	if last == nil {
		return
	}
	simulated := ""
	if last.Session != nil {
		gauge(simulatedDesc, truth(last.Session.Simulated))
	}
	if last.simulatedRun() {
		simulated = "true"
	}
	old := s.stale() != ""
	gauge(successDesc, truth(last.Outcome == Passed && !old), simulated)
	gauge(endDesc, float64(last.End().UnixMilli())/1e3, simulated)
	gauge(durationDesc, last.Seconds, simulated)
	gauge(statusDesc, float64(last.Status), simulated)
	if old || last.checks == nil {
		return
	}
	for labels, n := range last.checks.results() {
		gauge(resultDesc, float64(n), labels.test, labels.group, labels.device, labels.what, simulated)
	}
	for labels, v := range last.checks.metrics() {
		gauge(metricDesc, v, labels.test, labels.group, labels.device, labels.what, labels.unit, simulated)
	}
}

func truth(b bool) float64 {
	if b {
		return 1
	}
	return 0
}
