package main

import (
	"bytes"
	"fmt"
	"io"
	"unicode"
	"unicode/utf8"
)

// mostMessages bounds what npulua says of a script in a sandbox, in bytes: the script has its errors.
const mostMessages = 64 << 10

// leastMessage is the room in bytes from which on nothing more is said.
const leastMessage = 512

// cut is a writer that leaves out what is too much. One text takes at most half of what is left: the reason why the script
// ended may come after a giant message of its own.
type cut struct {
	w    io.Writer
	left int
}

func (c *cut) Write(p []byte) (int, error) {
	const note = "\nnpulua: the rest is left out\n"
	n, most := len(p), c.left/2
	switch {
	case c.left < 0:
		return n, nil
	case most < leastMessage:
		p, c.left = []byte(note[1:]), -1
	case n > most:
		p = append(bytes.Clone(p[:most]), note...)
		c.left -= most
	default:
		c.left -= n
	}
	_, err := c.w.Write(p)
	return n, err
}

// plainTerminal is w for what scripts write, and for what is said of them.
func plainTerminal(w io.Writer) io.Writer {
	if isTerminal(w) {
		return &plain{w: w}
	}
	return w
}

// plain is a terminal that obeys nothing that is written to it but ends of lines, returns and tabs: control
// characters are shown as Lua has them in strings.
type plain struct {
	w    io.Writer
	rest []byte // begin of a character whose end has not been written yet
}

func (t *plain) Write(p []byte) (int, error) {
	text := append(t.rest, p...)
	var out []byte
	for len(text) > 0 && utf8.FullRune(text) {
		r, size := utf8.DecodeRune(text)
		switch {
		case r == '\n' || r == '\t' || r == '\r':
			out = append(out, text[0])
		case !unicode.IsGraphic(r) || r == utf8.RuneError && size == 1:
			for _, c := range text[:size] {
				out = fmt.Appendf(out, "\\%03d", c)
			}
		default:
			out = append(out, text[:size]...)
		}
		text = text[size:]
	}
	t.rest = bytes.Clone(text)
	if _, err := t.w.Write(out); err != nil {
		return 0, err
	}
	return len(p), nil
}
