package lua51

import (
	"math"

	lua "github.com/yuin/gopher-lua"
)

// valuesPerInstruction is how many values of `...` are passed on in the time of an instruction, about.
const valuesPerInstruction = 8

// operands reads what an instruction works on.
type operands struct {
	frame     *frame
	registers []lua.LValue
}

// register is the value of a register of the frame; nil where there is none.
func (o operands) register(i int) lua.LValue {
	if i += o.frame.local; i >= 0 && i < len(o.registers) {
		return o.registers[i]
	}
	return nil
}

// value is that of a register or a constant.
func (o operands) value(i int) lua.LValue {
	const constant = 1 << 8
	if i&constant == 0 {
		return o.register(i)
	}
	if i &^= constant; i < len(o.frame.fn.Proto.Constants) {
		return o.frame.fn.Proto.Constants[i]
	}
	return nil
}

// weigh counts the instruction that comes now by what it does, where that may be much: `...` may stand for a million
// values, strings that are compared or are keys may be long, and a table may grow. Other instructions that move many
// values have them from one of these, or from a function, which counts them itself.
func (m *meter) weigh() {
	L := m.global.CurrentThread
	if L == nil || !frameKnown {
		return
	}
	f := currentFrame(L)
	if f == nil || f.fn == nil || f.fn.IsG || f.pc < 1 || f.pc > len(f.fn.Proto.Code) {
		return
	}
	in := instruction(f.fn.Proto.Code[f.pc-1])
	switch in.op() {
	case lua.OP_VARARG, lua.OP_EQ, lua.OP_LT, lua.OP_LE, lua.OP_GETTABLE, lua.OP_GETTABLEKS, lua.OP_SETTABLE, lua.OP_SETTABLEKS:
	default:
		return
	}
	o := operands{f, valuesOf(L)}
	switch in.op() {
	case lua.OP_VARARG:
		if in.b() == 0 {
			m.spend(f.args / valuesPerInstruction)
		}
	case lua.OP_EQ, lua.OP_LT, lua.OP_LE:
		m.spend(comparison(o.value(in.b()), o.value(in.c())))
	case lua.OP_GETTABLE, lua.OP_GETTABLEKS:
		m.spend(textSteps(o.value(in.c())))
	case lua.OP_SETTABLEKS:
		m.spend(textSteps(o.value(in.b())))
	case lua.OP_SETTABLE:
		m.spend(textSteps(o.value(in.b())))
		m.store(o, in)
	}
}

// weighStore is weigh where instructions are not counted: it asks for what a table grows by.
func (m *meter) weighStore() {
	L := m.global.CurrentThread
	if L == nil || !frameKnown {
		return
	}
	f := currentFrame(L)
	if f == nil || f.fn == nil || f.fn.IsG || f.pc < 1 {
		return
	}
	in := instruction(f.fn.Proto.Code[f.pc-1])
	if in.op() != lua.OP_SETTABLE {
		return
	}
	m.store(operands{f, valuesOf(L)}, in)
}

// store asks for what a table grows by.
func (m *meter) store(o operands, in instruction) {
	value := o.value(in.b())
	key, ok := value.(lua.LNumber)
	if !ok || key <= smallGrowth {
		if value == lua.LNil {
			m.refuseKey(o.register(in.a()), "nil")
		}
		return
	}
	if math.IsNaN(float64(key)) {
		m.refuseKey(o.register(in.a()), "NaN")
		return
	}
	t, ok := o.register(in.a()).(*lua.LTable)
	if !ok {
		return
	}
	steps, bytes := growth(receiver(t, key), key)
	if m.counting {
		m.spend(steps)
	}
	if bytes > 0 && !m.room(bytes) {
		raiseBare(m.global.CurrentThread, outOfMemory)
	}
}

// refuseKey raises the error of a store into v with a key that no table can have, where a table gets it, also one that
// has a handler: the machine would call that.
func (m *meter) refuseKey(v lua.LValue, key string) {
	L := m.global.CurrentThread
	for range lua.MaxTableGetLoop {
		if v == nil {
			return
		}
		if v.Type() == lua.LTTable {
			L.RaiseError("table index is %s", key)
		}
		v = metaField(L, v, "__newindex")
		if v.Type() == lua.LTNil || v.Type() == lua.LTFunction { // there is none, or it gets the key
			return
		}
	}
}

// comparison is how many steps it takes to compare two values.
func comparison(a, b lua.LValue) int {
	if s, ok := a.(lua.LString); ok && len(s) >= bytesPerInstruction {
		if t, ok := b.(lua.LString); ok {
			return min(len(s), len(t)) / bytesPerInstruction
		}
	}
	return 0
}

// textSteps is how many steps it takes to read a value as a key, or as a text.
func textSteps(v lua.LValue) int {
	if s, ok := v.(lua.LString); ok {
		return len(s) / bytesPerInstruction
	}
	return 0
}

// receiver is the table that a store into t goes to.
func receiver(t *lua.LTable, key lua.LValue) *lua.LTable {
	for range lua.MaxTableGetLoop {
		meta, ok := t.Metatable.(*lua.LTable)
		if !ok {
			return t
		}
		next, ok := meta.RawGetString("__newindex").(*lua.LTable)
		if !ok || t.RawGet(key) != lua.LNil {
			return t
		}
		t = next
	}
	return t
}

const (
	valueBytes  = 16   // of a value in an array
	smallGrowth = 4096 // items that an array may grow by without asking
)

// growth is what it takes to make the array of t so long that it holds key: steps, and bytes that are taken at once; 0
// where that is little.
func growth(t *lua.LTable, key lua.LValue) (steps, bytes int) {
	i, ok := isArrayKey(key)
	if !ok || !tableKnown || i <= smallGrowth {
		return 0, 0
	}
	array := arrayOf(t)
	if i > cap(array) {
		bytes = (i + i/4) * valueBytes // arrays of that size grow by a quarter
	}
	return max(i-len(array), 0) / valuesPerInstruction, bytes
}

// roomForItem asks for what t grows by when key is set.
func roomForItem(L *lua.LState, t *lua.LTable, key lua.LValue) {
	steps, bytes := growth(t, key)
	if steps > 0 {
		charge(L, steps)
	}
	if bytes > 0 {
		room(L, bytes)
	}
}
