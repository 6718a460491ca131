package luabind

import (
	"io"
	"os"

	"golang.org/x/term"
)

// terminalWidth is how many columns the terminal behind a stream has; 0 where it is none.
func terminalWidth(stream io.Writer) int {
	f, ok := stream.(*os.File)
	if !ok {
		return 0
	}
	width, _, err := term.GetSize(int(f.Fd()))
	switch {
	case err != nil:
		return 0
	case width < 1: // one that does not know
		return 80
	}
	return width
}
