package luabind

import (
	"fmt"
	"strings"

	lua "github.com/yuin/gopher-lua"

	"npulua/npu"
)

// opsName is the name of the table of operators.
const opsName = "npu.ops"

// opsHelp is the text side of npu.ops: a row for every operator of package npu.
func opsHelp() classHelp {
	h := classHelp{name: opsName, module: true, text: "Computations that every backend has, by name: kernels of the simulator, operators of the vendor's library on hardware, " +
		"or kernels of the folder that `NPULUA_KERNELS` names. They are queued, as launches are, and run on all cores of the device. " +
		"What the operands of each must have stands in brackets: sizes that are no arguments come from the buffers. Operands of an operator have one type, where nothing else is said. `buf:slice` makes a part of a buffer an operand."}
	for _, o := range npu.Operators() {
		names := strings.Join(o.Names(), ", ")
		h.methods = append(h.methods, entry{name: o.Name, doc: doc{
			Args:    "(stream, " + names + ")",
			Text:    fmt.Sprintf("%s Takes `%s`, of %s. As kernel `%s`.", o.Doc, o.Args, strings.Join(o.Types, ", "), o.Kernel),
			Errors:  "107000 for operands whose types or sizes do not fit, naming them; 207000 where the operators of the vendor's library are not installed",
			Example: "npu.ops." + o.Name + "(s, " + names + ")",
		}})
	}
	return h
}

// openOps makes the table npu.ops.
func (in *Interp) openOps() *lua.LTable {
	in.operators = make(map[string]*npu.Operator)
	ops := in.L.NewTable()
	for _, o := range npu.Operators() {
		weighed := in.weighed(opsName, o.Name, 0)
		ops.RawSetString(o.Name, in.L.NewFunction(func(L *lua.LState) int {
			c := in.enter(L)
			c.owner, c.name, c.options, c.skip = opsName, o.Name, nil, 0
			c.weigh(weighed)
			return c.leave(operate(c))
		}))
	}
	return ops
}

// operate is the operator of the call's name.
func operate(c *call) error {
	s, err := handle[*npu.Stream](c, 1, "stream", "a stream")
	if err != nil {
		return err
	}
	o := c.in.operators[c.name]
	if o == nil {
		if o, err = c.in.session.Operator(c.name); err != nil {
			return err
		}
		c.in.operators[c.name] = o
	}
	args := c.in.args[:0]
	for i := 2; i <= c.count(); i++ {
		a, ok := launchArg(c.arg(i))
		if !ok {
			return c.wrongLaunchArg(fmt.Sprintf("argument %d (%s)", i, o.ArgName(i-2)), c.arg(i))
		}
		args = append(args, a)
	}
	c.in.args = args
	c.chargeProducts(c.name, args)
	err = s.Operate(c.t, o, args)
	clear(args) // keep no buffer alive
	return err
}
