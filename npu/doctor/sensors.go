package doctor

import (
	"errors"
	"fmt"
	"strings"

	"npulua/npu"
)

// sensorLibrary loads the library for sensors, and notes what came of it.
func (u *user) sensorLibrary() {
	if u.simulated {
		return
	}
	u.begin(u.options.Start, "loading libdcmi")
	l, err := npu.InspectSensors()
	u.tell(func(x *examination) { x.within("sensors", func() { x.sensorLibrary(l, err) }) })
}

func (x *examination) sensorLibrary(l npu.SensorLibrary, err error) {
	out := &SensorLibrary{Path: l.Path, Version: l.Version, Places: []Place{}, Functions: []Symbol{}}
	x.report.Sensors = out
	for _, a := range l.Attempts {
		out.Places = append(out.Places, Place(a))
	}
	var absent []string
	for _, f := range l.Functions {
		out.Functions = append(out.Functions, Symbol{Name: f.Name, Present: f.Present})
		if !f.Present {
			absent = append(absent, f.Name)
		}
	}
	if l.Path != "" {
		text := "libdcmi: " + l.Path
		if l.Version != "" {
			text += ", version " + l.Version
		}
		x.ok(text)
		if len(absent) > 0 {
			x.note(fmt.Sprintf("%d of %d functions; without %s", len(l.Functions)-len(absent), len(l.Functions), strings.Join(absent, ", ")))
		}
	}
	if err != nil {
		out.Error = plainDetail(err)
		x.find(Warn, "no temperature, power, memory errors or health: "+out.Error, remedyOf(err, "npu-smi info shows them, where the driver works"))
	}
}

// sensors reads a device.
func (u *user) sensors(s *npu.Session, id int) {
	u.begin(u.options.Start, "reading the sensors of device %d", id)
	r, err := s.Sensors(s.Main(), id)
	u.tell(func(x *examination) { x.within("sensors", func() { x.sensors(id, r, err) }) })
}

func (x *examination) sensors(id int, r npu.SensorReadings, err error) {
	x.report.Devices[id].Sensors = sensorMap(r, err)
	if err != nil {
		if x.report.Sensors == nil || x.report.Sensors.Error == "" { // else it was said once
			x.find(Warn, fmt.Sprintf("device %d: %s", id, plainDetail(err)), remedyOf(err, "npu-smi info shows the state of the device"))
		}
		return
	}
	words := []string{"health " + r.Health.String()}
	for _, v := range npu.SensorValues() {
		if got := v.Of(&r); got.Known && v.Group == "" {
			words = append(words, fmt.Sprintf("%s %v %s", names.Replace(v.Name), got.Value, v.Unit))
		}
	}
	if r.DoubleBit.Known {
		words = append(words, fmt.Sprintf("memory errors %v corrected, %v not", r.SingleBit.Value, r.DoubleBit.Value))
	}
	for _, f := range r.Faults {
		word := "fault " + f.Hex()
		if f.Text != "" {
			word += " (" + f.Text + ")"
		}
		words = append(words, word)
	}
	text := fmt.Sprintf("device %d: %s (%s)", id, strings.Join(words, ", "), r.Source)
	switch {
	case r.Health == npu.HealthUnknown:
		x.find(Warn, text+"; health: "+r.HealthWhy, "npu-smi info -t health -i ID shows the health of a card")
	case r.Health != npu.HealthOK, r.DoubleBit.Value > 0, len(r.Faults) > 0:
		x.find(Warn, text, "npu-smi info -t health -i ID lists the alarms; the vendor's health management reference explains fault codes")
	default:
		x.ok(text)
	}
}

// names turns names of readings into words.
var names = strings.NewReplacer("_", " ", "hbm", "HBM")

// sensorMap is what a script gets from dev:sensors, for the report as JSON.
func sensorMap(r npu.SensorReadings, err error) map[string]any {
	if err != nil {
		return map[string]any{"available": false, "reason": plainDetail(err)}
	}
	absent := map[string]any{}
	out := map[string]any{"available": true, "source": r.Source, "health": r.Health.String(), "absent": absent}
	for _, g := range npu.SensorGroups() {
		out[g], absent[g] = map[string]any{}, map[string]any{}
	}
	for _, v := range npu.SensorValues() {
		to, why := out, absent
		if v.Group != "" {
			to, why = out[v.Group].(map[string]any), absent[v.Group].(map[string]any)
		}
		if got := v.Of(&r); got.Known {
			to[v.Name] = got.Value
		} else {
			why[v.Name] = got.Why
		}
	}
	if r.Health == npu.HealthUnknown {
		absent["health"] = r.HealthWhy
	}
	if !r.FaultsKnown {
		absent["faults"] = r.FaultsWhy
		return out
	}
	faults := []map[string]any{}
	for _, f := range r.Faults {
		faults = append(faults, map[string]any{"code": f.Code, "hex": f.Hex(), "text": f.Text})
	}
	out["faults"] = faults
	return out
}

// plainDetail is what an error says, without call and code.
func plainDetail(err error) string {
	var e *npu.Error
	if errors.As(err, &e) && e.Detail != "" {
		return e.Detail
	}
	return plain(err)
}
