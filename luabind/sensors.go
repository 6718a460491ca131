package luabind

import (
	"errors"
	"fmt"
	"strings"

	lua "github.com/yuin/gopher-lua"

	"npulua/npu"
)

// inUnit is ", in °C", or nothing where a value has no unit.
func inUnit(v npu.SensorValue) string {
	switch {
	case v.Unit.String() != "":
		return ", in " + v.Unit.String()
	case v.Unit == npu.UnitShare:
		return ", from 0 to 1"
	}
	return ""
}

// sensorKeys are the keys of the table that dev:sensors returns.
func sensorKeys() []string {
	keys := []string{"available", "reason", "no_answer", "hint", "source", "health", "faults", "absent"}
	for _, v := range npu.SensorValues() {
		if v.Group == "" {
			keys = append(keys, v.Name)
		}
	}
	return append(keys, npu.SensorGroups()...)
}

// sensorsDoc describes dev:sensors.
func sensorsDoc() doc {
	var b strings.Builder
	b.WriteString("Reads the state of the device that the runtime does not tell, on hardware through the driver's library libdcmi. Values that cannot be read are nil, never 0. " +
		"`available` says whether anything could be read; where it is false, `reason` says why, and `hint` what to do where something can be done, so that a check can skip: no error is raised for that. `no_answer` is true there where the driver or the device should have answered, which is no reason to skip. " +
		"`source` is `libdcmi` or `simulated`. `health` is `ok`, `warning` (minor alarm), `alarm` (major), `critical`, or `unknown`. " +
		"`faults` lists what the device reports now: `code`, `hex` (as the vendor's list writes it) and `text`. " +
		"`absent` says for every value that is nil why it is, under the same name. `utilization`, `ecc` and `absent` are always there. Values:")
	for i, v := range npu.SensorValues() {
		sep := ";"
		if i == 0 {
			sep = ""
		}
		fmt.Fprintf(&b, "%s `%s` %s%s", sep, v.Path(), v.Text, inUnit(v))
	}
	b.WriteString(". A reading takes about 150 ms on hardware; streams and other tasks go on meanwhile.")
	return doc{"()", "table", b.String(), "", "local s = dev:sensors()\nif s.available then print(s.temperature, s.health) else print(\"skip: \" .. s.reason) end"}
}

func deviceSensors(c *call, d *npu.Device) error {
	r, err := d.Sensors(c.t)
	var e *npu.Error
	if errors.As(err, &e) && e.Code == npu.ErrNotSupported {
		t, _ := c.in.sensorGroups()
		t.RawSetString("available", lua.LFalse)
		t.RawSetString("reason", lua.LString(e.Detail))
		t.RawSetString("no_answer", lua.LBool(e.NoAnswer))
		if e.Hint != "" {
			t.RawSetString("hint", lua.LString(e.Hint))
		}
		t.RawSetString("health", lua.LString(npu.HealthUnknown.String()))
		c.push(t)
		return nil
	}
	if err == nil {
		c.push(c.in.sensorTable(r))
	}
	return err
}

// sensorGroups is a table with the groups of readings, and its table of absent ones.
func (in *Interp) sensorGroups() (t, absent *lua.LTable) {
	t, absent = in.L.NewTable(), in.L.NewTable()
	for _, g := range npu.SensorGroups() {
		t.RawSetString(g, in.L.NewTable())
		absent.RawSetString(g, in.L.NewTable())
	}
	t.RawSetString("absent", absent)
	return t, absent
}

// sensorTable is what dev:sensors returns for readings.
func (in *Interp) sensorTable(r npu.SensorReadings) *lua.LTable {
	t, absent := in.sensorGroups()
	t.RawSetString("available", lua.LTrue)
	t.RawSetString("source", lua.LString(r.Source))
	for _, v := range npu.SensorValues() {
		to, why := t, absent
		if v.Group != "" {
			to, why = t.RawGetString(v.Group).(*lua.LTable), absent.RawGetString(v.Group).(*lua.LTable)
		}
		if got := v.Of(&r); got.Known {
			to.RawSetString(v.Name, lua.LNumber(got.Value))
		} else {
			why.RawSetString(v.Name, lua.LString(got.Why))
		}
	}
	t.RawSetString("health", lua.LString(r.Health.String()))
	if r.Health == npu.HealthUnknown {
		absent.RawSetString("health", lua.LString(r.HealthWhy))
	}
	if !r.FaultsKnown {
		absent.RawSetString("faults", lua.LString(r.FaultsWhy))
		return t
	}
	faults := in.L.NewTable()
	for _, f := range r.Faults {
		row := in.record("code", int64(f.Code), "hex", f.Hex())
		if f.Text != "" {
			row.RawSetString("text", lua.LString(f.Text))
		}
		faults.Append(row)
	}
	t.RawSetString("faults", faults)
	return t
}
