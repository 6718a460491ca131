//go:build linux

package tests

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// indented is a chunk of as many lines, which adds 1 to n twice a line. Its body is indented with tabs, and
// its words would be completed by them.
func indented(lines int) string {
	return "for i=1,2 do\n" + strings.Repeat("\tpri\t= 1 n = (n\tor 0) n = n+1\t-- 中\n", lines-2) + "end"
}

// entries is what the history below state holds, a line each.
func entries(t *testing.T, state string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(state, "npulua", "history"))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// A paste is one chunk and one entry of the history, and its tabs are text.
func TestPaste(t *testing.T) {
	t.Parallel()
	text := indented(300)
	for _, tt := range []struct {
		name, newline, open, close string
		cols, rows                 int
	}{
		{"marked", "\r", "\x1b[200~", "\x1b[201~\r", 80, 24},
		{"unmarked", "\r", "", "\r", 80, 24},
		{"marked, small", "\r", "\x1b[200~", "\x1b[201~\r", 20, 5},
		{"unmarked, small", "\r", "", "\r", 20, 5},
		{"CRLF", "\r\n", "\x1b[200~", "\r\n\x1b[201~\r", 80, 24},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			state := t.TempDir()
			s := reopenScreen(t, state, tt.cols, tt.rows)
			s.prompted("")
			s.send(tt.open + strings.ReplaceAll(text, "\n", tt.newline) + tt.close)
			s.Wait("the paste run", func(m *screen) bool { return m.Paste && strings.HasSuffix(m.Text(), "end\nnpu>") })
			if got, want := entries(t, state), strings.ReplaceAll(text, "\n", `\n`)+"\n"; got != want {
				t.Errorf("the history is %q, want %q", got, want)
			}
			s.runs("print(n, pri)", "596     1")
			s.leave()
		})
	}
}

// Ctrl-C leaves a paste whose end was lost.
func TestPasteWithoutEnd(t *testing.T) {
	t.Parallel()
	s := openScreen(t, 80, 24)
	s.prompted("")
	s.send("\x1b[200~x = 1\rx = 2")
	s.send("\x03")
	s.Shows("to leave")
	s.runs("print(x)", "nil")
	s.leave()
}
