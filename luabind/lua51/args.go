package lua51

import (
	"fmt"
	"math"
	"reflect"
	"strconv"

	lua "github.com/yuin/gopher-lua"
)

// maxResult is the length of the longest string that a library function makes. Tests lower it.
var maxResult = 1 << 30

// maxPushed is how many values the stack of a library function holds, arguments included.
const maxPushed = 8000

// where is the "chunk:line: " of the function at level: 1 is the caller of the running library
// function. It is empty for functions that are not Lua's, and where a tail call took the place of
// the caller.
func where(L *lua.LState, level int) string {
	if !frameKnown {
		return whereSlow(L, level)
	}
	l, ok := stackOf(L).at(level)
	if !ok || !l.isLua() {
		return ""
	}
	return l.fn.Proto.SourceName + ":" + strconv.Itoa(l.line()) + ": "
}

// whereSlow does the same through the library's debug interface, which does not know tail calls well.
func whereSlow(L *lua.LState, level int) string {
	dbg, ok := L.GetStack(level)
	if !ok {
		return ""
	}
	if _, err := L.GetInfo("Sl", dbg, lua.LNil); err != nil || dbg.Source == "" || dbg.Source == HiddenChunk {
		return ""
	}
	return dbg.Source + ":" + strconv.Itoa(dbg.CurrentLine) + ": "
}

// Raise raises an error of the function that runs on L, with the place of its caller in front, as
// every function of the libraries does.
func Raise(L *lua.LState, format string, args ...any) { raise(L, format, args...) }

// raise throws an error with the position of the caller in front.
func raise(L *lua.LState, format string, args ...any) {
	raiseBare(L, where(L, 1)+fmt.Sprintf(format, args...))
}

// raiseBare throws an error without a position, as the virtual machine does on behalf of a library
// function.
func raiseBare(L *lua.LState, message string) {
	L.Error(lua.LString(message), 0)
}

// argError refuses argument n. In a method call the object is not counted.
func argError(L *lua.LState, n int, problem string) {
	name, method := callName(L)
	if method {
		n--
		if n == 0 {
			raise(L, "calling '%s' on bad self (%s)", name, problem)
		}
	}
	raise(L, "bad argument #%d to '%s' (%s)", n, name, problem)
}

func typeError(L *lua.LState, n int, want string) {
	argError(L, n, want+" expected, got "+typeName(L, n))
}

// typeName is the type of argument n, "no value" where it was not passed.
func typeName(L *lua.LState, n int) string {
	if n > L.GetTop() {
		return "no value"
	}
	return L.Get(n).Type().String()
}

// interrupted ends a long computation when the context of L has ended.
func interrupted(L *lua.LState) {
	if ctx := L.Context(); ctx != nil {
		if err := ctx.Err(); err != nil {
			raise(L, "%s", err.Error())
		}
	}
}

// checkResult refuses to make a string of n bytes that is too long.
func checkResult(L *lua.LState, n int) {
	if n > maxResult {
		raise(L, "resulting string too large")
	}
}

func toNumber(v lua.LValue) (float64, bool) {
	switch v := v.(type) {
	case lua.LNumber:
		return float64(v), true
	case lua.LString:
		return ParseNumber(string(v))
	}
	return 0, false
}

func toText(v lua.LValue) (string, bool) {
	switch v := v.(type) {
	case lua.LString:
		return string(v), true
	case lua.LNumber:
		return NumberText(float64(v)), true
	}
	return "", false
}

func checkAny(L *lua.LState, n int) lua.LValue {
	if n > L.GetTop() {
		argError(L, n, "value expected")
	}
	return L.Get(n)
}

func checkNumber(L *lua.LState, n int) float64 {
	f, ok := toNumber(L.Get(n))
	if !ok {
		typeError(L, n, "number")
	}
	return f
}

// truncate converts as the processor of PUC Lua's usual platform does: what does not fit becomes
// the smallest integer.
func truncate(f float64) int64 {
	if f >= -1<<63 && f < 1<<63 {
		return int64(f)
	}
	return math.MinInt64
}

func checkInteger(L *lua.LState, n int) int64 { return truncate(checkNumber(L, n)) }

func optInteger(L *lua.LState, n int, absent int64) int64 {
	if L.Get(n) == lua.LNil {
		return absent
	}
	return checkInteger(L, n)
}

// checkInt reads an argument of the C type int: the low 32 bits count.
func checkInt(L *lua.LState, n int) int { return int(int32(checkInteger(L, n))) }

func optInt(L *lua.LState, n int, absent int) int {
	if L.Get(n) == lua.LNil {
		return absent
	}
	return checkInt(L, n)
}

func checkString(L *lua.LState, n int) string {
	s, ok := toText(L.Get(n))
	if !ok {
		typeError(L, n, "string")
	}
	return s
}

func optString(L *lua.LState, n int, absent string) string {
	if L.Get(n) == lua.LNil {
		return absent
	}
	return checkString(L, n)
}

func checkTable(L *lua.LState, n int) *lua.LTable {
	t, ok := L.Get(n).(*lua.LTable)
	if !ok {
		typeError(L, n, "table")
	}
	return t
}

func checkFunction(L *lua.LState, n int) *lua.LFunction {
	f, ok := L.Get(n).(*lua.LFunction)
	if !ok {
		typeError(L, n, "function")
	}
	return f
}

// checkCallable refuses what is no function and has no metamethod that calls it.
func checkCallable(L *lua.LState, v lua.LValue) {
	if v.Type() == lua.LTFunction || metaField(L, v, "__call").Type() == lua.LTFunction {
		return
	}
	place := ""
	if frameKnown && currentFrame(L).isOperator() {
		place = where(L, 1)
	}
	raiseBare(L, place+"attempt to call a "+v.Type().String()+" value")
}

// setRows puts functions into the global table of a library.
func setRows(L *lua.LState, library string, rows map[string]lua.LGFunction) *lua.LTable {
	t, ok := L.GetGlobal(library).(*lua.LTable)
	if !ok {
		panic("lua51: the library " + library + " is not open")
	}
	for name, fn := range rows {
		ownNames.Store(reflect.ValueOf(fn).Pointer(), name)
	}
	return L.SetFuncs(t, rows)
}
