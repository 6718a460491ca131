package luabind

import (
	"fmt"
	"strconv"
	"strings"

	lua "github.com/yuin/gopher-lua"

	"npulua/npu"
)

// faultFunctions are those of npu.sim that let operations go wrong.
var faultFunctions = []function{
	{"fault", doc{"(rule)", "fault", "Lets operations go wrong, to rehearse it: from now on those that match the rule, which is a table with the options below or a text such as `\"op=copy,nth=3,code=507054\"`. Errors that come of it have `injected` = true and name the rule. docs/simulator.md lists the kinds and operations.", "100000 for a rule that cannot be meant; 107001 for a device that there is not", "npu.sim.fault{op = \"copy\", device = 0, nth = 3, code = 507054}\nnpu.sim.fault{kind = \"hang\", op = \"launch\"}"}, faultOptions(), simFault},
	{"faults", doc{"()", "table", "The faults that are in force, those of `--fault` and `--scenario` too, in the order in which they came.", "", `for _, f in ipairs(npu.sim.faults()) do print(f.text, f.hits) end`}, nil, simFaults},
	{"scenarios", doc{"()", "table", "The scenarios that come with npulua, which `--scenario` names: for each a table with `name`, `text`, and `faults`, a list of rules as `npu.sim.fault` takes them.", "", `for _, s in ipairs(npu.sim.scenarios()) do print(s.name, s.text) end`}, nil, simScenarios},
	{"clear_faults", doc{"()", "", "Closes all of them.", "", `npu.sim.clear_faults()`}, nil, simClearFaults},
}

// faultOptions are the fields of a rule.
func faultOptions() []option {
	takes := map[string]choice{
		"kind": {words: func() []string { return entryNames(npu.FaultKinds()) }}, "op": {words: func() []string { return entryNames(npu.FaultOps()) }},
		"direction": oneOf("h2d", "d2h", "d2d", "p2p"), "errors": oneOf("multi", "single"),
	}
	var list []option
	for _, f := range npu.FaultFields() {
		list = append(list, option{f.Name, f.Text, takes[f.Name]})
	}
	return list
}

func entryNames(list []npu.FaultEntry) []string {
	var names []string
	for _, e := range list {
		names = append(names, e.Name)
	}
	return names
}

func simFault(c *call) error {
	r, err := c.faultRule(1)
	if err != nil {
		return err
	}
	f, err := c.in.session.InjectFault(c.t, r)
	if err == nil {
		c.push(c.in.fault(f))
	}
	return err
}

// faultRule reads argument i as a rule.
func (c *call) faultRule(i int) (npu.FaultRule, error) {
	var r npu.FaultRule
	var err error
	switch v := c.arg(i).(type) {
	case lua.LString:
		r, err = npu.ParseFault(string(v))
	case *lua.LTable:
		o, err := c.table(i)
		if err != nil {
			return r, err
		}
		if r, err = npu.NewFaultRule(o.faultFields()); err != nil {
			return r, c.errorf("%v", err)
		}
	default:
		return r, c.wrongType(i, "rule", "a table or a string")
	}
	if err != nil {
		return r, c.errorf("%v", err)
	}
	return r, nil
}

// faultFields are the options that were given.
func (o opts) faultFields() []npu.FaultField {
	var list []npu.FaultField
	for _, row := range o.c.options {
		f := npu.FaultField{Name: row.name, Form: npu.FaultOther}
		switch v := o.get(row.name).(type) {
		case *lua.LNilType:
			continue
		case lua.LNumber:
			f.Text, f.Form = strconv.FormatFloat(float64(v), 'g', -1, 64), npu.FaultNumber
		case lua.LString:
			f.Text, f.Form = string(v), npu.FaultWord
		case lua.LBool:
			f.Text = v.String()
		default:
			f.Text = typeName(v)
		}
		list = append(list, f)
	}
	return list
}

func simFaults(c *call) error {
	list := c.L.NewTable()
	for _, f := range c.in.session.Faults() {
		list.Append(c.in.fault(f))
	}
	c.push(list)
	return nil
}

func simScenarios(c *call) error {
	list := c.L.NewTable()
	if c.in.opts.Scenarios != nil {
		for _, s := range c.in.opts.Scenarios() {
			rules := c.L.NewTable()
			for _, r := range s.Rules {
				rules.Append(lua.LString(r.String()))
			}
			row := c.in.record("name", s.Name, "text", s.Text)
			row.RawSetString("faults", rules)
			list.Append(row)
		}
	}
	c.push(list)
	return nil
}

func simClearFaults(c *call) error {
	for _, f := range c.in.session.Faults() {
		if err := f.Close(c.t); err != nil {
			return err
		}
	}
	return nil
}

var faultClass = &class[*npu.Fault]{
	name: "fault",
	text: "A fault that is rehearsed (`npu.sim.fault`). It stays in force until it is closed, whoever holds it.",
	methods: []method[*npu.Fault]{
		{"close", doc{"()", "", "Takes the fault out of force; a device that it lost is there again. Commands that are queued go wrong all the same. Calling it again does nothing.", "", `f:close()`}, nil, func(c *call, f *npu.Fault) error { return f.Close(c.t) }},
	},
	fields: []field[*npu.Fault]{
		{"kind", doc{Text: "What goes wrong: `code`, `hang`, `delay`, `slow`, `lost`, `wrong`, `oom`, `ecc` or `leak`."}, func(_ *call, f *npu.Fault) (lua.LValue, error) { return lua.LString(f.Kind()), nil }},
		{"text", doc{Text: "The rule as `--fault` takes it."}, func(_ *call, f *npu.Fault) (lua.LValue, error) { return lua.LString(f.Text()), nil }},
		{"hits", doc{Text: "How many operations it was applied to so far."}, func(c *call, f *npu.Fault) (lua.LValue, error) {
			n, err := f.Hits(c.t)
			return lua.LNumber(n), err
		}},
		{"closed", doc{Text: "Whether the fault was closed."}, func(_ *call, f *npu.Fault) (lua.LValue, error) { return lua.LBool(f.Closed()), nil }},
	},
	str: func(f *npu.Fault) string {
		return fmt.Sprintf("fault(%s%s", strings.ReplaceAll(f.Text(), ",", ", "), closedMark(f.Closed()))
	},
}

// fault is the value of f; each machine has its own.
func (in *Interp) fault(f *npu.Fault) lua.LValue { return in.faults.wrap(f, in.cell(f)) }
