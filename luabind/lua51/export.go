package lua51

import (
	"context"

	lua "github.com/yuin/gopher-lua"
)

// Where is the "chunk:line: " of the caller of the function that runs on L, "" where that is none of
// Lua's.
func Where(L *lua.LState) string { return where(L, 1) }

// CheckInt reads argument n of the C type int, a number or a string that reads as one: what is behind
// the point is dropped.
func CheckInt(L *lua.LState, n int) int { return checkInt(L, n) }

// Text is the text of a string or a number.
func Text(v lua.LValue) (string, bool) { return toText(v) }

// StringFormat is string.format.
func StringFormat(L *lua.LState) int { return stringFormat(L) }

// ContextOf is the context of what L waits for outside the machine; it may end while a chunk runs.
func ContextOf(L *lua.LState) context.Context { return contextOf(L) }
