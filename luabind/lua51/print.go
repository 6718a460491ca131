package lua51

import (
	"io"

	lua "github.com/yuin/gopher-lua"
)

func baseTostring(L *lua.LState) int {
	L.Push(tostring(L, checkAny(L, 1)))
	return 1
}

func tostring(L *lua.LState, v lua.LValue) lua.LValue {
	if handler := metaField(L, v, "__tostring"); handler != lua.LNil {
		return call(L, handler, v)
	}
	return lua.LString(plainText(v))
}

// Tostring is the text that tostring gives for v, for a function of the host that runs on L.
func Tostring(L *lua.LState, v lua.LValue) string { return tostring(L, v).String() }

// plainText is the text of a value without its metatable.
func plainText(v lua.LValue) string {
	if s, ok := toText(v); ok {
		return s
	}
	return v.String()
}

// basePrint writes each argument as the global function tostring gives it, up to its first zero
// byte. text is the tostring that need not be called.
func basePrint(L *lua.LState, stdout io.Writer, text *lua.LFunction) int {
	tostring := L.GetGlobal("tostring")
	var line []byte
	for i, n := 1, L.GetTop(); i <= n; i++ {
		v := L.Get(i)
		s := ""
		if tostring == text && metaField(L, v, "__tostring") == lua.LNil {
			s = plainText(v)
		} else {
			// The call may fail or print, so what stands before it goes out first.
			stdout.Write(line)
			line = line[:0]
			var ok bool
			if s, ok = toText(call(L, tostring, v)); !ok {
				raise(L, "'tostring' must return a string to 'print'")
			}
		}
		if i > 1 {
			line = append(line, '\t')
		}
		line = append(line, cString(s)...)
	}
	chargeBytes(L, len(line))
	stdout.Write(append(line, '\n'))
	return 0
}
