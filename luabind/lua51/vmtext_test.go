package lua51

import (
	"testing"

	lua "github.com/yuin/gopher-lua"
)

func TestErrorText(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"x:1: cannot perform add operation between number and nil", "x:1: attempt to perform arithmetic on a nil value"},
		{" cannot change the environment of given object", "'setfenv' cannot change environment of given object"},
		{"x:1: cannot change the environment of given object", "x:1: 'setfenv' cannot change environment of given object"},
		{" bad argument #2 to main chunk (table expected, got nil)", "bad argument #2 to '?' (table expected, got nil)"},
		{"x:1: bad argument #2 to setfenv (table expected, got nil)", "x:1: bad argument #2 to 'setfenv' (table expected, got nil)"},
		{"x:1: bad argument #2 to 'f' (table expected, got nil)", "x:1: bad argument #2 to 'f' (table expected, got nil)"},
		{" attempt to compare nil with nil", "attempt to compare two nil values"},
		{" module x not found", "module x not found"},
		{" 5 ", " 5 "},
		{"  attempt to", "  attempt to"},
		{"", ""},
		{"registry overflow", "stack overflow"},
		{"x:1: registry overflow", "x:1: stack overflow"},
		{"my registry overflow", "my registry overflow"},
		{"x:1: my lua callstack overflow", "x:1: my lua callstack overflow"},
		{"x:1: it said: registry overflow", "x:1: it said: registry overflow"},
		{"x:1: I attempt to compare nil with nil", "x:1: I attempt to compare nil with nil"},
	} {
		if got := errorText(lua.LString(c.text)); got != lua.LString(c.want) {
			t.Errorf("%q: %q, want %q", c.text, got, c.want)
		}
	}
	if got := errorText(lua.LNumber(5)); got != lua.LNumber(5) {
		t.Errorf("got %v, want 5", got)
	}
}
