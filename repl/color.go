package repl

import (
	"os"
	"strings"
)

// Select Graphic Rendition codes, the only ones that depend on colour.
const (
	sgrReset   = "\x1b[0m"
	sgrError   = "\x1b[31m"
	sgrPrompt  = "\x1b[1;36m"
	sgrChosen  = "\x1b[7m"
	sgrSpecial = "\x1b[2m"
)

// colors are the codes of kinds of spans. They are the terminal's own sixteen colours, so that they
// can be read on a dark and on a light ground.
var colors = map[Kind]string{
	Keyword: "\x1b[35m",
	String:  "\x1b[32m",
	Number:  "\x1b[33m",
	Comment: "\x1b[2m",
	Name:    "\x1b[36m",
	Invalid: "\x1b[31m",
}

// HasColor reports whether what is written to f may have colour: f is a terminal that has it, and
// NO_COLOR (https://no-color.org) is not set.
func HasColor(f *os.File) bool {
	if os.Getenv("NO_COLOR") != "" || !isTerminal(f) || !hasEscapes() {
		return false
	}
	name := os.Getenv("TERM")
	return !strings.HasPrefix(name, "vt") && !strings.HasSuffix(name, "-m") && !strings.HasSuffix(name, "-mono")
}

// hasEscapes reports whether the terminal that TERM names understands escape codes.
func hasEscapes() bool {
	switch os.Getenv("TERM") {
	case "", "dumb", "emacs", "unknown":
		return false
	}
	return true
}
