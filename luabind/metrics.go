package luabind

import (
	"fmt"
	"io"

	lua "github.com/yuin/gopher-lua"

	"npulua/luabind/lua51"
	"npulua/luabind/metrics"
)

var metricOptions = []option{{"labels", "names of the labels that every value of it has, in order", anything}}

var bucketOption = option{"buckets", "upper bounds, ascending; left out 5 ms to 10 s, for times in seconds", anything}

const registerErrors = "names and labels that Prometheus does not allow; a metric of this name with another kind, help, labels or buckets"

var metricsModule = &module{
	name: "metrics",
	text: "Metrics for Prometheus. A metric has a name, and a value for each combination of its labels' values, which come last in a table: `g:set(40.5, {device = 0})`. " +
		"Registering it again gives the same one; workers of the script share all of them. `metrics.text` has them in the exposition format. Names that begin with `npulua_` are npulua's own, and so is the label `simulated`: every series of a simulated run has `simulated=\"true\"`. " +
		"`npulua serve` shows all of them on /metrics, and `--report` writes them to metrics.prom.",
	functions: []function{
		{"gauge", doc{"(name, help [, options])", "gauge", "A value that goes up and down.", registerErrors, "local metrics = require \"metrics\"\nlocal g = metrics.gauge(\"npu_memory_free_bytes\", \"Free memory of the device.\", {labels = {\"device\"}})\ng:set(npu.device(0):memory().free, {device = 0})"}, metricOptions, registering(metrics.Gauge)},
		{"counter", doc{"(name, help [, options])", "counter", "A value that only goes up; its name should end in `_total`.", registerErrors, "require(\"metrics\").counter(\"checks_total\", \"Checks that were run.\"):inc()"}, metricOptions, registering(metrics.Counter)},
		{"histogram", doc{"(name, help [, options])", "histogram", "Counts of values by size.", registerErrors, "require(\"metrics\").histogram(\"copy_seconds\", \"Times of copies.\", {buckets = {1e-4, 1e-3, 1e-2}}):observe(0.002)"}, append(metricOptions[:1:1], bucketOption), registering(metrics.Histogram)},
		{"text", doc{"()", "string", "All metrics in Prometheus' text format. What has no value yet is left out; counters and histograms without labels begin at 0.", "", `io.write(require("metrics").text())`}, nil, metricsText},
		{"write", doc{"(path)", "", "Writes the text to a file, which has all of it or what it had before at any time: for the textfile collector of a node exporter, which reads `*.prom`.", "files that cannot be written", `require("metrics").write("/tmp/npu.prom")`}, nil, metricsWrite},
	},
	classes: []func() classHelp{gaugeClass.help, counterClass.help, histogramClass.help},
}

// Handles of metrics in scripts, one type for each kind.
type (
	gauge     struct{ *metrics.Metric }
	counter   struct{ *metrics.Metric }
	histogram struct{ *metrics.Metric }
)

const valueErrors = "labels that are missing or that the metric does not have; label values other than strings and whole numbers"

var gaugeClass = &class[gauge]{
	name: "gauge", plain: true,
	text: "A metric that goes up and down (`metrics.gauge`).",
	methods: []method[gauge]{
		{"set", doc{"(value [, labels])", "", "Gives it a value.", valueErrors, `g:set(40.5, {device = 0})`}, nil, func(c *call, g gauge) error { return c.measure(g.Set) }},
		{"add", doc{"(value [, labels])", "", "Adds to it; what is below 0 is taken away.", valueErrors, `g:add(-1, {device = 0})`}, nil, func(c *call, g gauge) error { return c.measure(g.Add) }},
		{"inc", doc{"([labels])", "", "Adds 1.", valueErrors, `g:inc{device = 0}`}, nil, func(c *call, g gauge) error { return c.increment(g.Metric) }},
	},
	str: func(g gauge) string { return fmt.Sprintf("gauge(%q)", g.Name) },
}

var counterClass = &class[counter]{
	name: "counter", plain: true,
	text: "A metric that only goes up (`metrics.counter`).",
	methods: []method[counter]{
		{"add", doc{"(value [, labels])", "", "Adds to it.", valueErrors + "; what is below 0, infinite or no number", `n:add(64, {device = 0})`}, nil, func(c *call, n counter) error { return c.measure(n.Add) }},
		{"inc", doc{"([labels])", "", "Adds 1.", valueErrors, `n:inc{device = 0}`}, nil, func(c *call, n counter) error { return c.increment(n.Metric) }},
	},
	str: func(n counter) string { return fmt.Sprintf("counter(%q)", n.Name) },
}

var histogramClass = &class[histogram]{
	name: "histogram", plain: true,
	text: "A metric that counts values by size (`metrics.histogram`).",
	methods: []method[histogram]{
		{"observe", doc{"(value [, labels])", "", "Counts a value.", valueErrors + "; what is infinite or no number", `h:observe(0.002, {device = 0})`}, nil, func(c *call, h histogram) error { return c.measure(h.Observe) }},
	},
	str: func(h histogram) string { return fmt.Sprintf("histogram(%q)", h.Name) },
}

// metricTypes are the classes of metrics in one machine.
type metricTypes struct {
	gauges     *binding[gauge]
	counters   *binding[counter]
	histograms *binding[histogram]
}

// metricClasses is made at the first use.
func (in *Interp) metricClasses() *metricTypes {
	if in.metrics == nil {
		in.metrics = &metricTypes{register(in, gaugeClass), register(in, counterClass), register(in, histogramClass)}
	}
	return in.metrics
}

// registry is that of the main script's machine.
func (in *Interp) registry() *metrics.Registry {
	root := in.root()
	root.registryOnce.Do(func() { root.metricRegistry = metrics.NewRegistry(root.session.Info().Simulated) })
	return root.metricRegistry
}

// Metrics are what scripts have counted with the module metrics, also in workers. It may be used from any goroutine, at
// any time.
func (in *Interp) Metrics() *metrics.Registry { return in.registry() }

// registering is the function of the module that makes metrics of a kind.
func registering(kind metrics.Kind) func(*call) error {
	return func(c *call) error {
		s := metrics.Shape{Kind: kind}
		var err error
		if s.Name, err = c.string(1, "name"); err != nil {
			return err
		}
		if s.Help, err = c.string(2, "help"); err != nil {
			return err
		}
		o, err := c.table(3)
		if err != nil {
			return err
		}
		if s.Labels, err = o.labels(); err != nil {
			return err
		}
		if s.Buckets, err = o.numbers("buckets"); err != nil {
			return err
		}
		m, err := c.in.registry().Metric(s)
		if err != nil {
			return c.errorf("%v", err)
		}
		c.push(c.in.metric(m))
		return nil
	}
}

func (in *Interp) metric(m *metrics.Metric) lua.LValue {
	t := in.metricClasses()
	switch m.Kind {
	case metrics.Counter:
		return t.counters.wrap(counter{m}, in.cell(m))
	case metrics.Histogram:
		return t.histograms.wrap(histogram{m}, in.cell(m))
	}
	return t.gauges.wrap(gauge{m}, in.cell(m))
}

func (o opts) labels() ([]string, error) {
	v := o.get("labels")
	if v == lua.LNil {
		return nil, nil
	}
	t, ok := v.(*lua.LTable)
	if !ok {
		return nil, o.wrongType("labels", "a list of names", v)
	}
	var names []string
	for i := 1; i <= lua51.Length(t); i++ {
		s, ok := t.RawGetInt(i).(lua.LString)
		if !ok {
			return nil, o.c.errorf("option \"labels\" must be a list of names, got %s at %d", typeName(t.RawGetInt(i)), i)
		}
		names = append(names, string(s))
	}
	if key, _ := t.Next(lua.LNil); key != lua.LNil && names == nil {
		return nil, o.c.errorf("option \"labels\" must be a list of names, and has the key %s", describe(key))
	}
	return names, nil
}

func (o opts) numbers(name string) ([]float64, error) {
	v := o.get(name)
	if v == lua.LNil {
		return nil, nil
	}
	t, ok := v.(*lua.LTable)
	if !ok {
		return nil, o.wrongType(name, "a list of numbers", v)
	}
	out := []float64{}
	for i := 1; i <= lua51.Length(t); i++ {
		n, ok := t.RawGetInt(i).(lua.LNumber)
		if !ok {
			return nil, o.c.errorf("option %q must be a list of numbers, got %s at %d", name, typeName(t.RawGetInt(i)), i)
		}
		out = append(out, float64(n))
	}
	return out, nil
}

// measure calls a method of a metric with the arguments of the script.
func (c *call) measure(method func(float64, map[string]string) error) error {
	v, err := c.number(1, "value")
	if err != nil {
		return err
	}
	return c.labelled(2, func(labels map[string]string) error { return method(v, labels) })
}

func (c *call) increment(m *metrics.Metric) error {
	return c.labelled(1, func(labels map[string]string) error { return m.Add(1, labels) })
}

// labelled calls fn with the labels that argument i has.
func (c *call) labelled(i int, fn func(map[string]string) error) error {
	labels, err := c.labelValues(i)
	if err != nil {
		return err
	}
	if err := fn(labels); err != nil {
		return c.errorf("%v", err)
	}
	return nil
}

func (c *call) labelValues(i int) (map[string]string, error) {
	v := c.arg(i)
	if v == lua.LNil {
		return nil, nil
	}
	t, ok := v.(*lua.LTable)
	if !ok {
		return nil, c.wrongType(i, "labels", "a table")
	}
	labels := make(map[string]string)
	var err error
	t.ForEach(func(k, v lua.LValue) {
		name, ok := k.(lua.LString)
		n, isNumber := v.(lua.LNumber)
		_, whole := exact(n)
		switch {
		case !ok:
			err = c.errorf("labels are by name, got the key %s", describe(k))
		case isNumber && whole:
			labels[string(name)] = number(float64(n))
		case v.Type() == lua.LTString:
			labels[string(name)] = v.String()
		default:
			err = c.errorf("the label %q must be a string or a whole number, got %s", string(name), describe(v))
		}
	})
	return labels, err
}

func metricsText(c *call) error {
	text, err := c.in.registry().Text()
	if err != nil {
		return c.errorf("%v", err)
	}
	c.push(lua.LString(text))
	return nil
}

func metricsWrite(c *call) error {
	path, err := c.path(1)
	if err != nil {
		return err
	}
	text, err := c.in.registry().Text()
	if err != nil {
		return c.errorf("%v", err)
	}
	return c.fileError(path, replaceFile(c.in.disk(), path, metricsMode, func(w io.Writer) error {
		_, err := io.WriteString(w, text)
		return err
	}))
}

// metricsMode lets the collector of a node exporter read the file, which is another user.
const metricsMode = 0o644
