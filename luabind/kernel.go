package luabind

import (
	"fmt"
	"math"

	lua "github.com/yuin/gopher-lua"

	"npulua/luabind/lua51"
	"npulua/npu"
)

var kernelClass = &class[*npu.Kernel]{
	name: "kernel",
	text: "A function that devices run: one of the built-in ones, or one declared by the script. It needs no closing.",
	fields: []field[*npu.Kernel]{
		{"name", doc{Text: "Name of the kernel."}, func(c *call, k *npu.Kernel) (lua.LValue, error) { return lua.LString(k.Name()), nil }},
		{"signature", doc{Text: "Parameter list, as `npu.kernel{signature = ...}` takes it. A capital letter is a type that the operands decide."}, func(c *call, k *npu.Kernel) (lua.LValue, error) { return lua.LString(k.Signature().Text), nil }},
		{"doc", doc{Text: "What a built-in kernel computes; empty for others."}, func(c *call, k *npu.Kernel) (lua.LValue, error) { return lua.LString(k.Doc()), nil }},
	},
	str: func(k *npu.Kernel) string { return fmt.Sprintf("kernel %s(%s)", k.Name(), k.Signature().Text) },
}

// moduleKernel is npu.kernel "name" and npu.kernel{...}.
func moduleKernel(c *call) error {
	if tb, ok := c.arg(1).(*lua.LTable); ok {
		return declareKernel(c, tb)
	}
	name, err := c.string(1, "name")
	if err != nil {
		return err
	}
	k, err := c.in.builtin(name)
	if err == nil {
		c.push(c.in.kernel(k))
	}
	return err
}

// builtin is the built-in kernel called name, the same one each time.
func (in *Interp) builtin(name string) (*npu.Kernel, error) {
	if k := in.builtins[name]; k != nil {
		return k, nil
	}
	k, err := in.session.Kernel(name)
	if err == nil {
		in.builtins[name] = k
	}
	return k, err
}

func declareKernel(c *call, tb *lua.LTable) error {
	o, err := c.table(1)
	if err != nil {
		return err
	}
	var ko npu.KernelOptions
	for _, f := range []struct {
		name string
		to   *string
	}{{"name", &ko.Name}, {"signature", &ko.Signature}, {"binary", &ko.Binary}} {
		if *f.to, err = o.string(f.name); err != nil {
			return err
		}
	}
	if ko.Binary != "" {
		if err := c.in.mayLoadMachineCode(); err != nil {
			return c.refuse(npu.ErrInvalidFile, "binary: ", err)
		}
	}
	fn, err := o.function("sim")
	if err != nil {
		return err
	}
	if fn != nil {
		in := c.in
		ko.Sim = func(l *npu.HostLaunch) error { return in.asWork(func() error { return in.runKernel(fn, l) }) }
	}
	k, err := c.in.session.NewKernel(ko)
	if err == nil {
		c.push(c.in.kernel(k))
	}
	return err
}

// runKernel calls a kernel written in Lua, block by block. Pointer arguments are host buffers for
// as long as the launch runs.
func (in *Interp) runKernel(fn *lua.LFunction, l *npu.HostLaunch) error {
	args := make([]lua.LValue, 1, 1+len(l.Args))
	for i, a := range l.Args {
		p := l.Signature.Params[i]
		if !p.Pointer {
			if v := a.Type.Unpack(a.Word); v.Text != "" {
				args = append(args, lua.LString(v.Text))
			} else {
				args = append(args, lua.LNumber(v.Number))
			}
			continue
		}
		view, done := in.thread.View(a.Type, a.Mem, p.Dir == npu.DirIn)
		defer done()
		args = append(args, in.buffer(view))
	}
	for b := range l.Blocks {
		args[0] = in.blockTable(b, l.Blocks)
		if err := in.callLua(fn, args...); err != nil {
			return fmt.Errorf("block %d of %d: %w", b+1, l.Blocks, err)
		}
	}
	return nil
}

// blockTable tells a kernel which block it computes: index (from 1), count, and range(n), the first
// and last of n items that are this block's share.
func (in *Interp) blockTable(b, blocks int) *lua.LTable {
	t := in.record("index", b+1, "count", blocks)
	t.RawSetString("range", in.L.NewFunction(func(L *lua.LState) int {
		n := L.CheckNumber(2)
		if f := float64(n); f < 0 || f != math.Trunc(f) || f > npu.MaxBytes {
			lua51.Raise(L, "block:range: the number of items must be a whole number from 0 on, got %v", f)
		}
		first, last := npu.Share(int64(n), b, blocks)
		L.Push(lua.LNumber(first + 1))
		L.Push(lua.LNumber(last))
		return 2
	}))
	return t
}

// moduleKernels is npu.kernels().
func moduleKernels(c *call) error {
	list := c.L.NewTable()
	for _, k := range npu.Kernels() {
		types := c.L.NewTable()
		for _, row := range k.TypeNames() {
			types.Append(lua.LString(row))
		}
		list.Append(c.in.record("name", k.Name, "signature", k.Signature, "doc", k.Doc, "types", types))
	}
	c.push(list)
	return nil
}
