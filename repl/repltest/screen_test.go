package repltest

import (
	"strings"
	"testing"
)

func TestScreen(t *testing.T) {
	for _, tt := range []struct {
		sent string
		want string // lines joined with |, those that scrolled away first
		x, y int
	}{
		{"ab\r\ncd", "ab|cd", 2, 1},
		{"12345", "12345", 4, 0}, // the next line begins with the next character
		{"123456", "12345|6", 1, 1},
		{"12345\x1b[31m6", "12345|6", 1, 1},
		{"12345\r\n6", "12345|6", 1, 1},
		{"1234中", "1234|中", 2, 1},
		{"中文", "中文", 4, 0},
		{"e\u0301\xe4", "e\u0301", 1, 0}, // a character is not whole yet
		{"a\nb\nc\nd", "a| b|  c|   d", 4, 2},
		{"abc\r\x1b[2C!", "ab!", 3, 0},
		{"abc\r\nd\x1b[1A\r\x1b[J", "", 0, 0},
		{"ab\r\ncd\x1b[H\x1b[2Jx", "x", 1, 0},
		{"abc\b\b\x07!", "a!c", 2, 0},
		{"a\x1b[?2004h\x1b[3", "a", 1, 0},
		{"ab\x1b[2;3Hc\x1b[9;9Hd\x1b[1;2H\x1b[K", "a|  c|    d", 1, 0},
		{"ab\x1b[?1049hcd\r\n\n\n\n\x1b[?25l\x1b[?25h\x1b[?1049l!", "ab!", 3, 0},
		{"ab\x1b[?1049h\x1b[Hcd", "cd", 2, 0},
	} {
		s := NewScreen(5, 3)
		for i := range len(tt.sent) { // in the smallest pieces
			_, _ = s.Write([]byte{tt.sent[i]})
		}
		if got := strings.ReplaceAll(s.Text(), "\n", "|"); got != tt.want || s.X != tt.x || s.Y != tt.y {
			t.Errorf("%q shows %q, cursor %d,%d; want %q, cursor %d,%d", tt.sent, got, s.X, s.Y, tt.want, tt.x, tt.y)
		}
		if len(s.Unknown) > 0 {
			t.Errorf("%q has codes that are not known: %v", tt.sent, s.Unknown)
		}
	}
	for _, question := range []string{"\x1b[6n", "\x1b[c", "\x1b[>c", "\x1b[?u", "\x1b]11;?\x07", "\x1bP$qm\x1b\\", "\x05"} {
		s := NewScreen(5, 3)
		_, _ = s.Write([]byte(question))
		if len(s.Unknown) == 0 {
			t.Errorf("the question %q is not noticed", question)
		}
	}
}

func TestScreenResize(t *testing.T) {
	s := NewScreen(5, 3)
	_, _ = s.Write([]byte("12345\r\n123"))
	s.Resize(2, 1)
	if got := s.Text(); got != "12\n12" || s.Current() != "12" || s.X != 1 || s.Y != 0 {
		t.Errorf("the small screen shows %q, cursor %d,%d", got, s.X, s.Y)
	}
	s.Resize(4, 3)
	_, _ = s.Write([]byte("x"))
	if got := s.Text(); got != "12\n1x" {
		t.Errorf("the larger screen shows %q", got)
	}
}
