package luabind

import (
	"strings"

	lua "github.com/yuin/gopher-lua"

	"npulua/luabind/lua51"
	"npulua/npu"
)

// In a sandbox a call of ours counts, besides callInstructions, as what its operands and results have: the bytes of
// strings and buffers, and the items of tables. So a function that is added is charged without a word of its own. One that does
// more says so by charge; those that do as much for a large operand as for a small one are in constantCosts.

// constantCosts are the functions whose operands and results do not count. What goes to another worker counts where it is
// packed and unpacked.
var constantCosts = map[string]bool{
	"npu.keep": true, "npu.scope": true, "npu.spawn": true, "npu.worker": true, "npu.join": true, "npu.select": true, "npu.try_select": true,
	"context:alloc": true, "context:use": true, "buffer:slice": true, "buffer:reshape": true, "buffer:close": true,
	"channel:send": true, "channel:receive": true, "channel:try_send": true, "channel:try_receive": true,
	"task:join": true, "worker:join": true,
}

// weighed tells whether the operands of a function count.
func (in *Interp) weighed(owner, name string, skip int) bool {
	c := call{owner: owner, name: name, skip: skip}
	return in.policy != nil && !constantCosts[c.qualified()]
}

// weigh counts the operands of the call, and lets leave count its results.
func (c *call) weigh(weighed bool) {
	if c.weighed = weighed; weighed {
		c.chargeValues(1)
	}
}

// charge counts steps of the call, beside what its operands have, as instructions. In a loop that is long it is called
// every 10,000 steps, and raises the error of a script that has been ended.
func (c *call) charge(steps int64) { lua51.Charge(c.L, int(min(steps, 1<<40))) }

// chargeValues counts the values from the i-th of the stack on.
func (c *call) chargeValues(i int) {
	for top := c.L.GetTop(); i <= top; i++ {
		lua51.ChargeBytes(c.L, valueWeight(c.L.Get(i)))
	}
}

// tableItem is how many bytes an item of a table counts as.
const tableItem = 16

// valueWeight is how many bytes an operand or a result has. Tables in tables count where they are read.
func valueWeight(v lua.LValue) int64 {
	switch x := v.(type) {
	case lua.LString:
		return int64(len(x))
	case *lua.LTable:
		return int64(lua51.Items(x)) * tableItem
	case *lua.LUserData:
		if b, ok := x.Value.(*npu.Buffer); ok && b != nil {
			return b.Bytes()
		}
	}
	return 0
}

// productsPerStep is how many multiplications the simulator does in the time of an instruction, about.
const productsPerStep = 32

// chargeProducts counts what a built-in kernel computes where that is more than its operands have.
func (c *call) chargeProducts(kernel string, args []npu.Arg) {
	if c.in.policy == nil || !strings.HasPrefix(kernel, "matmul") && kernel != "conv2d" {
		return
	}
	n := 1.0
	for _, a := range args {
		if a.Buffer == nil && a.Number > 1 {
			n *= a.Number
		}
	}
	c.charge(int64(min(n, 1<<50)) / productsPerStep)
}

// chargeReplays has each replay of g count as what recording it did.
func (in *Interp) chargeReplays(g *npu.Graph, steps int64) {
	if in.policy == nil {
		return
	}
	if in.replays == nil {
		in.replays = make(map[*npu.Graph]int64)
	}
	in.replays[g] = steps
}

// modelSteps is what a run of m counts as, beside its operands: each weight is multiplied at least once.
func modelSteps(m *npu.Model, batch int64) int64 {
	work, weights := m.Memory()
	const width = 4 // bytes of a weight
	return min(max(batch, 1), 1<<20)*weights/width/productsPerStep + work/64
}
