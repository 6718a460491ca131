package lua51

import (
	lua "github.com/yuin/gopher-lua"
)

// Limits are told what a machine takes. When a limit is exceeded they end the context of the machine, and from then
// on no instruction runs. Several machines may share one; methods are called from any goroutine.
type Limits interface {
	// Ran counts n instructions; it is called every Slice, and from inside of library functions that take long.
	Ran(n int)
	// Room is asked before n bytes are taken at once.
	Room(n int)
}

// SetLimits has the machine tell x what it takes.
func (t *Threads) SetLimits(x Limits) { t.meter.limits = x }

// bytesPerInstruction is how many bytes a library function copies in the time of an instruction, about.
const bytesPerInstruction = 64

// limitsOf is the meter of the machine of L where that has limits, or nil.
func limitsOf(L *lua.LState) *meter {
	var m *meter
	switch ctx := L.Context().(type) {
	case *vmContext:
		m = ctx.meter
	case *boundedContext:
		m = ctx.meter
	}
	if m == nil || m.limits == nil {
		return nil
	}
	return m
}

// room asks for n bytes that a library function is about to take.
func room(L *lua.LState, n int) {
	if m := limitsOf(L); m != nil {
		m.left -= n / bytesPerInstruction
		m.limits.Room(n)
		interrupted(L)
	}
}

// Room asks for n bytes on behalf of a function of the host, which raises the error of the context where there is no
// room.
func Room(L *lua.LState, n int) { room(L, n) }

// Charge counts n steps of a function of the host as instructions, and raises the error of the context when that has
// ended.
func Charge(L *lua.LState, n int) { charge(L, n) }

// charge counts n steps of a library function that takes long as instructions, and ends it when the context has
// ended.
func charge(L *lua.LState, n int) {
	if m := limitsOf(L); m != nil {
		if m.left -= n; m.left < -overrun {
			m.count()
		}
	}
	interrupted(L)
}
