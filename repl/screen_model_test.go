package repl

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// model is a terminal: enough of one to see what a person would see.
type model struct {
	cols, rows int
	cells      [][]string // "" is the second half of a wide character
	x, y       int
	wrap       bool // the last column was written; the next character goes to the next line
	scrolled   []string
	rest       []byte // an unfinished sequence
	escapes    int
	bells      int
	paste      bool
	unknown    []string
}

func newModel(cols, rows int) *model {
	m := &model{cols: cols, rows: rows}
	for range rows {
		m.cells = append(m.cells, m.blank())
	}
	return m
}

func (m *model) blank() []string {
	row := make([]string, m.cols)
	for i := range row {
		row[i] = " "
	}
	return row
}

// resize cuts or pads rows, as xterm does; it breaks nothing anew.
func (m *model) resize(cols, rows int) {
	m.cols = cols
	for i, row := range m.cells {
		n := m.blank()
		copy(n, row)
		m.cells[i] = n
	}
	for len(m.cells) > rows && m.y < len(m.cells)-1 {
		m.cells = m.cells[:len(m.cells)-1]
	}
	for len(m.cells) > rows {
		m.scrolled = append(m.scrolled, line(m.cells[0]))
		m.cells = m.cells[1:]
		m.y--
	}
	for len(m.cells) < rows {
		m.cells = append(m.cells, m.blank())
	}
	m.rows, m.x, m.wrap = rows, min(m.x, cols-1), false
}

func line(row []string) string { return strings.TrimRight(strings.Join(row, ""), " ") }

// text is all lines, those that scrolled away first.
func (m *model) text() string {
	lines := append([]string{}, m.scrolled...)
	for _, row := range m.cells {
		lines = append(lines, line(row))
	}
	return strings.TrimRight(strings.Join(lines, "\n"), "\n")
}

// current is the line with the cursor.
func (m *model) current() string { return line(m.cells[m.y]) }

func (m *model) down() {
	if m.y++; m.y == m.rows {
		m.scrolled = append(m.scrolled, line(m.cells[0]))
		m.cells = append(m.cells[1:], m.blank())
		m.y--
	}
}

func (m *model) put(r rune) {
	w := runeWidth(r)
	if w == 0 {
		if m.x > 0 {
			m.cells[m.y][m.x-1] += string(r)
		}
		return
	}
	if m.wrap || m.x+w > m.cols {
		m.x, m.wrap = 0, false
		m.down()
	}
	m.cells[m.y][m.x] = string(r)
	if w == 2 && m.x+1 < m.cols {
		m.cells[m.y][m.x+1] = ""
	}
	if m.x += w; m.x >= m.cols {
		m.x, m.wrap = m.cols-1, true
	}
}

func (m *model) write(p []byte) {
	p = append(m.rest, p...)
	for len(p) > 0 {
		if p[0] == 0x1b {
			n := m.escape(p)
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
			m.x, m.wrap = 0, false
		case '\n':
			m.wrap = false
			m.down()
		case '\b':
			m.x, m.wrap = max(0, m.x-1), false
		case '\a':
			m.bells++
		case '\t':
			m.x = min(m.cols-1, m.x/8*8+8)
		default:
			if r >= 0x20 {
				m.put(r)
			} else {
				m.unknown = append(m.unknown, strconv.QuoteRune(r))
			}
		}
	}
	m.rest = append([]byte(nil), p...)
}

// escape acts on the sequence at the start of p, and returns its length, 0 if it is not whole.
func (m *model) escape(p []byte) int {
	if len(p) < 3 {
		return 0
	}
	end := 2
	for end < len(p) && (p[end] < 0x40 || p[end] > 0x7e) {
		end++
	}
	if end == len(p) {
		return 0
	}
	m.escapes++
	args := string(p[2:end])
	n, err := strconv.Atoi(args)
	if err != nil {
		n = 1
	}
	final := p[end]
	if final != 'm' {
		m.wrap = false
	}
	switch {
	case p[1] != '[':
		m.unknown = append(m.unknown, strconv.Quote(string(p[:end+1])))
	case final == 'm':
	case final == 'A':
		m.y = max(0, m.y-n)
	case final == 'C':
		m.x = min(m.cols-1, m.x+n)
	case final == 'H' && args == "":
		m.x, m.y = 0, 0
	case final == 'J' && (args == "" || args == "2"):
		if args == "2" {
			m.x, m.y = 0, 0
		}
		copy(m.cells[m.y][m.x:], m.blank())
		for y := m.y + 1; y < m.rows; y++ {
			m.cells[y] = m.blank()
		}
	case args == "?2004" && (final == 'h' || final == 'l'):
		m.paste = final == 'h'
	default:
		m.unknown = append(m.unknown, strconv.Quote(string(p[:end+1])))
	}
	return end + 1
}
