// Package serve runs a script again and again and tells over HTTP how it went: its metrics for Prometheus on /metrics,
// a status page on /, the same as JSON on /status.json, and on /healthz whether the schedule is kept.
//
// Each run is a process of its own, so that neither a hang in the vendor's library nor a crash takes the server along. What a run
// reports are files in a folder that it is given: see Report. A run that begins while the one before it has not ended is skipped and
// counted, and one that takes longer than its timeout is ended. Nothing is cached beyond that: metrics are
// those of the last run that has ended, with its time; what it did not report is gone, and all are once they are too old.
package serve
