package tests

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"npulua/npu/acl/standin"
)

// showing has libdcmi of a vendor show what switches say.
func (v vendor) showing(switches string) vendor {
	return vendor{append(v.env[:len(v.env):len(v.env)], "DCMI_STANDIN="+switches)}
}

// withoutDCMI has only the runtime of the stand-in on the loader's path.
func withoutDCMI(t *testing.T, switches string) vendor {
	home := installation(t, "libascendcl.so", "libacl_rt.so", "libacl_mdl.so")
	return vendor{env: []string{"LD_LIBRARY_PATH=" + filepath.Join(home, "lib64"), "ACL_STANDIN=" + switches}}
}

func TestDoctorSensors(t *testing.T) {
	t.Parallel()
	v := onPath(t, "devices=3").showing("temperature@0=61,power@1=3105,health@1=2,fault0@1=0x80E01801,double@2=2")
	text, r := doctor(t, v)
	if text.status != 0 || !r.Usable || r.Sensors == nil || !strings.HasSuffix(r.Sensors.Path, "/libdcmi.so") || r.Sensors.Version == "" || len(r.Sensors.Functions) < 15 {
		t.Fatalf("status %d, %+v", text.status, r.Sensors)
	}
	for i, d := range r.Devices {
		if d.Sensors == nil || !d.Sensors.Available || d.Sensors.Source != "libdcmi" || d.Sensors.Temperature == nil || d.Sensors.Absent["card_power"] == nil {
			t.Errorf("device %d: %+v", i, d.Sensors)
		}
	}
	if s := r.Devices[1].Sensors; s.Health != "alarm" || len(s.Faults) != 1 || s.Faults[0].Hex != "80E01801" || *s.Power != 310.5 || r.Devices[2].Sensors.ECC["double_bit"] != 2 {
		t.Errorf("%+v", s)
	}
	text.says(t, `ok libdcmi: /.*/libdcmi.so, version`, `ok device 0: health ok, temperature 61 °C`,
		`warn device 1: health alarm, .* power 310.5 W, .* fault 80E01801 \(.*\) \(libdcmi\) -> npu-smi`, `warn device 2: .* memory errors 0 corrected, 2 not`)
}

// A device is known by its number before ASCEND_RT_VISIBLE_DEVICES, as libdcmi numbers them.
func TestDoctorSensorsVisible(t *testing.T) {
	t.Parallel()
	text, r := doctor(t, onPath(t, "devices=2,first_visible=2").showing("temperature@2=70,temperature@3=71"))
	for i, d := range r.Devices {
		if d.Logical != i+2 || d.Sensors == nil || d.Sensors.Temperature == nil || *d.Sensors.Temperature != float64(70+i) {
			t.Errorf("status %d, device %d: %+v", text.status, i, d)
		}
	}
}

func TestDoctorWithoutSensors(t *testing.T) {
	for _, c := range []struct {
		name   string
		vendor func(t *testing.T) vendor
		found  bool
		says   []string
	}{
		{"missing", func(t *testing.T) vendor { return withoutDCMI(t, "devices=2") }, false,
			[]string{`warn no temperature, .* not available: libdcmi.so was not found \(looked in the loader's path, /usr/local/dcmi, .*\) -> libdcmi.so comes with the NPU driver`}},
		{"start", func(t *testing.T) vendor { return onPath(t, "").showing("fail:dcmi_init=-8005") }, true,
			[]string{`ok libdcmi: `, `warn no temperature, .* dcmi_init: internal error of the driver \(-8005\) -> npu-smi info`}},
		{"user", func(t *testing.T) vendor { return onPath(t, "").showing("fail:dcmi_init=-8002") }, true,
			[]string{`not permitted to this user, or in this container \(-8002\) -> run as root, or as a member`}},
		{"function", func(t *testing.T) vendor {
			return onPath(t, "", standin.Options{Without: []string{"dcmi_get_device_voltage"}})
		}, true, []string{`16 of 17 functions; without dcmi_get_device_voltage`, `ok device 0: health ok`}},
		{"devices", func(t *testing.T) vendor { return onPath(t, "").showing("cards=0") }, true,
			[]string{`warn device 0: not available: .* invalid device id \(-8007\) -> npu-smi`}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			text, r := doctor(t, c.vendor(t))
			if text.status != 0 || !r.Usable || r.Sensors == nil || (r.Sensors.Path != "") != c.found {
				t.Errorf("status %d, %+v", text.status, r.Sensors)
			}
			text.says(t, c.says...)
		})
	}
}

// What the script of sensors.txtar does on a part of the stand-in, as far as it shows the same.
func TestSensorsOnHardware(t *testing.T) {
	script := filepath.Join(t.TempDir(), "health.lua")
	if err := os.WriteFile(script, []byte(`
local s = npu.device(0):sensors()
if not s.available then print("skip: " .. s.reason) print("hint: " .. s.hint) return end
print(s.source, s.health, s.temperature, s.power, s.voltage, s.utilization.cores, s.ecc.double_bit, #s.faults)
print(s.absent.power, s.absent.utilization.memory)
print(npu.sim)
`), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name   string
		vendor func(t *testing.T) vendor
		want   string // beginning
	}{
		{"readings", func(t *testing.T) vendor { return onPath(t, "").showing("temperature=61,cores=25") },
			"libdcmi\tok\t61\t93.5\t0.85\t0.25\t0\t0\nnil\tdcmi_get_device_utilization_rate: not supported by this device (-8255)\nnil\n"},
		{"absent", func(t *testing.T) vendor { return onPath(t, "").showing("fail:dcmi_get_device_power_info=-8255") },
			"libdcmi\tok\t45\tnil\t0.85\t0.4\t0\t0\ndcmi_get_device_power_info: not supported by this device (-8255)\t"},
		{"no library", func(t *testing.T) vendor { return withoutDCMI(t, "") },
			"skip: not available: libdcmi.so was not found (looked in the loader's path, /usr/local/dcmi, "},
		{"another device", func(t *testing.T) vendor { return onPath(t, "").showing("first_phy=5") },
			"skip: not available: AscendCL says that device 0 is 0 in the server, libdcmi says 5"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			o := c.vendor(t).run(t, "--backend=acl", script)
			if o.status != 0 || !strings.HasPrefix(o.stdout, c.want) {
				t.Errorf("status %d, %q%s, want %q", o.status, o.stdout, o.stderr, c.want)
			}
		})
	}
}
