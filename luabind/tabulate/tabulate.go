// Package tabulate lays out tables of text for terminals, Markdown and programs.
package tabulate

import (
	"encoding/csv"
	"slices"
	"strings"

	"github.com/mattn/go-runewidth"
)

// widths counts columns whatever the locale is.
var widths = &runewidth.Condition{StrictEmojiNeutral: true}

// Align says where the text of a cell stands in its column.
type Align int

const (
	Left Align = iota
	Right
	Center
)

// Table is what to lay out. Rows may be shorter than Columns. Cells and headers of the styles for people are one line
// without control characters: what makes Cells is to see to that.
type Table struct {
	Headers  []string // nil: none
	Rows     [][]string
	Columns  []Align
	MaxWidth int // of a line, in columns of a terminal; 0: no limit
}

// Styles are the names of the layouts.
var Styles = []string{"plain", "box", "markdown", "csv"}

// Limited reports whether a style heeds MaxWidth: the others are for programs, which want all of the text.
func Limited(style string) bool { return style == "plain" || style == "box" }

// Format is the text of t in a style, without an end of line.
func (t *Table) Format(style string) string {
	if len(t.Columns) == 0 {
		return ""
	}
	switch style {
	case "box":
		return t.box()
	case "markdown":
		return t.markdown()
	case "csv":
		return t.csv()
	}
	return t.plain()
}

// Cost is about what Format takes, where every character is one byte: steps of some ten nanoseconds, and memory.
func (t *Table) Cost() (steps, bytes int) {
	rows := t.all()
	w := make([]int, len(t.Columns))
	for _, row := range rows {
		for i := range w {
			n := len(cell(row, i))
			w[i] = max(w[i], n)
			steps += n + 1
		}
	}
	width := 0
	for _, n := range w {
		width += n + 2
	}
	if t.MaxWidth > 0 && width > t.MaxWidth { // see narrow
		steps += (width - t.MaxWidth) * len(w) / 4
		width = t.MaxWidth
	}
	return steps, 2 * width * len(rows)
}

// all are the headers, where there are some, and the rows.
func (t *Table) all() [][]string {
	if t.Headers == nil {
		return t.Rows
	}
	return append([][]string{t.Headers}, t.Rows...)
}

func cell(row []string, i int) string {
	if i < len(row) {
		return row[i]
	}
	return ""
}

// layout is the width of each column when a line has gap columns besides the cells.
func (t *Table) layout(gap int) []int {
	w := make([]int, len(t.Columns))
	for _, row := range t.all() {
		for i := range w {
			w[i] = max(w[i], widths.StringWidth(cell(row, i)))
		}
	}
	if t.MaxWidth > 0 {
		t.narrow(w, gap)
	}
	return w
}

// least columns that text keeps while there is another way.
const least = 4

// narrow takes columns from the widest column again and again, from those of numbers last.
func (t *Table) narrow(w []int, gap int) {
	over := gap - t.MaxWidth
	for _, n := range w {
		over += n
	}
	for ; over > 0; over-- {
		widest := -1
		for _, round := range []struct {
			min     int
			numbers bool
		}{{least, false}, {1, false}, {1, true}} {
			for i, n := range w {
				if n > round.min && (round.numbers || t.Columns[i] != Right) && (widest < 0 || n > w[widest]) {
					widest = i
				}
			}
			if widest >= 0 {
				break
			}
		}
		if widest < 0 {
			return
		}
		w[widest]--
	}
}

// fit is text in exactly n columns.
func fit(text string, n int, align Align) string {
	w := widths.StringWidth(text)
	if w > n {
		text = widths.Truncate(text, n, "…")
		w = widths.StringWidth(text)
	}
	pad := max(n-w, 0)
	left := map[Align]int{Right: pad, Center: pad / 2}[align]
	return strings.Repeat(" ", left) + text + strings.Repeat(" ", pad-left)
}

// clip cuts lines that even the narrowest columns make too long.
func (t *Table) clip(lines []string) string {
	if t.MaxWidth > 0 {
		for i, line := range lines {
			if widths.StringWidth(line) > t.MaxWidth {
				lines[i] = widths.Truncate(line, t.MaxWidth, "…")
			}
		}
	}
	return strings.Join(lines, "\n")
}

func (t *Table) line(row []string, w []int, before, between, after string) string {
	cells := make([]string, len(w))
	for i := range w {
		cells[i] = fit(cell(row, i), w[i], t.Columns[i])
	}
	return before + strings.Join(cells, between) + after
}

func (t *Table) plain() string {
	const between = "  "
	w := t.layout(len(between) * (len(t.Columns) - 1))
	var lines []string
	for _, row := range t.all() {
		lines = append(lines, strings.TrimRight(t.line(row, w, "", between, ""), " "))
	}
	return t.clip(lines)
}

func (t *Table) box() string {
	w := t.layout(3*len(t.Columns) + 1)
	rule := func(left, middle, right string) string {
		parts := make([]string, len(w))
		for i, n := range w {
			parts[i] = strings.Repeat("─", n+2)
		}
		return left + strings.Join(parts, middle) + right
	}
	lines := []string{rule("┌", "┬", "┐")}
	if t.Headers != nil {
		lines = append(lines, t.line(t.Headers, w, "│ ", " │ ", " │"), rule("├", "┼", "┤"))
	}
	for _, row := range t.Rows {
		lines = append(lines, t.line(row, w, "│ ", " │ ", " │"))
	}
	return t.clip(append(lines, rule("└", "┴", "┘")))
}

// markdown is a table of GitHub's dialect, which always has a head.
func (t *Table) markdown() string {
	m := &Table{Headers: make([]string, len(t.Columns)), Columns: t.Columns}
	for i := range t.Columns {
		m.Headers[i] = escapeMarkdown(cell(t.Headers, i))
	}
	for _, row := range t.Rows {
		escaped := make([]string, len(t.Columns))
		for i := range escaped {
			escaped[i] = escapeMarkdown(cell(row, i))
		}
		m.Rows = append(m.Rows, escaped)
	}
	w := m.layout(0)
	rule := make([]string, len(w))
	for i := range w {
		w[i] = max(w[i], 3)
		switch dashes := strings.Repeat("-", w[i]); t.Columns[i] {
		case Right:
			rule[i] = dashes[1:] + ":"
		case Center:
			rule[i] = ":" + dashes[2:] + ":"
		default:
			rule[i] = dashes
		}
	}
	lines := []string{m.line(m.Headers, w, "| ", " | ", " |"), "| " + strings.Join(rule, " | ") + " |"}
	for _, row := range m.Rows {
		lines = append(lines, m.line(row, w, "| ", " | ", " |"))
	}
	return strings.Join(lines, "\n")
}

// escapeMarkdown writes what Markdown would take as a mark with a backslash; an underscore inside a word is none.
func escapeMarkdown(text string) string {
	var b strings.Builder
	for i := range len(text) {
		c := text[i]
		if strings.IndexByte("\\|`*<[]", c) >= 0 || c == '_' && !(i > 0 && i+1 < len(text) && isWord(text[i-1]) && isWord(text[i+1])) {
			b.WriteByte('\\')
		}
		b.WriteByte(c)
	}
	return b.String()
}

func isWord(c byte) bool {
	return c == '_' || c >= '0' && c <= '9' || c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z' || c >= 0x80
}

// csv is RFC 4180 with plain line ends.
func (t *Table) csv() string {
	var b strings.Builder
	w := csv.NewWriter(&b)
	for _, row := range t.all() {
		full := slices.Clone(row)
		for len(full) < len(t.Columns) {
			full = append(full, "")
		}
		if len(full) == 1 && full[0] == "" { // an empty line would be no row
			w.Flush()
			b.WriteString("\"\"\n")
			continue
		}
		_ = w.Write(full) // a strings.Builder takes everything
	}
	w.Flush()
	return strings.TrimSuffix(b.String(), "\n")
}
