// Package doctor finds out whether NPUs can be used here, and why not: the choice of the backend, the vendor's
// library, the driver, device files, the environment, and a short self-test of every visible device.
//
// It opens a session of its own. Where the library does not come back from a call it is left alone, and the report
// says so: the process should end then without another use of it.
package doctor

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"time"

	"npulua/npu"
)

// Options of Run. Only Session has to be set.
type Options struct {
	Session npu.Options // Backend "auto", "acl" or "sim"
	// Root is put before every path that is looked at in the file system, but not by the loader; "": the system's own.
	Root string
	// Environ is the environment, as os.Environ gives it; nil: that of the process.
	Environ []string
	// Access reports an error where this user may not read and write a file; nil: the system is asked.
	Access func(path string) error
	// Find is the path of a program; nil: it is looked for on PATH.
	Find func(program string) (string, error)
	// The limits are of real time on hardware, and of virtual time on the simulator, whatever Session says of its clock.
	//
	// Start bounds the opening of the library, and of each device, which takes seconds on some parts; 0: 20 s.
	Start time.Duration
	// Limit bounds the rest of each device's self-test; 0: 1 s.
	Limit time.Duration
}

// examination is a run of Run.
type examination struct {
	Options
	report  *Report
	section string
	env     map[string]string
	nodes   int // device files of NPUs
}

// section looks at one subject, and notes what it finds.
type section struct {
	name    string
	title   string
	sim     bool // it is of interest on the simulator, too
	examine func(x *examination, ctx context.Context)
}

// sections are in the order of the report. Those before "devices" have to come before it: a device that hangs may
// leave the library in no state to be asked.
var sections = []section{
	{"backend", "Backend", true, nil}, // its findings are made when the devices are known
	{"simulator", "Simulator", true, (*examination).simulator},
	{"library", "Library", false, nil}, // as above
	{"symbols", "Functions of the library", false, nil},
	{"driver", "Driver and device files", false, (*examination).driver},
	{"container", "Container", false, (*examination).container},
	{"environment", "Environment", true, (*examination).environment},
	{"devices", "Devices and self-test", true, (*examination).devices},
	{"sensors", "Sensors", true, nil}, // the devices' part makes its findings
}

// Run examines the installation. It returns when ctx ends, with what is known by then.
func Run(ctx context.Context, opts Options) *Report {
	x := &examination{Options: opts, report: &Report{
		Schema:      Schema,
		Program:     Program{npu.Version, runtime.GOOS, runtime.GOARCH},
		Backend:     Backend{Asked: opts.Session.Backend},
		Environment: []Variable{}, Devices: []Device{}, Findings: []Finding{},
	}}
	x.defaults()
	for _, s := range sections {
		if s.examine != nil && (s.sim || !x.simulated()) {
			x.section = s.name
			s.examine(x, ctx)
		}
	}
	x.sort()
	return x.report
}

func (x *examination) defaults() {
	if x.Session.Backend == "" {
		x.Session.Backend = "auto"
	}
	x.report.Backend.Asked = x.Session.Backend
	if x.simulated() {
		x.Session.Wall = false
	}
	if x.Environ == nil {
		x.Environ = os.Environ()
	}
	x.env = environ(x.Environ)
	if x.Access == nil {
		x.Access = access
	}
	if x.Find == nil {
		x.Find = exec.LookPath
	}
	if x.Start == 0 {
		x.Start = 20 * time.Second
	}
	if x.Limit == 0 {
		x.Limit = time.Second
	}
}

// simulated reports whether the simulator was asked for.
func (x *examination) simulated() bool { return x.Session.Backend == "sim" }

// path is where a path of the system is looked for.
func (x *examination) path(p string) string { return filepath.Join(x.Root, p) }

func (x *examination) exists(p string) bool {
	_, err := os.Stat(x.path(p))
	return err == nil
}

func (x *examination) note(text string) { x.find(Note, text, "") }
func (x *examination) ok(text string)   { x.find(OK, text, "") }

// find adds a finding to the section that is examined.
func (x *examination) find(level Level, text, remedy string) {
	x.report.Findings = append(x.report.Findings, Finding{x.section, level, text, remedy})
}

// within has fn make its findings in another section.
func (x *examination) within(name string, fn func()) {
	old := x.section
	x.section = name
	fn()
	x.section = old
}

// sort puts the findings in the order of the sections.
func (x *examination) sort() {
	var sorted []Finding
	for _, s := range sections {
		for _, f := range x.report.Findings {
			if f.Section == s.name {
				sorted = append(sorted, f)
			}
		}
	}
	x.report.Findings = append([]Finding{}, sorted...)
}
