package npu_test

import (
	"fmt"
	"testing"

	"npulua/npu"
)

// Each handle counts, and so does what is on its way; the last one gives the memory back.
func TestSharedMemoryLives(t *testing.T) {
	for _, pinned := range []bool{true, false} {
		t.Run(fmt.Sprint("pinned ", pinned), func(t *testing.T) {
			r := &rig{Session: open(t, npu.Options{Backend: "sim", Sim: "910b", Guarded: true}), tb: t}
			r.t = r.Main()
			must(r.t.Device(0))(t)
			h := must(r.t.Host(float32Type, 4, pinned))(t)
			check(t, h.SetElement(0, 7))
			s := must(h.Share())(t)
			check(t, h.Close(r.t))
			a, b := must(r.t.Receive(s))(t), must(r.t.Receive(s))(t)
			s.Drop()
			s.Drop()
			check(t, a.Close(r.t))
			if v, err := b.Element(0); v != 7 || err != nil {
				t.Errorf("element %v, %v after another handle was closed, want 7", v, err)
			}
			c := must(r.t.Receive(s))(t) // b holds it
			check(t, b.Close(r.t))
			check(t, c.Close(r.t))
			if _, err := r.t.Receive(s); err == nil {
				t.Errorf("received what was given back")
			}
			if n, b := r.Pinned(), r.HostBytes(); n != 0 || b != 0 {
				t.Errorf("%d blocks and %d B are left", n, b)
			}
		})
	}
}

// What nobody receives is given back at the end of the session.
func TestSharedMemoryAtTheEnd(t *testing.T) {
	s := open(t, npu.Options{})
	th := s.Main()
	must(th.Device(0))(t)
	h := must(th.Host(float32Type, 4, true))(t)
	shared := must(h.Share())(t)
	check(t, s.Close(false))
	if n := s.Pinned(); n != 0 {
		t.Errorf("%d blocks of pinned memory are left", n)
	}
	shared.Drop()
	if _, err := th.Receive(shared); err == nil {
		t.Error("received after the end of the session")
	}
}

// Host buffers together have no more than the machine, and what is closed or lost makes room.
func TestHostRoom(t *testing.T) {
	r := newRig(t)
	r.SetHostRoom(1 << 20)
	host := func(n int64, pinned bool) (*npu.Buffer, error) { return r.t.Host(float32Type, n/4, pinned) }
	if _, err := host(1<<20+4, true); err == nil {
		t.Error("more than the machine has was granted")
	}
	for _, pinned := range []bool{true, false} {
		a := must(host(1<<19, pinned))(t)
		b := must(host(1<<19, !pinned))(t)
		_, err := host(4, pinned)
		want(t, err, npu.ErrMemoryAllocation)
		check(t, a.Close(r.t))
		must(host(1<<18, pinned))(t) // garbage collection gives it back
		check(t, b.Close(r.t))
		check(t, must(host(3<<18, pinned))(t).Close(r.t))
		check(t, must(host(1<<20, pinned))(t).Close(r.t))
	}
	big := must(r.ctx.Alloc(r.t, float32Type, 1<<30, ""))(t) // of a simulated device: only what is written takes memory
	check(t, big.Close(r.t))
}
