package npu_test

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"

	"npulua/npu"
	"npulua/scripts"
)

// The scenarios that come with npulua are ones, have the names of their files, and are documented.
func TestScenarios(t *testing.T) {
	doc, err := os.ReadFile("../docs/simulator.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range scripts.Scenarios() {
		t.Run(x.Name, func(t *testing.T) {
			s, err := npu.ParseScenario(x.Data)
			if err != nil || s.Name != x.Name || s.Text == "" {
				t.Errorf("scenario %s: %+v, %v", x.Name, s, err)
			}
			if row := "| `" + s.Name + "` | " + s.Text + " |\n"; !strings.Contains(string(doc), row) {
				t.Errorf("docs/simulator.md lacks the row %q", row)
			}
			session := open(t, npu.Options{Backend: "sim", Faults: s.Rules})
			if got := len(session.Faults()); got != len(s.Rules) {
				t.Errorf("scenario %s: %d faults in force, want %d", x.Name, got, len(s.Rules))
			}
		})
	}
	for _, list := range [][]npu.FaultEntry{npu.FaultFields(), npu.FaultKinds(), npu.FaultOps()} {
		for _, e := range list {
			if !strings.Contains(string(doc), "`"+e.Name+"`") || e.Text == "" {
				t.Errorf("docs/simulator.md lacks %q, or it has no text", e.Name)
			}
		}
	}
}

// Where nothing is simulated there is nothing to rehearse with.
func TestFaultsNeedSimulator(t *testing.T) {
	r, err := npu.ParseFault("lost,device=0")
	if err != nil {
		t.Fatal(err)
	}
	const want = "faults are rehearsed on the simulator only, and this is the null backend"
	s := open(t, npu.Options{Backend: "null"})
	var e *npu.Error
	if _, err := s.InjectFault(s.Main(), r); !errors.Is(err, npu.ErrNotSupported) || !errors.As(err, &e) || e.Detail != want || e.Hint == "" {
		t.Errorf("InjectFault on null = %v, want %q with a hint", err, want)
	}
	if _, err := npu.Open(context.Background(), npu.Options{Backend: "null", Faults: []npu.FaultRule{r}}); !errors.Is(err, npu.ErrInvalidParam) || !strings.Contains(err.Error(), want) {
		t.Errorf("Open on null with faults = %v, want %q", err, want)
	}
	r.Device = 5
	if _, err := npu.Open(context.Background(), npu.Options{Faults: []npu.FaultRule{r}}); !errors.Is(err, npu.ErrInvalidParam) || !strings.Contains(err.Error(), "device 5: 1 visible") {
		t.Errorf("Open with a fault of a device that there is not = %v", err)
	}
}

// What was injected can be told apart, and is counted for whoever reads the sensors of the device.
func TestInjectedECC(t *testing.T) {
	s := open(t, npu.Options{Backend: "sim"})
	th := s.Main()
	dev, err := th.Device(0)
	if err != nil {
		t.Fatal(err)
	}
	for _, spec := range []string{"ecc,nth=2", "errors=single,count=3"} {
		r, err := npu.ParseFault(spec)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.InjectFault(th, r); err != nil {
			t.Fatal(err)
		}
	}
	x, err := dev.DefaultContext().Alloc(th, mustType(t, "float32"), 4, "")
	if err != nil {
		t.Fatal(err)
	}
	stream := dev.DefaultContext().DefaultStream()
	for range 5 {
		if err := stream.Fill(th, x, 1); err != nil {
			t.Fatal(err)
		}
	}
	var e *npu.Error
	if err := stream.Synchronize(th, -1); !errors.As(err, &e) || e.Code != 507054 || !e.Injected {
		t.Errorf("Synchronize = %v, want an injected 507054", err)
	}
	r, err := s.Sensors(th, 0)
	if err != nil || r.SingleBit.Value != 3 || r.DoubleBit.Value != 1 {
		t.Errorf("Sensors show %v and %v memory errors, %v, want 3 and 1", r.SingleBit, r.DoubleBit, err)
	}
}

func mustType(t testing.TB, name string) npu.DType {
	t.Helper()
	typ, ok := npu.ParseDType(name)
	if !ok {
		t.Fatalf("no type %s", name)
	}
	return typ
}
