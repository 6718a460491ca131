package lua51

import (
	"io"
	"math"
	"runtime"

	lua "github.com/yuin/gopher-lua"
)

var baseRows = map[string]lua.LGFunction{
	"assert":         baseAssert,
	"collectgarbage": baseCollectgarbage,
	"error":          baseError,
	"gcinfo":         baseGcinfo,
	"getfenv":        baseGetfenv,
	"getmetatable":   baseGetmetatable,
	"newproxy":       baseNewproxy,
	"rawequal":       baseRawequal,
	"rawget":         baseRawget,
	"rawset":         baseRawset,
	"select":         baseSelect,
	"setfenv":        baseSetfenv,
	"setmetatable":   baseSetmetatable,
	"tonumber":       baseTonumber,
	"type":           baseType,
	"unpack":         baseUnpack,
}

// OpenBase replaces basic functions; print writes to stdout. suggest, where not nil, helps with names
// that a table lacks. The functions that PUC Lua does not
// have are removed.
func OpenBase(L *lua.LState, stdout io.Writer, suggest Suggester) {
	globals := setRows(L, "_G", baseRows)
	setRows(L, "debug", debugRows)
	openMetatables(L, suggest)
	pairsNext := L.NewFunction(baseNext) // not the one that scripts call by its name
	ipairsNext := L.NewFunction(ipairsStep)
	text := L.NewFunction(baseTostring)
	for name, fn := range map[string]*lua.LFunction{
		"ipairs":   L.NewFunction(func(L *lua.LState) int { return iterate(L, ipairsNext, lua.LNumber(0)) }),
		"next":     L.NewFunction(baseNext),
		"pairs":    L.NewFunction(func(L *lua.LState) int { return iterate(L, pairsNext, lua.LNil) }),
		"print":    L.NewFunction(func(L *lua.LState) int { return basePrint(L, stdout, text) }),
		"tostring": text,
	} {
		globals.RawSetString(name, fn)
	}
	for _, name := range []string{"_printregs", "_GOPHER_LUA_VERSION", "channel"} {
		globals.RawSetString(name, lua.LNil)
	}
	if pkg, ok := globals.RawGetString("package").(*lua.LTable); ok {
		if loaded, ok := pkg.RawGetString("loaded").(*lua.LTable); ok {
			loaded.RawSetString("channel", lua.LNil) // whose waits nothing ends
		}
	}
}

func baseAssert(L *lua.LState) int {
	if !lua.LVAsBool(checkAny(L, 1)) {
		raise(L, "%s", cString(optString(L, 2, "assertion failed!")))
	}
	return L.GetTop()
}

// collectModes are what collectgarbage can be asked for, and its results other than for count.
var collectModes = map[string]lua.LValue{
	"collect":    lua.LNumber(0),
	"count":      nil,
	"restart":    lua.LNumber(0),
	"setpause":   lua.LNumber(200),
	"setstepmul": lua.LNumber(200),
	"step":       lua.LTrue,
	"stop":       lua.LNumber(0),
}

// numeralSteps is how much longer reading a number takes than copying its text.
const numeralSteps = 16

// collectSteps is what a collection counts as under limits.
const collectSteps = 100_000

// countSteps is what counting the memory counts as.
const countSteps = 1000

// baseCollectgarbage collects on "collect" and "step", and counts the memory of the whole process;
// there is no collector of a script's own to be set.
func baseCollectgarbage(L *lua.LState) int {
	mode := optString(L, 1, "collect")
	result, ok := collectModes[mode]
	if !ok {
		argError(L, 1, "invalid option '"+cString(mode)+"'")
	}
	optInt(L, 2, 0)
	switch mode {
	case "collect", "step":
		charge(L, collectSteps)
		runtime.GC()
	case "count":
		charge(L, countSteps)
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		result = lua.LNumber(float64(m.HeapAlloc) / 1024)
	}
	L.Push(result)
	return 1
}

func baseError(L *lua.LState) int {
	level := optInt(L, 2, 1)
	v := L.Get(1)
	if s, ok := toText(v); ok && level > 0 {
		v = lua.LString(where(L, level) + s)
	}
	L.Error(v, 0)
	return 0
}

func baseGetmetatable(L *lua.LState) int {
	v := checkAny(L, 1)
	if hidden := metaField(L, v, "__metatable"); hidden != lua.LNil {
		L.Push(hidden)
	} else {
		L.Push(seenMetatable(L, v))
	}
	return 1
}

func baseSetmetatable(L *lua.LState) int {
	t := checkTable(L, 1)
	mt := L.Get(2)
	if L.GetTop() < 2 || mt != lua.LNil && mt.Type() != lua.LTTable {
		argError(L, 2, "nil or table expected")
	}
	if metaField(L, t, "__metatable") != lua.LNil {
		raise(L, "cannot change a protected metatable")
	}
	setMetatable(L, t, mt)
	L.Push(t)
	return 1
}

// iterate returns the three values that a generic for loop over a table starts from.
func iterate(L *lua.LState, step *lua.LFunction, first lua.LValue) int {
	t := checkTable(L, 1)
	L.Push(step)
	L.Push(t)
	L.Push(first)
	return 3
}

func ipairsStep(L *lua.LState) int {
	i := checkInt(L, 2) + 1
	v := Item(checkTable(L, 1), i)
	if v == lua.LNil {
		return 0
	}
	L.Push(lua.LNumber(i))
	L.Push(v)
	return 2
}

func baseNext(L *lua.LState) int {
	t := checkTable(L, 1)
	k, v, ok := next(t, L.Get(2))
	if !ok {
		raiseBare(L, "invalid key to 'next'")
	}
	chargeNext(L, t, L.Get(2), k)
	L.Push(k)
	if k == lua.LNil {
		return 1
	}
	L.Push(plain(v))
	return 2
}

func baseRawequal(L *lua.LState) int {
	a, b := checkAny(L, 1), checkAny(L, 2)
	charge(L, comparison(a, b))
	L.Push(lua.LBool(L.RawEqual(a, b)))
	return 1
}

func baseRawget(L *lua.LState) int {
	t, k := checkTable(L, 1), checkAny(L, 2)
	charge(L, textSteps(k))
	L.Push(plain(t.RawGet(k)))
	return 1
}

func baseRawset(L *lua.LState) int {
	t := checkTable(L, 1)
	k, v := checkAny(L, 2), checkAny(L, 3)
	if n, ok := k.(lua.LNumber); ok && math.IsNaN(float64(n)) {
		raiseBare(L, "table index is NaN")
	}
	if k == lua.LNil {
		raiseBare(L, "table index is nil")
	}
	if s, ok := k.(lua.LString); ok && isMachineEvent[string(s)] {
		v = asHandler(L, v)
	}
	charge(L, textSteps(k))
	roomForItem(L, t, k)
	t.RawSet(k, v)
	L.Push(t)
	return 1
}

func baseSelect(L *lua.LState) int {
	n := L.GetTop()
	if s, ok := L.Get(1).(lua.LString); ok && s != "" && s[0] == '#' {
		L.Push(lua.LNumber(n - 1))
		return 1
	}
	i := checkInt(L, 1)
	if i < 0 {
		i += n
	}
	i = min(i, n)
	if i < 1 {
		argError(L, 1, "index out of range")
	}
	return n - i
}

func baseTonumber(L *lua.LState) int {
	charge(L, textSteps(L.Get(1))*numeralSteps)
	var f float64
	var ok bool
	if base := optInt(L, 2, 10); base == 10 {
		f, ok = toNumber(checkAny(L, 1))
	} else {
		s := checkString(L, 1)
		if base < 2 || base > 36 {
			argError(L, 2, "base out of range")
		}
		f, ok = parseBased(s, base)
	}
	if ok {
		L.Push(lua.LNumber(f))
	} else {
		L.Push(lua.LNil)
	}
	return 1
}

// debugRows are the functions of debug that reach metatables past __metatable.
var debugRows = map[string]lua.LGFunction{
	"getmetatable": debugGetmetatable,
	"setmetatable": debugSetmetatable,
}

func debugGetmetatable(L *lua.LState) int {
	L.Push(seenMetatable(L, checkAny(L, 1)))
	return 1
}

func debugSetmetatable(L *lua.LState) int {
	mt := L.Get(2)
	if L.GetTop() < 2 || mt != lua.LNil && mt.Type() != lua.LTTable {
		argError(L, 2, "nil or table expected")
	}
	setMetatable(L, L.Get(1), mt)
	L.Push(lua.LTrue)
	return 1
}

func baseType(L *lua.LState) int {
	L.Push(lua.LString(checkAny(L, 1).Type().String()))
	return 1
}

// proxy is the value of what newproxy makes.
type proxy struct{}

// baseNewproxy makes a userdata: newproxy(true) one with a metatable of its own, newproxy(p) one with that of p.
func baseNewproxy(L *lua.LState) int {
	ud := L.NewUserData()
	ud.Value = proxy{}
	switch v := L.Get(1).(type) {
	case *lua.LNilType:
	case lua.LBool:
		if v {
			ud.Metatable = L.NewTable()
		}
	default:
		other, ok := v.(*lua.LUserData)
		if ok {
			_, ok = other.Value.(proxy)
		}
		if !ok || other.Metatable == lua.LNil {
			argError(L, 1, "boolean or proxy expected")
		}
		ud.Metatable = other.Metatable
	}
	L.Push(ud)
	return 1
}

// baseGcinfo is gcinfo, the way of Lua 5.0 to ask for the memory in use.
func baseGcinfo(L *lua.LState) int {
	charge(L, countSteps)
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	L.Push(lua.LNumber(m.HeapAlloc / 1024))
	return 1
}
