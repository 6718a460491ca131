package doctor

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"npulua/npu"
)

// tree makes files below a new root.
func tree(t *testing.T, files map[string]string) string {
	root := t.TempDir()
	for path, text := range files {
		path = filepath.Join(root, path)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

// healthy are the files of a server with two devices.
var healthy = map[string]string{
	"/usr/local/Ascend/driver/version.info": "Version=24.1.rc2\nascendhal_version=7.35.19\n",
	"/usr/local/sbin/npu-smi":               "", "/dev/davinci0": "", "/dev/davinci10": "", "/dev/davinci2": "", "/dev/davinci_manager": "",
	"/dev/devmm_svm": "", "/dev/hisi_hdc": "", "/proc/1/cgroup": "0::/init.scope\n",
}

// without is a copy of files without some, with others.
func without(files map[string]string, remove []string, add ...string) map[string]string {
	out := map[string]string{}
	for path, text := range files {
		if !slices.Contains(remove, path) {
			out[path] = text
		}
	}
	for i := 0; i+1 < len(add); i += 2 {
		out[add[i]] = add[i+1]
	}
	return out
}

// examine runs the sections that need no library.
func examine(opts Options) *Report {
	opts.Session.Backend = "acl"
	opts.Find = func(string) (string, error) { return "", errors.New("not on PATH") }
	x := &examination{Options: opts, report: &Report{}}
	x.defaults()
	for _, s := range sections {
		if s.examine != nil && s.name != "devices" {
			x.section = s.name
			s.examine(x, context.Background())
		}
	}
	x.sort()
	return x.report
}

// problems are the warnings and failures, as "level text -> remedy".
func problems(r *Report) (lines []string) {
	for _, f := range r.Findings {
		if f.Level == Warn || f.Level == Fail {
			lines = append(lines, string(f.Level)+" "+f.Text+" -> "+f.Remedy)
		}
	}
	return lines
}

func TestFiles(t *testing.T) {
	denied := func(path string) error {
		if strings.HasSuffix(path, "/dev/davinci2") {
			return os.ErrPermission
		}
		return nil
	}
	for _, c := range []struct {
		name    string
		files   map[string]string
		access  func(string) error
		environ []string
		want    []string // beginnings of the problems, in order, and what their remedies hold behind ->
	}{
		{"healthy", healthy, nil, nil, nil},
		{"permission", healthy, denied, nil, []string{"fail this user may not use /dev/davinci2 -> HwHiAiUser"}},
		{"nothing", nil, nil, nil, []string{"warn no driver -> install the NPU driver", "warn npu-smi is not found -> PATH",
			"fail no device file /dev/davinci0, /dev/davinci_manager, /dev/devmm_svm, /dev/hisi_hdc -> install the NPU driver"}},
		{"manager", without(healthy, []string{"/dev/davinci_manager"}), nil, nil, []string{"fail no device file /dev/davinci_manager -> install"}},
		{"version", without(healthy, nil, "/usr/local/Ascend/driver/version.info", "nothing\n"), nil, nil,
			[]string{"warn /usr/local/Ascend/driver/version.info has no line -> again"}},
		{"container", without(healthy, []string{"/dev/davinci0", "/dev/davinci2", "/dev/davinci10"}, "/.dockerenv", ""), nil, nil,
			[]string{"fail no device file /dev/davinci0 -> start the container", "warn no device of the host was passed -> --device=/dev/davinci0"}},
		{"container with devices", without(healthy, nil, "/proc/1/cgroup", "12:devices:/kubepods/besteffort/pod1\n"), nil, nil, nil},
		{"visible", healthy, nil, []string{"ASCEND_RT_VISIBLE_DEVICES=0,5"}, []string{`warn ASCEND_RT_VISIBLE_DEVICES="0,5": there is no device 5 -> =0`}},
		{"stub first", healthy, nil, []string{"LD_LIBRARY_PATH=/opt/cann/devlib:/opt/cann/lib64"}, []string{"warn LD_LIBRARY_PATH has /opt/cann/devlib at place 1 -> lib64"}},
		{"blocking", healthy, nil, []string{"ASCEND_LAUNCH_BLOCKING=1", "ASCEND_OPP_PATH=/x"}, []string{"warn ASCEND_LAUNCH_BLOCKING=1: -> unset"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			environ := append([]string{"HOME=/root"}, c.environ...)
			access := c.access
			if access == nil {
				access = func(string) error { return nil }
			}
			r := examine(Options{Root: tree(t, c.files), Environ: environ, Access: access})
			got := problems(r)
			if len(got) != len(c.want) {
				t.Fatalf("problems %q, want %q", got, c.want)
			}
			for i, want := range c.want {
				begin, remedy, _ := strings.Cut(want, " -> ")
				text, rest, _ := strings.Cut(got[i], " -> ")
				if !strings.HasPrefix(text, begin) || !strings.Contains(rest, remedy) {
					t.Errorf("problem %q, want %q", got[i], want)
				}
			}
		})
	}
}

func TestDriver(t *testing.T) {
	d := examine(Options{Root: tree(t, healthy), Environ: []string{}}).Driver
	var nodes []string
	for _, n := range d.Nodes {
		nodes = append(nodes, n.Path)
	}
	want := "/dev/davinci0 /dev/davinci2 /dev/davinci10 /dev/davinci_manager /dev/devmm_svm /dev/hisi_hdc"
	if d.Version != "24.1.rc2" || d.NPUSMI != "/usr/local/sbin/npu-smi" || strings.Join(nodes, " ") != want {
		t.Errorf("%+v", d)
	}
}

func TestInstalled(t *testing.T) {
	for _, c := range []struct {
		files map[string]string
		told  []Version
		want  string
	}{
		{map[string]string{"/opt/cann/x86_64-linux/ascend_toolkit_install.info": "package_name=x\nversion=8.0.RC2\n"}, nil, "8.0.RC2"},
		{map[string]string{"/opt/cann/version.cfg": "# x\nruntime_running_version=[7.3.0.1.231:8.0.RC2]\n"}, nil, "7.3.0.1.231:8.0.RC2"},
		{map[string]string{"/opt/cann/version.cfg": "runtime_running_version=[1]\n"}, []Version{{"runtime", "9.1.0"}}, ""},
		{nil, nil, ""},
	} {
		x := &examination{Options: Options{Root: tree(t, c.files)}}
		l := &Library{Path: "/opt/cann/lib64/libascendcl.so", Versions: c.told}
		x.installed(l)
		got := ""
		for _, v := range l.Versions {
			if v.Part == "CANN" {
				got = v.Version
			}
		}
		if got != c.want {
			t.Errorf("%v: %q, want %q", c.files, got, c.want)
		}
	}
}

// A run is over when its context is, and a library that does not come back is left alone.
func TestRunEnds(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	done := make(chan *Report)
	go func() { done <- Run(ctx, Options{Session: npu.Options{Backend: "sim"}}) }()
	select {
	case r := <-done:
		if r.Usable {
			t.Errorf("%+v", r)
		}
	case <-time.After(10 * time.Second):
		t.Fatal("it does not end")
	}
}

func TestStuck(t *testing.T) {
	x := &examination{report: &Report{Backend: Backend{Asked: "acl", Detail: "3 x Ascend910B3"},
		Devices: []Device{{User: 0, State: Passed}, {User: 1}, {User: 2}}}}
	x.section = "devices"
	x.stuck("opening device 1")
	x.conclude()
	var states []string
	for _, d := range x.report.Devices {
		states = append(states, d.State)
	}
	if got := strings.Join(states, ", "); got != "passed, hung, not tested" || x.report.Usable {
		t.Errorf("%s, usable %v", got, x.report.Usable)
	}
	if p := problems(x.report); len(p) != 1 || !strings.HasPrefix(p[0], "fail no answer while opening device 1 -> npu-smi") {
		t.Errorf("%q", p)
	}
}

// The report of the simulator is the same every time.
func TestSimulator(t *testing.T) {
	var texts [2]bytes.Buffer
	for i := range texts {
		r := Run(context.Background(), Options{Session: npu.Options{Backend: "sim", Sim: "910_93:2"}})
		if !r.Usable || len(r.Devices) != 2 || r.Devices[1].State != Passed {
			t.Errorf("%+v", r)
		}
		if err := r.WriteText(&texts[i]); err != nil {
			t.Fatal(err)
		}
		var back Report
		data, err := json.Marshal(r)
		if err == nil {
			err = json.Unmarshal(data, &back)
		}
		if err != nil || len(back.Findings) != len(r.Findings) {
			t.Errorf("%v, %+v", err, back)
		}
	}
	if texts[0].String() != texts[1].String() {
		t.Errorf("two runs differ:\n%s\n%s", &texts[0], &texts[1])
	}
}

// TestBusyMachine has no real time at all for the simulator, whose devices are judged by its own clock.
func TestBusyMachine(t *testing.T) {
	for _, wall := range []bool{false, true} {
		r := Run(t.Context(), Options{Session: npu.Options{Backend: "sim", Sim: "910b:2", Wall: wall}, Start: -time.Hour})
		if !r.Usable || len(r.Devices) != 2 {
			t.Fatalf("%+v", r)
		}
		for _, d := range r.Devices {
			if d.State != Passed {
				t.Errorf("device %d is %s: %+v", d.User, d.State, r.Findings)
			}
		}
	}
}
