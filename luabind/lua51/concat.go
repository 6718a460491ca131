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
	L.Push(concatenate(L, L.GetTop(), L.Get, func(i int, _ lua.LValue) string { return blameArgument(L, i) }))
	return 1
}

// concatenate joins n operands. describe words the operand that cannot be joined: operand i, v.
func concatenate(L *lua.LState, n int, operand func(i int) lua.LValue, describe func(i int, v lua.LValue) string) lua.LValue {
	acc := operand(n)
	for n > 1 {
		first := n
		for first > 1 && isText(operand(first-1)) {
			first--
		}
		if first < n && isText(acc) {
			acc = lua.LString(joinText(L, operand, first, n-1, acc))
			n = first
			continue
		}
		n--
		a := operand(n)
		handler := binaryHandler(L, a, acc, "__concat")
		if handler == lua.LNil {
			bad, v := n, a
			if isText(a) {
				bad, v = n+1, acc
			}
			raise(L, "attempt to concatenate %s", describe(bad, v))
		}
		acc = call(L, handler, a, acc)
	}
	return acc
}

func isText(v lua.LValue) bool {
	return v.Type() == lua.LTString || v.Type() == lua.LTNumber
}

// joinText joins operands first to last, all of them strings or numbers, and then tail.
func joinText(L *lua.LState, operand func(i int) lua.LValue, first, last int, tail lua.LValue) string {
	a, ok := operand(first).(lua.LString)
	b, ok2 := tail.(lua.LString)
	if first == last && ok && ok2 {
		checkConcat(L, len(a)+len(b))
		room(L, len(a)+len(b))
		return string(a + b)
	}
	size := textRoom(tail)
	for i := first; i <= last; i++ {
		size += textRoom(operand(i))
		checkConcat(L, size)
	}
	room(L, size)
	var out strings.Builder
	out.Grow(size)
	for i := first; i <= last; i++ {
		writeText(&out, operand(i))
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
