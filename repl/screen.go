package repl

import (
	"io"
	"strconv"
	"strings"

	"github.com/mattn/go-runewidth"
)

var itoa = strconv.Itoa

// widths tells how many columns a character takes. Ambiguous ones take one, in every locale: that is
// what terminals do unless told otherwise.
var widths = &runewidth.Condition{StrictEmojiNeutral: true}

func runeWidth(r rune) int { return widths.RuneWidth(r) }

func textWidth(s string) (n int) {
	for _, r := range s {
		n += runeWidth(r)
	}
	return n
}

// fit cuts s to at most cols columns.
func fit(s string, cols int) string {
	n := 0
	for i, r := range s {
		if n += runeWidth(r); n > cols {
			return s[:i]
		}
	}
	return s
}

const tabStop = 4 // columns from the prompt on

// layout is rows of cells, none wider than the screen.
type layout struct {
	rows     []string
	widths   []int
	row, col int // of the cursor
}

// lay breaks an entry into rows. more is the prompt of its second and later lines. style returns the
// code for the character that begins at a byte of the text, "" for none.
func lay(prompt, more, promptStyle, text string, cursor, cols int, style func(int) string) layout {
	var l layout
	var row strings.Builder
	col, now := 0, ""
	set := func(code string) {
		if code != now {
			if now != "" {
				row.WriteString(sgrReset)
			}
			row.WriteString(code)
			now = code
		}
	}
	end := func() {
		code := now
		set("")
		l.rows = append(l.rows, row.String())
		l.widths = append(l.widths, col)
		row.Reset()
		col = 0
		set(code)
	}
	put := func(r rune, w int) {
		if w > cols {
			r, w = '?', 1
		}
		if col+w > cols {
			end()
		}
		row.WriteRune(r)
		col += w
	}
	begin := func(p string) int {
		set(promptStyle)
		for _, r := range p {
			put(r, runeWidth(r))
		}
		set("")
		return col
	}
	from := begin(prompt)
	for i, r := range text {
		w := runeWidth(r)
		if r == '\t' {
			w = tabStop - (max(0, col-from))%tabStop
		}
		if i == cursor {
			l.row, l.col = len(l.rows), col
			if r != '\n' && r != '\t' && col+min(w, cols) > cols || col >= cols {
				l.row, l.col = l.row+1, 0
			}
		}
		switch {
		case r == '\n':
			if i == cursor && col >= cols { // the cursor is a cell too
				end()
			}
			end()
			from = begin(more)
		case r == '\t':
			set("")
			for range w {
				put(' ', 1)
			}
		default:
			set(style(i))
			put(r, w)
		}
	}
	set("")
	if cursor >= len(text) {
		if col >= cols {
			end()
		}
		l.row, l.col = len(l.rows), col
	}
	end()
	if l.row == len(l.rows) { // the cursor is at a mark without a width, at the edge
		end()
	}
	return l
}

// screen draws an entry, and knows what it drew last. It moves by rows up from the cursor only, so
// that it needs no answer from the terminal.
type screen struct {
	out    io.Writer
	fd     int
	cols   int
	widths []int // of the rows drawn
	row    int   // of the cursor in them
	col    int
	top    int // the first row shown of an entry that is higher than the screen
	last   string
}

func (s *screen) bell() { io.WriteString(s.out, "\a") }

// fresh begins below what was written before, whether or not that ended in a newline: a mark and
// blanks fill a line, and lead to the next one unless the line was empty; the mark is then erased.
func (s *screen) fresh(color bool) string {
	cols, _ := size(s.fd)
	s.forget()
	mark := "%"
	if color {
		mark = sgrChosen + "%" + sgrReset
	}
	return mark + strings.Repeat(" ", cols-1) + "\r"
}

func (s *screen) forget() {
	s.widths, s.row, s.col, s.top, s.last = nil, 0, 0, 0, ""
}

func (s *screen) clear() {
	s.forget()
	io.WriteString(s.out, "\x1b[H\x1b[2J")
}

// home returns codes that lead to the first row drawn, and erase from there.
func (s *screen) home(cols int) string {
	up := s.row
	if cols < s.cols { // a terminal made narrower breaks the rows anew
		up = 0
		for _, w := range s.widths[:min(s.row, len(s.widths))] {
			up += max(1, (w+cols-1)/cols)
		}
		up += s.col / cols
	}
	code := "\r"
	if up > 0 {
		code += "\x1b[" + itoa(up) + "A"
	}
	return code + "\x1b[J"
}

// draw shows l, as much of it as fits around the cursor, and below it extra rows.
func (s *screen) draw(l layout, extra func(cols, limit int) []string) {
	cols, height := size(s.fd)
	var below []string
	if extra != nil {
		below = extra(cols, min(height-1, max(height/2, height-len(l.rows))))
	}
	room := max(1, height-len(below))
	s.top = max(0, min(s.top, len(l.rows)-room))
	s.top = min(s.top, l.row)
	s.top = max(s.top, l.row-room+1)
	end := min(len(l.rows), s.top+room)
	rows := append(append([]string{}, l.rows[s.top:end]...), below...)
	row := l.row - s.top

	var b strings.Builder
	b.WriteString(strings.Join(rows, "\r\n"))
	if up := len(rows) - 1 - row; up > 0 {
		b.WriteString("\x1b[" + itoa(up) + "A")
	}
	b.WriteString("\r")
	if l.col > 0 {
		b.WriteString("\x1b[" + itoa(l.col) + "C")
	}
	if b.String() == s.last && cols == s.cols {
		return
	}
	io.WriteString(s.out, s.home(cols)+b.String())
	s.last, s.cols, s.row, s.col = b.String(), cols, row, l.col
	s.widths = l.widths[s.top:end]
}

// finish shows all of l, for good, and goes to the line below.
func (s *screen) finish(l layout, after string) {
	cols, _ := size(s.fd)
	io.WriteString(s.out, s.home(cols)+strings.Join(l.rows, "\r\n")+after+"\r\n")
	s.forget()
}
