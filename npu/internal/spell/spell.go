// Package spell finds the name that was most likely meant.
package spell

import (
	"fmt"
	"strings"
)

// longest bounds the names that are compared: scripts make names of any length, and the time grows with its square.
const longest = 200

// Suggest returns `, did you mean "x"?` for the candidate that name was most likely meant to be, or "" where
// none is near: one slip in three letters, whatever their case, or the beginning of a longer word.
func Suggest(name string, candidates []string) string {
	const shortest = 3 // fewer letters may be anything
	most := len(name) / shortest
	best, bestDist := "", most+1
	if len(name) > longest {
		return ""
	}
	for _, c := range candidates {
		if len(c) > 2*longest {
			continue
		}
		d := editDistance(strings.ToLower(name), strings.ToLower(c))
		if d > most && len(name) >= shortest && strings.HasPrefix(c, name) {
			d = most
		}
		if d < bestDist || d == bestDist && best != "" && c < best {
			best, bestDist = c, d
		}
	}
	if best == "" {
		return ""
	}
	return fmt.Sprintf(", did you mean %q?", best)
}

// editDistance counts insertions, deletions, replacements and swaps of neighbours.
func editDistance(a, b string) int {
	prev2 := make([]int, len(b)+1)
	prev := make([]int, len(b)+1)
	cur := make([]int, len(b)+1)
	for j := range prev {
		prev[j] = j
	}
	for i := 1; i <= len(a); i++ {
		cur[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			cur[j] = min(prev[j]+1, cur[j-1]+1, prev[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				cur[j] = min(cur[j], prev2[j-2]+1)
			}
		}
		prev2, prev, cur = prev, cur, prev2
	}
	return prev[len(b)]
}
