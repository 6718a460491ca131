package luabind

import (
	"slices"
	"strings"
)

// fits reports whether a grid is no wider than the terminal.
func (in *Interp) fits(text string) bool {
	return in.columns == 0 || strings.IndexByte(text, '\n') <= in.columns
}

// table is rows as a grid, and where that is wider than the terminal as a list of records.
func (in *Interp) table(rows [][]string) string {
	text := grid(rows)
	if in.fits(text) {
		return text
	}
	head := rows[0]
	widest := 0
	for _, name := range head {
		widest = max(widest, textWidth(name))
	}
	var records []string
	for _, row := range rows[1:] {
		var b strings.Builder
		for i, cell := range row {
			b.WriteString("\n" + head[i] + strings.Repeat(" ", widest-textWidth(head[i])+2) + cell)
		}
		records = append(records, b.String()[1:])
	}
	return strings.Join(records, "\n\n")
}

// grid draws rows, the first of which is the heading.
func grid(rows [][]string) string {
	widths := columnWidths(rows)
	rule := "+"
	for _, w := range widths {
		rule += strings.Repeat("-", w+2) + "+"
	}
	var b strings.Builder
	b.WriteString(rule + "\n")
	for i, row := range rows {
		for j, cell := range row {
			b.WriteString("| " + cell + strings.Repeat(" ", widths[j]-textWidth(cell)+1))
		}
		b.WriteString("|\n")
		if i == 0 {
			b.WriteString(rule + "\n")
		}
	}
	return b.String() + rule
}

func columnWidths(rows [][]string) []int {
	widths := make([]int, len(rows[0]))
	for _, row := range rows {
		for i, cell := range row {
			widths[i] = max(widths[i], textWidth(cell))
		}
	}
	return widths
}

// leastColumn is how narrow a column may become for a table to fit.
const leastColumn = 10

// cutTable is table, but that long cells are cut before it becomes a list.
func (in *Interp) cutTable(rows [][]string) string {
	text := grid(rows)
	if in.fits(text) {
		return text
	}
	if text := grid(narrowed(rows, strings.IndexByte(text, '\n')-in.columns)); in.fits(text) {
		return text
	}
	return in.table(rows)
}

// narrowed is rows that take fewer columns, as far as cells can be cut: the widest first, and at their beginning,
// which is that of a path.
func narrowed(rows [][]string, fewer int) [][]string {
	widths := columnWidths(rows)
	for ; fewer > 0; fewer-- {
		widest := -1
		for i, w := range widths {
			if w > max(leastColumn, textWidth(rows[0][i])) && (widest < 0 || w > widths[widest]) {
				widest = i
			}
		}
		if widest < 0 {
			return rows
		}
		widths[widest]--
	}
	var out [][]string
	for _, row := range rows {
		row = slices.Clone(row)
		for i, cell := range row {
			for rest := []rune(cell); textWidth(row[i]) > widths[i]; rest = rest[1:] {
				row[i] = "..." + string(rest)
			}
		}
		out = append(out, row)
	}
	return out
}

// wrapTable is table, but that the cells of the last column are broken into lines before it becomes a list.
func (in *Interp) wrapTable(rows [][]string) string {
	text := grid(rows)
	if in.fits(text) {
		return text
	}
	last := len(rows[0]) - 1
	room := columnWidths(rows)[last] - (strings.IndexByte(text, '\n') - in.columns)
	if room < max(2*leastColumn, textWidth(rows[0][last])) {
		return in.table(rows)
	}
	var out [][]string
	for _, row := range rows {
		for i, line := range strings.Split(Wrap(row[last], room), "\n") {
			for more := true; more; {
				next := make([]string, len(row))
				if i == 0 {
					copy(next, row)
				}
				next[last], line = cutWidth(line, room)
				out = append(out, next)
				i, more = i+1, line != ""
			}
		}
	}
	return grid(out)
}

// wrapped is text in lines that fit the terminal.
func (in *Interp) wrapped(text string) string {
	if in.columns <= 0 {
		return text
	}
	return Wrap(text, in.columns)
}

// cutWidth divides text after most columns.
func cutWidth(text string, most int) (head, rest string) {
	width := 0
	for i, r := range text {
		if width += textWidth(string(r)); width > most && i > 0 {
			return text[:i], text[i:]
		}
	}
	return text, ""
}
