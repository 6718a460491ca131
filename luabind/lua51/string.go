package lua51

import (
	"strings"

	lua "github.com/yuin/gopher-lua"
)

var stringRows = map[string]lua.LGFunction{
	"byte":    stringByte,
	"char":    stringChar,
	"dump":    stringDump,
	"find":    stringFind,
	"format":  stringFormat,
	"gmatch":  stringGmatch,
	"gsub":    stringGsub,
	"len":     stringLen,
	"lower":   stringLower,
	"match":   stringMatch,
	"rep":     stringRep,
	"reverse": stringReverse,
	"sub":     stringSub,
	"upper":   stringUpper,
}

// OpenString replaces the functions of the library string. Strings get a metatable of their own,
// whose __index is the library.
func OpenString(L *lua.LState) {
	t := setRows(L, lua.StringLibName, stringRows)
	t.RawSetString("__index", lua.LNil)
	t.RawSetString("gfind", t.RawGetString("gmatch"))
	shareStringMetatable(L, t)
}

// position makes an index that may count from the end count from the start. The result is 0 for one
// before the start.
func position(i int64, length int) int {
	if i < 0 {
		i += int64(length) + 1
	}
	return int(max(i, 0))
}

func stringByte(L *lua.LState) int {
	s := checkString(L, 1)
	from := position(optInteger(L, 2, 1), len(s))
	to := min(position(optInteger(L, 3, int64(from)), len(s)), len(s))
	from = max(from, 1)
	if from > to {
		return 0
	}
	if L.GetTop()+to-from+1 > maxPushed {
		raise(L, "stack overflow (string slice too long)")
	}
	charge(L, (to-from)/valuesPerInstruction)
	for _, c := range []byte(s[from-1 : to]) {
		L.Push(lua.LNumber(c))
	}
	return to - from + 1
}

func stringChar(L *lua.LState) int {
	out := make([]byte, L.GetTop())
	charge(L, len(out)/valuesPerInstruction)
	for i := range out {
		c := checkInt(L, i+1)
		if c != int(byte(c)) {
			argError(L, i+1, "invalid value")
		}
		out[i] = byte(c)
	}
	L.Push(lua.LString(out))
	return 1
}

// stringDump fails: there are no precompiled chunks.
func stringDump(L *lua.LState) int {
	checkFunction(L, 1)
	raise(L, "unable to dump given function")
	return 0
}

func stringLen(L *lua.LState) int {
	L.Push(lua.LNumber(len(checkString(L, 1))))
	return 1
}

func stringLower(L *lua.LState) int { return mapBytes(L, isUpper) }

func stringUpper(L *lua.LState) int { return mapBytes(L, isLower) }

// mapBytes changes the case of the letters of one case.
func mapBytes(L *lua.LState, change func(byte) bool) int {
	s := checkString(L, 1)
	room(L, 2*len(s))
	out := []byte(s)
	for i, c := range out {
		if change(c) {
			out[i] = c ^ 0x20
		}
	}
	L.Push(lua.LString(out))
	return 1
}

func stringRep(L *lua.LState) int {
	s := checkString(L, 1)
	n := max(checkInt(L, 2), 0)
	if len(s) > 0 && n > maxResult/len(s) {
		checkResult(L, maxResult+1)
	}
	if len(s) == 0 {
		n = 0
	}
	interrupted(L)
	room(L, n*len(s))
	L.Push(lua.LString(strings.Repeat(s, n)))
	return 1
}

func stringReverse(L *lua.LState) int {
	s := checkString(L, 1)
	room(L, 2*len(s))
	out := make([]byte, len(s))
	for i := range out {
		out[i] = s[len(s)-1-i]
	}
	L.Push(lua.LString(out))
	return 1
}

func stringSub(L *lua.LState) int {
	s := checkString(L, 1)
	from := max(position(checkInteger(L, 2), len(s)), 1)
	to := min(position(optInteger(L, 3, -1), len(s)), len(s))
	if from > to {
		L.Push(lua.LString(""))
	} else {
		L.Push(lua.LString(s[from-1 : to]))
	}
	return 1
}
