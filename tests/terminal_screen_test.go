//go:build linux

package tests

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"npulua/repl/repltest"
)

// screen is what a person sees of a terminal.
type screen = repltest.Screen

// openScreen starts the binary in a terminal of any size, which has colour unless env says otherwise.
func openScreen(t *testing.T, cols, rows int, env ...string) *terminal {
	t.Helper()
	return reopenScreen(t, t.TempDir(), cols, rows, env...)
}

// reopenScreen is openScreen with the history that earlier sessions left in state.
func reopenScreen(t *testing.T, state string, cols, rows int, env ...string) *terminal {
	t.Helper()
	cmd := exec.Command(binary, "--backend=sim", "--clock=wall")
	cmd.Env = append(append(os.Environ(), "TERM=xterm-256color", "NO_COLOR="), env...)
	return startIn(t, cmd, state, cols, rows)
}

// prompted waits for the prompt with text behind it, and the cursor at its end.
func (s *terminal) prompted(text string) {
	s.t.Helper()
	s.Line("npu> " + text)
}

// editing waits until a line is edited, whatever is left of the prompt.
func (s *terminal) editing() {
	s.t.Helper()
	s.Wait("a prompt", func(m *screen) bool { return m.Paste })
}

// edits waits until the n-th line is edited, where too little of it is shown to tell.
func (s *terminal) edits(n int) {
	s.t.Helper()
	s.Wait(fmt.Sprintf("prompt %d", n), func(m *screen) bool { return m.Edits >= n && m.Paste })
}

// runs types a chunk and waits for what it prints, and for the prompt after it.
func (s *terminal) runs(chunk, want string) {
	s.t.Helper()
	s.prompted("")
	s.send(chunk + "\r")
	s.showsLast(want)
}

// showsLast waits for a prompt below the line text.
func (s *terminal) showsLast(text string) {
	s.t.Helper()
	s.Wait(fmt.Sprintf("%q and a prompt", text), func(m *screen) bool {
		return m.Paste && strings.HasSuffix(m.Text(), "\n"+text+"\nnpu>")
	})
}

// leave ends the session with Ctrl-D.
func (s *terminal) leave() {
	s.t.Helper()
	s.send("\x04")
	s.ends(0)
}

// dense is all that is shown, without blanks: what is left of lines that a small screen breaks.
func dense(m *screen) string { return strings.Join(strings.Fields(m.Text()), "") }

// Every size works: what is typed runs, and nothing breaks.
func TestScreenSizes(t *testing.T) {
	t.Parallel()
	for _, size := range [][2]int{{80, 24}, {20, 5}, {8, 3}, {7, 2}, {2, 2}, {1, 1}, {0, 0}, {80, 1}, {1, 24}} {
		t.Run(fmt.Sprint(size), func(t *testing.T) {
			t.Parallel()
			s := openScreen(t, size[0], size[1])
			s.editing()
			s.send("npu.\tpri\t\t\t\x15中\t\t\t\x7f\x15\x12a🙂\x07中文🙂 a\x01\x05\x1b[D\x1b[Db\tc")
			s.send("\x15\x0bkept = '中'\r")
			s.edits(2) // Ctrl-C is not for the chunk
			s.send("\x1b[A\x1b[A\x03")
			s.send("x = {}\r")
			s.send("print(kept .. kept, 6 * 7, x.y)\r")
			want := "中中42nil"
			if size[0] == 1 { // where no wide character fits, its halves have nothing to stand on
				want = "42nil"
			}
			s.Wait("the values", func(m *screen) bool { return strings.Contains(dense(m), want) && m.Paste })
			s.leave()
		})
	}
}

func TestScreenWide(t *testing.T) {
	t.Parallel()
	s := openScreen(t, 80, 24)
	s.prompted("")
	s.send(`x = "中文🙂"`)
	s.prompted(`x = "中文🙂"`)
	s.send("\x1b[D\x1b[D\x1b[D")
	s.Wait("the cursor before 文", func(m *screen) bool { return m.X == repltest.Width(`npu> x = "中`) })
	s.send("字")
	s.Wait("字 within the line", func(m *screen) bool {
		return m.Current() == `npu> x = "中字文🙂"` && m.X == repltest.Width(`npu> x = "中字`)
	})
	s.send("\x7f\x7f👍")
	s.Wait("👍 in its place", func(m *screen) bool {
		return m.Current() == `npu> x = "👍文🙂"` && m.X == repltest.Width(`npu> x = "👍`)
	})
	s.send("\r")
	s.runs("print(x, #x)", "👍文🙂  11")
	s.leave()
}

// Typing at the start of a long line draws it where it is: it does not climb over what stands above it.
func TestScreenLongLine(t *testing.T) {
	t.Parallel()
	for _, long := range []string{strings.Repeat("0123456789", 20), strings.Repeat("中文🙂 x", 40)} {
		s := openScreen(t, 80, 24)
		s.runs("print 'above'", "above")
		text := "s = '" + long + "'"
		s.send(text)
		var top, end int
		s.Wait("the long line", func(m *screen) bool {
			end = m.Y
			return strings.HasSuffix(strings.ReplaceAll(m.Text(), "\n", ""), "npu> "+text) && strings.HasSuffix(m.Current(), long[len(long)-1:]+"'")
		})
		s.send("\x01")
		s.Wait("the cursor at its start", func(m *screen) bool {
			top = m.Y
			return strings.HasPrefix(m.Current(), "npu> s = ") && m.X == len("npu> ")
		})
		lines := s.Count("\n")
		typed := ""
		for _, key := range []string{"a", "b", "c", "_"} {
			s.send(key)
			typed += key
			s.Wait(typed+" at its start", func(m *screen) bool {
				return strings.HasPrefix(m.Current(), "npu> "+typed+"s = '") && m.X == len("npu> "+typed) && m.Y == top && m.Row(top-1) == "above"
			})
		}
		s.send("\x05 \x01\x05\x01\x05")
		s.Wait("the cursor at its end", func(m *screen) bool { return m.Y == end && m.Row(top-1) == "above" })
		if n := s.Count("\n"); n != lines {
			t.Errorf("the screen has %d lines after typing in a long one, %d before", n, lines)
		}
		s.send("\r")
		s.runs(fmt.Sprintf("return #abc_s == %d", len(long)), "true")
		s.leave()
	}
}

// An entry higher than the screen shows the part with the cursor, and all of it once it runs.
func TestScreenTall(t *testing.T) {
	t.Parallel()
	s := openScreen(t, 20, 5)
	s.prompted("")
	s.send("\x1b[200~" + indented(12) + "\x1b[201~")
	s.Line("  >> end")
	s.send(strings.Repeat("\x1b[A", 11) + " ")
	s.Wait("its start", func(m *screen) bool { return m.Y == 0 && m.Current() == "npu> for  i=1,2 do" })
	s.send(strings.Repeat("\x1b[B", 6))
	s.Wait("its middle", func(m *screen) bool { return m.Y == 4 && m.Current() == "  >>     pri = 1 n =" })
	s.send("\r")
	s.showsLast("  >> end")
	if n := s.Count("n = n+1"); n != 10 || s.Count("for  i") != 1 {
		t.Errorf("the entry does not stand once in what was shown: %d lines of 10", n)
	}
	s.runs("print(n)", "20")
	s.leave()
}

// A line is drawn anew for a screen that has changed.
func TestScreenResize(t *testing.T) {
	t.Parallel()
	s := openScreen(t, 80, 24)
	s.runs("print 'before'", "before")
	words := strings.Repeat("word ", 31)
	s.send("s = '" + words + "'")
	s.Wait("the line", func(m *screen) bool { return strings.HasSuffix(m.Current(), "word '") && m.Y > 2 })
	s.Resize(100, 30) // and no key
	s.Wait("the line broken anew", func(m *screen) bool { return strings.Contains(m.Text(), ("npu> s = '" + words)[:99]+"\n") })
	for _, size := range [][2]int{{60, 10}, {100, 10}, {20, 5}, {1, 1}, {3, 2}, {80, 24}} {
		s.Resize(size[0], size[1])
		s.send("\x01\x05") // and it is still alive
	}
	s.send(" ..'!'")
	s.Wait("the line on the new screen", func(m *screen) bool {
		return strings.HasSuffix(m.Text(), "word ' ..'!'") && strings.Contains(m.Text(), "npu> s = 'word word")
	})
	s.send("\r")
	s.runs("print(#s)", "156")
	s.leave()
}

// A screen that changes while a chunk runs is the one that the next line is drawn for.
func TestScreenResizeWhileRunning(t *testing.T) {
	t.Parallel()
	s := openScreen(t, 80, 24)
	s.prompted("")
	for _, chunk := range []string{"while true do end", "npu.sleep(1000)"} {
		s.send("print 'begun' " + chunk + "\r")
		s.see("begun\n")
		s.Resize(30, 10)
		s.send("\x03")
		s.Wait("a prompt", func(m *screen) bool { return m.Paste && m.Current() == "npu>" && m.X == 5 })
		s.send("s = '" + strings.Repeat("word ", 8) + "'")
		s.Wait("a line broken for it", func(m *screen) bool {
			return strings.Contains(m.Text(), "npu> s = 'word word word word \nword") || strings.Contains(m.Text(), "npu> s = 'word word word word\nword")
		})
		s.Resize(80, 24)
		s.send("\x01\x05\r")
		s.runs("print(#s)", "40")
	}
	s.leave()
}

// A terminal may answer no question. None is asked, and all that is sent is known to every terminal.
func TestScreenAsksNothing(t *testing.T) {
	t.Parallel()
	s := openScreen(t, 80, 24)
	s.runs("npu.device_count()", "1")
	s.send("npu.\t\t\x03")
	s.Shows("^C")
	s.prompted("")
	s.send("\x1b[200~x = 1\ny = 2\x1b[201~\r")
	s.runs("x + y", "3")
	s.leave()
	plain := regexp.MustCompile("\x1b\\[([0-9;]*m|[0-9]*[AC]|J|H|2J|\\?2004[hl])")
	if rest := plain.ReplaceAllString(s.Raw(), ""); strings.ContainsAny(rest, "\x1b\x05\x0e\x0f\u009b") {
		t.Errorf("the terminal was sent codes that it need not know: %q", rest)
	}
}

func TestScreenColor(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		env  []string
		want bool
	}{
		{nil, true},
		{[]string{"NO_COLOR=1"}, false},
		{[]string{"TERM=vt100"}, false},
	} {
		t.Run(fmt.Sprint(tt.env), func(t *testing.T) {
			t.Parallel()
			s := openScreen(t, 80, 24, tt.env...)
			s.prompted("")
			s.send("for x")
			s.prompted("for x")
			s.send("\x15error('as asked', 0)\r")
			s.Shows("\nas asked")
			s.runs("npu.devices()", "+-----+-------------+--------------------+---------------------+------------+")
			s.leave()
			raw := s.Raw()
			for _, code := range []string{"\x1b[35mfor\x1b[0m", "\x1b[1;36mnpu> \x1b[0m", "\x1b[31mas asked"} {
				if strings.Contains(raw, code) != tt.want {
					t.Errorf("code %q sent: %v", code, !tt.want)
				}
			}
			if color := regexp.MustCompile("\x1b\\[[0-9;]*m"); !tt.want && color.MatchString(raw) {
				t.Errorf("colour in %q", raw)
			}
		})
	}
}

// A terminal that understands no escape codes is sent none.
func TestScreenDumb(t *testing.T) {
	t.Parallel()
	s := openScreen(t, 80, 24, "TERM=dumb")
	at := func(text string) {
		t.Helper()
		s.Wait(fmt.Sprintf("the line %q", text), func(m *screen) bool {
			return m.Current() == strings.TrimRight(text, " ") && m.X == len(text)
		})
	}
	at("npu> ")
	s.send("for i=1,2 do\n")
	at("  >> ")
	s.send("print('body', i)\nend\n")
	s.Shows("body    2\nnpu>")
	at("npu> ")
	s.send("for i=1,2 do\n")
	at("  >> ")
	s.send("half")
	at("  >> half")
	s.send("\x03")
	s.Shows("to leave:")
	for _, chunk := range []string{"error 'as asked'", "x = = 1", "npu.devices()", "help(npu.kernel)", "npu.device_c?", ".help", ".trace show", ".nonsense", "{1, {2}}"} {
		at("npu> ")
		s.send(chunk + "\n")
		s.see("npu> ")
	}
	at("npu> ")
	s.send("print 'begun' npu.sleep(1000)\n")
	s.see("begun\n")
	s.send("\x03")
	s.Shows("interrupted")
	at("npu> ")
	s.leave()
	if strings.Contains(s.Raw(), "\x1b") {
		t.Errorf("escape codes in %q", s.Raw())
	}
}

// Keys without a meaning change nothing.
func TestScreenKeys(t *testing.T) {
	t.Parallel()
	s := openScreen(t, 80, 24)
	s.prompted("")
	s.send("\x00pri\x00nt(6 \x00* 7)") // Ctrl-Space
	s.prompted("print(6 * 7)")
	s.send("\r")
	s.showsLast("42")
	s.send("\x1b[3~") // Delete at an empty prompt is not Ctrl-D
	s.runs("return 'alive'", `"alive"`)
	s.send("\x0c")
	s.Wait("a clear screen", func(m *screen) bool { return m.Y == 0 && m.Current() == "npu>" })
	s.leave()
}

func TestScreenSyntaxError(t *testing.T) {
	t.Parallel()
	for _, size := range [][2]int{{80, 24}, {20, 5}} {
		s := openScreen(t, size[0], size[1])
		s.prompted("")
		s.send("x = = 1\r")
		s.Wait("the error", func(m *screen) bool {
			return m.Paste && strings.Contains(dense(m), "near'='") && m.Current() == "npu>"
		})
		s.send("for i = 1, 2 do x x end\r") // whole though it is wrong
		s.Wait("the error", func(m *screen) bool {
			return m.Paste && strings.Contains(dense(m), "near'x'") && m.Current() == "npu>"
		})
		s.runs("print(x)", "nil")
		s.leave()
	}
}

// Any keys in any order leave a loop that works.
func TestScreenStorm(t *testing.T) {
	t.Parallel()
	keys := []string{"a", "中", "🙂", "e\u0301", " ", "do ", "end ", "npu.", "(", ")", "\t", "\t\t", "\x1b[Z", "\r", "\x1b\r", "\x01", "\x02", "\x05", "\x06",
		"\x07", "\x08", "\x0b", "\x0c", "\x0e", "\x10", "\x12", "\x13", "\x14", "\x15", "\x17", "\x19", "\x7f", "\x00", "\x1b[A", "\x1b[B", "\x1b[C", "\x1b[D",
		"\x1b[H", "\x1b[F", "\x1b[3~", "\x1bb", "\x1bf", "\x1bd", "\x1b\x7f", "\x1b[200~one\n\ttwo\x1b[201~", "\x1b[1;5C", "\x1b[1;5D", "\xff", "\x1b[999;999R"}
	for seed, size := range [][2]int{{80, 24}, {9, 3}, {1, 1}} {
		t.Run(fmt.Sprint(size), func(t *testing.T) {
			t.Parallel()
			s := openScreen(t, size[0], size[1])
			s.editing()
			r := rand.New(rand.NewPCG(uint64(seed), 5))
			for range 40 {
				var b strings.Builder
				for range 1 + r.IntN(30) {
					b.WriteString(keys[r.IntN(len(keys))])
				}
				s.send(b.String())
			}
			// Keys that come while a chunk runs are the terminal's: Ctrl-S stops it, Ctrl-Q goes on, and
			// Ctrl-C may meet the chunk.
			hint := func(m *screen) bool { return strings.Contains(dense(m), "(toleave:") }
			for end := time.Now().Add(repltest.Patience); time.Now().Before(end) && !s.Within(200*time.Millisecond, hint); {
				s.send("\x11x\x03")
			}
			s.Wait("the hint", hint)
			s.Signal(syscall.SIGTERM)
			s.ends(143)
		})
	}
}
