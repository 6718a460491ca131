package doctor

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"npulua/npu"
)

// environ is an environment by name.
func environ(list []string) map[string]string {
	env := make(map[string]string)
	for _, entry := range list {
		name, value, _ := strings.Cut(entry, "=")
		env[name] = value
	}
	return env
}

// remarks are what people should know of a variable that is set; value "": whatever it is set to.
var remarks = []struct {
	name, value string
	level       Level
	text        string
	remedy      string
}{
	{"ASCEND_LAUNCH_BLOCKING", "1", Warn, "every queued command is waited for: slow", "unset ASCEND_LAUNCH_BLOCKING, unless you look for an error"},
	{"ASCEND_GLOBAL_LOG_LEVEL", "0", Warn, "the runtime logs everything: slow", "unset ASCEND_GLOBAL_LOG_LEVEL (3, errors, is the default)"},
	{"ASCEND_GLOBAL_LOG_LEVEL", "1", Warn, "the runtime logs a lot: slow", "unset ASCEND_GLOBAL_LOG_LEVEL (3, errors, is the default)"},
	{"ASCEND_SLOG_PRINT_TO_STDOUT", "1", Warn, "the runtime's log goes to standard output, among that of the script", "unset ASCEND_SLOG_PRINT_TO_STDOUT"},
	{"ASCEND_LOG_PRINT_TO_STDOUT", "1", Warn, "the runtime's log goes to standard output, among that of the script", "unset ASCEND_LOG_PRINT_TO_STDOUT"},
	{"ASCEND_VISIBLE_DEVICES", "", Note, "chooses the devices of a container when it is started, not those of a process", ""},
}

func (x *examination) environment(context.Context) {
	if value, set := x.env[npu.VisibleVariable]; set {
		x.visible(value)
	}
	if x.simulated() { // nothing else is read
		return
	}
	x.libraryPath()
	var names []string
	for name := range x.env {
		if strings.HasPrefix(name, "ASCEND_") && name != npu.VisibleVariable {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	for _, name := range names {
		x.variable(name)
	}
	if len(x.report.Environment) == 0 {
		x.note("no ASCEND_ variable is set, and no LD_LIBRARY_PATH")
	}
}

// record lists a variable that is in force.
func (x *examination) record(name string) {
	x.report.Environment = append(x.report.Environment, Variable{name, x.env[name]})
}

func (x *examination) variable(name string) {
	x.record(name)
	text := name + "=" + x.env[name]
	for _, r := range remarks {
		if r.name == name && (r.value == "" || r.value == x.env[name]) {
			x.find(r.level, text+": "+r.text, r.remedy)
			return
		}
	}
	x.note(text)
}

func (x *examination) visible(value string) {
	x.record(npu.VisibleVariable)
	v := npu.ParseVisible(value, x.systemDevices())
	x.report.Visible = &Visible{value, append([]int{}, v.IDs...)}
	for _, p := range v.Problems {
		level := Warn
		if p.Fatal {
			level = Fail
		}
		x.find(level, p.Text, p.Remedy)
	}
	if len(v.Problems) > 0 {
		return
	}
	var pairs []string
	for user, id := range v.IDs {
		pairs = append(pairs, fmt.Sprintf("%d is %d", user, id))
	}
	x.note(npu.VisibleVariable + "=" + value + ": devices are numbered anew, " + strings.Join(pairs, ", "))
}

// systemDevices is the number of devices that there are, visible or not; -1: not known.
func (x *examination) systemDevices() int {
	if x.simulated() {
		return npu.SimulatedDevices(x.Session.Sim)
	}
	if x.nodes > 0 {
		return x.nodes
	}
	return -1
}

// stubFolders are parts of paths to libraries for building programs.
var stubFolders = []string{"devlib", "stub", "stubs"}

// libraryPath looks for folders of the loader's path whose libraries do nothing.
func (x *examination) libraryPath() {
	value, set := x.env["LD_LIBRARY_PATH"]
	if !set {
		return
	}
	x.record("LD_LIBRARY_PATH")
	for i, folder := range filepath.SplitList(value) {
		isStub := slices.ContainsFunc(strings.Split(folder, "/"), func(part string) bool { return slices.Contains(stubFolders, part) })
		if isStub {
			x.find(Warn, fmt.Sprintf("LD_LIBRARY_PATH has %s at place %d, whose libraries are stubs for building programs", folder, i+1),
				"take it out of LD_LIBRARY_PATH, or put it behind the folder that ends in lib64")
			continue
		}
		text := "LD_LIBRARY_PATH: " + folder
		if !x.exists(folder) {
			text += ", which is not there"
		}
		x.note(text)
	}
}
