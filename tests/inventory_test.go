package tests

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// inventoried is a device as npulua run inventory --json has it.
type inventoried struct {
	ID          int      `json:"id"`
	Name        *string  `json:"name"`
	Answers     bool     `json:"answers"`
	Error       *string  `json:"error"`
	Free        *float64 `json:"memory_free"`
	Queue       *float64 `json:"queue_depth"`
	Sensors     *string  `json:"sensors"`
	Temperature *float64 `json:"temperature"`
	Power       *float64 `json:"power"`
	Health      *string  `json:"health"`
	Double      *float64 `json:"ecc_double_bit"`
	Faults      []struct{ Code string }
	Absent      map[string]string `json:"absent"`
}

type inventory struct {
	Software struct {
		Runtime *string
		Absent  map[string]string
	}
	Devices []inventoried
	Peers   []struct{ Access *bool }
}

// takeInventory runs the script over the stand-in, and compares what it prints with its schema.
func takeInventory(t *testing.T, v vendor, status int) (out inventory) {
	t.Helper()
	o := v.run(t, "--backend=acl", "run", "inventory", "--json")
	if o.status != status {
		t.Fatalf("exit status %d, want %d\n%s\n%s", o.status, status, o.stdout, o.stderr)
	}
	value, err := jsonschema.UnmarshalJSON(strings.NewReader(o.stdout))
	if err == nil {
		err = reportSchema(t, "inventory").Validate(value)
	}
	if err != nil {
		t.Fatalf("%v\n%s\n%s", err, o.stdout, o.stderr)
	}
	var report struct{ Data json.RawMessage }
	if err := json.Unmarshal([]byte(o.stdout), &report); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(report.Data, &out); err != nil {
		t.Fatal(err)
	}
	return out
}

// What the runtime and libdcmi tell of each device is there, and what they do not tell has its reason.
func TestInventory(t *testing.T) {
	t.Parallel()
	got := takeInventory(t, onPath(t, "devices=3").showing("temperature@0=61,power@1=3105,health@1=2,fault0@1=0x80E01801,double@2=2"), 0)
	if len(got.Devices) != 3 || len(got.Peers) != 6 || got.Software.Runtime == nil || got.Software.Absent["driver"] == "" {
		t.Fatalf("%+v", got)
	}
	for i, d := range got.Devices {
		if !d.Answers || d.Error != nil || d.Free == nil || d.Queue == nil && d.Absent["queue_depth"] == "" || d.Sensors == nil || *d.Sensors != "libdcmi" || d.Absent["card_power"] == "" {
			t.Errorf("device %d: %+v", i, d)
		}
	}
	d := got.Devices
	if *d[0].Temperature != 61 || *d[1].Power != 310.5 || *d[1].Health != "alarm" || len(d[1].Faults) != 1 || d[1].Faults[0].Code != "80E01801" || *d[2].Double != 2 {
		t.Errorf("%+v", d)
	}
	for _, p := range got.Peers {
		if p.Access == nil {
			t.Error("an access that is not known")
		}
	}
}

// Without the driver's library devices are listed, and why their state is not known.
func TestInventoryWithoutSensors(t *testing.T) {
	t.Parallel()
	for i, d := range takeInventory(t, withoutDCMI(t, "devices=2"), 0).Devices {
		if !d.Answers || d.Sensors != nil || d.Temperature != nil || d.Health != nil || !strings.Contains(d.Absent["temperature"], "libdcmi.so") {
			t.Errorf("device %d: %+v", i, d)
		}
	}
}

// A device whose memory is taken by others is listed as any other; one that cannot be opened is listed and fails.
func TestInventoryBusy(t *testing.T) {
	t.Parallel()
	for i, d := range takeInventory(t, onPath(t, "fail:aclrtMalloc=207001"), 0).Devices {
		if !d.Answers || d.Free == nil {
			t.Errorf("device %d: %+v", i, d)
		}
	}
	got := takeInventory(t, onPath(t, "fail:aclrtSetDevice=507033,nth:aclrtSetDevice=1"), 3).Devices
	if len(got) != 2 || got[0].Answers || got[0].Error == nil || !strings.Contains(*got[0].Error, "507033") || got[0].Name == nil || got[0].Absent["memory_free"] == "" || !got[1].Answers {
		t.Errorf("%+v", got)
	}
}
