package luabind

import (
	"cmp"
	"slices"

	lua "github.com/yuin/gopher-lua"

	"npulua/luabind/check"
)

func checkData(c *call) error {
	k, err := c.openChecks()
	if err != nil {
		return err
	}
	name, ok := c.arg(1).(lua.LString)
	if !ok {
		return c.wrongType(1, "name", "a string")
	}
	if name == "" || c.arg(2) == lua.LNil {
		return c.errorf("wants a name and a value")
	}
	text, err := c.in.encodeJSON(c.arg(2), 0, jsonDepth)
	if err != nil {
		return c.errorf("%s: %v", name, err)
	}
	k.began = true
	d := check.Datum{Name: string(name), JSON: []byte(text)}
	i, found := slices.BinarySearchFunc(k.report.Data, d, func(a, b check.Datum) int { return cmp.Compare(a.Name, b.Name) })
	if found {
		k.report.Data[i] = d
	} else {
		k.report.Data = slices.Insert(k.report.Data, i, d)
	}
	return nil
}
