package lua51

import (
	"strings"

	lua "github.com/yuin/gopher-lua"
)

// numberRoom is the length of the longest text of a number.
const numberRoom = 24

// Concat returns its arguments joined as a .. b .. c joins them: from the right, numbers as text,
// and by the metamethod __concat where an operand is neither.
func Concat(L *lua.LState) int {
	n := L.GetTop()
	acc := L.Get(n)
	for n > 1 {
		first := n
		for first > 1 && isText(L.Get(first-1)) {
			first--
		}
		if first < n && isText(acc) {
			acc = lua.LString(joinText(L, first, n-1, acc))
			n = first
			continue
		}
		acc = concatPair(L, n-1, acc)
		n--
	}
	L.Push(acc)
	return 1
}

func isText(v lua.LValue) bool {
	return v.Type() == lua.LTString || v.Type() == lua.LTNumber
}

// joinText joins arguments first to last, all of them strings or numbers, and then tail.
func joinText(L *lua.LState, first, last int, tail lua.LValue) string {
	a, ok := L.Get(first).(lua.LString)
	b, ok2 := tail.(lua.LString)
	if first == last && ok && ok2 {
		checkConcat(L, len(a)+len(b))
		return string(a + b)
	}
	size := textRoom(tail)
	for i := first; i <= last; i++ {
		size += textRoom(L.Get(i))
		checkConcat(L, size)
	}
	var out strings.Builder
	out.Grow(size)
	for i := first; i <= last; i++ {
		writeText(&out, L.Get(i))
	}
	writeText(&out, tail)
	return out.String()
}

func checkConcat(L *lua.LState, n int) {
	if n > maxResult {
		raise(L, "string length overflow")
	}
}

// textRoom is the length of the text of a string, or the most that the text of a number takes.
func textRoom(v lua.LValue) int {
	if s, ok := v.(lua.LString); ok {
		return len(s)
	}
	return numberRoom
}

func writeText(out *strings.Builder, v lua.LValue) {
	switch v := v.(type) {
	case lua.LString:
		out.WriteString(string(v))
	case lua.LNumber:
		var buf [numberRoom]byte
		out.Write(appendNumber(buf[:0], float64(v)))
	}
}

// concatPair joins argument i and b, which was joined from the arguments after it.
func concatPair(L *lua.LState, i int, b lua.LValue) lua.LValue {
	a := L.Get(i)
	handler := binaryHandler(L, a, b, "__concat")
	if handler == lua.LNil {
		if isText(a) {
			i++
		}
		raise(L, "attempt to concatenate %s", blameArgument(L, i))
	}
	return call(L, handler, a, b)
}
