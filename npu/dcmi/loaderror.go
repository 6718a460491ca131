package dcmi

import (
	"path/filepath"
	"strings"

	"npulua/npu/internal/loader"
)

// LoadError says why there is no library.
type LoadError struct {
	Attempts []loader.Attempt
	Hint     string
}

// Error is one line: where nothing was found, and what was wrong with what was.
func (e *LoadError) Error() string {
	var places, broken []string
	for _, a := range e.Attempts {
		if strings.HasPrefix(a.Problem, loader.NotFound) {
			place := filepath.Dir(a.Path)
			if place == "." {
				place = "the loader's path"
			}
			places = append(places, place)
		} else if a.Problem != "" {
			broken = append(broken, a.String())
		}
	}
	if len(broken) > 0 {
		return "not available: " + strings.Join(broken, "; ")
	}
	return "not available: libdcmi.so was not found (looked in " + strings.Join(places, ", ") + ")"
}

// hint is what to do, by what was wrong.
func hint(attempts []loader.Attempt) string {
	for _, a := range attempts {
		switch {
		case a.Problem == "" || strings.HasPrefix(a.Problem, loader.NotFound):
		case strings.HasPrefix(a.Problem, loader.Denied):
			return remedyOfUser
		case strings.HasPrefix(a.Problem, "it needs "):
			return remedyOfDependency
		case strings.HasPrefix(a.Problem, lacks):
			return remedyOfIncomplete
		default:
			return remedyOfBad
		}
	}
	return remedyOfMissing
}

// lacks is how the problem of a library begins without which functions it is of no use.
const lacks = "it has no "
