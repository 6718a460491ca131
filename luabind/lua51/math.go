package lua51

import (
	"math"

	lua "github.com/yuin/gopher-lua"
)

var mathRows = map[string]lua.LGFunction{
	"abs":   mathAbs,
	"acos":  unary(math.Acos, plainNaN),
	"asin":  unary(math.Asin, plainNaN),
	"atan":  unary(math.Atan, plainNaN),
	"atan2": binary(math.Atan2),
	"ceil":  unary(math.Ceil, plainNaN),
	"cos":   unary(math.Cos, minusNaN),
	"cosh":  unary(math.Cosh, plainNaN),
	"deg":   unary(func(x float64) float64 { return x / (math.Pi / 180) }, plainNaN),
	"exp":   unary(math.Exp, plainNaN),
	"floor": unary(math.Floor, plainNaN),
	"fmod":  binary(math.Mod),
	"frexp": mathFrexp,
	"ldexp": mathLdexp,
	"log":   unary(math.Log, minusNaN),
	"log10": unary(log10, plainNaN),
	"max":   mathMax,
	"min":   mathMin,
	"modf":  mathModf,
	"pow":   binary(Pow),
	"rad":   unary(func(x float64) float64 { return x * (math.Pi / 180) }, plainNaN),
	"sin":   unary(math.Sin, minusNaN),
	"sinh":  unary(math.Sinh, plainNaN),
	"sqrt":  unary(math.Sqrt, minusNaN),
	"tan":   unary(math.Tan, minusNaN),
	"tanh":  unary(math.Tanh, plainNaN),
}

// OpenMath replaces the functions of the library math. Each virtual machine has random numbers of
// its own, which begin alike.
func OpenMath(L *lua.LState) {
	t := setRows(L, lua.MathLibName, mathRows)
	t.RawSetString("mod", t.RawGetString("fmod"))
	t.RawSetString("huge", lua.LNumber(math.Inf(1)))
	source := newRandom(1)
	t.RawSetString("random", L.NewFunction(func(L *lua.LState) int { return mathRandom(L, source) }))
	t.RawSetString("randomseed", L.NewFunction(func(L *lua.LState) int {
		*source = *newRandom(uint32(checkInt(L, 1)))
		return 0
	}))
}

// The NaN of an operation without a result has a sign, and scripts see it when they print it.
var (
	plainNaN = math.Copysign(math.NaN(), 1)
	minusNaN = math.Copysign(math.NaN(), -1)
)

// unary makes a function of one number. invalid is its result where it has none; a NaN passes
// through.
func unary(f func(float64) float64, invalid float64) lua.LGFunction {
	return func(L *lua.LState) int {
		x := checkNumber(L, 1)
		y := f(x)
		if y != y && x == x {
			y = invalid
		} else if y != y {
			y = x
		}
		L.Push(lua.LNumber(y))
		return 1
	}
}

// binary makes a function of two numbers. As in PUC Lua, the second is looked at first, so an error
// names it first.
func binary(f func(a, b float64) float64) lua.LGFunction {
	return func(L *lua.LState) int {
		b := checkNumber(L, 2)
		a := checkNumber(L, 1)
		y := f(a, b)
		switch {
		case y == y:
		case a != a:
			y = a
		case b != b:
			y = b
		default:
			y = minusNaN
		}
		L.Push(lua.LNumber(y))
		return 1
	}
}

// log10 is exact for powers of ten.
func log10(x float64) float64 {
	y := math.Log10(x)
	if n := math.Round(y); math.Abs(y-n) < 1e-9 && math.Pow10(int(n)) == x {
		return n
	}
	return y
}

func mathAbs(L *lua.LState) int {
	L.Push(lua.LNumber(math.Copysign(checkNumber(L, 1), 1)))
	return 1
}

func mathFrexp(L *lua.LState) int {
	m, e := math.Frexp(checkNumber(L, 1))
	L.Push(lua.LNumber(m))
	L.Push(lua.LNumber(e))
	return 2
}

func mathLdexp(L *lua.LState) int {
	e := checkInt(L, 2) // first, as in binary
	L.Push(lua.LNumber(math.Ldexp(checkNumber(L, 1), e)))
	return 1
}

func mathModf(L *lua.LState) int {
	x := checkNumber(L, 1)
	whole, rest := math.Modf(x)
	switch {
	case math.IsInf(x, 0):
		rest = math.Copysign(0, x)
	case x != x:
		whole, rest = x, x
	}
	L.Push(lua.LNumber(whole))
	L.Push(lua.LNumber(rest))
	return 2
}

func mathMax(L *lua.LState) int {
	return choose(L, func(a, b float64) bool { return a > b })
}

func mathMin(L *lua.LState) int {
	return choose(L, func(a, b float64) bool { return a < b })
}

// choose returns the argument that is better than all before it.
func choose(L *lua.LState, better func(a, b float64) bool) int {
	best := checkNumber(L, 1)
	for i := 2; i <= L.GetTop(); i++ {
		if x := checkNumber(L, i); better(x, best) {
			best = x
		}
	}
	L.Push(lua.LNumber(best))
	return 1
}
