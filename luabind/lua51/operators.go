package lua51

import (
	"math"

	lua "github.com/yuin/gopher-lua"
)

// length is the operator #.
func length(L *lua.LState) int {
	switch v := L.Get(1).(type) {
	case *lua.LTable:
		L.Push(lua.LNumber(Length(v)))
	case lua.LString:
		L.Push(lua.LNumber(len(v)))
	default:
		meta := L.GetMetaField(v, "__len")
		if meta == lua.LNil {
			raise(L, "attempt to get length of %s", blameArgument(L, 1))
		}
		L.Push(meta)
		L.Push(v)
		L.Call(1, 1)
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
	if handler := L.GetMetaField(a, event); handler != lua.LNil {
		return handler
	}
	return L.GetMetaField(b, event)
}

// arithmetic computes an operator on numbers and strings that read as numbers, or calls its
// metamethod.
func arithmetic(L *lua.LState, event string, compute func(a, b float64) float64) int {
	a, b := L.Get(1), L.Get(2)
	x, ok1 := toNumber(a)
	y, ok2 := toNumber(b)
	if ok1 && ok2 {
		L.Push(lua.LNumber(compute(x, y)))
		return 1
	}
	meta := binaryHandler(L, a, b, event)
	if meta == lua.LNil {
		bad := 1
		if ok1 {
			bad = 2
		}
		raise(L, "attempt to perform arithmetic on %s", blameArgument(L, bad))
	}
	L.Push(meta)
	L.Push(a)
	L.Push(b)
	L.Call(2, 1)
	return 1
}
