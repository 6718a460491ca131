package display

import (
	"bytes"
	"os"
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

func TestClean(t *testing.T) {
	for _, tt := range []struct {
		in      string
		colours bool
		want    string
	}{
		{"plain", false, "plain"},
		{"a\tb\nc", false, "a b c"},
		{"\x1b[31mred\x1b[0m", false, "red"},
		{"\x1b[31mred\x1b[0m", true, "\x1b[31mred\x1b[0m"},
		{"\x1b[2J\x1b]0;t\a", true, "?[2J?]0;t?"},
		{"\x1b[38;5;1m\x1b[?25h\x1b[1", true, "\x1b[38;5;1m?[?25h?[1"},
		{"\xff中\x00\u200b", false, "?中??"},
	} {
		if got := clean(tt.in, tt.colours); got != tt.want {
			t.Errorf("clean(%q, %v) = %q, want %q", tt.in, tt.colours, got, tt.want)
		}
	}
}

func TestClip(t *testing.T) {
	for _, tt := range []struct {
		in      string
		columns int
		fill    bool
		want    string
	}{
		{"abc", 3, false, "abc"}, {"abcd", 3, false, "abc"}, {"ab", 3, true, "ab "}, {"中文", 3, true, "中 "}, {"中文", 3, false, "中"},
		{"\x1b[1mab\x1b[0mc", 2, false, "\x1b[1mab\x1b[0m"}, {"abc", 0, false, ""}, {"abc", -1, true, ""}, {"e\u0301x", 1, false, "e\u0301"},
	} {
		if got := clip(tt.in, tt.columns, tt.fill); got != tt.want {
			t.Errorf("clip(%q, %d, %v) = %q, want %q", tt.in, tt.columns, tt.fill, got, tt.want)
		}
	}
}

func TestClock(t *testing.T) {
	for s, want := range map[float64]string{0: "0 s", 0.25: "0.25 s", 0.2 - 1e-12: "0.2 s", 9.99: "9.9 s", 59.9: "59 s", 60: "1:00", 3725: "1:02:05", 1e12: "1e+12 s"} {
		if got := clock(s); got != want {
			t.Errorf("clock(%v) = %q, want %q", s, got, want)
		}
	}
}

func TestParseKey(t *testing.T) {
	for _, tt := range []struct {
		in    string
		final bool
		key   string
		n     int
	}{
		{"", true, "", 0}, {"q", false, "q", 1}, {"\xc3", false, "", 0}, {"\xc3\xa9x", false, "é", 2}, {"\xff", false, "", 1},
		{"\x1b", false, "", 0}, {"\x1b", true, "escape", 1}, {"\x1b\x1b[A", false, "escape", 1}, {"\x1b[A", false, "up", 3}, {"\x1bOB", false, "down", 3},
		{"\x1b[5~", false, "page_up", 4}, {"\x1b[5", false, "", 0}, {"\x1b[5", true, "", 3}, {"\x1b[1;5C", false, "", 6}, {"\x1bx", false, "", 2},
		{"\x00", false, "", 1}, {"\r", false, "enter", 1}, {"\x1b[" + strings.Repeat("1", 40), false, "", longestKey},
	} {
		if key, n := parseKey([]byte(tt.in), tt.final); key != tt.key || n != tt.n {
			t.Errorf("parseKey(%q, %v) = %q, %d, want %q, %d", tt.in, tt.final, key, n, tt.key, tt.n)
		}
	}
}

// FuzzParseKey: what comes from a terminal is taken in whole, and no key is more than a name or a character.
func FuzzParseKey(f *testing.F) {
	f.Add([]byte("q\x1b[A\x1b\x1b[5~\xc3\xa9\x1b["))
	f.Fuzz(func(t *testing.T, b []byte) {
		for len(b) > 0 {
			key, n := parseKey(b, true)
			if n < 1 || n > len(b) || !utf8.ValidString(key) || strings.ContainsAny(key, "\x1b\n") {
				t.Fatalf("parseKey(%q, true) = %q, %d", b, key, n)
			}
			if early, m := parseKey(b, false); m > 0 && (early != key || m != n) {
				t.Fatalf("parseKey(%q, false) = %q, %d, but in the end %q, %d", b, early, m, key, n)
			}
			b = b[n:]
		}
	})
}

// A line is never wider than the terminal less one, whatever is in it.
func FuzzLine(f *testing.F) {
	f.Add("title", "note", "unit", 10.0, 3.0, 80)
	f.Add("\x1b[31m中", "\xff\n", "bytes", 1e300, 1e299, 3)
	f.Fuzz(func(t *testing.T, title, note, unit string, total, value float64, columns int) {
		if !(total >= 0 && total < 1e308) || !(value >= 0 && value < 1e308) || columns < 1 || columns > 1000 {
			t.Skip()
		}
		b := &Bar{o: BarOptions{Total: total, Unit: clean(unit, false)}, title: clean(title, false), note: clean(note, false), value: value, start: time.Now()}
		for _, l := range []layout{layOut([]*Bar{b}, columns), {columns: columns, fill: maxBar}} {
			if line := b.line(l); width(line) >= columns && line != "" || strings.ContainsAny(line, "\x1b\n") {
				t.Fatalf("%d columns have the line %q", columns, line)
			}
		}
	})
}

func TestHeld(t *testing.T) {
	var h held
	one, other := new(os.File), new(os.File) // those of the process may be the same
	h.add(one, []byte("a"))
	h.add(one, []byte("b"))
	h.add(other, []byte("c"))
	h.add(one, bytes.Repeat([]byte("d"), maxHeld))
	parts := h.take(other)
	if len(parts) != 4 || string(parts[0].text) != "ab" || string(parts[1].text) != "c" || len(parts[2].text) != maxHeld-3 || !strings.Contains(string(parts[3].text), " 3 bytes more") {
		t.Errorf("%d parts are held", len(parts))
	}
	if len(h.take(other)) != 0 {
		t.Error("what was taken is still held")
	}
}

// A bar in lines has one each 10 %, and after 10 s without one.
func TestTell(t *testing.T) {
	d := new(Display)
	defer d.End()
	var told []string
	b, line := d.NewBar(BarOptions{Total: 10, Tell: func(line string) { told = append(told, line) }}, 1)
	lines := []string{line, b.Set(0.5), b.Set(1), b.Set(1.5), b.Set(9.99), b.Set(10), b.Done(), b.Set(3)}
	if got := strings.Join(lines, "|"); got != "0 % (0/10)||10 % (1/10)||99 % (9.99/10)|100 % (10/10)||" {
		t.Errorf("the lines are %q", got)
	}
	if other, _ := d.NewBar(BarOptions{Total: 1, Tell: b.o.Tell}, 1); other != nil {
		t.Error("there may be one bar, and there are two")
	}
}

func TestOverdue(t *testing.T) {
	d := new(Display)
	defer d.End()
	told := make(chan string, 1)
	b, _ := d.NewBar(BarOptions{Total: 10, Tell: func(line string) { told <- line }}, 1)
	if len(d.overdue()) != 0 {
		t.Error("a bar that has just been told of is overdue")
	}
	d.mu.Lock()
	b.toldAt = b.toldAt.Add(-tellEvery)
	d.mu.Unlock()
	for _, tell := range d.overdue() {
		tell()
	}
	if got := <-told; got != "0 % (0/10)" {
		t.Errorf("the line is %q", got)
	}
}

// Where no terminal is, everything goes where it would go anyway, and there is no screen.
func TestNoTerminal(t *testing.T) {
	var out bytes.Buffer
	d := New(strings.NewReader(""), &out, &out)
	if w := d.Writer(&out); w != any(&out) {
		t.Errorf("the writer is %T", w)
	}
	if _, err := d.OpenScreen(t.Context(), nil); err != ErrNoTerminal {
		t.Errorf("OpenScreen: %v, want %v", err, ErrNoTerminal)
	}
	d.Lend()()
	d.Settle()
	d.Leave(nil)
	d.End()
}
