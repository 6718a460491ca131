package driver

import (
	"context"
	"fmt"
)

// Sensors is implemented by a driver that reads the state of its devices: temperature, power, memory errors, health.
type Sensors interface {
	// Sensors prepares a reading: CodeInvalidDevice where there is no such device. Needs no context.
	Sensors(device int) (SensorReader, error)
}

// SensorReader reads the sensors of a device. It alone is exempt from the rule of one thread: it is called at most
// once, from any goroutine, so that what the driver does with streams goes on meanwhile. It may take a fraction of a
// second or not come back at all, and looks at ctx where it can. CodeNotSupported: nothing can be read, Detail says why.
type SensorReader func(ctx context.Context) (SensorReadings, error)

// HaveRead is the reader of what was read already.
func HaveRead(r SensorReadings, err error) SensorReader {
	return func(context.Context) (SensorReadings, error) { return r, err }
}

// SensorSetter is implemented by a driver whose sensors show what a program says.
type SensorSetter interface {
	// SetSensors replaces readings of device until the next call for it; nil: none. CodeInvalidDevice where there is
	// no such device.
	SetSensors(device int, s *SensorSettings) error
}

// Reading is one value. The zero Reading is absent.
type Reading struct {
	Value float64
	Known bool   // Value was read
	Why   string // why it was not
}

// Known is a reading of v.
func Known(v float64) Reading { return Reading{Value: v, Known: true} }

// Absent is a reading that there is not, and why.
func Absent(why string) Reading { return Reading{Why: why} }

// SensorReadings is the state of a device. Shares are from 0 to 1.
type SensorReadings struct {
	Source string // what told: "libdcmi", "simulated"

	Temperature    Reading // °C, of the chip
	HBMTemperature Reading // °C
	Power          Reading // W, of the chip
	CardPower      Reading // W, of the card with all its chips
	Voltage        Reading // V, of the chip

	Cores        Reading // share of time in which AI cores (cube cores, where they are apart) were busy
	Vector       Reading // the same of vector cores
	Memory       Reading // share of DDR memory in use
	HBM          Reading // share of HBM in use
	HBMBandwidth Reading // share of the bandwidth of HBM in use

	SingleBit, DoubleBit           Reading // memory errors since the system was started, corrected and not
	TotalSingleBit, TotalDoubleBit Reading // in the life of the device
	IsolatedPages                  Reading // pages taken out of use after errors that were not corrected

	Health    Health
	HealthWhy string // why that is unknown

	Faults      []SensorFault // that the device reports now; where FaultsKnown
	FaultsKnown bool
	FaultsWhy   string // why they are not
}

// SensorFault is a fault that a device reports.
type SensorFault struct {
	Code uint32 // of the vendor's list of faults, which writes it in hexadecimal
	Text string // "" where the driver has no words for it
}

// Hex is the code as the vendor's list writes it: "80E01801".
func (f SensorFault) Hex() string { return fmt.Sprintf("%08X", f.Code) }

// Health is the worst alarm of a device.
type Health uint8

// The levels.
const (
	HealthUnknown  Health = iota
	HealthOK              // no alarm
	HealthWarning         // minor alarm: the device works
	HealthAlarm           // major alarm: it may not
	HealthCritical        // critical alarm: it does not, or not for long
)

var healthNames = [...]string{"unknown", "ok", "warning", "alarm", "critical"}

// String is the level as scripts see it.
func (h Health) String() string { return healthNames[h] }

// HealthNames lists the levels.
func HealthNames() []string { return healthNames[:] }

// SensorUnit is what a reading counts.
type SensorUnit uint8

// The units.
const (
	UnitCelsius SensorUnit = iota
	UnitWatt
	UnitVolt
	UnitShare // from 0 to 1
	UnitCount
)

// String is the sign of the unit, "" where it has none.
func (u SensorUnit) String() string { return [...]string{"°C", "W", "V", "", ""}[u] }

// SensorValue is a row of SensorValues: how a reading is called, and where it is.
type SensorValue struct {
	Group, Name string // "ecc", "single_bit"; Group "": on its own
	Unit        SensorUnit
	Text        string // what it is, for people
	Of          func(*SensorReadings) *Reading
}

// Path is the name with its group: "ecc.single_bit".
func (v SensorValue) Path() string {
	if v.Group == "" {
		return v.Name
	}
	return v.Group + "." + v.Name
}

// SensorValues are all readings that are numbers, by group.
var SensorValues = []SensorValue{
	{"", "temperature", UnitCelsius, "of the chip", func(r *SensorReadings) *Reading { return &r.Temperature }},
	{"", "hbm_temperature", UnitCelsius, "of the HBM", func(r *SensorReadings) *Reading { return &r.HBMTemperature }},
	{"", "power", UnitWatt, "of the chip", func(r *SensorReadings) *Reading { return &r.Power }},
	{"", "card_power", UnitWatt, "of the card, all its chips together, where the chip alone is not told", func(r *SensorReadings) *Reading { return &r.CardPower }},
	{"", "voltage", UnitVolt, "of the chip", func(r *SensorReadings) *Reading { return &r.Voltage }},

	{"utilization", "cores", UnitShare, "of the AI cores (cube cores, where they are apart)", func(r *SensorReadings) *Reading { return &r.Cores }},
	{"utilization", "vector", UnitShare, "of the vector cores", func(r *SensorReadings) *Reading { return &r.Vector }},
	{"utilization", "memory", UnitShare, "of DDR memory", func(r *SensorReadings) *Reading { return &r.Memory }},
	{"utilization", "hbm", UnitShare, "of HBM", func(r *SensorReadings) *Reading { return &r.HBM }},
	{"utilization", "hbm_bandwidth", UnitShare, "of the bandwidth of HBM", func(r *SensorReadings) *Reading { return &r.HBMBandwidth }},

	{"ecc", "single_bit", UnitCount, "memory errors that were corrected, since the system was started", func(r *SensorReadings) *Reading { return &r.SingleBit }},
	{"ecc", "double_bit", UnitCount, "those since then that could not be", func(r *SensorReadings) *Reading { return &r.DoubleBit }},
	{"ecc", "total_single_bit", UnitCount, "corrected ones in the life of the device", func(r *SensorReadings) *Reading { return &r.TotalSingleBit }},
	{"ecc", "total_double_bit", UnitCount, "those in its life that could not be", func(r *SensorReadings) *Reading { return &r.TotalDoubleBit }},
	{"ecc", "isolated_pages", UnitCount, "memory pages taken out of use after those", func(r *SensorReadings) *Reading { return &r.IsolatedPages }},
}

// SensorGroups are the groups of SensorValues.
var SensorGroups = []string{"utilization", "ecc"}

// Read reports whether anything was read at all; why says why not.
func (r *SensorReadings) Read() (some bool, why string) {
	if r.Health != HealthUnknown || r.FaultsKnown {
		return true, ""
	}
	why = r.HealthWhy
	for _, v := range SensorValues {
		got := v.Of(r)
		if got.Known {
			return true, ""
		}
		if why == "" {
			why = got.Why
		}
	}
	return false, why
}

// SensorSettings are readings that a program makes up.
type SensorSettings struct {
	Values      map[string]Reading // by SensorValue.Path; one that is not Known makes the value absent
	Health      *Health            // nil: as it is
	Faults      []SensorFault      // nil: as they are
	Unavailable string             // not "": nothing can be read, and this is why
}

// Apply puts the settings into readings.
func (s *SensorSettings) Apply(r *SensorReadings) {
	for _, v := range SensorValues {
		if set, ok := s.Values[v.Path()]; ok {
			*v.Of(r) = set
		}
	}
	if s.Health != nil {
		r.Health, r.HealthWhy = *s.Health, ""
		if r.Health == HealthUnknown {
			r.HealthWhy = MadeUp
		}
	}
	if s.Faults != nil {
		r.Faults, r.FaultsKnown, r.FaultsWhy = s.Faults, true, ""
	}
}

// MadeUp is why a reading is absent because the program said so.
const MadeUp = "the script made it absent"
