package display

import (
	"fmt"
	"os"
)

// maxHeld bounds what is kept for the time after a screen, in bytes.
const maxHeld = 1 << 20

// held is what was printed while a screen was open, in order.
type held struct {
	parts []part
	size  int
	lost  int // bytes that were too much
}

type part struct {
	f    *os.File
	text []byte
}

func (h *held) add(f *os.File, p []byte) {
	if n := maxHeld - h.size; len(p) > n {
		h.lost += len(p) - n
		p = p[:n]
	}
	if len(p) == 0 {
		return
	}
	h.size += len(p)
	if n := len(h.parts); n > 0 && h.parts[n-1].f == f {
		h.parts[n-1].text = append(h.parts[n-1].text, p...)
		return
	}
	h.parts = append(h.parts, part{f, append([]byte(nil), p...)})
}

// take returns what is held, with a note of what is not, and forgets it.
func (h *held) take(note *os.File) []part {
	parts := h.parts
	if h.lost > 0 {
		parts = append(parts, part{note, fmt.Appendf(nil, "\nnpulua: %d bytes more, printed while the screen was open, are left out\n", h.lost)})
	}
	*h = held{}
	return parts
}
