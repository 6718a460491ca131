package serve

import (
	"bytes"
	_ "embed"
	"fmt"
	"html/template"
	"net/http"
	"strings"
	"time"

	dto "github.com/prometheus/client_model/go"
)

//go:embed page.html
var pageText string

var page = template.Must(template.New("page").Funcs(template.FuncMap{
	"ago": ago, "seconds": seconds, "interval": func(f float64) string { return time.Duration(f * float64(time.Second)).String() }, "clock": func(t time.Time) string { return t.Format("2006-01-02 15:04:05 MST") },
	"word": func(o Outcome) string { return strings.ReplaceAll(string(o), "_", " ") },
}).Parse(pageText))

// refresh is how often the page loads itself again, in seconds.
const refresh = 10

// maxValues bounds the live values that the page shows; /metrics has all.
const maxValues = 200

// view is what the page shows.
type view struct {
	Status
	Refresh   int
	Simulated bool
	Session   *Session
	Tests     []checkedTest
	Verdict   string
	Values    []value
	MoreValue int
	Timeline  bool
	Past      []Past // newest first
}

// value is one metric of the script.
type value struct{ Name, Labels, Value, Help string }

func (s *Server) servePage(w http.ResponseWriter, _ *http.Request) {
	v := view{Status: s.status(), Refresh: refresh}
	families, _ := s.scriptMetrics()
	v.Values, v.MoreValue = values(families)
	for i := len(v.History) - 1; i >= 0; i-- {
		v.Past = append(v.Past, v.History[i])
	}
	if v.Last != nil {
		v.Session, v.Timeline = v.Last.Session, v.Last.timeline != nil
		v.Simulated = v.Last.simulatedRun()
		if c := v.Last.checks; c != nil {
			v.Tests, v.Verdict = c.Tests, c.Verdict
		}
	}
	var b bytes.Buffer
	if err := page.Execute(&b, v); err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_, _ = w.Write(b.Bytes())
}

// values are metrics as rows; of a histogram or summary, count and sum. more is how many were left out.
func values(families []*dto.MetricFamily) (rows []value, more int) {
	for _, f := range families {
		for _, m := range f.GetMetric() {
			var labels []string
			for _, l := range m.GetLabel() {
				labels = append(labels, l.GetName()+"="+l.GetValue())
			}
			text := ""
			switch {
			case m.Gauge != nil:
				text = number(m.GetGauge().GetValue())
			case m.Counter != nil:
				text = number(m.GetCounter().GetValue())
			case m.Untyped != nil:
				text = number(m.GetUntyped().GetValue())
			case m.Histogram != nil:
				text = fmt.Sprintf("%d, mean %s", m.GetHistogram().GetSampleCount(), mean(m.GetHistogram().GetSampleSum(), m.GetHistogram().GetSampleCount()))
			case m.Summary != nil:
				text = fmt.Sprintf("%d, mean %s", m.GetSummary().GetSampleCount(), mean(m.GetSummary().GetSampleSum(), m.GetSummary().GetSampleCount()))
			}
			if len(rows) == maxValues {
				more++
				continue
			}
			rows = append(rows, value{f.GetName(), strings.Join(labels, " "), text, f.GetHelp()})
		}
	}
	return rows, more
}

func mean(sum float64, count uint64) string {
	if count == 0 {
		return "-"
	}
	return number(sum / float64(count))
}

func number(f float64) string { return fmt.Sprintf("%.6g", f) }

func seconds(f float64) string {
	if f < 10 {
		return fmt.Sprintf("%.2f s", f)
	}
	return time.Duration(f * float64(time.Second)).Round(time.Second).String()
}

// ago is how long t lies before now.
func ago(now, t time.Time) string {
	d := now.Sub(t).Round(time.Second)
	if d < time.Second {
		return "just now"
	}
	return d.String() + " ago"
}
