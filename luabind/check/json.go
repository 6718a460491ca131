package check

import (
	"bytes"
	"encoding/json"
	"time"

	"npulua/internal/printable"
)

// SchemaVersion is that of the JSON document, which docs/check.schema.json describes. It changes where a program
// that reads documents of the version before would not understand the new ones.
const SchemaVersion = 1

type jsonReport struct {
	SchemaVersion int          `json:"schema_version"`
	Title         string       `json:"title"`
	Version       string       `json:"npulua"`
	Backend       string       `json:"backend"`
	Detail        string       `json:"detail"`
	Simulated     bool         `json:"simulated"`
	Devices       []jsonDevice `json:"devices"`
	Level         int          `json:"level"`
	Strict        bool         `json:"strict"`
	Tests         []jsonTest   `json:"tests"`
	Data          jsonData     `json:"data"`
	Totals        jsonTotals   `json:"totals"`
	Seconds       float64      `json:"seconds"`
	Ended         *string      `json:"ended"`
	Verdict       string       `json:"verdict"`
	ExitStatus    int          `json:"exit_status"`
}

type jsonDevice struct {
	ID     int    `json:"id"`
	Name   string `json:"name"`
	Family string `json:"family"`
	Memory int64  `json:"memory"`
}

type jsonTest struct {
	Name     string        `json:"name"`
	Group    *string       `json:"group"`
	Device   *int          `json:"device"`
	Level    int           `json:"level"`
	Prepares bool          `json:"prepares"`
	Where    string        `json:"where"`
	Result   string        `json:"result"`
	Reason   *string       `json:"reason"`
	Started  float64       `json:"started"`
	Seconds  float64       `json:"seconds"`
	Attempts int           `json:"attempts"`
	Flaky    bool          `json:"flaky"`
	Checks   int           `json:"checks"`
	Messages []jsonMessage `json:"messages"`
	Metrics  []jsonMetric  `json:"metrics"`
	Earlier  []jsonAttempt `json:"earlier_attempts"`
}

type jsonAttempt struct {
	Result   string        `json:"result"`
	Checks   int           `json:"checks"`
	Messages []jsonMessage `json:"messages"`
	Metrics  []jsonMetric  `json:"metrics"`
}

type jsonMessage struct {
	Kind string `json:"kind"`
	Text string `json:"text"`
}

type jsonMetric struct {
	Name   string   `json:"name"`
	Value  *float64 `json:"value"`
	Unit   string   `json:"unit"`
	Min    *float64 `json:"min"`
	Max    *float64 `json:"max"`
	Result string   `json:"result"`
}

// jsonData is an object with a member for each.
type jsonData []Datum

func (d jsonData) MarshalJSON() ([]byte, error) {
	b := []byte{'{'}
	for i, x := range d {
		if i > 0 {
			b = append(b, ',')
		}
		name, err := json.Marshal(x.Name)
		if err != nil {
			return nil, err
		}
		b = append(append(append(b, name...), ':'), x.JSON...)
	}
	return append(b, '}'), nil
}

type jsonTotals struct {
	Tests  int `json:"tests"`
	Pass   int `json:"pass"`
	Warn   int `json:"warn"`
	Fail   int `json:"fail"`
	Error  int `json:"error"`
	Skip   int `json:"skip"`
	NotRun int `json:"not_run"`
	Flaky  int `json:"flaky"`
}

// JSON is the report as one JSON document, with a line end.
func (r *Report) JSON() []byte {
	n := r.Totals()
	out := jsonReport{
		SchemaVersion: SchemaVersion, Title: r.Title, Version: r.Info.Version, Backend: r.Info.Backend, Detail: r.Info.Detail, Simulated: r.Info.Simulated,
		Devices: []jsonDevice{}, Level: r.Level, Strict: r.Strict, Tests: []jsonTest{},
		Data: jsonData(r.Data), Totals: jsonTotals{len(r.Tests), n.Pass, n.Warn, n.Fail, n.Error, n.Skip, n.NotRun, n.Flaky},
		Seconds: seconds(r.Took), Ended: optional(r.Ended), Verdict: r.Verdict().String(), ExitStatus: r.ExitStatus,
	}
	for _, d := range r.Info.Devices {
		out.Devices = append(out.Devices, jsonDevice(d))
	}
	for _, t := range r.Tests {
		out.Tests = append(out.Tests, t.json())
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false) // it goes into no web page
	e.SetIndent("", "  ")
	if err := e.Encode(out); err != nil {
		panic(err) // only numbers that are no numbers cannot be written, and Judge lets none pass
	}
	return printable.JSON(b.Bytes())
}

func (t *Test) json() jsonTest {
	j := jsonTest{
		Name: t.Name, Group: optional(t.Group), Level: t.Level, Prepares: t.Prepares, Where: t.Where, Result: t.Result.String(), Reason: optional(t.Reason()),
		Started: seconds(t.Begin), Seconds: seconds(t.Took), Attempts: t.Attempts(), Flaky: t.Flaky(), Checks: t.Checks,
		Messages: messages(t.Messages), Metrics: metrics(t.Metrics), Earlier: []jsonAttempt{},
	}
	if t.Device != NoDevice {
		j.Device = &t.Device
	}
	for _, a := range t.Earlier {
		j.Earlier = append(j.Earlier, jsonAttempt{a.Result.String(), a.Checks, messages(a.Messages), metrics(a.Metrics)})
	}
	return j
}

func messages(list []Message) []jsonMessage {
	out := []jsonMessage{}
	for _, m := range list {
		out = append(out, jsonMessage{m.Kind.String(), m.Text})
	}
	return out
}

func metrics(list []Metric) []jsonMetric {
	out := []jsonMetric{}
	for _, m := range list {
		out = append(out, jsonMetric{m.Name, m.Value, m.Unit, m.Min, m.Max, m.Result.String()})
	}
	return out
}

// seconds is a time with the nine digits that it has.
func seconds(d time.Duration) float64 { return float64(d) / float64(time.Second) }

// optional is nil for "".
func optional(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}
