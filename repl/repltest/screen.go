package repltest

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/mattn/go-runewidth"
)

// widths are those that package repl draws with. Another table would report every character on which
// the two differ, and terminals differ on the same ones.
var widths = &runewidth.Condition{StrictEmojiNeutral: true}

// Width returns how many columns text takes.
func Width(text string) (n int) {
	for _, r := range text {
		n += widths.RuneWidth(r)
	}
	return n
}

// Screen is what a terminal makes of the bytes it is sent: enough of one to see what a person would
// see. It answers nothing, as some terminals do.
type Screen struct {
	X, Y     int      // of the cursor, from 0
	Bells    int      // how often it was rung
	Paste    bool     // bracketed paste is on: a line is edited
	Edits    int      // how often it was switched on
	Hidden   bool     // the cursor is not shown
	Second   bool     // the second screen is shown
	Unknown  []string // what came that has no meaning here, quoted; every question is among it
	cols     int
	rows     int
	cells    [][]string // "" is the second half of a wide character
	wrap     bool       // the last column was written; the next character goes to the next line
	scrolled []string
	first    *Screen // cells and cursor of the first screen while the second one is shown
	rest     []byte  // an unfinished sequence
	ended    bool    // the mark of Session.Ends came
}

// NewScreen returns an empty screen.
func NewScreen(cols, rows int) *Screen {
	s := &Screen{cols: cols, rows: rows}
	for range rows {
		s.cells = append(s.cells, s.blank())
	}
	return s
}

func (s *Screen) blank() []string {
	row := make([]string, s.cols)
	for i := range row {
		row[i] = " "
	}
	return row
}

// Resize cuts or pads rows, as xterm does; it breaks nothing anew.
func (s *Screen) Resize(cols, rows int) {
	s.cols = cols
	for i, row := range s.cells {
		n := s.blank()
		copy(n, row)
		s.cells[i] = n
	}
	for len(s.cells) > rows && s.Y < len(s.cells)-1 {
		s.cells = s.cells[:len(s.cells)-1]
	}
	for len(s.cells) > rows {
		if !s.Second {
			s.scrolled = append(s.scrolled, line(s.cells[0]))
		}
		s.cells = s.cells[1:]
		s.Y--
	}
	for len(s.cells) < rows {
		s.cells = append(s.cells, s.blank())
	}
	s.rows, s.X, s.wrap = rows, min(s.X, cols-1), false
}

// Row returns a line of the screen.
func (s *Screen) Row(y int) string { return line(s.cells[y]) }

func line(row []string) string { return strings.TrimRight(strings.Join(row, ""), " ") }

// Text returns all lines, those that scrolled away first.
func (s *Screen) Text() string {
	lines := append([]string{}, s.scrolled...)
	for _, row := range s.cells {
		lines = append(lines, line(row))
	}
	return strings.TrimRight(strings.Join(lines, "\n"), "\n")
}

// Current returns the line with the cursor.
func (s *Screen) Current() string { return line(s.cells[s.Y]) }

func (s *Screen) down() {
	if s.Y++; s.Y == s.rows {
		if !s.Second {
			s.scrolled = append(s.scrolled, line(s.cells[0]))
		}
		s.cells = append(s.cells[1:], s.blank())
		s.Y--
	}
}

func (s *Screen) put(r rune) {
	w := widths.RuneWidth(r)
	if w == 0 {
		if s.X > 0 {
			s.cells[s.Y][s.X-1] += string(r)
		}
		return
	}
	if s.wrap || s.X+w > s.cols {
		s.X, s.wrap = 0, false
		s.down()
	}
	s.cells[s.Y][s.X] = string(r)
	if w == 2 && s.X+1 < s.cols {
		s.cells[s.Y][s.X+1] = ""
	}
	if s.X += w; s.X >= s.cols {
		s.X, s.wrap = s.cols-1, true
	}
}

// Write shows p.
func (s *Screen) Write(p []byte) (int, error) {
	all := len(p)
	p = append(s.rest, p...)
	for len(p) > 0 {
		if p[0] == 0x1b {
			n := s.escape(p)
			if n == 0 {
				break
			}
			p = p[n:]
			continue
		}
		if !utf8.FullRune(p) {
			break
		}
		r, n := utf8.DecodeRune(p)
		p = p[n:]
		switch r {
		case '\r':
			s.X, s.wrap = 0, false
		case '\n':
			s.wrap = false
			s.down()
		case '\b':
			s.X, s.wrap = max(0, s.X-1), false
		case '\a':
			s.Bells++
		case '\t':
			s.X = min(s.cols-1, s.X/8*8+8)
		default:
			if r >= 0x20 {
				s.put(r)
			} else {
				s.Unknown = append(s.Unknown, strconv.QuoteRune(r))
			}
		}
	}
	s.rest = append([]byte(nil), p...)
	return all, nil
}

// escape acts on the sequence at the start of p, and returns its length, 0 if it is not whole.
func (s *Screen) escape(p []byte) int {
	if len(p) < 2 {
		return 0
	}
	if p[1] != '[' {
		s.Unknown = append(s.Unknown, strconv.Quote(string(p[:2])))
		return 2
	}
	end := 2
	for end < len(p) && (p[end] < 0x40 || p[end] > 0x7e) {
		end++
	}
	if end == len(p) {
		return 0
	}
	args := string(p[2:end])
	n, err := strconv.Atoi(args)
	if err != nil {
		n = 1
	}
	final := p[end]
	if final != 'm' {
		s.wrap = false
	}
	switch {
	case final == 'm':
	case final == 'A':
		s.Y = max(0, s.Y-n)
	case final == 'C':
		s.X = min(s.cols-1, s.X+n)
	case final == 'H':
		s.place(args)
	case final == 'K' && args == "":
		copy(s.cells[s.Y][s.X:], s.blank())
	case final == 'J' && (args == "" || args == "2"):
		if args == "2" {
			s.X, s.Y = 0, 0
		}
		copy(s.cells[s.Y][s.X:], s.blank())
		for y := s.Y + 1; y < s.rows; y++ {
			s.cells[y] = s.blank()
		}
	case args == "?2004" && (final == 'h' || final == 'l'):
		if s.Paste = final == 'h'; s.Paste {
			s.Edits++
		}
	case args == "?25" && (final == 'h' || final == 'l'):
		s.Hidden = final == 'l'
	case args == "?1049" && (final == 'h' || final == 'l'):
		s.swap(final == 'h')
	case string(p[:end+1]) == endMark:
		s.ended = true
	default:
		s.Unknown = append(s.Unknown, strconv.Quote(string(p[:end+1])))
	}
	return end + 1
}

// place moves the cursor to a row and a column, which count from 1; without them to the upper left.
func (s *Screen) place(args string) {
	s.X, s.Y = 0, 0
	row, column, ok := strings.Cut(args, ";")
	if !ok && args == "" {
		return
	}
	y, errY := strconv.Atoi(row)
	x, errX := strconv.Atoi(column)
	if errY != nil || errX != nil || x < 1 || y < 1 {
		s.Unknown = append(s.Unknown, strconv.Quote("\x1b["+args+"H"))
		return
	}
	s.X, s.Y = min(x, s.cols)-1, min(y, s.rows)-1
}

// swap shows the second screen, which is empty, or the first one again as it was.
func (s *Screen) swap(second bool) {
	if s.Second == second {
		s.Unknown = append(s.Unknown, "the screen that is shown already")
		return
	}
	s.Second = second
	if second {
		s.first = &Screen{X: s.X, Y: s.Y, cells: s.cells}
		s.cells = NewScreen(s.cols, s.rows).cells
		return
	}
	s.X, s.Y, s.cells = s.first.X, s.first.Y, s.first.cells
	s.first = nil
	s.Resize(s.cols, s.rows)
}
