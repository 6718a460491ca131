package serve

import (
	"github.com/prometheus/client_golang/prometheus"
)

// collector are the server's own metrics.
type collector struct{ s *Server }

var (
	runsDesc      = prometheus.NewDesc("npulua_serve_runs_total", "Runs of the script that have ended, by outcome.", []string{"outcome"}, nil)
	skippedDesc   = prometheus.NewDesc("npulua_serve_skipped_total", "Runs that were skipped because the one before had not ended.", nil, nil)
	runningDesc   = prometheus.NewDesc("npulua_serve_running", "Whether a run is under way.", nil, nil)
	durationDesc  = prometheus.NewDesc("npulua_serve_last_run_duration_seconds", "How long the last run took.", nil, nil)
	endDesc       = prometheus.NewDesc("npulua_serve_last_run_timestamp_seconds", "When the last run ended, in Unix time.", nil, nil)
	statusDesc    = prometheus.NewDesc("npulua_serve_last_exit_status", "Exit status of the last run: 0 passed, 3 a check failed, 4 could not run; -1 ended by a signal.", nil, nil)
	simulatedDesc = prometheus.NewDesc("npulua_serve_simulated", "Whether the last run was on the simulator, and says nothing about real hardware.", nil, nil)
)

// Describe implements prometheus.Collector.
func (c *collector) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{runsDesc, skippedDesc, runningDesc, durationDesc, endDesc, statusDesc, simulatedDesc} {
		ch <- d
	}
}

// Collect implements prometheus.Collector.
func (c *collector) Collect(ch chan<- prometheus.Metric) {
	s := c.s
	s.mu.Lock()
	defer s.mu.Unlock()
	gauge := func(d *prometheus.Desc, v float64) {
		ch <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v)
	}
	for _, o := range outcomes {
		ch <- prometheus.MustNewConstMetric(runsDesc, prometheus.CounterValue, float64(s.counts[o]), string(o))
	}
	ch <- prometheus.MustNewConstMetric(skippedDesc, prometheus.CounterValue, float64(s.skipped))
	gauge(runningDesc, truth(s.running != nil))
	if last := s.last(); last != nil {
		gauge(durationDesc, last.Seconds)
		gauge(endDesc, float64(last.End().UnixMilli())/1e3)
		gauge(statusDesc, float64(last.Status))
		if last.Session != nil {
			gauge(simulatedDesc, truth(last.Session.Simulated))
		}
	}
}

func truth(b bool) float64 {
	if b {
		return 1
	}
	return 0
}
