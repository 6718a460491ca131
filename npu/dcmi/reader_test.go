//go:build linux && (amd64 || arm64)

package dcmi

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/ebitengine/purego"

	"npulua/npu/acl/standin"
	"npulua/npu/internal/driver"
)

// fake is a stand-in for the library, loaded in a folder of its own: other tests do not change what it shows.
type fake struct {
	t      *testing.T
	folder string
	sets   func(key string, value int64) int64
	gets   func(key string) int64
}

// copied is a folder with the stand-in.
func copied(t *testing.T, options ...standin.Options) string {
	t.Helper()
	folder := t.TempDir()
	data, err := os.ReadFile(filepath.Join(standin.Build(t, options...), name))
	if err == nil {
		err = os.WriteFile(filepath.Join(folder, name), data, 0o755)
	}
	if err != nil {
		t.Fatal(err)
	}
	return folder
}

func newFake(t *testing.T, options ...standin.Options) *fake {
	t.Helper()
	f := &fake{t: t, folder: copied(t, options...)}
	h, err := purego.Dlopen(filepath.Join(f.folder, name), purego.RTLD_NOW)
	if err != nil {
		t.Fatal(err)
	}
	purego.RegisterLibFunc(&f.sets, h, "dcmi_standin_set")
	purego.RegisterLibFunc(&f.gets, h, "dcmi_standin_get")
	return f
}

func (f *fake) set(switches string) {
	f.t.Helper()
	for pair := range strings.SplitSeq(switches, ",") {
		key, value, ok := strings.Cut(pair, "=")
		var v int64
		if _, err := fmt.Sscan(value, &v); err != nil || !ok || f.sets(key, v) != 0 {
			f.t.Fatalf("the stand-in has no switch %q", pair)
		}
	}
}

func (f *fake) reader() *Reader {
	r := NewReader()
	r.folders = []string{f.folder}
	return r
}

func (f *fake) read(logical int) (driver.SensorReadings, error) {
	return f.reader().Read(f.t.Context(), Device{User: logical, Logical: logical, Physical: -1})
}

// shown is what readings show, as "name=value" and "name: why" in the order of the rows.
func shown(r driver.SensorReadings) []string {
	var list []string
	for _, v := range driver.SensorValues {
		if got := v.Of(&r); got.Known {
			list = append(list, fmt.Sprintf("%s=%v", v.Path(), got.Value))
		} else {
			list = append(list, v.Path()+": "+got.Why)
		}
	}
	list = append(list, "health="+r.Health.String())
	if r.HealthWhy != "" {
		list = append(list, "health: "+r.HealthWhy)
	}
	for _, f := range r.Faults {
		list = append(list, strings.TrimSpace("fault="+f.Hex()+" "+f.Text))
	}
	if !r.FaultsKnown {
		list = append(list, "faults: "+r.FaultsWhy)
	}
	return list
}

func TestRead(t *testing.T) {
	const unsupported = ": not supported by this device (-8255)"
	for _, c := range []struct {
		name, switches string
		logical        int
		without        []string // functions
		want           []string // among what is shown
	}{
		{"units", "temperature=61,power=3105,voltage=87,hbm_temperature=55", 0, nil,
			[]string{"temperature=61", "power=310.5", "voltage=0.87", "hbm_temperature=55", "health=ok", "ecc.single_bit=0"}},
		{"below zero", "temperature=-5", 0, nil, []string{"temperature=-5"}},
		{"shares", "cores=100,vector=3,hbm_size=65536,hbm_used=16384,hbm_bandwidth=7", 0, nil,
			[]string{"utilization.cores=1", "utilization.vector=0.03", "utilization.hbm=0.25", "utilization.hbm_bandwidth=0.07", "utilization.memory: dcmi_get_device_utilization_rate" + unsupported}},
		{"a share that cannot be", "cores=101", 0, nil, []string{"utilization.cores: dcmi_get_device_utilization_rate: 101 % cannot be"}},
		{"chips of cards", "temperature@0=40,temperature@1=41,temperature@2=42,temperature@3=43", 3, nil, []string{"temperature=43"}},
		{"cards are searched", "temperature@2=42", 2, []string{"dcmi_get_card_id_device_id_from_logicid"}, []string{"temperature=42"}},
		{"memory errors", "single=3,double=1,total_single=30,total_double=2,pages=4", 0, nil,
			[]string{"ecc.single_bit=3", "ecc.double_bit=1", "ecc.total_single_bit=30", "ecc.total_double_bit=2", "ecc.isolated_pages=4"}},
		{"counts above 2^31", "single=4294967295", 0, nil, []string{"ecc.single_bit=4.294967295e+09"}},
		{"detection is off", "ecc=0,single=3", 0, nil, []string{"ecc.single_bit: detection of memory errors is switched off"}},
		{"DDR", "hbm=0,memory=35,single=2", 0, nil,
			[]string{"ecc.single_bit=2", "utilization.memory=0.35", "utilization.hbm: dcmi_get_device_hbm_info" + unsupported, "hbm_temperature: dcmi_get_device_hbm_info" + unsupported}},
		{"HBM without a size", "hbm_size=0", 0, nil, []string{"utilization.hbm: dcmi_get_device_hbm_info: the device tells no size", "hbm_temperature=48"}},
		{"power of the card", "fail:dcmi_get_device_power_info=-8255,card_power=725", 0, nil, []string{"power: dcmi_get_device_power_info" + unsupported, "card_power=72.5"}},
		{"invalid values", "temperature=0x7ffd,voltage=0x7fff", 0, nil,
			[]string{"temperature: dcmi_get_device_temperature: the sensor has no valid value (0x7ffd)", "voltage: dcmi_get_device_voltage: the sensor could not be read (0x7fff)"}},
		{"values that cannot be", "temperature=-274,power=-1,voltage=0xffffffff,hbm_temperature=0x7ffd", 0, nil,
			[]string{"temperature: dcmi_get_device_temperature: -274 cannot be", "power: dcmi_get_device_power_info: -1 cannot be", "voltage: dcmi_get_device_voltage: -1 cannot be",
				"hbm_temperature: dcmi_get_device_hbm_info: the sensor has no valid value (0x7ffd)"}},
		{"warning", "health=1", 0, nil, []string{"health=warning"}},
		{"alarm", "health=2", 0, nil, []string{"health=alarm"}},
		{"critical", "health=3,fault0=0x80E01801,fault2=0xdead", 0, nil, []string{"health=critical", "fault=80E01801 fault 80E01801 of the stand-in", "fault=0000DEAD"}},
		{"gone", "health=0xffffffff", 0, nil, []string{"health=unknown", "health: the driver says that the device does not exist (0xffffffff)"}},
		{"a level of later", "health=9", 0, nil, []string{"health: dcmi_get_device_health: level 9 is not known"}},
		{"codes", "fail:dcmi_get_device_temperature=-8006,fail:dcmi_get_device_health=-77,fail:dcmi_get_device_errorcode_v2=-8013", 0, nil,
			[]string{"temperature: dcmi_get_device_temperature: the device did not answer in time (-8006)", "health: dcmi_get_device_health: code -77", "faults: dcmi_get_device_errorcode_v2: not supported in a container (-8013)"}},
		{"one device only", "fail:dcmi_get_device_temperature@1=-8008", 0, nil, []string{"temperature=45"}},
		{"functions missing", "power=10", 0, []string{"dcmi_get_device_temperature", "dcmi_get_device_phyid_from_logicid"}, []string{"temperature: this libdcmi.so has no dcmi_get_device_temperature", "power=1"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := newFake(t, standin.Options{Without: c.without})
			f.set(c.switches)
			r, err := f.read(c.logical)
			if err != nil {
				t.Fatal(err)
			}
			got := shown(r)
			for _, want := range c.want {
				if !slices.Contains(got, want) {
					t.Errorf("no %q in\n%s", want, strings.Join(got, "\n"))
				}
			}
			if r.Source != "libdcmi" {
				t.Errorf("source %q", r.Source)
			}
		})
	}
}

// refusal is what the error of a driver says, and what to do.
func refusal(t *testing.T, err error) (detail, hint string) {
	t.Helper()
	var e *driver.Error
	if !errors.As(err, &e) || e.Code != driver.CodeNotSupported {
		t.Fatalf("%v, want %v", err, driver.CodeNotSupported)
	}
	return e.Detail, e.Hint
}

func TestNothingToRead(t *testing.T) {
	all := "fail:dcmi_get_device_temperature=C,fail:dcmi_get_device_power_info=C,fail:dcmi_mcu_get_power_info=C,fail:dcmi_get_device_voltage=C,fail:dcmi_get_device_utilization_rate=C," +
		"fail:dcmi_get_device_hbm_info=C,fail:dcmi_get_device_ecc_info=C,fail:dcmi_get_device_health=C,fail:dcmi_get_device_errorcode_v2=C"
	for _, c := range []struct {
		name, switches string
		device         Device
		without        []string
		detail, hint   string
	}{
		{"driver", "fail:dcmi_init=-8005", Device{0, 0, -1}, nil, "not available: dcmi_init: internal error of the driver (-8005)", "npu-smi info"},
		{"user", "fail:dcmi_init=-8002", Device{0, 0, -1}, nil, "not available: dcmi_init: not permitted to this user, or in this container (-8002)", "HwHiAiUser"},
		{"user at every call", strings.ReplaceAll(all, "C", "-8002"), Device{0, 0, -1}, nil, "not available: dcmi_get_device_health: not permitted to this user", "HwHiAiUser"},
		{"container", strings.ReplaceAll(all, "C", "-8013"), Device{0, 0, -1}, nil, "not available: dcmi_get_device_health: not supported in a container (-8013)", "privileged"},
		{"no such device", "cards=1", Device{3, 3, -1}, nil, "not available: dcmi_get_card_id_device_id_from_logicid: invalid device id (-8007)", "npu-smi info"},
		{"not among the chips", "cards=1", Device{3, 3, -1}, []string{"dcmi_get_card_id_device_id_from_logicid"}, "not available: dcmi_get_device_logic_id: the device does not exist (-8008)", "npu-smi info"},
		{"another device", "first_phy=2", Device{0, 1, 1}, nil, "not available: AscendCL says that device 0 is 1 in the server, libdcmi says 3", "ASCEND_RT_VISIBLE_DEVICES"},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := newFake(t, standin.Options{Without: c.without})
			f.set(c.switches)
			_, err := f.reader().Read(t.Context(), c.device)
			if detail, hint := refusal(t, err); !strings.HasPrefix(detail, c.detail) || !strings.Contains(hint, c.hint) {
				t.Errorf("%q, hint %q; want %q, hint %q", detail, hint, c.detail, c.hint)
			}
		})
	}
}

// The numbers of the server agree, and so are those of the same device.
func TestPhysical(t *testing.T) {
	f := newFake(t)
	f.set("first_phy=4,temperature@1=70")
	if r, err := f.reader().Read(t.Context(), Device{User: 0, Logical: 1, Physical: 5}); err != nil || r.Temperature.Value != 70 {
		t.Errorf("%v, %v", r.Temperature, err)
	}
}

func TestLoad(t *testing.T) {
	good := newFake(t).folder
	bad := t.TempDir()
	if err := os.WriteFile(filepath.Join(bad, name), []byte("no library"), 0o644); err != nil {
		t.Fatal(err)
	}
	none, other := filepath.Join(t.TempDir(), "none"), newFake(t, standin.Options{Without: []string{"dcmi_init"}}).folder
	for _, c := range []struct {
		name         string
		folders      []string
		detail, hint string // "": it loads
	}{
		{"behind one that is not there", []string{none, good}, "", ""},
		{"behind a broken one", []string{bad, good}, "", ""},
		{"nowhere", []string{none, t.TempDir()}, "not available: libdcmi.so was not found (looked in " + none + ", ", "/usr/local/dcmi"},
		{"broken", []string{none, bad}, "not available: " + filepath.Join(bad, name) + ": it is no library for this machine", "install the NPU driver"},
		{"another library", []string{other}, "not available: " + filepath.Join(other, name) + ": it has no dcmi_init", "another library"},
	} {
		t.Run(c.name, func(t *testing.T) {
			l, err := open(c.folders)
			if c.detail == "" {
				if err != nil || l.path != filepath.Join(good, name) {
					t.Errorf("%v", err)
				}
				return
			}
			if detail, hint := refusal(t, err); !strings.HasPrefix(detail, c.detail) || !strings.Contains(hint, c.hint) {
				t.Errorf("%q, hint %q; want %q, hint %q", detail, hint, c.detail, c.hint)
			}
		})
	}
}

// A file that the user may not read is not one that is missing.
func TestDenied(t *testing.T) {
	if os.Getuid() == 0 {
		t.Skip("root may read everything")
	}
	folder := copied(t)
	if err := os.Chmod(filepath.Join(folder, name), 0); err != nil {
		t.Fatal(err)
	}
	_, err := open([]string{folder})
	detail, hint := refusal(t, err)
	if want := "not available: " + filepath.Join(folder, name) + ": this user may not read it"; detail != want || !strings.Contains(hint, "HwHiAiUser") {
		t.Errorf("%q, hint %q; want %q", detail, hint, want)
	}
}

// Readings of several goroutines do not overlap in the library, and one that hangs lets others give up.
func TestOneAtATime(t *testing.T) {
	f := newFake(t)
	f.set("slow_us=200")
	r := f.reader()
	var wait sync.WaitGroup
	for device := range 4 {
		wait.Go(func() {
			if _, err := r.Read(t.Context(), Device{device, device, -1}); err != nil {
				t.Error(err)
			}
		})
	}
	wait.Wait()
	if n := f.gets("overlaps"); n != 0 {
		t.Errorf("%d calls overlapped", n)
	}

	f.set("hang=1")
	ended := make(chan error)
	go func() {
		_, err := r.Read(context.Background(), Device{0, 0, -1})
		ended <- err
	}()
	for len(r.turn) == 0 {
		runtime.Gosched()
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := r.Read(ctx, Device{1, 1, -1}); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	f.set("hang=0")
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
