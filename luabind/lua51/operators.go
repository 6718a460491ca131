package lua51

import (
	"math"

	lua "github.com/yuin/gopher-lua"
)

// length is the operator #.
func length(L *lua.LState) int {
	switch v := L.Get(1).(type) {
	case *lua.LTable:
		L.Push(lua.LNumber(border(L, v)))
	case lua.LString:
		L.Push(lua.LNumber(len(v)))
	default:
		handler := metaField(L, v, "__len")
		if handler == lua.LNil {
			raise(L, "attempt to get length of %s", blameArgument(L, 1))
		}
		L.Push(call(L, handler, v, lua.LNil))
	}
	return 1
}

// power is the operator ^.
func power(L *lua.LState) int { return arithmetic(L, "__pow", Pow) }

// mod is the operator %. PUC Lua defines it by its rounded quotient, so that for large numbers it is
// no exact remainder.
func mod(L *lua.LState) int { return arithmetic(L, "__mod", modulo) }

func modulo(a, b float64) float64 {
	whole := math.Floor(a/b) * b // a product of its own: no fused multiply-add
	return a - float64(whole)
}

// binaryHandler is the metamethod for an operator on a and b: that of a goes first.
func binaryHandler(L *lua.LState, a, b lua.LValue, event string) lua.LValue {
	if handler := metaField(L, a, event); handler != lua.LNil {
		return handler
	}
	return metaField(L, b, event)
}

// arithmetic computes an operator on numbers and strings that read as numbers, or calls its
// metamethod.
func arithmetic(L *lua.LState, event string, compute func(a, b float64) float64) int {
	return operate(L, event, L.Get(1), L.Get(2), compute)
}

// negate is the operator - of one operand, which its metamethod gets twice.
func negate(L *lua.LState) int {
	v := L.Get(1)
	return operate(L, "__unm", v, v, func(a, _ float64) float64 { return -a })
}

func operate(L *lua.LState, event string, a, b lua.LValue, compute func(a, b float64) float64) int {
	if steps := textSteps(a) + textSteps(b); steps > 0 {
		charge(L, numeralSteps*steps)
	}
	x, ok1 := toNumber(a)
	y, ok2 := toNumber(b)
	if ok1 && ok2 {
		L.Push(lua.LNumber(compute(x, y)))
		return 1
	}
	handler := binaryHandler(L, a, b, event)
	if handler == lua.LNil {
		if ok1 {
			return cannotCompute(L, 2)
		}
		return cannotCompute(L, 1)
	}
	L.Push(call(L, handler, a, b))
	return 1
}
