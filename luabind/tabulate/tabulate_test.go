package tabulate

import (
	"encoding/csv"
	"slices"
	"strings"
	"testing"
	"unicode"
)

// FuzzFormat checks that lines keep to the limit, that those of a box are of one length, and that CSV is read back.
func FuzzFormat(f *testing.F) {
	f.Add("id", "昇腾 910", "e\u0301 text that is long", 12)
	f.Add("", "|", "a,\"b\"", 0)
	f.Fuzz(func(t *testing.T, a, b, c string, limit int) {
		for _, text := range []string{a, b, c} {
			if strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsGraphic(r) || r == unicode.ReplacementChar }) {
				t.Skip("the caller makes such text safe")
			}
		}
		table := &Table{Headers: []string{a, b}, Rows: [][]string{{b, c, a}, {c}}, Columns: []Align{Left, Right, Center}, MaxWidth: max(limit, 0)}
		for _, style := range Styles {
			text := table.Format(style)
			lines := strings.Split(text, "\n")
			if n := map[string]int{"plain": 3, "box": 6, "markdown": 4, "csv": 3}[style]; len(lines) != n {
				t.Errorf("%s has %d lines, want %d:\n%s", style, len(lines), n, text)
			}
			for _, line := range lines {
				w := widths.StringWidth(line)
				if Limited(style) && limit > 0 && w > limit {
					t.Errorf("%s: %q takes %d columns, limit %d", style, line, w, limit)
				}
				if style == "box" && limit <= 0 && w != widths.StringWidth(lines[0]) {
					t.Errorf("box: %q is not as long as the rule", line)
				}
			}
		}
		rows, err := csv.NewReader(strings.NewReader(table.Format("csv"))).ReadAll()
		if want := []string{b, c, a}; err != nil || !slices.Equal(rows[1], want) {
			t.Errorf("CSV %q = %q, %v, want %q", table.Format("csv"), rows, err, want)
		}
	})
}

func TestOneEmptyCell(t *testing.T) {
	table := &Table{Rows: [][]string{{"a"}, {""}, {"b"}}, Columns: []Align{Left}}
	if got, want := table.Format("csv"), "a\n\"\"\nb"; got != want {
		t.Errorf("CSV = %q, want %q", got, want)
	}
}
