package serve

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	dto "github.com/prometheus/client_model/go"
)

// policy lets the page use what it carries itself, and nothing from anywhere else.
const policy = "default-src 'none'; style-src 'unsafe-inline'; img-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'"

// routes are all addresses that are answered.
var routes = []struct {
	path string
	fn   func(*Server, http.ResponseWriter, *http.Request)
}{
	{"GET /{$}", (*Server).servePage},
	{"GET /healthz", (*Server).serveHealth},
	{"GET /status.json", (*Server).serveStatus},
	{"GET /timeline.svg", (*Server).serveTimeline},
	{"GET /icon.svg", (*Server).serveIcon},
}

// Handler answers requests.
func (s *Server) Handler() http.Handler {
	mux := http.NewServeMux()
	for _, r := range routes {
		mux.HandleFunc(r.path, func(w http.ResponseWriter, req *http.Request) { r.fn(s, w, req) })
	}
	all := prometheus.Gatherers{s.registry, prometheus.GathererFunc(s.scriptMetrics)}
	mux.Handle("GET /metrics", promhttp.HandlerFor(all, promhttp.HandlerOpts{ErrorHandling: promhttp.ContinueOnError}))
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", policy)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cache-Control", "no-store")
		mux.ServeHTTP(w, req)
	})
}

// scriptMetrics are those of the last run; none where it has failed to report any, or is too old.
func (s *Server) scriptMetrics() ([]*dto.MetricFamily, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stale() != "" {
		return nil, nil
	}
	return s.report.Metrics, nil
}

// serveHealth says whether the schedule is kept: 503 once results are too old. How checks came out is told elsewhere.
func (s *Server) serveHealth(w http.ResponseWriter, _ *http.Request) {
	s.mu.Lock()
	why := s.stale()
	s.mu.Unlock()
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	if why != "" {
		w.WriteHeader(http.StatusServiceUnavailable)
		_, _ = w.Write([]byte(why + "\n"))
		return
	}
	_, _ = w.Write([]byte("ok\n"))
}

func (s *Server) serveStatus(w http.ResponseWriter, _ *http.Request) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetIndent("", "  ")
	if err := e.Encode(s.status()); err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(b.Bytes())
}

func (s *Server) serveTimeline(w http.ResponseWriter, req *http.Request) {
	s.mu.Lock()
	var picture []byte
	if last := s.last(); last != nil {
		picture = last.timeline
	}
	s.mu.Unlock()
	if picture == nil {
		http.NotFound(w, req)
		return
	}
	w.Header().Set("Content-Type", "image/svg+xml")
	_, _ = w.Write(picture)
}

// iconStyles are those of the icon in the browser's tab. It is hollow where nothing is known now.
var iconStyles = map[State]string{
	State(Passed): `fill="#1a7f4b"`, State(Failed): `fill="#c4262e"`, State(Broken): `fill="#a8500b"`, State(TimedOut): `fill="#7a3ab0"`, State(Stopped): `fill="#6b7785"`,
	StateNone: `fill="none" stroke="#6b7785" stroke-width="2"`, StateStale: `fill="none" stroke="#c4262e" stroke-width="2" stroke-dasharray="3 2"`,
}

func (s *Server) serveIcon(w http.ResponseWriter, _ *http.Request) {
	s.mu.Lock()
	style := iconStyles[s.state()]
	s.mu.Unlock()
	w.Header().Set("Content-Type", "image/svg+xml")
	_, _ = fmt.Fprintf(w, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16"><rect x="1" y="1" width="14" height="14" rx="3" %s/></svg>`+"\n", style)
}
