package lua51

import (
	"slices"

	lua "github.com/yuin/gopher-lua"
)

// checkOption is the index in names of argument n; absent stands in for one that is not there, and
// "" for nothing: the argument must be there.
func checkOption(L *lua.LState, n int, absent string, names []string) int {
	s := absent
	if absent == "" || L.Get(n) != lua.LNil {
		s = cString(checkString(L, n))
	}
	i := slices.Index(names, s)
	if i < 0 {
		argError(L, n, "invalid option '"+s+"'")
	}
	return i
}
