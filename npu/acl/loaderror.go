package acl

import (
	"fmt"
	"slices"
	"strings"

	"npulua/npu/internal/loader"
)

// Attempt is one place where a library was looked for.
type Attempt = loader.Attempt

// LoadError says why there is no library.
type LoadError struct {
	Attempts []Attempt
	Missing  []string // functions that a library which was found lacks
	Hint     string

	loaded *Driver // over the library that lacks functions, nil where there is none
}

// Error lists every place, a line each.
func (e *LoadError) Error() string {
	var b strings.Builder
	b.WriteString("the vendor's runtime library cannot be used:")
	for _, a := range e.Attempts {
		if a.Problem != "" {
			fmt.Fprintf(&b, "\n  %s", a)
		}
	}
	return b.String()
}

// Found reports whether there is a library at all, which cannot be used.
func (e *LoadError) Found() bool { return e.found() >= 0 }

// Short is the problem of the library that was found, in one line; "" where none was.
func (e *LoadError) Short() string {
	if i := e.found(); i >= 0 {
		return e.Attempts[i].String()
	}
	return ""
}

// found is the first attempt at a library that is there, -1 for none.
func (e *LoadError) found() int {
	return slices.IndexFunc(e.Attempts, func(a Attempt) bool { return !strings.HasPrefix(a.Problem, loader.NotFound) })
}

// lacks is the problem of a library without functions that every release has.
func lacks(missing []string) string {
	const shown = 5
	text := strings.Join(missing[:min(len(missing), shown)], ", ")
	if n := len(missing) - shown; n > 0 {
		text += fmt.Sprintf(" and %d more", n)
	}
	return "it has no " + text + ": it is no AscendCL runtime, or one before release 7.0"
}
