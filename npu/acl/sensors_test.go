//go:build linux && (amd64 || arm64)

package acl

import "testing"

func TestVisible(t *testing.T) {
	for _, c := range []struct {
		value      string
		user, want int
	}{
		{"", 3, 3}, {"1,3", 0, 1}, {"1,3", 1, 3}, {"12", 0, 12}, {"1,3", 5, 5}, {"x", 0, 0}, {"2 ,3", 0, 2}, {",", 1, 1},
	} {
		if got := visible(c.value, c.user); got != c.want {
			t.Errorf("visible(%q, %d) = %d, want %d", c.value, c.user, got, c.want)
		}
	}
}
