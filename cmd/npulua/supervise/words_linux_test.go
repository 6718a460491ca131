package supervise

import (
	"strings"
	"testing"
)

// TestLastWords writes text as a child does, whole and byte by byte.
func TestLastWords(t *testing.T) {
	for _, c := range []struct{ text, passed, kept string }{
		{"", "", ""},
		{"one\ntwo\n", "one\ntwo\n", ""},
		{"no end", "no end", ""},
		{"fatal err", "fatal err", ""},
		{"runtime\nruntime.x\n", "runtime\nruntime.x\n", ""},
		{"a panic: b\n", "a panic: b\n", ""},
		{"SIGQUIT: quit\ngoroutine 1\n", "SIGQUIT: quit\ngoroutine 1\n", ""},
		{"text\nfatal error: out of memory\n\ngoroutine 1\n", "text\n", "fatal error: out of memory\n\ngoroutine 1\n"},
		{"text, fatal error: x\nSIGSEGV: segmentation violation\ntext\n", "text, fatal error: x\n", "SIGSEGV: segmentation violation\ntext\n"},
		{"panic: x", "", "panic: x"},
	} {
		for _, size := range []int{1, 3, len(c.text)} {
			var passed strings.Builder
			found := 0
			w := lastWords{w: &passed, found: func() { found++ }}
			for rest := c.text; rest != ""; {
				n := min(size, len(rest))
				if wrote, err := w.Write([]byte(rest[:n])); wrote != n || err != nil {
					t.Fatal(wrote, err)
				}
				rest = rest[n:]
			}
			w.flush()
			if passed.String() != c.passed || string(w.text) != c.kept || (found == 1) != (c.kept != "") || found > 1 {
				t.Errorf("%q by %d: passed on %q, kept %q, told %d times, want %q, %q", c.text, size, &passed, w.text, found, c.passed, c.kept)
			}
		}
	}
}

// What was asked for is passed on, whatever it looks like.
func TestLastWordsAskedFor(t *testing.T) {
	const text = "SIGQUIT: quit\nruntime: g 0 gp=0x1: unknown pc 0x2\nfatal error: x\n"
	var passed strings.Builder
	w := lastWords{w: &passed, found: func() { t.Error("taken for last words") }}
	w.asked.Store(true)
	_, _ = w.Write([]byte(text))
	w.flush()
	if passed.String() != text || w.text != nil {
		t.Errorf("passed on %q, kept %q", &passed, w.text)
	}
}

// A child says more than is kept.
func TestLastWordsBounded(t *testing.T) {
	w := lastWords{found: func() {}}
	for range 2 * mostWords / 1024 {
		_, _ = w.Write([]byte("panic: " + strings.Repeat("x", 1017)))
	}
	if len(w.text) != mostWords {
		t.Errorf("kept %d bytes, want %d", len(w.text), mostWords)
	}
}
