package drivertest

import (
	"strings"
	"testing"
)

// TestNames checks that a case can be named in Harness.Skip and on a command line.
func TestNames(t *testing.T) {
	seen := map[string]bool{}
	for _, c := range cases() {
		if seen[c.name] {
			t.Errorf("two cases are called %q", c.name)
		}
		seen[c.name] = true
		if c.name == "" || strings.ContainsAny(c.name, "/\n") || c.run == nil {
			t.Errorf("case %q: want a name without a slash, and a function", c.name)
		}
	}
	t.Logf("%d cases", len(seen))
}
