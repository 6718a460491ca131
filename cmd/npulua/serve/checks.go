package serve

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"npulua/internal/printable"
)

// checked is the report of module check, as far as it is shown here.
type checked struct {
	Tests   []checkedTest `json:"tests"`
	Verdict string        `json:"verdict"`
}

// checkedTest is one test of it.
type checkedTest struct {
	Name    string          `json:"name"`
	Group   *string         `json:"group"`  // nil: of none
	Device  *int            `json:"device"` // nil: of none
	Result  string          `json:"result"`
	Reason  string          `json:"reason"`
	Seconds float64         `json:"seconds"`
	Metrics []checkedMetric `json:"metrics"`
}

// checkedMetric is a number that a test measured.
type checkedMetric struct {
	Name  string   `json:"name"`
	Value *float64 `json:"value"` // nil: there was none
	Unit  string   `json:"unit"`
}

// resultOrder is that of tests on the page; those that were not run are not among them.
var resultOrder = []string{"fail", "error", "warn", "skip", "pass"}

// makePrintable lets nothing of c mean anything to a terminal.
func (c *checked) makePrintable() {
	if c == nil {
		return
	}
	line := func(list ...*string) {
		for _, s := range list {
			if s != nil {
				*s = printable.Line(*s)
			}
		}
	}
	line(&c.Verdict)
	for i := range c.Tests {
		t := &c.Tests[i]
		line(&t.Name, t.Group, &t.Result, &t.Reason)
		for j := range t.Metrics {
			line(&t.Metrics[j].Name, &t.Metrics[j].Unit)
		}
	}
}

// worstFirst are the tests that were run, in the order of their results.
func (c *checked) worstFirst() (out []checkedTest) {
	for _, result := range resultOrder {
		for _, t := range c.Tests {
			if t.Result == result {
				out = append(out, t)
			}
		}
	}
	return out
}

// values are the numbers that tests measured, as rows of the page.
func (c *checked) values() (rows []value) {
	for _, t := range c.Tests {
		labels := ""
		if t.Device != nil {
			labels = fmt.Sprintf("device=%d", *t.Device)
		}
		for _, m := range t.Metrics {
			if m.Value != nil {
				rows = append(rows, value{t.Name + ": " + m.Name, labels, withUnit(*m.Value, m.Unit), ""})
			}
		}
	}
	return rows
}

// maxBlame bounds what a line of the log and of the history says of a test, in characters.
const maxBlame = 200

// blame names the first test that failed, or else could not run, and says how many more there are; "" where there is none.
func (c *checked) blame() string {
	for _, result := range []string{"fail", "error"} {
		text, more := "", 0
		for _, t := range c.Tests {
			switch {
			case t.Result != result:
			case text != "":
				more++
			default:
				text = cmp.Or(t.Reason, result)
				if t.Device != nil { // the reason may name it, too
					where := fmt.Sprintf("device %d: ", *t.Device)
					text = where + strings.TrimPrefix(text, where)
				}
				text = t.Name + ": " + text
			}
		}
		text = clip(text, maxBlame)
		if more > 0 {
			text += fmt.Sprintf("; and %d more", more)
		}
		if text != "" {
			return text
		}
	}
	return ""
}

// series is what tells one value of checks from the others.
type series struct{ test, group, device, what, unit string }

// of is the series of a test; what is a result, or the name of a metric.
func (t *checkedTest) of(what, unit string) series {
	s := series{test: t.Name, what: what, unit: unit}
	if t.Group != nil {
		s.group = *t.Group
	}
	if t.Device != nil {
		s.device = strconv.Itoa(*t.Device)
	}
	return s
}

// results counts tests of one name, group and device by result.
func (c *checked) results() map[series]int {
	counts := make(map[series]int)
	for _, t := range c.Tests {
		counts[t.of(t.Result, "")]++
	}
	return counts
}

// metrics are the numbers that tests measured; of several in one series, the last one.
func (c *checked) metrics() map[series]float64 {
	values := make(map[series]float64)
	for _, t := range c.Tests {
		for _, m := range t.Metrics {
			if m.Value != nil {
				values[t.of(m.Name, m.Unit)] = *m.Value
			}
		}
	}
	return values
}
