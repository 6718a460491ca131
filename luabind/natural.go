package luabind

import (
	"cmp"
	"strings"
)

// compareNatural orders texts as people count: k2 before k10. Texts that differ in leading zeros alone differ.
func compareNatural(a, b string) int {
	x, y := a, b
	for x != "" && y != "" {
		if isDigit(x[0]) && isDigit(y[0]) {
			var m, n string
			m, x = cutNumber(x)
			n, y = cutNumber(y)
			if d := cmp.Or(len(m)-len(n), strings.Compare(m, n)); d != 0 {
				return d
			}
			continue
		}
		if x[0] != y[0] {
			return cmp.Compare(x[0], y[0])
		}
		x, y = x[1:], y[1:]
	}
	return cmp.Or(len(x)-len(y), strings.Compare(a, b))
}

// cutNumber takes the digits that s begins with, without leading zeros.
func cutNumber(s string) (digits, rest string) {
	n := 0
	for n < len(s) && isDigit(s[n]) {
		n++
	}
	return strings.TrimLeft(s[:n], "0"), s[n:]
}
