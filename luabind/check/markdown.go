package check

import (
	"fmt"
	"strings"
)

// Markdown is the report for the summary of a job: a heading, the verdict, the table of tests and that of metrics.
func (r *Report) Markdown() []byte {
	var b strings.Builder
	fmt.Fprintf(&b, "## %s\n\n**%s**\n\n%s. %s.\n", escaped(r.Title), escaped(r.Sentence()), escaped(r.Counts()), escaped(r.Where()))
	if len(r.Tests) > 0 {
		b.WriteString("\n")
		for i, row := range r.Rows(false, maxLine) {
			writeRow(&b, row)
			if i == 0 {
				b.WriteString(strings.Repeat("| --- ", len(row)) + "|\n")
			}
		}
	}
	if left := r.LeftOut(); left != "" {
		b.WriteString("\n" + escaped(strings.TrimSuffix(left, "\n")) + "\n")
	}
	first := true
	for _, t := range r.Tests {
		for _, m := range t.Metrics {
			if first {
				b.WriteString("\n| Test | Device | Metric | Value | Unit | Min | Max | Result |\n| --- | --- | --- | --- | --- | --- | --- | --- |\n")
				first = false
			}
			writeRow(&b, []string{short(t.Name, maxName), deviceList(t.devices()), short(m.Name, maxName), cell(m.Value), m.Unit, cell(m.Min), cell(m.Max), m.Result.Label()})
		}
	}
	return []byte(b.String())
}

func writeRow(b *strings.Builder, row []string) {
	for _, text := range row {
		b.WriteString("| " + escaped(text) + " ")
	}
	b.WriteString("|\n")
}

func cell(v *float64) string {
	if v == nil {
		return "-"
	}
	return Number(*v)
}

// marks are the characters that mean something in Markdown in the middle of a line.
const marks = "\\`*_{}[]<>#!|~&$"

// escaped is text that Markdown shows as it is, in one line.
func escaped(text string) string {
	var b strings.Builder
	for _, c := range text {
		switch {
		case c == '\n':
			b.WriteString("<br>")
		case c == '\t':
			b.WriteByte(' ')
		case c == '@': // a backslash does not keep readers from telling the person of that name
			b.WriteString("@<!-- -->")
		case strings.ContainsRune(marks, c):
			b.WriteString("\\" + string(c))
		default:
			b.WriteRune(c)
		}
	}
	return b.String()
}
