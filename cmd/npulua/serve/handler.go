package serve

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"

	"npulua/internal/printable"
)

// policy lets the page use what it carries itself, and nothing from anywhere else.
const policy = "default-src 'none'; style-src 'unsafe-inline'; img-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'"

// documents are the answers that can be large, by their addresses.
func documents() map[string]*document {
	return map[string]*document{
		"GET /{$}":          {kind: "text/html; charset=utf-8", timed: true, render: (*Server).renderPage},
		"GET /metrics":      {kind: string(expfmt.NewFormat(expfmt.TypeTextPlain)), render: (*Server).renderMetrics},
		"GET /status.json":  {kind: "application/json", timed: true, render: (*Server).renderStatus},
		"GET /timeline.svg": {kind: "image/svg+xml", render: (*Server).renderTimeline},
	}
}

// Handler answers requests.
func (s *Server) Handler() http.Handler {
	mux := http.NewServeMux()
	for path, d := range documents() {
		mux.HandleFunc(path, func(w http.ResponseWriter, req *http.Request) { d.serve(s, w, req) })
	}
	mux.HandleFunc("GET /healthz", s.serveHealth)
	mux.HandleFunc("GET /icon.svg", s.serveIcon)
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", policy)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cache-Control", "no-store")
		mux.ServeHTTP(w, req)
	})
}

// renderMetrics is /metrics. A metric of the script that does not go with the others is left out.
func (s *Server) renderMetrics() ([]byte, error) {
	families, err := prometheus.Gatherers{s.registry, prometheus.GathererFunc(s.scriptMetrics)}.Gather()
	if len(families) == 0 {
		return nil, err
	}
	var b bytes.Buffer
	e := expfmt.NewEncoder(&b, expfmt.NewFormat(expfmt.TypeTextPlain))
	for _, f := range families {
		if err := e.Encode(f); err != nil {
			return nil, err
		}
	}
	return b.Bytes(), nil
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

func (s *Server) renderStatus() ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetIndent("", "  ")
	if err := e.Encode(s.status()); err != nil {
		return nil, err
	}
	return printable.JSON(b.Bytes()), nil
}

// renderTimeline is the picture of the last run; nil where there is none.
func (s *Server) renderTimeline() ([]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if last := s.last(); last != nil {
		return last.timeline, nil
	}
	return nil, nil
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
