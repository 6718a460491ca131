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
	left     int
	global   *lua.Global
	threads  *Threads // of the machine
	slice    func()
	limits   Limits // nil: none
	counting bool   // limits are told of instructions
	spent    int    // of this slice, by what was counted besides instructions
	ran      int64  // instructions of the slices before
	counted  int64  // the same, and what was counted besides them
	asked    int    // bytes that limits granted, and that may not be taken yet
	step     func() // called before each instruction; nil: nothing to do
}

// room asks for n bytes; what was asked for before is taken.
func (m *meter) room(n int) bool {
	before := m.asked
	m.asked = 0
	if !m.limits.Room(before, n) {
		return false
	}
	m.asked = n
	return true
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
	m.ran += int64(ran - m.spent)
	m.counted += int64(ran)
	m.left, m.spent = Slice, 0
	if m.counting {
		m.limits.Ran(ran)
	}
}

// spend counts n instructions more than are run.
func (m *meter) spend(n int) {
	m.left -= n
	m.spent += n
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

// Spent is how many instructions the machine has run, and what Spend and limits count besides.
func (t *Threads) Spent() int64 { return t.meter.counted + int64(Slice-t.meter.left) }

// inHidden reports whether the instruction that comes now is of no script: of a function of this package that is written in Lua.
func (m *meter) inHidden() bool {
	L := m.global.CurrentThread
	if L == nil {
		return true
	}
	f := currentFrame(L)
	return f != nil && f.fn != nil && !f.fn.IsG && f.fn.Proto.SourceName == HiddenChunk
}

// Spend counts n instructions more, for a call that takes as long.
func (t *Threads) Spend(n int) { t.meter.spend(n) }

// Ran is how many instructions the machine has run. What Spend and limits count is not among them, so that it is the
// same with limits as without.
func (t *Threads) Ran() int64 {
	m := t.meter
	return m.ran + int64(Slice-m.left-m.spent)
}

// OnSlice has fn called every Slice instructions, between two of them, on the goroutine that runs the
// machine. fn may let other tasks run.
func (t *Threads) OnSlice(fn func()) { t.meter.slice = fn }
