package serve

import (
	"bytes"
	_ "embed"
	"fmt"
	"html/template"
	"math"
	"strconv"
	"strings"
	"time"

	dto "github.com/prometheus/client_model/go"

	"npulua/internal/printable"
	"npulua/luabind/quantity"
)

//go:embed page.html
var pageText string

var page = template.Must(template.New("page").Funcs(template.FuncMap{
	"ago": ago, "seconds": seconds, "interval": quantity.Duration, "clock": func(t time.Time) string { return t.Format("2006-01-02 15:04:05 MST") },
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
	Tests     []checkedTest // the worst first
	NotRun    int           // tests that are not among them, since nobody asked for them
	Verdict   string
	Values    []value
	MoreValue int
	Timeline  bool
	Past      []Past // newest first
}

// value is one metric of the script or of its checks.
type value struct{ Name, Labels, Value, Help string }

// renderPage is the page, of which a terminal that shows it obeys nothing.
func (s *Server) renderPage() ([]byte, error) {
	v := view{Status: s.status(), Refresh: refresh}
	families, _ := s.scriptMetrics()
	v.Values = values(families)
	for i := len(v.History) - 1; i >= 0; i-- {
		v.Past = append(v.Past, v.History[i])
	}
	if v.Last != nil {
		v.Session, v.Timeline = v.Last.Session, v.Last.timeline != nil
		v.Simulated = v.Last.simulatedRun()
		if c := v.Last.checks; c != nil {
			v.Tests, v.Verdict = c.worstFirst(), c.Verdict
			v.NotRun = len(c.Tests) - len(v.Tests)
			if v.Stale == "" {
				v.Values = append(v.Values, c.values()...)
			}
		}
	}
	if more := len(v.Values) - maxValues; more > 0 {
		v.Values, v.MoreValue = v.Values[:maxValues], more
	}
	var b bytes.Buffer
	if err := page.Execute(&b, v); err != nil {
		return nil, err
	}
	return []byte(printable.Text(b.String())), nil
}

// values are metrics as rows; of a histogram or summary, count and mean.
func values(families []*dto.MetricFamily) (rows []value) {
	for _, f := range families {
		for _, m := range f.GetMetric() {
			var labels []string
			for _, l := range m.GetLabel() {
				labels = append(labels, l.GetName()+"="+l.GetValue())
			}
			text := ""
			switch {
			case m.Gauge != nil:
				text = amount(f.GetName(), m.GetGauge().GetValue())
			case m.Counter != nil:
				text = amount(f.GetName(), m.GetCounter().GetValue())
			case m.Untyped != nil:
				text = amount(f.GetName(), m.GetUntyped().GetValue())
			case m.Histogram != nil:
				text = fmt.Sprintf("%d, mean %s", m.GetHistogram().GetSampleCount(), mean(f.GetName(), m.GetHistogram().GetSampleSum(), m.GetHistogram().GetSampleCount()))
			case m.Summary != nil:
				text = fmt.Sprintf("%d, mean %s", m.GetSummary().GetSampleCount(), mean(f.GetName(), m.GetSummary().GetSampleSum(), m.GetSummary().GetSampleCount()))
			}
			rows = append(rows, value{f.GetName(), strings.Join(labels, " "), text, f.GetHelp()})
		}
	}
	return rows
}

func mean(name string, sum float64, count uint64) string {
	if count == 0 {
		return "-"
	}
	return amount(name, sum/float64(count))
}

func number(f float64) string {
	if f == math.Trunc(f) && math.Abs(f) < 1e15 {
		return strconv.FormatFloat(f, 'f', 0, 64)
	}
	return fmt.Sprintf("%.6g", f)
}

// amount is a number with the unit that the name of its metric tells.
func amount(name string, f float64) string {
	switch {
	case strings.HasSuffix(name, "_bytes"):
		return withUnit(f, "B")
	case strings.HasSuffix(name, "_seconds"):
		return withUnit(f, "s")
	}
	return number(f)
}

// withUnit is a number with a unit, bytes and seconds in multiples that people can read.
func withUnit(f float64, unit string) string {
	switch {
	case unit == "B" && math.Abs(f) >= 1024:
		power := -1
		for math.Abs(f) >= 1024 && power < len(byteUnits)-1 {
			f /= 1024
			power++
		}
		return fmt.Sprintf("%.4g %ciB", f, byteUnits[power])
	case unit == "s" && f >= 0 && f < 1e6:
		return seconds(f)
	}
	return strings.TrimSpace(number(f) + " " + unit)
}

const byteUnits = "KMGTPE"

// seconds is a time that was measured.
func seconds(f float64) string {
	if f >= 10 {
		return quantity.Duration(f)
	}
	return quantity.Took(time.Duration(f * float64(time.Second)))
}

// ago is how long t lies before now.
func ago(now, t time.Time) string {
	d := now.Sub(t).Round(time.Second)
	if d < time.Second {
		return "just now"
	}
	return quantity.Duration(d.Seconds()) + " ago"
}
