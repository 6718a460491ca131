package npu_test

import (
	"errors"
	"fmt"
	"runtime"
	"testing"

	"npulua/npu"
)

// run runs the whole program and returns its trace.
func run(t *testing.T, code []byte) string {
	s, err := npu.Open(t.Context(), npu.Options{Backend: "sim", Sim: "910b:2", Where: where})
	if err != nil {
		t.Fatal(err)
	}
	m := &machine{t: t, code: code, s: s, th: s.Main()}
	for _, name := range []string{"relu", "spin", "vector_add"} {
		k, err := s.Kernel(name)
		_ = add(&m.kernels, k, err)
	}
	for i, sim := range []func(*npu.HostLaunch) error{
		func(*npu.HostLaunch) error { return nil },
		func(*npu.HostLaunch) error { return errors.New("kernel") },
	} {
		k, err := s.NewKernel(npu.KernelOptions{Name: fmt.Sprint("host", i), Signature: "inout T* x, uint32 n", Sim: sim})
		_ = add(&m.kernels, k, err)
	}
	within(t, "the program", func() {
		for n := 0; n < 400 && m.step(); n++ {
			m.th.Site = npu.Site(n + 1)
		}
		m.end()
	})
	within(t, "Close", func() { m.named("close", s.Close(false)) })
	noExecutor(t)
	return m.trace.String()
}

// end closes the devices and checks that all their memory is back.
func (m *machine) end() {
	for id := range 2 {
		dev, err := m.th.Device(id)
		m.note("device", err)
		m.note("close", dev.Close(m.th))
		if dev, err = m.th.Device(id); err != nil {
			m.t.Error(err)
			continue
		}
		if free, total, err := dev.Memory(m.th); free != total || err != nil {
			m.t.Errorf("device %d: %d of %d B free, %v", id, free, total, err)
		}
	}
	for _, b := range m.bufs {
		m.note("close", b.Close(m.th))
	}
	st, err := m.s.Stats(m.th)
	if err != nil {
		m.t.Error(err)
	}
	delete(st.Live, "pinned memory") // handles that the list let go of
	delete(st.Live, "device")
	delete(st.Live, "default context")
	if len(st.Live) != 0 {
		m.t.Errorf("left: %v", st.Live)
	}
	runtime.KeepAlive(m) // garbage collection must not help
}

func FuzzAPI(f *testing.F) {
	f.Add([]byte{0, 0, 3, 0, 0, 0, 6, 0, 0, 0, 0, 8, 0, 0, 0, 11, 1, 0, 1, 21, 1, 0})
	f.Add([]byte{0, 0, 3, 0, 0, 0, 6, 0, 0, 0, 0, 16, 0, 0, 0, 0, 0, 0, 0, 4, 0, 21, 0, 0})
	f.Add([]byte{0, 0, 5, 0, 0, 5, 0, 0, 19, 0, 0, 16, 0, 1, 0, 1, 0, 19, 0, 1, 20, 0, 1, 22, 1, 0, 26, 0, 1})
	f.Add([]byte{0, 0, 8, 0, 0, 0, 27, 0, 3, 0, 21, 0, 0, 27, 0, 2, 0, 27, 0, 1, 0, 24, 0, 0})
	f.Add([]byte{0, 0, 1, 1, 32, 0, 1, 6, 0, 0, 0, 0, 6, 1, 0, 0, 0, 11, 0, 0, 1, 30, 0, 1, 30, 1, 0, 0, 0})
	f.Add([]byte{0, 0, 28, 9, 2, 0, 3, 1, 0, 3, 6, 1, 0, 0, 0, 16, 0, 1, 0, 2, 0, 29, 4, 1, 0})
	f.Fuzz(func(t *testing.T, code []byte) {
		if len(code) > 2000 {
			t.Skip("long programs find nothing that short ones do not")
		}
		first := run(t, code)
		if second := run(t, code); first != second {
			t.Errorf("two runs differ:\n%s\n--- and\n%s", first, second)
		}
	})
}
