package metrics

import (
	"math"
	"strings"
	"sync"
	"testing"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
)

// parse reads a text as Prometheus does, and fails where it does not take it.
func parse(t *testing.T, text string) map[string]*dto.MetricFamily {
	t.Helper()
	parser := expfmt.NewTextParser(model.LegacyValidation)
	families, err := parser.TextToMetricFamilies(strings.NewReader(text))
	if err != nil {
		t.Fatalf("Prometheus does not read\n%s\n%v", text, err)
	}
	return families
}

func TestText(t *testing.T) {
	r := NewRegistry(false)
	must := func(m *Metric, err error) *Metric {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	g := must(r.Metric(Shape{Kind: Gauge, Name: "npu:free_bytes", Help: "Free \\ memory,\nof a \"device\".", Labels: []string{"device", "path"}}))
	n := must(r.Metric(Shape{Kind: Counter, Name: "checks_total", Help: "Checks."}))
	h := must(r.Metric(Shape{Kind: Histogram, Name: "copy_seconds", Help: "Times.", Buckets: []float64{0.001, 0.01}}))
	values := map[string]string{"device": "0", "path": "a\"b\\c\nd 漢"}
	for _, err := range []error{g.Set(math.NaN(), map[string]string{"device": "1", "path": ""}), g.Set(1<<40, values), g.Add(-0.5, values), n.Add(2, nil), h.Observe(0.002, nil), h.Observe(5, nil)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	text, err := r.Text()
	if err != nil {
		t.Fatal(err)
	}
	f := parse(t, text)
	if len(f) != 3 || f["npu:free_bytes"].GetHelp() != g.Help || f["checks_total"].Metric[0].Counter.GetValue() != 2 {
		t.Errorf("read back: %v", f)
	}
	series := f["npu:free_bytes"].Metric
	if got := series[0]; got.Gauge.GetValue() != 1<<40-0.5 || got.Label[1].GetValue() != values["path"] {
		t.Errorf("the gauge is %v", got)
	}
	if got := f["copy_seconds"].Metric[0].Histogram; got.GetSampleCount() != 2 || got.GetSampleSum() != 5.002 || len(got.Bucket) != 3 || got.Bucket[1].GetCumulativeCount() != 1 {
		t.Errorf("the histogram is %v", got)
	}
}

func TestSimulated(t *testing.T) {
	r := NewRegistry(true)
	for _, s := range []Shape{{Gauge, "free_bytes", "h", []string{"device"}, nil}, {Counter, "n_total", "h", nil, nil}, {Histogram, "copy_seconds", "h", nil, []float64{1}}} {
		m, err := r.Metric(s)
		if err == nil && s.Kind == Gauge {
			err = m.Set(1, map[string]string{"device": "0"})
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	text, err := r.Text()
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(text) {
		if !strings.HasPrefix(line, "#") && !strings.Contains(line, `simulated="true"`) {
			t.Errorf("a line is not marked: %s", line)
		}
	}
	if f := parse(t, text); len(f) != 3 {
		t.Errorf("%d metrics in\n%s", len(f), text)
	}
}

func TestRefused(t *testing.T) {
	r := NewRegistry(false)
	if _, err := r.Metric(Shape{Kind: Histogram, Name: "h", Help: "h", Buckets: []float64{1}}); err != nil {
		t.Fatal(err)
	}
	if _, err := r.Metric(Shape{Kind: Gauge, Name: "x_sum", Help: "x", Labels: []string{"a"}}); err != nil {
		t.Fatal(err)
	}
	for _, s := range []Shape{
		{Gauge, "", "h", nil, nil}, {Gauge, "1a", "h", nil, nil}, {Gauge, "a-b", "h", nil, nil}, {Gauge, "ä", "h", nil, nil},
		{Gauge, "npulua_run", "h", nil, nil}, {Gauge, "a", "h", []string{"simulated"}, nil},
		{Gauge, "a", "", nil, nil}, {Gauge, "a", "\xff", nil, nil},
		{Gauge, "a", "h", []string{"x-y"}, nil}, {Gauge, "a", "h", []string{"a:b"}, nil}, {Gauge, "a", "h", []string{"__x"}, nil}, {Gauge, "a", "h", []string{"x", "x"}, nil},
		{Histogram, "a", "h", []string{"le"}, nil}, {Histogram, "a", "h", nil, []float64{}}, {Histogram, "a", "h", nil, []float64{1, 1}}, {Histogram, "a", "h", nil, []float64{math.NaN()}},
		{Gauge, "h_sum", "h", nil, nil}, {Histogram, "x", "h", nil, nil},
		{Counter, "x_sum", "x", []string{"a"}, nil}, {Gauge, "x_sum", "y", []string{"a"}, nil}, {Gauge, "x_sum", "x", nil, nil}, {Histogram, "h", "h", nil, []float64{2}},
	} {
		if m, err := r.Metric(s); err == nil {
			t.Errorf("%+v was registered: %v", s, m)
		}
	}
	if text, err := r.Text(); err != nil || len(parse(t, text)) != 1 {
		t.Errorf("after that: %q, %v", text, err)
	}
}

// FuzzLabels checks that Prometheus reads back whatever is taken.
func FuzzLabels(f *testing.F) {
	f.Add("A", " x ", "A", "0", -29.0)
	f.Add("npu_free", "help\n\\", "device", "a\"\n\\", 1.5)
	f.Fuzz(func(t *testing.T, name, help, label, value string, v float64) {
		r := NewRegistry(false)
		m, err := r.Metric(Shape{Kind: Gauge, Name: name, Help: help, Labels: []string{label}})
		if err != nil || m.Set(v, map[string]string{label: value}) != nil {
			return
		}
		text, err := r.Text()
		if err != nil {
			t.Fatal(err)
		}
		got := parse(t, text)[name]
		wantHelp := strings.TrimLeft(help, " \t") // blanks before it are not read
		if got == nil || got.GetHelp() != wantHelp || got.Metric[0].Label[0].GetValue() != value {
			t.Errorf("%q %q %q %q: %q", name, help, label, value, text)
		}
	})
}

func TestConcurrentUse(t *testing.T) {
	r := NewRegistry(false)
	var wait sync.WaitGroup
	for range 4 {
		wait.Go(func() {
			for range 100 {
				m, err := r.Metric(Shape{Kind: Counter, Name: "n_total", Help: "n", Labels: []string{"a"}})
				if err == nil {
					err = m.Add(1, map[string]string{"a": "x"})
				}
				if err == nil {
					_, err = r.Gather()
				}
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	wait.Wait()
	if text, _ := r.Text(); parse(t, text)["n_total"].Metric[0].Counter.GetValue() != 400 {
		t.Errorf("want 400 counted:\n%s", text)
	}
}
