// Package loader loads the vendor's shared libraries at run time, without C: it opens them, says why one cannot be
// opened, and keeps their signal handlers away from the program.
package loader

// Attempt is one place where a library was looked for.
type Attempt struct {
	Path    string // as it was given to the system's loader: without a folder, it searches its own path
	From    string // the environment variable that names the place, "" for none
	Problem string // why not; "": loaded
}

func (a Attempt) String() string {
	text := a.Path
	if a.From != "" {
		text += " (" + a.From + ")"
	}
	if a.Problem != "" {
		text += ": " + a.Problem
	}
	return text
}

// How the problem of a place begins.
const (
	NotFound = "not found"              // there is nothing
	Denied   = "this user may not read" // there is something
)
