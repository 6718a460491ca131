package drivertest

import "npulua/npu/internal/driver"

func initCases() []testCase {
	return []testCase{
		{"no aclInit: device count, SetDevice and all that follows: 0", fresh, func(t *tester) {
			n, err := t.DeviceCount()
			t.must(err, "DeviceCount")
			if n < 1 {
				t.Fatalf("DeviceCount() = %d, want one at least", n)
			}
			t.must(t.SetDevice(0), "SetDevice")
			t.wantDevice(0)
			s, p := t.stream(), t.malloc(64)
			t.fill(s, p, 64, 7)
			t.sync(s)
			t.wantFill(p, 64, 7, "filled memory")
			t.must(t.Free(p), "Free")
			t.must(t.DestroyStream(s, false), "DestroyStream")
			t.must(t.ResetDevice(0, false), "ResetDevice")
		}},
		{"second aclInit: 100002", fresh, func(t *tester) {
			t.want(driver.OK, t.Init(), "first Init")
			t.want(driver.CodeRepeatInitialize, t.Init(), "second Init")
			t.want(driver.OK, t.SetDevice(0), "SetDevice after the second Init")
		}},
		{"aclFinalize without aclInit: 0; again: 100037; aclInit after it: 0", fresh, func(t *tester) {
			if t.harness.Parallel {
				t.want(driver.OK, t.Finalize(), "Finalize without Init")
			} else { // an earlier case has finalized the library of this process
				t.wantAny(t.Finalize(), "Finalize without Init", driver.OK, driver.CodeRepeatFinalize)
			}
			t.want(driver.CodeRepeatFinalize, t.Finalize(), "Finalize again")
			t.want(driver.OK, t.Init(), "Init after Finalize")
		}},
		{"aclInit, aclFinalize, aclInit: 0", fresh, func(t *tester) {
			for range 3 {
				t.want(driver.OK, t.Init(), "Init")
				t.want(driver.OK, t.Finalize(), "Finalize")
			}
			t.want(driver.CodeRepeatFinalize, t.Finalize(), "Finalize once too often")
		}},
		{"one aclFinalize ends two aclInit", fresh, func(t *tester) {
			t.want(driver.OK, t.Init(), "Init")
			t.want(driver.CodeRepeatInitialize, t.Init(), "second Init")
			t.want(driver.OK, t.Finalize(), "Finalize")
			t.want(driver.CodeRepeatFinalize, t.Finalize(), "second Finalize")
			t.want(driver.OK, t.Init(), "Init after Finalize")
		}},
		{"aclFinalize with a live device and stream: 0, and they still work", 0, func(t *tester) {
			s := t.stream()
			t.want(driver.OK, t.Finalize(), "Finalize")
			p := t.malloc(64)
			t.fill(s, p, 64, 9)
			t.sync(s)
			t.wantFill(p, 64, 9, "filled after Finalize")
			t.want(driver.OK, t.ResetDevice(0, false), "ResetDevice after Finalize")
		}},
	}
}
