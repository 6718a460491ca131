package fault_test

import (
	"strings"
	"testing"

	"npulua/npu/internal/driver"
)

func TestSensorsShowECC(t *testing.T) {
	_, in, _ := program(t, "ecc,device=0,nth=2,count=2", "errors=single,device=1,op=fill,count=always")
	for device, want := range []struct {
		single, double, pages float64
		health                driver.Health
	}{
		{0, 2, 2, driver.HealthAlarm},
		{3, 0, 0, driver.HealthOK},
	} {
		read, err := in.Sensors(device)
		if err != nil {
			t.Fatal(err)
		}
		r, err := read(t.Context())
		if err != nil || r.SingleBit.Value != want.single || r.DoubleBit.Value != want.double || r.IsolatedPages.Value != want.pages || r.Health != want.health ||
			r.TotalSingleBit.Value != want.single || r.TotalDoubleBit.Value != want.double {
			t.Errorf("device %d: %+v, %v, want %+v", device, r, err, want)
		}
	}
}

func TestSensorsOfLostDevice(t *testing.T) {
	in := open(t, 2)
	defer in.Close()
	f := in.Add(parse(t, "lost,device=1,op=set_device"))
	if err := in.SetDevice(1); err == nil {
		t.Fatal("the device is there")
	}
	sensors := func() error {
		read, err := in.Sensors(1)
		if err != nil {
			t.Fatal(err)
		}
		_, err = read(t.Context())
		return err
	}
	if err := sensors(); err == nil || !strings.Contains(err.Error(), "not available: the device does not answer") {
		t.Errorf("of a lost device: %v", err)
	}
	in.Remove(f)
	if err := sensors(); err != nil {
		t.Errorf("of a device that is there again: %v", err)
	}
}
