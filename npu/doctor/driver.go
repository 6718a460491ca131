package doctor

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// commonNodes are device files that every NPU needs.
var commonNodes = []string{"/dev/davinci_manager", "/dev/devmm_svm", "/dev/hisi_hdc"}

// versionFiles tell the driver's version.
var versionFiles = []string{"/usr/local/Ascend/driver/version.info", "/usr/local/Ascend/version.info"}

// smiPaths are where npu-smi is besides PATH.
var smiPaths = []string{"/usr/local/sbin/npu-smi", "/usr/local/bin/npu-smi", "/usr/local/Ascend/driver/tools/npu-smi"}

func (x *examination) driver(context.Context) {
	d := &Driver{Nodes: []Node{}}
	x.report.Driver = d
	d.VersionFile, d.Version = x.driverVersion()
	switch {
	case d.Version != "":
		x.ok("driver " + d.Version + " (" + d.VersionFile + ")")
	case d.VersionFile != "":
		x.find(Warn, d.VersionFile+" has no line Version=", "install the NPU driver again")
	default:
		x.find(Warn, "no driver: "+versionFiles[0]+" is not there", x.driverRemedy())
	}
	if d.NPUSMI = x.npuSMI(); d.NPUSMI != "" {
		x.ok("npu-smi: " + d.NPUSMI)
	} else {
		x.find(Warn, "npu-smi is not found", "it comes with the driver, in /usr/local/sbin or /usr/local/bin: put its folder on PATH")
	}
	x.deviceNodes(d)
}

// driverRemedy is what to do where the driver, or its files, are missing.
func (x *examination) driverRemedy() string {
	if inside, _ := x.inContainer(); inside {
		return "start the container with the driver of the host (-v /usr/local/Ascend/driver:/usr/local/Ascend/driver:ro) and its devices (see Container)"
	}
	return "install the NPU driver and firmware, and load it; npu-smi info then lists the devices"
}

func (x *examination) driverVersion() (file, version string) {
	for _, path := range versionFiles {
		data, err := os.ReadFile(x.path(path))
		if err != nil {
			continue
		}
		if version := valueOf(string(data), "version"); version != "" {
			return path, version
		}
		file = path
	}
	return file, ""
}

func (x *examination) npuSMI() string {
	if path, err := x.Find("npu-smi"); err == nil {
		return path
	}
	for _, path := range smiPaths {
		if x.exists(path) {
			return path
		}
	}
	return ""
}

// deviceNodes looks at the device files of NPUs and those that all of them need.
func (x *examination) deviceNodes(d *Driver) {
	npus := x.npuNodes()
	x.nodes = len(npus)
	present := 0
	var missing, locked []string
	for _, path := range append(npus, commonNodes...) {
		n := Node{Path: path, Present: x.exists(path)}
		n.Accessible = n.Present && x.Access(x.path(path)) == nil
		d.Nodes = append(d.Nodes, n)
		switch {
		case !n.Present:
			missing = append(missing, path)
		case !n.Accessible:
			locked = append(locked, path)
			fallthrough
		default:
			present++
		}
	}
	if len(npus) > 0 {
		x.note(fmt.Sprintf("device files of %d NPU(s): %s", len(npus), strings.Join(npus, ", ")))
	} else {
		missing = append([]string{"/dev/davinci0"}, missing...)
	}
	if len(missing) > 0 {
		x.find(Fail, "no device file "+strings.Join(missing, ", "), x.driverRemedy())
	}
	if len(locked) > 0 {
		x.find(Fail, "this user may not use "+strings.Join(locked, ", "),
			"add the user to the group HwHiAiUser (usermod -aG HwHiAiUser NAME) and log in again")
	}
	if len(missing)+len(locked) == 0 {
		x.ok(fmt.Sprintf("all %d device files are there, and this user may use them", present))
	}
}

// npuNodes are /dev/davinci0 and so on, by number.
func (x *examination) npuNodes() []string {
	matches, _ := filepath.Glob(x.path("/dev/davinci[0-9]*")) // the pattern is well formed
	number := func(path string) int {
		n, err := strconv.Atoi(strings.TrimPrefix(filepath.Base(path), "davinci"))
		if err != nil {
			return -1
		}
		return n
	}
	matches = slices.DeleteFunc(matches, func(p string) bool { return number(p) < 0 })
	slices.SortFunc(matches, func(a, b string) int { return number(a) - number(b) })
	for i, m := range matches {
		matches[i] = "/dev/" + filepath.Base(m)
	}
	return matches
}
