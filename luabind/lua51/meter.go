package lua51

import (
	lua "github.com/yuin/gopher-lua"
)

// Slice is how many instructions a machine runs between two calls of the function of OnSlice: about half a
// millisecond. Instructions are counted instead of time, so that every run is the same.
const Slice = 10_000

// overrun is how many more instructions may pass before a place is found where a turn can end.
const overrun = 10 * Slice

// meter counts the instructions of a machine down.
type meter struct {
	left    int
	global  *lua.Global
	threads *Threads // of the machine
	slice   func()
	limits  Limits // nil: none
	step    func() // called before each instruction; nil: nothing to do
}

// used is called for each instruction once the slice is used up: before one that begins another round of
// a loop, or a call, the turn can end. So a statement without calls is never divided.
func (m *meter) used() {
	if m.slice == nil {
		m.count()
		return
	}
	if m.left > -overrun && !m.between() {
		return
	}
	m.count()
	m.slice()
}

// count begins another slice, and tells the limits what the last one was.
func (m *meter) count() {
	ran := Slice - m.left
	m.left = Slice
	if m.limits != nil {
		m.limits.Ran(ran)
	}
}

// valuesPerInstruction is how many values of `...` are passed on in the time of an instruction, about.
const valuesPerInstruction = 8

// weigh counts the instruction that comes now by what it does, where that may be much: `...` may stand for a million
// values. Other instructions that move many have them from this one, or from a function, which counts them itself.
func (m *meter) weigh() {
	L := m.global.CurrentThread
	if L == nil || !frameKnown {
		return
	}
	f := currentFrame(L)
	if f == nil || f.args < valuesPerInstruction || f.fn == nil || f.fn.IsG || f.pc < 1 || f.pc > len(f.fn.Proto.Code) {
		return
	}
	if in := instruction(f.fn.Proto.Code[f.pc-1]); in.op() == lua.OP_VARARG && in.b() == 0 {
		m.left -= f.args / valuesPerInstruction
	}
}

// between reports whether the instruction that comes now is a jump or a call.
func (m *meter) between() bool {
	L := m.global.CurrentThread
	if L == nil || !frameKnown {
		return true
	}
	f := currentFrame(L)
	if f == nil || f.fn == nil || f.fn.IsG || f.pc < 1 || f.pc > len(f.fn.Proto.Code) {
		return false
	}
	switch instruction(f.fn.Proto.Code[f.pc-1]).op() {
	case lua.OP_FORLOOP, lua.OP_TFORLOOP, lua.OP_JMP, lua.OP_CALL, lua.OP_TAILCALL:
		return true
	}
	return false
}

// Spend counts n instructions more, for a call that takes as long.
func (t *Threads) Spend(n int) { t.meter.left -= n }

// OnSlice has fn called every Slice instructions, between two of them, on the goroutine that runs the
// machine. fn may let other tasks run.
func (t *Threads) OnSlice(fn func()) { t.meter.slice = fn }
