package lua51

import (
	lua "github.com/yuin/gopher-lua"
)

// Linker puts functions into compiled chunks, where rewritten code calls them.
type Linker struct {
	functions map[lua.LString]*lua.LFunction
}

// NewLinker makes the functions for one virtual machine.
func NewLinker(L *lua.LState) *Linker {
	return &Linker{map[lua.LString]*lua.LFunction{
		concatName: L.NewFunction(Concat),
		powerName:  L.NewFunction(power),
		modName:    L.NewFunction(mod),
		lengthName: L.NewFunction(length),
		joinName:   L.NewFunction(join),
	}}
}

// Link resolves the names of rewritten code in proto, once: an instruction that would read a global
// of such a name loads a constant instead, and the constant is the function. So scripts cannot see,
// shadow or replace it.
func (k *Linker) Link(proto *lua.FunctionProto) {
	var linked map[int]bool
	for i, c := range proto.Constants {
		if name, ok := c.(lua.LString); ok && k.functions[name] != nil {
			if linked == nil {
				linked = make(map[int]bool)
			}
			linked[i] = true
			proto.Constants[i] = k.functions[name]
		}
	}
	if linked != nil {
		for i, code := range proto.Code {
			if in := instruction(code); in.op() == lua.OP_GETGLOBAL && linked[in.bx()] {
				proto.Code[i] = uint32(lua.OP_LOADK)<<26 | code&(1<<26-1)
			}
		}
	}
	for _, p := range proto.FunctionPrototypes {
		k.Link(p)
	}
}
