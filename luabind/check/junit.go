package check

import (
	"encoding/xml"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// The elements have the order in which the schema of common readers wants them.
type xmlSuites struct {
	XMLName  xml.Name `xml:"testsuites"`
	Name     string   `xml:"name,attr"`
	Tests    int      `xml:"tests,attr"`
	Failures int      `xml:"failures,attr"`
	Errors   int      `xml:"errors,attr"`
	Time     string   `xml:"time,attr"`
	Suite    xmlSuite `xml:"testsuite"`
}

type xmlSuite struct {
	Name       string        `xml:"name,attr"`
	Tests      int           `xml:"tests,attr"`
	Failures   int           `xml:"failures,attr"`
	Errors     int           `xml:"errors,attr"`
	Skipped    int           `xml:"skipped,attr"`
	Time       string        `xml:"time,attr"`
	Properties []xmlProperty `xml:"properties>property"`
	Cases      []xmlCase     `xml:"testcase"`
	Out        string        `xml:"system-out"`
}

type xmlProperty struct {
	Name  string `xml:"name,attr"`
	Value string `xml:"value,attr"`
}

type xmlCase struct {
	Class   string     `xml:"classname,attr"`
	Name    string     `xml:"name,attr"`
	Time    string     `xml:"time,attr"`
	Skipped *xmlReason `xml:"skipped"`
	Error   *xmlReason `xml:"error"`
	Failure *xmlReason `xml:"failure"`
	Out     string     `xml:"system-out,omitempty"`
}

type xmlReason struct {
	Message string `xml:"message,attr"`
	Type    string `xml:"type,attr,omitempty"`
	Text    string `xml:",chardata"`
}

// JUnit is the report as JUnit XML. What was not run counts as skipped there, since the format has no better word.
func (r *Report) JUnit() []byte {
	n := r.Totals()
	s := xmlSuite{
		Name: r.Title, Tests: len(r.Tests), Failures: n.Fail, Errors: n.Error, Skipped: n.Skip + n.NotRun, Time: xmlTime(r.Took), Properties: r.properties(),
		Out: r.Sentence(),
	}
	for _, t := range r.Tests {
		s.Cases = append(s.Cases, t.xml(r.Title))
	}
	out, err := xml.MarshalIndent(xmlSuites{Name: s.Name, Tests: s.Tests, Failures: s.Failures, Errors: s.Errors, Time: s.Time, Suite: s}, "", "  ")
	if err != nil {
		panic(err) // nothing of it can fail
	}
	return append(append([]byte(xml.Header), out...), '\n')
}

func (r *Report) properties() []xmlProperty {
	list := []xmlProperty{
		{"npulua", r.Info.Version}, {"backend", r.Info.Backend}, {"detail", r.Info.Detail}, {"simulated", strconv.FormatBool(r.Info.Simulated)},
		{"level", strconv.Itoa(r.Level)}, {"strict", strconv.FormatBool(r.Strict)}, {"verdict", r.Verdict().String()},
		{"exit_status", strconv.Itoa(r.ExitStatus)},
	}
	for _, d := range r.Info.Devices {
		list = append(list, xmlProperty{fmt.Sprintf("device.%d", d.ID), d.Name})
	}
	if r.Ended != "" {
		list = append(list, xmlProperty{"ended", r.Ended})
	}
	return list
}

func (t *Test) xml(title string) xmlCase {
	c := xmlCase{Class: title, Name: t.titled(t.Name), Time: xmlTime(t.Took)}
	if t.Group != "" {
		c.Class += "." + t.Group
	}
	if t.Result == NotRun {
		c.Time = xmlTime(0)
	}
	why := func(kinds ...Kind) *xmlReason {
		var texts []string
		for _, m := range t.Messages {
			for _, k := range kinds {
				if m.Kind == k {
					texts = append(texts, m.Text)
				}
			}
		}
		return &xmlReason{Message: t.Reason(), Text: strings.Join(texts, "\n")}
	}
	switch t.Result {
	case Skip:
		c.Skipped = &xmlReason{Message: t.Reason()}
	case NotRun:
		c.Skipped = &xmlReason{Message: "not run: " + t.Reason()}
	case Error:
		c.Error = why(Errored, Failed)
		c.Error.Type = "could not run"
	case Fail:
		c.Failure = why(Failed, Errored)
		c.Failure.Type = "failed"
	}
	c.Out = t.record()
	return c
}

// record is the messages and metrics of a test, a line each.
func (t *Test) record() string {
	var b strings.Builder
	if n := t.attempted(); n != "" {
		b.WriteString(n + "\n")
	}
	for _, m := range t.Messages {
		if m.Kind == Log || m.Kind == Warned {
			fmt.Fprintf(&b, "%s: %s\n", m.Kind, m.Text)
		}
	}
	for _, m := range t.Metrics {
		b.WriteString(m.line() + "\n")
	}
	return b.String()
}

// line is a metric in words.
func (m *Metric) line() string {
	value := "no value"
	if m.Value != nil {
		value = strings.TrimSpace(Number(*m.Value) + " " + m.Unit)
	}
	var bounds []string
	if m.Min != nil {
		bounds = append(bounds, "min "+Number(*m.Min))
	}
	if m.Max != nil {
		bounds = append(bounds, "max "+Number(*m.Max))
	}
	text := m.Name + ": " + value
	if bounds != nil {
		text += " (" + strings.Join(bounds, ", ") + ")"
	}
	return text
}

// xmlTime is seconds with six digits, as the format has them.
func xmlTime(d time.Duration) string { return strconv.FormatFloat(d.Seconds(), 'f', 6, 64) }
