package drivertest

import (
	"fmt"
	"slices"
	"strings"

	"npulua/npu/internal/driver"
)

func deviceCases() []testCase {
	return slices.Concat(
		badDeviceCases(),
		resetCases(),
		[]testCase{
			{"SetDevice that fails: current context unchanged", 0, func(t *tester) {
				before := t.current()
				t.want(driver.CodeInvalidDevice, t.SetDevice(-1), "SetDevice(-1)")
				t.wantCurrent(before)
			}},
			{"SetDevice of another device switches, and back", twoDevices, func(t *tester) {
				zero := t.current()
				t.must(t.SetDevice(1), "SetDevice(1)")
				t.wantDevice(1)
				if t.current() == zero {
					t.Error("two devices share a default context")
				}
				t.must(t.SetDevice(0), "SetDevice(0)")
				t.wantDevice(0)
				t.wantCurrent(zero)
			}},
			{"SetDevice again makes the default context current", 0, func(t *tester) {
				before := t.current()
				t.context(0)
				t.must(t.SetDevice(0), "SetDevice")
				t.wantCurrent(before)
			}},
			{"last ResetDevice of another device: current context unchanged", twoDevices, func(t *tester) {
				before := t.current()
				t.must(t.SetDevice(1), "SetDevice(1)")
				t.setCurrent(before)
				t.must(t.ResetDevice(1, false), "ResetDevice(1)")
				t.wantCurrent(before)
				t.sync(t.stream())
			}},
			{"last ResetDevice of the current device: no context, also with another device set", twoDevices, func(t *tester) {
				t.must(t.SetDevice(1), "SetDevice(1)")
				t.must(t.ResetDevice(1, false), "ResetDevice(1)")
				_, err := t.CurrentContext()
				t.want(driver.CodeContextNull, err, "CurrentContext")
			}},
		},
		inSituation("after the last ResetDevice", 0, driver.CodeContextNull, slices.Concat(contextCalls, queueCalls), true,
			func(t *tester) *objects {
				o := t.plainObjects()
				t.must(t.ResetDevice(0, false), "ResetDevice")
				return o
			}),
		inSituation("stream of a default context after the last ResetDevice", 0, driver.CodeInvalidHandle, syncCalls, true,
			func(t *tester) *objects {
				o := t.plainObjects()
				o.stream = t.stream()
				t.must(t.ResetDevice(0, false), "ResetDevice")
				return o
			}),
		proberCases(),
	)
}

func badDeviceCases() []testCase {
	var out []testCase
	for _, c := range []struct {
		name string
		do   func(t *tester, device int) error
	}{
		{"SetDevice", func(t *tester, device int) error { return t.SetDevice(device) }},
		{"CreateContext", func(t *tester, device int) error {
			_, err := t.CreateContext(device)
			return err
		}},
		{"ResetDevice", func(t *tester, device int) error { return t.ResetDevice(device, false) }},
		{"ResetDeviceForce", func(t *tester, device int) error { return t.ResetDevice(device, true) }},
	} {
		out = append(out,
			testCase{c.name + "(-1): 107001", fresh, func(t *tester) {
				t.want(driver.CodeInvalidDevice, c.do(t, -1), c.name+"(-1)")
			}},
			testCase{c.name + "(too large): 107001", fresh, func(t *tester) {
				n, err := t.DeviceCount()
				t.must(err, "DeviceCount")
				for _, device := range []int{n, n + 1, 1 << 20} {
					t.want(driver.CodeInvalidDevice, c.do(t, device), fmt.Sprintf("%s(%d)", c.name, device))
				}
			}})
	}
	return out
}

// resetSequences are calls on one device; all but the last succeed.
var resetSequences = []struct {
	calls string
	last  driver.Code
}{
	{"Reset", driver.CodeDeviceNotSet},
	{"Force", driver.CodeDeviceNotSet},
	{"Set Reset", driver.OK},
	{"Set Force", driver.OK},
	{"Set Set Reset Reset", driver.OK},
	{"Set Set Reset Force", driver.OK},
	{"Set Set Force", driver.OK},
	{"Set Reset Set Reset", driver.OK},
	{"Set Force Set Force", driver.OK},
	{"Set Reset Reset", driver.CodeDeviceNotSet},
	{"Set Reset Force", driver.CodeDeviceNotSet},
	{"Set Force Force", driver.CodeDeviceNotSet},
	{"Set Set Reset Reset Reset", driver.CodeDeviceNotSet},
	{"Set Set Reset Reset Force", driver.CodeDeviceNotSet},
	{"Set Set Reset Force Force", driver.CodeDeviceNotSet},
	{"Set Set Force Reset", driver.CodeDeviceNotSet},
	{"Set Reset Set Reset Reset", driver.CodeDeviceNotSet},
}

func resetCases() []testCase {
	var out []testCase
	for _, q := range resetSequences {
		name := fmt.Sprintf("reset counting: %s: %d", q.calls, q.last)
		out = append(out, testCase{name, fresh, func(t *tester) {
			calls := strings.Fields(q.calls)
			for i, c := range calls {
				want := driver.OK
				if i == len(calls)-1 {
					want = q.last
				}
				var err error
				switch c {
				case "Set":
					err = t.SetDevice(0)
				case "Reset":
					err = t.ResetDevice(0, false)
				case "Force":
					err = t.ResetDevice(0, true)
				}
				t.want(want, err, fmt.Sprintf("call %d (%s)", i+1, c))
			}
		}})
	}
	return append(out, []testCase{
		{"reset counting: CreateContext does not count: 507007", fresh, func(t *tester) {
			t.context(0)
			t.want(driver.CodeDeviceNotSet, t.ResetDevice(0, false), "ResetDevice")
			t.want(driver.CodeDeviceNotSet, t.ResetDevice(0, true), "ResetDevice by force")
		}},
		{"reset counting: each device has its own", fresh | twoDevices, func(t *tester) {
			t.must(t.SetDevice(0), "SetDevice(0)")
			t.want(driver.CodeDeviceNotSet, t.ResetDevice(1, false), "ResetDevice(1)")
			t.want(driver.OK, t.ResetDevice(0, false), "ResetDevice(0)")
		}},
		{"reset counting: the count is of the process: second ResetDeviceForce: 507007", fresh | threads, func(t *tester) {
			t.must(t.SetDevice(0), "SetDevice")
			t.otherThread(func() {
				t.want(driver.OK, t.SetDevice(0), "SetDevice on another thread")
				t.want(driver.OK, t.ResetDevice(0, true), "first ResetDeviceForce")
			})
			t.want(driver.CodeDeviceNotSet, t.ResetDevice(0, true), "second ResetDeviceForce")
		}},
		{"two SetDevice, one ResetDevice: device and streams still usable", 0, func(t *tester) {
			s, p := t.stream(), t.filled(64, 1)
			t.must(t.SetDevice(0), "second SetDevice")
			t.must(t.ResetDevice(0, false), "ResetDevice")
			t.wantDevice(0)
			t.fill(s, p, 64, 2)
			t.sync(s)
			t.wantFill(p, 64, 2, "memory after one ResetDevice")
		}},
		{"SetDevice after the last ResetDevice: works again", 0, func(t *tester) {
			for _, force := range []bool{false, true} {
				t.must(t.ResetDevice(0, force), "ResetDevice")
				t.must(t.SetDevice(0), "SetDevice")
				t.wantDevice(0)
				p := t.malloc(64)
				t.fill(0, p, 64, 5)
				t.sync(0)
				t.wantFill(p, 64, 5, "memory after SetDevice")
			}
		}},
		{"ResetDevice that is not the last does not wait", loader, func(t *tester) {
			t.must(t.SetDevice(0), "second SetDevice")
			s := t.stream()
			t.spin(s, pause)
			t.must(t.ResetDevice(0, false), "ResetDevice")
			t.wantDone(s, false, "after ResetDevice")
			t.sync(s)
		}},
		{"last ResetDevice drops the work of the default context, and does not wait", loader, func(t *tester) { resetDrops(t, false) }},
		{"ResetDeviceForce drops the work of the default context, and does not wait", loader, func(t *tester) { resetDrops(t, true) }},
	}...)
}

func resetDrops(t *tester, force bool) {
	p := t.filled(64, 3)
	h, host := t.host(64)
	s := t.stream()
	t.spin(s, endless)
	t.copy(s, h, p, 64)
	t.must(t.ResetDevice(0, force), "ResetDevice")
	t.same(host, make([]byte, 64), "copy queued before ResetDevice")
}

func proberCases() []testCase {
	return []testCase{
		{"device info: needs no context", fresh | prober, func(t *tester) {
			n, err := t.DeviceCount()
			t.must(err, "DeviceCount")
			for device := range n {
				info, err := t.prober.DeviceInfo(device)
				t.must(err, "DeviceInfo")
				if info.Name == "" {
					t.Errorf("DeviceInfo(%d) has no name", device)
				}
			}
		}},
		{"device info of no device: 107001", fresh | prober, func(t *tester) {
			n, err := t.DeviceCount()
			t.must(err, "DeviceCount")
			for _, device := range []int{-1, n} {
				_, err := t.prober.DeviceInfo(device)
				t.want(driver.CodeInvalidDevice, err, fmt.Sprintf("DeviceInfo(%d)", device))
			}
		}},
		{"memory info: of the current device", prober | twoDevices, func(t *tester) {
			before := t.free()
			t.must(t.SetDevice(1), "SetDevice(1)")
			t.malloc(64 << 20)
			t.must(t.SetDevice(0), "SetDevice(0)")
			if got := t.free(); got != before {
				t.Errorf("free memory of device 0 went from %d to %d by an allocation on device 1", before, got)
			}
		}},
		{"utilization: shares of the time since the last call", prober | loader, func(t *tester) {
			_, err := t.prober.Utilization(0)
			t.must(err, "Utilization")
			t.spin(0, pause)
			t.sync(0)
			u, err := t.prober.Utilization(0)
			t.must(err, "Utilization")
			for _, share := range []float64{u.Cores, u.Copies, u.Memory} {
				if share < 0 || share > 1 {
					t.Errorf("Utilization = %+v, want shares from 0 to 1", u)
				}
			}
			if u.Cores == 0 {
				t.Error("Utilization after a kernel: no core was busy")
			}
			if t.clock == nil {
				return
			}
			t.pass(pause)
			if u, err = t.prober.Utilization(0); err != nil || u.Cores != 0 || u.Copies != 0 {
				t.Errorf("Utilization after idle time = %+v, %v, want nothing busy", u, err)
			}
		}},
		{"stream id: one for each live stream of a device", prober, func(t *tester) {
			seen := map[int]bool{}
			for _, s := range []driver.Stream{0, t.stream(), t.stream()} {
				id, err := t.prober.StreamID(s)
				t.must(err, "StreamID")
				if seen[id] {
					t.Errorf("StreamID %d is given twice", id)
				}
				seen[id] = true
			}
		}},
	}
}
