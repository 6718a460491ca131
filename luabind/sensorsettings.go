package luabind

import (
	"fmt"
	"math"
	"slices"
	"strings"

	lua "github.com/yuin/gopher-lua"

	"npulua/luabind/lua51"
	"npulua/npu"
)

// sensorFunctions are the functions of npu.sim for sensors.
var sensorFunctions = []function{
	{"set_sensors", doc{"(device, readings or nil)", "", "Has the sensors of a simulated device show what the table says, until the next call for it; nil shows what is modelled again. `device` is a device or its id. " +
		"What the table does not name stays as modelled. Values are named as in what `dev:sensors()` returns; `false` makes one absent.",
		"107001 where there is no such device; 100000 for a name or a value that cannot be", `npu.sim.set_sensors(0, {temperature = 95, health = "critical", ecc = {double_bit = 2}})`}, sensorOptions(), simSetSensors},
}

// sensorOptions are the keys that set_sensors takes.
func sensorOptions() []option {
	var list []option
	groups := map[string][]string{}
	for _, v := range npu.SensorValues() {
		if v.Group != "" {
			groups[v.Group] = append(groups[v.Group], "`"+v.Name+"`")
			continue
		}
		list = append(list, option{v.Name, v.Text + inUnit(v), anything})
	}
	list = append(list, option{"health", "`" + strings.Join(npu.HealthNames(), "`, `") + "`", oneOf(npu.HealthNames()...)},
		option{"faults", "a list of fault codes, or of tables with `code` and `text`", anything})
	for _, g := range npu.SensorGroups() {
		list = append(list, option{g, "a table with " + strings.Join(groups[g], ", "), anything})
	}
	return append(list, option{"available", "false: nothing can be read, as without libdcmi", aBoolean},
		option{"reason", "why, where `available` is false", anything})
}

func simSetSensors(c *call) error {
	id, err := c.deviceID(1)
	if err != nil {
		return err
	}
	if c.count() < 2 {
		return c.errorf("argument 2 (readings) is missing: a table, or nil for what is modelled")
	}
	o, err := c.table(2)
	if err != nil {
		return err
	}
	if o.tb == nil {
		return c.in.session.SetSensors(c.t, id, nil)
	}
	s, err := o.sensorSettings()
	if err != nil {
		return err
	}
	return c.in.session.SetSensors(c.t, id, s)
}

// deviceID reads a device, or the id of one that need not be retained.
func (c *call) deviceID(i int) (int, error) {
	if ud, ok := c.arg(i).(*lua.LUserData); ok {
		if d, ok := ud.Value.(*npu.Device); ok {
			return d.ID(), nil
		}
	}
	if _, ok := c.arg(i).(lua.LNumber); !ok {
		return 0, c.wrongType(i, "device", "a device or the id of one")
	}
	id, err := c.int(i, "device")
	if err == nil && (id < 0 || id >= int64(c.in.session.DeviceCount())) {
		err = c.in.session.NoDevice(id)
	}
	return int(id), err
}

// sensorSettings reads the table of set_sensors, whose keys are known.
func (o opts) sensorSettings() (*npu.SensorSettings, error) {
	s := &npu.SensorSettings{Values: make(map[string]npu.Reading)}
	groups := make(map[string]opts)
	for _, g := range npu.SensorGroups() {
		tb, err := o.group(g)
		if err != nil {
			return nil, err
		}
		groups[g] = opts{o.c, tb}
	}
	for _, v := range npu.SensorValues() {
		from := o
		if v.Group != "" {
			from = groups[v.Group]
		}
		if got := from.get(v.Name); got != lua.LNil {
			r, err := o.reading(v, got)
			if err != nil {
				return nil, err
			}
			s.Values[v.Path()] = r
		}
	}
	var err error
	if s.Health, err = o.health(); err != nil {
		return nil, err
	}
	if s.Faults, err = o.faults(); err != nil {
		return nil, err
	}
	available, err := o.bool("available", true)
	if err != nil {
		return nil, err
	}
	reason, err := o.string("reason")
	switch {
	case err != nil:
		return nil, err
	case reason != "" && available:
		return nil, o.c.errorf("option %q goes with available = false", "reason")
	case available:
	case reason == "":
		s.Unavailable = npu.ReadingMadeUp
	default:
		s.Unavailable = reason
	}
	return s, nil
}

// group is the table of a group of readings, nil where there is none.
func (o opts) group(name string) (*lua.LTable, error) {
	got := o.get(name)
	if got == lua.LNil {
		return nil, nil
	}
	tb, ok := got.(*lua.LTable)
	if !ok {
		return nil, o.wrongType(name, "a table", got)
	}
	var names []string
	for _, v := range npu.SensorValues() {
		if v.Group == name {
			names = append(names, v.Name)
		}
	}
	var bad error
	tb.ForEach(func(k, _ lua.LValue) {
		if s, ok := k.(lua.LString); bad == nil && (!ok || !slices.Contains(names, string(s))) {
			bad = o.c.errorf("option %q has no %s%s", name, describe(k), npu.Suggest(k.String(), names))
		}
	})
	return tb, bad
}

// reading is a value that a script made up; false: absent.
func (o opts) reading(v npu.SensorValue, got lua.LValue) (npu.Reading, error) {
	if got == lua.LFalse {
		return npu.AbsentReading(npu.ReadingMadeUp), nil
	}
	n, ok := got.(lua.LNumber)
	if !ok {
		return npu.Reading{}, o.wrongType(v.Path(), "a number, or false for none", got)
	}
	f := float64(n)
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return npu.Reading{}, o.c.errorf("option %q must be a finite number, got %s", v.Path(), number(f))
	}
	low, high := 0.0, math.MaxFloat64
	switch v.Unit {
	case npu.UnitCelsius:
		low = -273.15
	case npu.UnitShare:
		high = 1
	case npu.UnitCount:
		high = math.MaxUint32
		if f != math.Trunc(f) {
			return npu.Reading{}, o.c.errorf("option %q must be a whole number, got %s", v.Path(), number(f))
		}
	}
	if f < low || f > high {
		limits := fmt.Sprintf("%s or more", number(low))
		if high < math.MaxFloat64 {
			limits = fmt.Sprintf("from %s to %s", number(low), number(high))
		}
		return npu.Reading{}, o.c.errorf("option %q must be %s, got %s", v.Path(), limits, number(f))
	}
	return npu.KnownReading(f), nil
}

func (o opts) health() (*npu.Health, error) {
	text, err := o.string("health")
	if err != nil || o.get("health") == lua.LNil {
		return nil, err
	}
	for i, name := range npu.HealthNames() {
		if name == text {
			h := npu.Health(i)
			return &h, nil
		}
	}
	return nil, o.c.errorf("option %q must be one of %s, got %q%s", "health", strings.Join(npu.HealthNames(), ", "), text, npu.Suggest(text, npu.HealthNames()))
}

// faults is the list of faults; nil where there is none, not nil where it is empty.
func (o opts) faults() ([]npu.SensorFault, error) {
	got := o.get("faults")
	if got == lua.LNil {
		return nil, nil
	}
	tb, ok := got.(*lua.LTable)
	if !ok {
		return nil, o.wrongType("faults", "a list", got)
	}
	list := []npu.SensorFault{}
	for i := 1; i <= lua51.Length(tb); i++ {
		item := tb.RawGetInt(i)
		var f npu.SensorFault
		if row, ok := item.(*lua.LTable); ok {
			item = row.RawGetString("code")
			if text, ok := row.RawGetString("text").(lua.LString); ok {
				f.Text = string(text)
			}
		}
		n, ok := item.(lua.LNumber)
		code, whole := exact(n)
		if !ok || !whole || code < 1 || code > math.MaxUint32 {
			return nil, o.c.errorf("option %q: item %d must be a fault code, a whole number from 1 to 2^32-1, got %s", "faults", i, describe(item))
		}
		f.Code = uint32(code)
		list = append(list, f)
	}
	return list, nil
}
