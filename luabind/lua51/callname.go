package lua51

import (
	"reflect"
	"sync"

	lua "github.com/yuin/gopher-lua"
)

// callName is what the caller of the running library function calls it, and whether by a method
// call. It is that of a variable or field, if there is one, not of the function: the code before the
// call instruction tells where the function came from. "?" where nothing tells.
func callName(L *lua.LState) (name string, method bool) {
	if name, method = nameInCode(L); name == "?" {
		name = ownName(L)
	}
	return name, method
}

// ownNames has the names of the library functions by their code. setRows adds to it, always the
// same; it is no table of its own because the functions lead back here.
var ownNames sync.Map

// ownName is the name under which the running function stands in its library, where it was called by
// no name: by pcall, say, or through a table.
func ownName(L *lua.LState) string {
	if frameKnown {
		if f := currentFrame(L); f != nil && f.fn != nil && f.fn.IsG {
			if name, ok := ownNames.Load(reflect.ValueOf(f.fn.GFunction).Pointer()); ok {
				return name.(string)
			}
		}
	}
	return "?"
}

// nameInCode is the name before the call instruction, "?" where there is none.
func nameInCode(L *lua.LState) (name string, method bool) {
	if !frameKnown {
		return "?", false
	}
	f := currentFrame(L)
	if f == nil || f.parent == nil || f.parent.fn == nil || f.parent.fn.IsG {
		return "?", false
	}
	pc := f.parent.pc - 1
	proto := f.parent.fn.Proto
	if pc < 0 || pc >= len(proto.Code) || proto.SourceName == HiddenChunk {
		return "?", false
	}
	switch in := instruction(proto.Code[pc]); in.op() {
	case lua.OP_CALL, lua.OP_TAILCALL:
		return registerName(proto, pc, in.a())
	case lua.OP_TFORLOOP:
		return "(for generator)", false
	}
	return "?", false
}

// instruction is an instruction of the virtual machine.
type instruction uint32

func (in instruction) op() int { return int(in >> 26) }
func (in instruction) a() int  { return int(in>>18) & 0xff }
func (in instruction) b() int  { return int(in) & 0x1ff }
func (in instruction) c() int  { return int(in>>9) & 0x1ff }
func (in instruction) bx() int { return int(in) & (1<<18 - 1) }

// jump is how far a jump instruction leads.
func (in instruction) jump() int { return in.bx() - (1<<17 - 1) }

// origin is where a value came from, as the code names it.
type origin struct {
	kind string // "local", "global", "upvalue", "field", "method"; "": nothing tells
	name string
	from int // register of the table of a field or method, index of an upvalue
	at   int // instruction that read it
}

// registerName is the name of the function that register reg holds for the call at pc.
func registerName(proto *lua.FunctionProto, pc, reg int) (name string, method bool) {
	o := originOfTemporary(proto, pc, reg)
	if o.kind == "" {
		return "?", false
	}
	return o.name, o.kind == "method"
}

// originOf tells where the value in register reg at pc came from. The compiler's own locals do not count: those
// of a loop, in parentheses, begin before their registers hold them.
func originOf(proto *lua.FunctionProto, pc, reg int) origin {
	if local, ok := localName(proto, pc, reg); ok && local[0] != hiddenMark && local[0] != '(' {
		return origin{kind: "local", name: local, from: reg}
	}
	return originOfTemporary(proto, pc, reg)
}

// originOfTemporary does so for a register that is no local variable's, such as that of a called
// function: the compiler's notes of where locals end are not to be relied on.
func originOfTemporary(proto *lua.FunctionProto, pc, reg int) origin {
	at := lastWrite(proto, pc, reg)
	if at < 0 {
		return origin{}
	}
	switch in := instruction(proto.Code[at]); in.op() {
	case lua.OP_MOVE, lua.OP_MOVEN:
		if in.b() < in.a() {
			return originOf(proto, at, in.b())
		}
		if in.b() == in.a() { // the compiler ends `and` and `or` so
			return originOfTemporary(proto, at, reg)
		}
	case lua.OP_GETGLOBAL:
		return origin{"global", constantName(proto, in.bx()), 0, at}
	case lua.OP_GETUPVAL:
		if in.b() < len(proto.DbgUpvalues) {
			return origin{"upvalue", proto.DbgUpvalues[in.b()], in.b(), at}
		}
	case lua.OP_GETTABLE, lua.OP_GETTABLEKS:
		return origin{"field", operandName(proto, in.c()), in.b(), at}
	case lua.OP_SELF:
		return origin{"method", operandName(proto, in.c()), in.b(), at}
	}
	return origin{}
}

// localName is the name of the local variable that lives in register reg at pc. Locals take registers
// in the order of their declaration.
func localName(proto *lua.FunctionProto, pc, reg int) (string, bool) {
	for _, v := range proto.DbgLocals {
		if v.StartPc > pc {
			break
		}
		if pc >= v.EndPc {
			continue
		}
		if reg == 0 {
			return v.Name, true
		}
		reg--
	}
	return "", false
}

// operandName is the name that an operand holds if it is a constant, not a register.
func operandName(proto *lua.FunctionProto, operand int) string {
	const constant = 1 << 8
	if operand&constant == 0 {
		return "?"
	}
	return constantName(proto, operand&^constant)
}

func constantName(proto *lua.FunctionProto, i int) string {
	if i < len(proto.Constants) {
		if s, ok := proto.Constants[i].(lua.LString); ok {
			return string(s)
		}
	}
	return "?"
}

// nameSearch is how many instructions back the origin of a value is looked for. The value of a
// temporary was set few before.
const nameSearch = 1 << 12

// lastWrite finds the last instruction before pc that sets reg, or -1. Branches that a jump leads
// over on the way to pc do not count.
func lastWrite(proto *lua.FunctionProto, pc, reg int) int {
	last := -1
	for i := max(0, pc-nameSearch); i < pc; i++ {
		in := instruction(proto.Code[i])
		switch in.op() {
		case lua.OP_JMP:
			if to := i + 1 + in.jump(); to > i && to <= pc {
				i = to - 1
			}
			continue
		case lua.OP_CLOSURE:
			if in.a() == reg {
				last = i
			}
			if n := in.bx(); n < len(proto.FunctionPrototypes) {
				i += int(proto.FunctionPrototypes[n].NumUpvalues) // each upvalue takes a slot
			}
			continue
		}
		if writes(in, reg) {
			last = i
		}
	}
	return last
}

// writes reports whether in sets reg. A test counts, as in PUC Lua: what comes of `and` and `or` has no name.
func writes(in instruction, reg int) bool {
	a := in.a()
	switch in.op() {
	case lua.OP_SETGLOBAL, lua.OP_SETUPVAL, lua.OP_SETTABLE, lua.OP_SETTABLEKS, lua.OP_EQ, lua.OP_LT,
		lua.OP_LE, lua.OP_RETURN, lua.OP_SETLIST, lua.OP_CLOSE, lua.OP_NOP:
		return false
	case lua.OP_SELF:
		return reg == a || reg == a+1
	case lua.OP_LOADNIL:
		return reg >= a && reg <= in.b()
	case lua.OP_CALL, lua.OP_TAILCALL, lua.OP_VARARG:
		return reg >= a
	case lua.OP_TFORLOOP:
		return reg >= a+3
	case lua.OP_FORLOOP, lua.OP_FORPREP:
		return reg >= a && reg <= a+3
	}
	return reg == a
}
