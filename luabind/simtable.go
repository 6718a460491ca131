package luabind

import (
	"slices"

	lua "github.com/yuin/gopher-lua"

	"npulua/npu"
)

// simName is the name of the table of what only the simulator has.
const simName = "npu.sim"

// simFunctions is every function of npu.sim, in the order of the manual.
var simFunctions = slices.Concat(sensorFunctions)

// simHelp is the text side of npu.sim.
func simHelp() classHelp {
	h := classHelp{name: simName, text: "What only the simulator has; nil on hardware, so that `if npu.sim then` tells the two apart."}
	for _, f := range simFunctions {
		h.methods = append(h.methods, entry{f.name, f.doc, f.options})
	}
	h.fields = append(h.fields, entry{"profile", doc{Text: "A line that describes what is simulated."}, nil})
	return h
}

// openSim makes the table npu.sim.
func (in *Interp) openSim(info npu.Info) *lua.LTable {
	t := in.record("profile", info.Detail)
	for i := range simFunctions {
		f := &simFunctions[i]
		t.RawSetString(f.name, in.L.NewFunction(func(L *lua.LState) int {
			c := in.enter(L)
			c.owner, c.name, c.options, c.skip = simName, f.name, f.options, 0
			return c.leave(invokeFunction(c, f.fn))
		}))
	}
	return t
}
