package acl

import (
	"fmt"
	"slices"
	"strings"
)

// Attempt is one place where a library was looked for.
type Attempt struct {
	Path    string // as it was given to the loader: without a folder, it searches its own path
	Problem string // why not; "": loaded
}

// LoadError says why there is no library.
type LoadError struct {
	Attempts []Attempt
	Missing  []string // functions that a library which was found lacks
	Hint     string
}

func (e *LoadError) Error() string {
	var b strings.Builder
	b.WriteString("the vendor's runtime library cannot be used:")
	for _, a := range e.Attempts {
		if a.Problem != "" {
			fmt.Fprintf(&b, "\n  %s: %s", a.Path, a.Problem)
		}
	}
	if len(e.Missing) > 0 {
		fmt.Fprintf(&b, "\n  it has no %s: it is no AscendCL runtime, or one before release 7.0", strings.Join(e.Missing, ", "))
	}
	return b.String()
}

// Found reports whether there is a library at all, which cannot be used.
func (e *LoadError) Found() bool {
	return slices.ContainsFunc(e.Attempts, func(a Attempt) bool { return !strings.HasPrefix(a.Problem, notFound) })
}

// notFound is how the problem of a place begins in which there is nothing.
const notFound = "not found"
