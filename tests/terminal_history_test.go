//go:build linux

package tests

import (
	"strings"
	"testing"
)

// What was typed in one session is there in the next, a function of several lines as one entry.
func TestHistoryAcrossSessions(t *testing.T) {
	t.Parallel()
	state := t.TempDir()
	s := reopenScreen(t, state, 80, 24)
	s.prompted("")
	s.send("function f()\r")
	s.Line("  >> ")
	s.send("return '中\\n' .. 6 * 7\rend\r")
	s.showsLast("  >> end")
	s.leave()
	if got, want := entries(t, state), `function f()\nreturn '中\\n' .. 6 * 7\nend`+"\n"; got != want {
		t.Errorf("the history is %q, want %q", got, want)
	}

	s = reopenScreen(t, state, 80, 24)
	s.runs("print(f)", "nil")
	s.send("draft\x1b[A\x1b[A")
	s.Line("  >> end")
	s.send("\x1b[B\x1b[B\x1b[B")
	s.prompted("draft")
	s.send("\x15\x1b[A\x1b[A")
	s.Line("  >> end")
	s.send("\r")
	s.showsLast("  >> end")
	s.runs("print(f())", "42")
	s.send("\x12func")
	s.Shows("(search `func') function f()")
	s.send("\x07")
	s.prompted("")
	s.leave()
}

// Ctrl-R with nothing to find, and Ctrl-C out of it, leave a prompt that works.
func TestHistoryEmptySearch(t *testing.T) {
	t.Parallel()
	s := openScreen(t, 80, 24)
	s.prompted("")
	s.send("\x12")
	s.Shows("(search `')")
	s.send("\x03")
	s.Shows("to leave")
	s.prompted("")
	s.send("\x12x\x12\x13")
	s.Shows("(no entry has `x')")
	s.send("\x03")
	s.Wait("another prompt", func(m *screen) bool { return m.Current() == "npu>" && strings.Count(m.Text(), "^C") == 2 && m.Paste })
	s.runs("6 * 7", "42")
	s.leave()
}

// Ctrl-C drops what is typed, and none of it runs.
func TestHistoryDropped(t *testing.T) {
	t.Parallel()
	state := t.TempDir()
	s := reopenScreen(t, state, 80, 24)
	s.prompted("")
	s.send("x=99")
	s.prompted("x=99")
	s.send("\x03")
	s.Shows("(to leave: Ctrl-D, or Ctrl-C twice at an empty prompt)")
	s.runs("print(x)", "nil")
	s.send("y = 1 for i=1,3 do\r")
	s.Line("  >> ")
	s.send("y = 98")
	s.Line("  >> y = 98")
	s.send("\x03")
	s.runs("print(x, y)", "nil     nil")
	if n := s.Count("to leave:"); n != 1 {
		t.Errorf("the hint was shown %d times", n)
	}
	s.leave()
	if got, want := entries(t, state), "print(x)\nprint(x, y)\n"; got != want {
		t.Errorf("the history is %q, want %q", got, want)
	}
}
