package luabind

import (
	"slices"

	lua "github.com/yuin/gopher-lua"
)

// simName is the name of the table of what only the simulator can do.
const simName = "npu.sim"

// simFunctions is every function of npu.sim, in the order of the manual.
var simFunctions = slices.Concat(faultFunctions, sensorFunctions)

// simFields documents what openSim sets besides functions.
var simFields = []entry{
	{name: "spec", doc: doc{Text: "What `--sim` was given, with the number of devices: `910b:4`."}},
	{name: "profile", doc: doc{Text: "A line that describes what is simulated."}},
}

// simHelp is the text side of npu.sim.
func simHelp() classHelp {
	h := classHelp{name: simName, module: true, text: "On the simulator, what only that can do; nil on hardware, so that `if npu.sim then` tells the two apart.", fields: simFields}
	for _, f := range simFunctions {
		h.methods = append(h.methods, entry{f.name, f.doc, f.options})
	}
	return h
}

// openSim makes the table npu.sim.
func (in *Interp) openSim(profile string) *lua.LTable {
	t := in.functionTable(simName, simFunctions, false)
	t.RawSetString("spec", lua.LString(in.session.SimSpec()))
	t.RawSetString("profile", lua.LString(profile))
	return t
}
