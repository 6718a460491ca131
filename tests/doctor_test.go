package tests

import (
	"encoding/json"
	"os"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"
	"unicode/utf8"

	"npulua/npu/acl/standin"
)

// doctorReport has the keys of docs/doctor.md that the tests look at.
type doctorReport struct {
	Schema  int
	Usable  bool
	Backend struct {
		Asked, Name, Error string
		Simulated          bool
		Code               int
	}
	Simulator []struct{ Names, Source string }
	Library   *struct {
		Path     string
		Places   []struct{ Path, From, Problem string }
		Files    []string
		Versions []struct{ Part, Version string }
		Symbols  []struct {
			Name, Since string
			Present     bool
		}
	}
	Visible *struct {
		Value string
		IDs   []int
	} `json:"visible_devices"`
	Devices []struct {
		User, Logical, Physical int
		Name, State             string
		Steps                   []struct{ Name, State string }
		Sensors                 *struct {
			Available      bool
			Reason, Source string
			Health         string
			Temperature    *float64
			Power          *float64
			ECC            map[string]float64
			Faults         []struct {
				Code      uint32
				Hex, Text string
			}
			Absent map[string]any
		}
	}
	Sensors *struct {
		Path, Version, Error string
		Places               []struct{ Path, Problem string }
		Functions            []struct {
			Name    string
			Present bool
		}
	}
	Findings []struct{ Section, Level, Text, Remedy string }
}

// doctor runs npulua doctor in v, as text and as JSON, and checks what holds for every report.
func doctor(t *testing.T, v vendor, args ...string) (text outcome, r doctorReport) {
	t.Helper()
	text = v.run(t, append(args, "doctor")...)
	for line := range strings.Lines(text.stdout) {
		line = strings.TrimSuffix(line, "\n")
		if words := strings.Fields(line); utf8.RuneCountInString(line) > 80 && len(words) > 2 {
			t.Errorf("a line is longer than 80 columns: %q", line)
		}
	}
	o := v.run(t, append(args, "doctor", "--json")...)
	if o.status != text.status {
		t.Errorf("status %d as text, %d as JSON", text.status, o.status)
	}
	if o.stderr != "" || text.stderr != "" {
		t.Errorf("on standard error: %q, %q", text.stderr, o.stderr)
	}
	if err := json.Unmarshal([]byte(o.stdout), &r); err != nil {
		t.Fatalf("%v\n%s", err, o.stdout)
	}
	if r.Schema != 1 || r.Usable != (o.status == 0) {
		t.Errorf("schema %d, usable %v, status %d", r.Schema, r.Usable, o.status)
	}
	for _, f := range r.Findings {
		if (f.Remedy == "") != (f.Level == "ok" || f.Level == "note") {
			t.Errorf("a problem and its remedy go together: %+v", f)
		}
	}
	return text, r
}

// says fails where the text lacks a pattern; a blank in it is any white space, as lines are broken.
func (o outcome) says(t *testing.T, patterns ...string) {
	t.Helper()
	text := strings.Join(strings.Fields(o.stdout), " ")
	for _, p := range patterns {
		if !regexp.MustCompile(p).MatchString(text) {
			t.Errorf("no %q in\n%s", p, o.stdout)
		}
	}
}

func TestDoctorHardware(t *testing.T) {
	t.Parallel()
	text, r := doctor(t, onPath(t, "devices=3"))
	if text.status != 0 || r.Backend.Name != "acl" || r.Backend.Simulated || len(r.Devices) != 3 {
		t.Errorf("status %d, %+v", text.status, r)
	}
	for i, d := range r.Devices {
		if d.User != i || d.Logical != i || d.Physical != i || d.State != "passed" || len(d.Steps) != 6 {
			t.Errorf("device %d: %+v", i, d)
		}
	}
	if len(r.Library.Symbols) < 50 || len(r.Library.Versions) != 3 || !strings.HasSuffix(r.Library.Path, "/libascendcl.so") {
		t.Errorf("library %+v", r.Library)
	}
	text.says(t, `ok acl, because the runtime library loads and sees devices: 3 x Ascend910B3`, `versions: AscendCL 1.17.0, runtime 9.1.0`,
		`user logical physical name`, `The hardware can be used.`)
}

func TestDoctorFindsWhatIsMissing(t *testing.T) {
	for _, c := range []struct {
		name   string
		vendor func(t *testing.T) vendor
		code   int
		says   []string
	}{
		{"nothing", func(*testing.T) vendor { return vendor{} }, 207000,
			[]string{`FAIL no hardware can be used: no runtime library is installed -> install CANN`, `scripts run on the simulator`}},
		{"home", func(*testing.T) vendor { return inHome("/nowhere") }, 207000, []string{`/nowhere/lib64/libascendcl.so \(ASCEND_HOME_PATH\): not found`}},
		{"stub", func(t *testing.T) vendor { return onPath(t, "", standin.Options{Stub: true}) }, 100039,
			[]string{`is a stub for building programs`, `-> take the folder that ends in devlib`, `ok loaded: /`}},
		{"symbol", func(t *testing.T) vendor {
			return onPath(t, "", standin.Options{Without: []string{"aclrtMalloc", "aclrtBinaryUnLoad"}})
		}, 207000,
			[]string{`it has no aclrtMalloc: `, `FAIL of every release: \d+ of \d+; without aclrtMalloc -> install`, `optional, from release 8.5 on: \d+ of \d+; without aclrtBinaryUnLoad`}},
		{"dependency", func(t *testing.T) vendor { return inHome(installation(t, "libascendcl.so")) }, 207000, []string{`it needs libacl_rt.so, which cannot be found`, `-> install the NPU driver`}},
		{"device", func(t *testing.T) vendor { return onPath(t, "devices=0") }, 107001, []string{`the runtime sees no device`}},
		{"start", func(t *testing.T) vendor { return onPath(t, "fail:aclInit=507899") }, 507899, []string{`507899`}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			v := c.vendor(t)
			text, r := doctor(t, v)
			if text.status != 1 || r.Backend.Name != "sim" || !r.Backend.Simulated || r.Backend.Code != c.code || len(r.Library.Places) == 0 {
				t.Errorf("status %d, %+v", text.status, r)
			}
			text.says(t, append(c.says, `The hardware cannot be used.`)...)
			if _, r := doctor(t, v, "--backend=acl"); r.Usable || r.Backend.Name != "" {
				t.Errorf("acl: %+v", r)
			}
		})
	}
}

func TestDoctorDevices(t *testing.T) {
	for _, c := range []struct {
		switches, state string
		says            []string
	}{
		{"hang=1", "hung", []string{`FAIL device 0 hangs: copy did not end in time -> npu-smi`, `FAIL device 1 hangs`}},
		{"fail:aclrtSetDevice=507033", "failed", []string{`FAIL device 0: set device failed: .*507033`}},
		{"fail:aclrtMalloc=207001", "failed", []string{`FAIL device 0: allocate failed: .*207001`}},
		{"fault=507015,nth_task=1", "failed", []string{`FAIL device 0: copy failed: .*507015`, `ok device 1 passed`}},
	} {
		t.Run(c.switches, func(t *testing.T) {
			t.Parallel()
			text, r := doctor(t, onPath(t, c.switches))
			if text.status != 1 || text.took > 6*time.Second || len(r.Devices) != 2 || r.Devices[0].State != c.state {
				t.Errorf("status %d after %v, %+v", text.status, text.took, r.Devices)
			}
			text.says(t, c.says...)
		})
	}
}

// A library that does not come back does not keep doctor from ending.
func TestDoctorEnds(t *testing.T) {
	v := onPath(t, "setdevice_ms=60000")
	t.Run("timeout", func(t *testing.T) {
		t.Parallel()
		o := v.run(t, "--timeout=0.5", "doctor")
		if o.status != 124 || o.took > 10*time.Second {
			t.Errorf("%+v", o)
		}
		o.says(t, `FAIL interrupted while opening device 0`)
	})
	t.Run("signal", func(t *testing.T) {
		t.Parallel()
		cmd := v.command(t, "doctor", "--json")
		o := finishCommand(t, cmd, func() {
			time.Sleep(500 * time.Millisecond)
			_ = cmd.Process.Signal(syscall.SIGINT)
		})
		if o.status != 130 || o.took > 10*time.Second || !json.Valid([]byte(o.stdout)) {
			t.Errorf("%+v", o)
		}
	})
}

func TestDoctorSimulator(t *testing.T) {
	t.Parallel()
	text, r := doctor(t, vendor{}, "--sim=310p:2")
	if text.status != 0 || r.Backend.Name != "sim" || !r.Backend.Simulated || len(r.Devices) != 2 || len(r.Simulator) == 0 || r.Library != nil {
		t.Errorf("status %d, %+v", text.status, r)
	}
	text.says(t, `figures and timing are modelled`, `memory_gb_per_s.*: assumed`, `hardware was not looked at`)
	if text, _ := doctor(t, onPath(t, ""), "--backend=sim"); text.status != 0 {
		t.Errorf("status %d", text.status)
	}
}

func TestDoctorEnvironment(t *testing.T) {
	t.Parallel()
	v := onPath(t, "")
	v.env[0] += ":/opt/cann/devlib"
	v.env = append(v.env, "ASCEND_RT_VISIBLE_DEVICES=1, 2", "ASCEND_GLOBAL_LOG_LEVEL=0")
	text, r := doctor(t, v)
	if text.status != 0 || r.Visible == nil || len(r.Visible.IDs) != 1 || r.Visible.IDs[0] != 1 {
		t.Errorf("status %d, %+v", text.status, r.Visible)
	}
	text.says(t, `warn ASCEND_RT_VISIBLE_DEVICES="1, 2": .* a blank -> export ASCEND_RT_VISIBLE_DEVICES=1,2`,
		`warn LD_LIBRARY_PATH has /opt/cann/devlib at place 2`, `warn ASCEND_GLOBAL_LOG_LEVEL=0: `)
}

func TestDoctorUsage(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{{"doctor", "now"}, {"--backend=null", "doctor"}, {"--sim=999x", "doctor"}} {
		if o := (vendor{}).run(t, args...); o.status != 2 || o.stdout != "" {
			t.Errorf("%v: %+v", args, o)
		}
	}
}

// The keys that docs/doctor.md promises are there.
func TestDoctorDocsKeys(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile("../docs/doctor.md")
	if err != nil {
		t.Fatal(err)
	}
	v := onPath(t, "")
	v.env = append(v.env, "ASCEND_RT_VISIBLE_DEVICES=0,1")
	for _, args := range [][]string{{"doctor", "--json"}, {"--sim=910b", "doctor", "--json"}} {
		var keys map[string]json.RawMessage
		if err := json.Unmarshal([]byte(v.run(t, args...).stdout), &keys); err != nil {
			t.Fatal(err)
		}
		for key := range keys {
			if !strings.Contains(string(data), "| `"+key+"` |") {
				t.Errorf("docs/doctor.md does not describe %q", key)
			}
		}
	}
}
