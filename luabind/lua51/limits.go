package lua51

import (
	lua "github.com/yuin/gopher-lua"
)

// Limits are told what a machine takes. Several machines may share one; methods are called from any goroutine. When
// one that is exceeded is to end the machine, they end its context, and from then on no instruction runs.
type Limits interface {
	// Ran counts n instructions; it is called every Slice, and from inside of library functions that take long.
	Ran(n int)
	// Room is asked before n bytes are taken at once; the last ones that the machine asked for, before, are taken by now.
	// False refuses them with an error that the script can catch.
	Room(before, n int) bool
}

// SetLimits has the machine tell x what it takes. Without counting x is asked for much memory only: instructions are
// not counted, and small pieces are not asked for.
func (t *Threads) SetLimits(x Limits, counting bool) {
	t.meter.limits, t.meter.counting = x, counting
}

// bytesPerInstruction is how many bytes a library function copies in the time of an instruction, about.
const bytesPerInstruction = 64

// muchMemory is what is asked for where instructions are not counted.
const muchMemory = 64 << 10

// outOfMemory is PUC Lua's text.
const outOfMemory = "not enough memory"

// meterOf is the meter of the machine of L, or nil.
func meterOf(L *lua.LState) *meter {
	switch ctx := L.Context().(type) {
	case *vmContext:
		return ctx.meter
	case *boundedContext:
		return ctx.meter
	}
	return nil
}

// room asks for n bytes that a library function is about to take, and write.
func room(L *lua.LState, n int) {
	m := meterOf(L)
	if m == nil || m.limits == nil || n < muchMemory && !m.counting {
		return
	}
	if m.counting {
		m.spend(n / bytesPerInstruction)
	}
	granted := m.room(n)
	interrupted(L)
	if !granted {
		raiseBare(L, outOfMemory)
	}
}

// Room asks for n bytes on behalf of a function of the host, which raises the error of the context where there is no
// room.
func Room(L *lua.LState, n int) { room(L, n) }

// Charge counts n steps of a function of the host as instructions. Where they are many it raises the error of the
// context when that has ended.
func Charge(L *lua.LState, n int) { charge(L, n) }

// ChargeBytes counts the reading or writing of n bytes.
func ChargeBytes(L *lua.LState, n int64) { charge(L, int(n/bytesPerInstruction)) }

// charge counts n steps of a library function as instructions. Where they are many it ends the function when the
// context has ended: loops call it every loopSteps.
func charge(L *lua.LState, n int) {
	if m := meterOf(L); m != nil && m.counting {
		if m.spend(n); m.left < -overrun {
			m.count()
		}
	}
	if n >= loopSteps {
		interrupted(L)
	}
}

// chargeBytes counts the reading or writing of n bytes.
func chargeBytes(L *lua.LState, n int) { charge(L, n/bytesPerInstruction) }
