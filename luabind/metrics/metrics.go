// Package metrics holds the metrics of a script for Prometheus, with errors that its author understands.
package metrics

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"

	"npulua/npu"
)

// Kind is a kind of metrics.
type Kind int

const (
	Gauge     Kind = iota // a value that goes up and down
	Counter               // one that only goes up
	Histogram             // counts of observations by size
)

func (k Kind) String() string { return [...]string{"gauge", "counter", "histogram"}[k] }

// Registry is a set of metrics by name. Its methods, and those of its metrics, may be called from any goroutine.
type Registry struct {
	registry   *prometheus.Registry
	registerer prometheus.Registerer // adds what all series have

	mu     sync.Mutex
	byName map[string]*Metric
}

// Names that are npulua's own, so that a server that adds metrics to those of a script never has two of one name.
const (
	reservedPrefix = "npulua_"
	simulatedLabel = "simulated"
)

// NewRegistry makes a set without metrics. Where simulated, every series has the label simulated="true", so that no alert and
// no picture takes it for one of hardware.
func NewRegistry(simulated bool) *Registry {
	r := &Registry{registry: prometheus.NewRegistry(), byName: make(map[string]*Metric)}
	r.registerer = r.registry
	if simulated {
		r.registerer = prometheus.WrapRegistererWith(prometheus.Labels{simulatedLabel: "true"}, r.registry)
	}
	return r
}

// Shape is what a metric is; two of one name have the same.
type Shape struct {
	Kind    Kind
	Name    string
	Help    string
	Labels  []string
	Buckets []float64 // upper bounds of a histogram, ascending; nil: the usual ones for seconds, 5 ms to 10 s
}

// Metric is one of a Registry: a series for each combination of label values.
type Metric struct {
	Shape
	series func(values []string) (any, error) // prometheus.Gauge, Counter or Observer
}

var (
	metricName = regexp.MustCompile(`^[a-zA-Z_:][a-zA-Z0-9_:]*$`)
	labelName  = regexp.MustCompile(`^[a-zA-Z_][a-zA-Z0-9_]*$`)
)

// Metric is the metric of a shape: a new one, or the one that was registered before.
func (r *Registry) Metric(s Shape) (*Metric, error) {
	if s.Kind == Histogram && s.Buckets == nil {
		s.Buckets = prometheus.DefBuckets
	}
	if err := s.check(); err != nil {
		return nil, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if m := r.byName[s.Name]; m != nil {
		if d := m.differs(s); d != "" {
			return nil, fmt.Errorf("%q is registered already, with %s", s.Name, d)
		}
		return m, nil
	}
	if other := r.collides(s); other != "" {
		return nil, fmt.Errorf("%q and the %s would write lines of one name", s.Name, other)
	}
	m := &Metric{Shape: s}
	err := r.registerer.Register(m.collector())
	if err == nil && len(m.Labels) == 0 && m.Kind != Gauge { // of a gauge nobody knows the value yet
		_, err = m.series(nil)
	}
	if err != nil {
		return nil, err
	}
	r.byName[s.Name] = m
	return m, nil
}

func (s *Shape) check() error {
	switch {
	case !metricName.MatchString(s.Name):
		return fmt.Errorf("a name has letters, digits, _ and : and begins with no digit, got %q", s.Name)
	case strings.HasPrefix(s.Name, reservedPrefix):
		return fmt.Errorf("names that begin with %s are npulua's own, got %q", reservedPrefix, s.Name)
	case strings.TrimSpace(s.Help) == "":
		return errors.New("the help is empty")
	case !utf8.ValidString(s.Help):
		return fmt.Errorf("the help is not UTF-8: %q", s.Help)
	}
	for i, l := range s.Labels {
		switch {
		case !labelName.MatchString(l):
			return fmt.Errorf("a label has letters, digits and _ and begins with no digit, got %q", l)
		case strings.HasPrefix(l, "__"):
			return fmt.Errorf("labels that begin with __ are Prometheus' own, got %q", l)
		case l == simulatedLabel:
			return fmt.Errorf("the label %q is npulua's own: a simulated run has it", l)
		case l == "le" && s.Kind == Histogram:
			return errors.New("the label \"le\" is the histogram's own")
		case slices.Contains(s.Labels[:i], l):
			return fmt.Errorf("the label %q occurs twice", l)
		}
	}
	for i, b := range s.Buckets {
		if math.IsNaN(b) || math.IsInf(b, 0) || i > 0 && b <= s.Buckets[i-1] {
			return fmt.Errorf("buckets are finite numbers, each more than the one before, got %v at %d", b, i+1)
		}
	}
	if s.Kind == Histogram && len(s.Buckets) == 0 {
		return errors.New("there are no buckets")
	}
	return nil
}

// differs says what m has otherwise than s; "" where they are alike.
func (m *Metric) differs(s Shape) string {
	switch {
	case m.Kind != s.Kind:
		return "the kind " + m.Kind.String()
	case m.Help != s.Help:
		return fmt.Sprintf("the help %q", m.Help)
	case !slices.Equal(m.Labels, s.Labels):
		if len(m.Labels) == 0 {
			return "no labels"
		}
		return "the labels " + strings.Join(m.Labels, ", ")
	case !slices.Equal(m.Buckets, s.Buckets):
		return fmt.Sprintf("the buckets %v", m.Buckets)
	}
	return ""
}

// histogramSuffixes are of the lines that a histogram writes.
var histogramSuffixes = []string{"_bucket", "_count", "_sum"}

// collides names the metric that would write lines of the same name as one of shape s.
func (r *Registry) collides(s Shape) string {
	for _, suffix := range histogramSuffixes {
		if m := r.byName[s.Name+suffix]; m != nil && s.Kind == Histogram {
			return fmt.Sprintf("%v %q", m.Kind, m.Name)
		}
		if base, ok := strings.CutSuffix(s.Name, suffix); ok {
			if m := r.byName[base]; m != nil && m.Kind == Histogram {
				return fmt.Sprintf("%v %q", m.Kind, m.Name)
			}
		}
	}
	return ""
}

func (m *Metric) collector() prometheus.Collector {
	switch m.Kind {
	case Counter:
		v := prometheus.NewCounterVec(prometheus.CounterOpts{Name: m.Name, Help: m.Help}, m.Labels)
		m.series = func(values []string) (any, error) { return v.GetMetricWithLabelValues(values...) }
		return v
	case Histogram:
		v := prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: m.Name, Help: m.Help, Buckets: m.Buckets}, m.Labels)
		m.series = func(values []string) (any, error) { return v.GetMetricWithLabelValues(values...) }
		return v
	}
	v := prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: m.Name, Help: m.Help}, m.Labels)
	m.series = func(values []string) (any, error) { return v.GetMetricWithLabelValues(values...) }
	return v
}

// of is the series with these label values: all that the metric has, and no others.
func (m *Metric) of(labels map[string]string) (any, error) {
	for _, l := range slices.Sorted(maps.Keys(labels)) {
		switch {
		case slices.Contains(m.Labels, l):
		case len(m.Labels) == 0:
			return nil, fmt.Errorf("%q has no labels, got %q", m.Name, l)
		default:
			return nil, fmt.Errorf("%q has no label %q%s", m.Name, l, npu.Suggest(l, m.Labels))
		}
	}
	values := make([]string, len(m.Labels))
	for i, l := range m.Labels {
		v, ok := labels[l]
		switch {
		case !ok:
			return nil, fmt.Errorf("the label %q is missing: %q has %s", l, m.Name, strings.Join(m.Labels, ", "))
		case !utf8.ValidString(v):
			return nil, fmt.Errorf("the label %q is not UTF-8: %q", l, v)
		}
		values[i] = v
	}
	return m.series(values)
}

// Set gives a gauge a value, which may be NaN.
func (m *Metric) Set(v float64, labels map[string]string) error {
	s, err := m.of(labels)
	if err == nil {
		s.(prometheus.Gauge).Set(v)
	}
	return err
}

// Add adds to a gauge, or to a counter, which takes nothing below 0.
func (m *Metric) Add(v float64, labels map[string]string) error {
	if m.Kind == Counter && !(v >= 0 && v <= math.MaxFloat64) {
		return fmt.Errorf("a counter takes finite numbers of 0 or more, got %v", v)
	}
	s, err := m.of(labels)
	if err == nil {
		s.(interface{ Add(float64) }).Add(v)
	}
	return err
}

// Observe counts a value in a histogram.
func (m *Metric) Observe(v float64, labels map[string]string) error {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return fmt.Errorf("a histogram takes finite numbers, got %v", v)
	}
	s, err := m.of(labels)
	if err == nil {
		s.(prometheus.Observer).Observe(v)
	}
	return err
}

// Gather implements prometheus.Gatherer.
func (r *Registry) Gather() ([]*dto.MetricFamily, error) { return r.registry.Gather() }
