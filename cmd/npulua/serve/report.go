package serve

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"golang.org/x/sys/unix"

	"npulua/internal/printable"
)

// Names of the files that a run writes into its folder. Each may be missing.
const (
	SessionFile  = "session.json" // what ran: a Session
	MetricsFile  = "metrics.prom" // Prometheus text format
	CheckFile    = "check.json"   // the report of module check
	TimelineFile = "timeline.svg" // what the streams did
)

// Session says what a run was made with.
type Session struct {
	Backend   string `json:"backend"`
	Simulated bool   `json:"simulated"`
	Detail    string `json:"detail,omitempty"` // "simulated Ascend910B3, 1 device(s), timing modelled"
}

// Report is what a run has left in its folder.
type Report struct {
	Session  *Session // nil: the run did not come so far
	Metrics  []*dto.MetricFamily
	Check    json.RawMessage
	Timeline []byte
	checks   *checked // what Check says; nil: nothing
}

// readReport reads the files of a folder. What cannot be read is an error; the rest is there all the same.
func readReport(dir *os.File) (Report, error) {
	var r Report
	var errs []error
	read := func(name string, use func(data []byte) error) {
		data, err := readFile(dir, name)
		if errors.Is(err, fs.ErrNotExist) {
			return
		}
		if err == nil {
			err = use(data)
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", name, err))
		}
	}
	read(SessionFile, func(data []byte) error {
		err := json.Unmarshal(data, &r.Session)
		if err == nil && (r.Session == nil || r.Session.Backend == "") {
			err = errors.New("it names no backend")
		}
		if err != nil {
			r.Session = nil
		}
		return err
	})
	read(MetricsFile, func(data []byte) error {
		if err := few(data, "\n=", mostLines, "lines and labels"); err != nil {
			return err
		}
		p := expfmt.NewTextParser(model.UTF8Validation)
		families, err := p.TextToMetricFamilies(bytes.NewReader(data))
		for _, f := range families {
			r.Metrics = append(r.Metrics, f)
		}
		return err
	})
	read(CheckFile, func(data []byte) error {
		if err := few(data, "{[", mostObjects, "objects and lists"); err != nil {
			return err
		}
		if err := json.Unmarshal(data, &r.checks); err != nil {
			r.checks = nil
			return err
		}
		r.checks.makePrintable()
		r.Check = data
		return nil
	})
	read(TimelineFile, func(data []byte) error {
		r.Timeline = data
		return nil
	})
	r.Metrics, errs = r.ownMetrics(errs)
	return r, errors.Join(errs...)
}

// What is read of a run, whose script may have written anything there: a file has mostFile bytes at most, and not so
// many parts that they would take far more memory than the file.
const (
	mostFile    = 16 << 20
	mostLines   = 500_000
	mostObjects = 500_000
)

// readFile reads a regular file of a folder. Links are not followed, and nothing is waited for.
func readFile(dir *os.File, name string) ([]byte, error) {
	fd, err := unix.Openat(int(dir.Fd()), name, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if errors.Is(err, unix.ELOOP) {
		return nil, errors.New("it is a link, not a file")
	}
	if err != nil {
		return nil, err
	}
	f := os.NewFile(uintptr(fd), name)
	defer f.Close()
	st, err := f.Stat()
	switch {
	case err != nil:
		return nil, err
	case !st.Mode().IsRegular():
		return nil, errors.New("it is no regular file")
	case st.Size() > mostFile:
		return nil, fmt.Errorf("it has more than %d MiB", mostFile>>20)
	}
	data, err := io.ReadAll(io.LimitReader(f, mostFile+1)) // it may grow
	if err == nil && len(data) > mostFile {
		err = fmt.Errorf("it has more than %d MiB", mostFile>>20)
	}
	return data, err
}

// few fails where data has more than most of the bytes in signs.
func few(data []byte, signs string, most int, what string) error {
	n := 0
	for _, c := range []byte(signs) {
		n += bytes.Count(data, []byte{c})
	}
	if n > most {
		return fmt.Errorf("it has more than %d %s", most, what)
	}
	return nil
}

// makePrintable lets nothing of a family mean anything to a terminal.
func makePrintable(f *dto.MetricFamily) {
	if f.Help != nil {
		f.Help = new(printable.Text(f.GetHelp()))
	}
	for _, m := range f.Metric {
		for _, l := range m.Label {
			if text := printable.Text(l.GetValue()); text != l.GetValue() {
				l.Value = &text
			}
		}
	}
}

// reserved is how names of metrics begin that are not the script's; module metrics refuses such.
const reserved = "npulua_"

// simulatedLabel is the label of metrics that say nothing about real hardware: simulated="true".
const simulatedLabel = "simulated"

// ownMetrics are the metrics that a script may have. Simulated ones carry a label that says so, so that no alarm and no picture takes them
// for those of hardware.
func (r *Report) ownMetrics(errs []error) ([]*dto.MetricFamily, []error) {
	own := r.Metrics[:0]
	for _, f := range r.Metrics {
		if strings.HasPrefix(f.GetName(), reserved) {
			errs = append(errs, fmt.Errorf("%s: names that begin with %s are npulua's own", f.GetName(), reserved))
			continue
		}
		makePrintable(f)
		if r.Session != nil && r.Session.Simulated {
			for _, m := range f.Metric {
				markSimulated(m)
			}
		}
		own = append(own, f)
	}
	slices.SortFunc(own, func(a, b *dto.MetricFamily) int { return strings.Compare(a.GetName(), b.GetName()) })
	return own, errs
}

// markSimulated gives m the label simulated="true".
func markSimulated(m *dto.Metric) {
	m.Label = slices.DeleteFunc(m.Label, func(l *dto.LabelPair) bool { return l.GetName() == simulatedLabel })
	m.Label = append(m.Label, &dto.LabelPair{Name: new(simulatedLabel), Value: new("true")})
	slices.SortFunc(m.Label, func(a, b *dto.LabelPair) int { return strings.Compare(a.GetName(), b.GetName()) })
}
