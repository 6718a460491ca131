package drivertest

import (
	"npulua/npu/internal/driver"
)

func peerCases() []testCase {
	const needs = peers | twoDevices
	return []testCase{
		{"CanAccessPeer(a, a): 100000", peers, func(t *tester) {
			_, err := t.peers.CanAccessPeer(0, 0)
			t.want(driver.CodeInvalidParam, err, "CanAccessPeer(0, 0)")
		}},
		{"EnablePeerAccess with flags: 200006", needs, func(t *tester) {
			t.want(driver.CodePeerFlags, t.peers.EnablePeerAccess(1, 1), "EnablePeerAccess(1, 1)")
			t.wantPeer(0, 1, false)
		}},
		{"EnablePeerAccess of the current device: 100000", peers, func(t *tester) {
			t.want(driver.CodeInvalidParam, t.peers.EnablePeerAccess(0, 0), "EnablePeerAccess(0, 0)")
		}},
		{"peer access to no device: an error", peers, func(t *tester) {
			n, err := t.DeviceCount()
			t.must(err, "DeviceCount")
			for _, device := range []int{-1, n} {
				_, err := t.peers.CanAccessPeer(0, device)
				for _, err := range []error{err, t.peers.EnablePeerAccess(device, 0)} {
					if t.code(err) == driver.OK {
						t.Errorf("peer access to device %d: success, want an error", device)
					}
				}
			}
		}},
		{"EnablePeerAccess: one way, and DisablePeerAccess undoes it", needs, func(t *tester) {
			t.canAccess(0, 1)
			t.wantPeer(0, 1, false)
			t.must(t.peers.EnablePeerAccess(1, 0), "EnablePeerAccess")
			t.wantPeer(0, 1, true)
			t.wantPeer(1, 0, false)
			t.must(t.peers.DisablePeerAccess(1), "DisablePeerAccess")
			t.wantPeer(0, 1, false)
		}},
		{"copy between devices without EnablePeerAccess: refused at the call or at synchronize", needs, func(t *tester) {
			p, q := t.pair()
			err := t.issue(driver.Command{Op: driver.OpCopy, Dst: q, Src: p, Size: 64, Kind: driver.DeviceToDevice})
			if err == nil {
				err = t.SynchronizeStream(0, forever)
			}
			t.want(driver.CodeRtParamInvalid, err, "copy between devices")
			t.must(t.SetDevice(1), "SetDevice(1)")
			t.wantFill(q, 64, 2, "memory of device 1")
		}},
		{"Memcpy between devices without EnablePeerAccess: 107000", needs, func(t *tester) {
			p, q := t.pair()
			t.want(driver.CodeRtParamInvalid, t.Memcpy(q, 64, p, 64, driver.DeviceToDevice), "Memcpy")
			t.must(t.SetDevice(1), "SetDevice(1)")
			t.wantFill(q, 64, 2, "memory of device 1")
		}},
		{"copy between devices after EnablePeerAccess, to the peer", needs, func(t *tester) {
			p, q := t.pair()
			t.must(t.peers.EnablePeerAccess(1, 0), "EnablePeerAccess")
			s := t.stream()
			t.copy(s, q, p, 64)
			t.sync(s)
			t.must(t.SetDevice(1), "SetDevice(1)")
			t.wantFill(q, 64, 1, "memory of device 1")
		}},
		{"copy between devices after EnablePeerAccess, from the peer", needs, func(t *tester) {
			p, q := t.pair()
			t.must(t.peers.EnablePeerAccess(1, 0), "EnablePeerAccess")
			s := t.stream()
			t.copy(s, p, q, 64)
			t.sync(s)
			t.wantFill(p, 64, 2, "memory of device 0")
		}},
		{"Memcpy between devices after EnablePeerAccess: 0", needs, func(t *tester) {
			p, q := t.pair()
			t.must(t.peers.EnablePeerAccess(1, 0), "EnablePeerAccess")
			t.must(t.Memcpy(q, 64, p, 64, driver.DeviceToDevice), "Memcpy")
			t.must(t.SetDevice(1), "SetDevice(1)")
			t.wantFill(q, 64, 1, "memory of device 1")
		}},
		{"peer's memory gone while a queued copy uses it: a fault at most", needs | loader | prober, func(t *tester) {
			t.simulated()
			p, q := t.pair()
			t.must(t.peers.EnablePeerAccess(1, 0), "EnablePeerAccess")
			s := t.stream()
			t.spin(s, pause)
			t.copy(s, p, q, 64)
			t.copy(s, q, p, 64)
			t.must(t.ResetDevice(1, true), "ResetDevice(1)")
			t.wantAny(t.SynchronizeStream(s, forever), "SynchronizeStream",
				driver.OK, driver.CodeAICoreException, driver.CodeVectorException)
			t.sync(s)
		}},
		{"copy between devices after DisablePeerAccess: refused", needs, func(t *tester) {
			p, q := t.pair()
			t.must(t.peers.EnablePeerAccess(1, 0), "EnablePeerAccess")
			t.must(t.peers.DisablePeerAccess(1), "DisablePeerAccess")
			t.want(driver.CodeRtParamInvalid, t.Memcpy(q, 64, p, 64, driver.DeviceToDevice), "Memcpy")
			t.must(t.SetDevice(1), "SetDevice(1)")
			t.wantFill(q, 64, 2, "memory of device 1")
		}},
	}
}

// canAccess skips the case where the devices cannot reach each other.
func (t *tester) canAccess(device, peer int) {
	t.Helper()
	can, err := t.peers.CanAccessPeer(device, peer)
	t.must(err, "CanAccessPeer")
	if !can {
		t.Skipf("device %d cannot reach device %d", device, peer)
	}
}

func (t *tester) wantPeer(device, peer int, want bool) {
	t.Helper()
	got, err := t.peers.PeerAccess(device, peer)
	t.must(err, "PeerAccess")
	if got != want {
		t.Errorf("PeerAccess(%d, %d) = %v, want %v", device, peer, got, want)
	}
}

// pair is 64 bytes of 1 on device 0, which stays current, and 64 bytes of 2 on device 1.
func (t *tester) pair() (p, q driver.Ptr) {
	t.Helper()
	t.canAccess(0, 1)
	p = t.filled(64, 1)
	t.must(t.SetDevice(1), "SetDevice(1)")
	q = t.malloc(64)
	t.must(t.Memset(q, 64, 2, 64), "Memset")
	t.must(t.SetDevice(0), "SetDevice(0)")
	return p, q
}
