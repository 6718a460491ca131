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

// CheckString reads argument n, a string or a number.
func CheckString(L *lua.LState, n int) string { return checkString(L, n) }

// OptString is CheckString of an argument that may be left out.
func OptString(L *lua.LState, n int, absent string) string { return optString(L, n, absent) }

// CheckTable reads argument n, a table.
func CheckTable(L *lua.LState, n int) *lua.LTable { return checkTable(L, n) }

// CheckFunction reads argument n, a function.
func CheckFunction(L *lua.LState, n int) *lua.LFunction { return checkFunction(L, n) }

// Text is the text of a string or a number.
func Text(v lua.LValue) (string, bool) { return toText(v) }

// StringFormat is string.format.
func StringFormat(L *lua.LState) int { return stringFormat(L) }

// ErrnoText is the text of the system for an error of a file, as the C library gives it.
func ErrnoText(err error) string {
	text, _ := errnoText(err)
	return text
}

// Call calls fn, which may be anything that can be called, and returns its first result.
func Call(L *lua.LState, fn lua.LValue, args ...lua.LValue) lua.LValue { return call(L, fn, args...) }

// ContextOf is the context of what L waits for outside the machine; it may end while a chunk runs.
func ContextOf(L *lua.LState) context.Context { return contextOf(L) }
