package repl

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
)

func TestLay(t *testing.T) {
	for _, tt := range []struct {
		prompt, text string
		cursor, cols int
		want         string // rows, joined with |
		row, col     int
	}{
		{"> ", "", 0, 10, "> ", 0, 2},
		{"> ", "abc", 1, 10, "> abc", 0, 3},
		{"> ", "12345678", 8, 10, "> 12345678|", 1, 0},
		{"> ", "12345678", 7, 10, "> 12345678", 0, 9},
		{"> ", "123456789", 8, 10, "> 12345678|9", 1, 0},
		{"> ", "1234567中", 7, 10, "> 1234567|中", 1, 0},
		{"> ", "123456中x", 9, 10, "> 123456中|x", 1, 0},
		{"> ", "a\n\tb", 4, 10, "> a|>     b", 1, 7},
		{"> ", "12345678\nb", 8, 10, "> 12345678||> b", 1, 0},
		{"> ", "12345678\nb", 9, 10, "> 12345678|> b", 1, 2},
		{"", "中a", 0, 1, "?|a", 0, 0},
		{"", "中a", 4, 1, "?|a|", 2, 0},
		{"", "", 0, 1, "", 0, 0},
		{"", "e\u0301", 1, 1, "e\u0301|", 1, 0},
		{"> ", "\t\t", 2, 4, ">   |    |  ", 2, 2},
	} {
		more := tt.prompt
		l := lay(tt.prompt, more, "", tt.text, tt.cursor, tt.cols, func(int) string { return "" })
		if got := strings.Join(l.rows, "|"); got != tt.want || l.row != tt.row || l.col != tt.col {
			t.Errorf("lay(%q, %q, cursor %d, %d columns) = %q, cursor %d,%d; want %q, cursor %d,%d", tt.prompt, tt.text, tt.cursor, tt.cols, got, l.row, l.col, tt.want, tt.row, tt.col)
		}
		for i, w := range l.widths {
			if w != textWidth(l.rows[i]) || w > tt.cols {
				t.Errorf("lay(%q): row %d is %d wide, said to be %d, of %d", tt.text, i, textWidth(l.rows[i]), w, tt.cols)
			}
		}
	}
}

func FuzzLay(f *testing.F) {
	f.Add("npu0> ", "for i=1,2 do\n\t中文🙂e\u0301", 5, 8)
	f.Fuzz(func(t *testing.T, prompt, text string, cursor, cols int) {
		text, prompt = clean(text), strings.Map(func(r rune) rune { return max(r, ' ') }, clean(prompt))
		if cols < 1 || cols > 200 || cursor < 0 || cursor > len(text) {
			return
		}
		for cursor < len(text) && text[cursor]&0xC0 == 0x80 {
			cursor++
		}
		l := lay(prompt, prompt, "", text, cursor, cols, func(int) string { return "" })
		if l.row < 0 || l.row >= len(l.rows) || l.col < 0 || l.col >= cols || len(l.widths) != len(l.rows) {
			t.Fatalf("cursor at %d,%d of %q, %d columns", l.row, l.col, l.rows, cols)
		}
		for i, w := range l.widths {
			if w != textWidth(l.rows[i]) || w > cols {
				t.Fatalf("row %q is said to be %d wide, of %d", l.rows[i], w, cols)
			}
		}
	})
}

func TestMenuRows(t *testing.T) {
	names := []string{"aa", "b", "中文", "dd", "e"}
	for _, tt := range []struct {
		cols, limit, chosen int
		want                string
	}{
		{14, 9, -1, "aa    b|中文  dd|e"},
		{14, 2, -1, "aa    b|and 3 more"},
		{14, 2, 4, sgrChosen + "e" + sgrReset},
		{14, 1, -1, "aa    b"},
		{1, 9, -1, "a|b||d|e"},
		{3, 0, -1, ""},
	} {
		m := menu{candidates: names, chosen: tt.chosen}
		if got := strings.Join(m.rows(tt.cols, tt.limit), "|"); got != tt.want {
			t.Errorf("rows(%d, %d) with %d chosen = %q, want %q", tt.cols, tt.limit, tt.chosen, got, tt.want)
		}
	}
}

func TestUndouble(t *testing.T) {
	for in, want := range map[string]string{
		"":                        "",
		"a\nb":                    "a\nb",
		"a\n\nb":                  "a\n\nb",
		"a\n\nb\n\n":              "a\nb\n",
		"a\n\nb\nc":               "a\n\nb\nc",
		"a\n\n\n\nb\n\nc\n\n\n\n": "a\n\nb\nc\n\n",
	} {
		if got := undouble(in); got != want {
			t.Errorf("undouble(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestContinuation(t *testing.T) {
	for in, want := range map[string]string{"npu0> ": "   >> ", "> ": "> ", "": "", "中> ": " >> "} {
		if got := continuation(in); got != want {
			t.Errorf("continuation(%q) = %q, want %q", in, got, want)
		}
	}
}

func open(t *testing.T, path string) *history {
	t.Helper()
	h, err := openHistory(path)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func TestHistory(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a", "b", "history")
	h := open(t, path)
	entries := []string{"one", `back\slash \n`, "two\nlines", `two\nlines`, `\`, "\\\n\\", "中文"}
	for _, e := range entries {
		for range 2 { // the second is the same as the last
			if err := h.add(e); err != nil {
				t.Fatal(err)
			}
		}
		h.add(" \n")
	}
	if got := open(t, path).entries; !slices.Equal(got, entries) {
		t.Errorf("the file has %q, want %q", got, entries)
	}
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the mode is %v, %v", info.Mode(), err)
	}

	// What others wrote is repaired: mode, a last line that was cut off, control characters.
	if err := os.WriteFile(path, []byte("bad\x1b[2J\x00\n\n \ncut off"), 0o600); err != nil {
		t.Fatal(err)
	}
	os.Chmod(path, 0o644)
	h = open(t, path)
	if want := []string{"bad[2J", "cut off"}; !slices.Equal(h.entries, want) {
		t.Errorf("read %q, want %q", h.entries, want)
	}
	h.add("next")
	b, _ := os.ReadFile(path)
	if !strings.HasSuffix(string(b), "\ncut off\nnext\n") {
		t.Errorf("the file is %q", b)
	}
	if info, _ := os.Stat(path); info.Mode().Perm() != 0o600 {
		t.Errorf("the mode is still %v", info.Mode())
	}
}

func TestHistoryCut(t *testing.T) {
	path := filepath.Join(t.TempDir(), "history")
	var b strings.Builder
	for i := range 2*historyLimit + 1 {
		fmt.Fprintf(&b, "entry %d\n", i)
	}
	if err := os.WriteFile(path, []byte(b.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	other := &history{path: path}
	h := open(t, path)
	if len(h.entries) != historyLimit {
		t.Errorf("%d entries, want %d", len(h.entries), historyLimit)
	}
	other.add("of a session that had the file open before")
	got := open(t, path).entries
	if len(got) != historyLimit || got[len(got)-1] != other.entries[0] || got[len(got)-2] != fmt.Sprintf("entry %d", 2*historyLimit) {
		t.Errorf("%d entries, the last ones %q", len(got), got[len(got)-2:])
	}
	if names, _ := filepath.Glob(filepath.Join(filepath.Dir(path), ".*")); len(names) > 0 {
		t.Errorf("left behind: %v", names)
	}
}

func TestHistoryTogether(t *testing.T) {
	path := filepath.Join(t.TempDir(), "history")
	var wg sync.WaitGroup
	for i := range 4 {
		wg.Add(1)
		go func() {
			defer wg.Done()
			h, err := openHistory(path)
			for j := range 50 {
				if err == nil {
					err = h.add(fmt.Sprintf("%d\n%d", i, j))
				}
			}
			if err != nil {
				t.Error(err)
			}
		}()
	}
	wg.Wait()
	if n := len(open(t, path).entries); n != 200 {
		t.Errorf("%d entries, want 200", n)
	}
}

func TestHistoryPath(t *testing.T) {
	for _, tt := range []struct{ state, home, want string }{
		{"/state", "/home/a", "/state/npulua/history"},
		{"", "/home/a", "/home/a/.local/state/npulua/history"},
		{"relative", "/home/a", "/home/a/.local/state/npulua/history"},
	} {
		t.Setenv("XDG_STATE_HOME", tt.state)
		t.Setenv("HOME", tt.home)
		if got, err := HistoryPath("npulua"); got != tt.want || err != nil {
			t.Errorf("HistoryPath with %q and %q = %q, %v, want %q", tt.state, tt.home, got, err, tt.want)
		}
	}
}

// A link to /dev/null is how people keep no history: the device must stay as it is.
func TestHistoryDevice(t *testing.T) {
	path := filepath.Join(t.TempDir(), "history")
	if err := os.Symlink("/dev/null", path); err != nil {
		t.Fatal(err)
	}
	before, err := os.Stat("/dev/null")
	if err != nil {
		t.Skip(err)
	}
	h := open(t, path)
	if err := h.add("x"); err != nil || len(h.entries) != 1 {
		t.Errorf("add: %v, entries %q", err, h.entries)
	}
	if after, _ := os.Stat("/dev/null"); after.Mode() != before.Mode() {
		t.Errorf("/dev/null has mode %v now", after.Mode())
	}
}
