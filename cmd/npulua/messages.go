package main

import (
	"io"

	"npulua/internal/printable"
)

// messages is a writer for what npulua says, which may hold text of scripts, files, drivers and the environment. A
// terminal obeys nothing of it, and neither does one that shows a log of it. A message is written at once.
type messages struct{ w io.Writer }

func (m messages) Write(p []byte) (int, error) {
	if _, err := io.WriteString(m.w, printable.Text(string(p))); err != nil {
		return 0, err
	}
	return len(p), nil
}
