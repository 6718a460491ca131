package repl

import (
	"bufio"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"npulua/repl/repltest"
)

// session is the toy program in a pseudo terminal.
type session struct {
	*repltest.Session
	t     *testing.T
	state string // XDG_STATE_HOME
}

// shown is the screen of the terminal; screen is what draws there.
type shown = repltest.Screen

type world struct {
	cols, rows int
	env        []string
	state      string // XDG_STATE_HOME
}

func start(t *testing.T, w world) *session {
	t.Helper()
	if w.state == "" {
		w.state = t.TempDir()
	}
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "REPL_TOY=1", "GORACE=atexit_sleep_ms=0", "TERM=xterm-256color", "NO_COLOR=", "XDG_STATE_HOME="+w.state)
	cmd.Env = append(cmd.Env, w.env...)
	return &session{Session: repltest.Start(t, cmd, w.cols, w.rows), t: t, state: w.state}
}

// prompted waits for a prompt with text behind it, the cursor at its end.
func (s *session) prompted(text string) {
	s.t.Helper()
	s.Line("npu0/ctx2> " + text)
}

// do runs a chunk and waits for what it prints and the prompt after it.
func (s *session) do(chunk, want string) {
	s.t.Helper()
	s.prompted("")
	if want == "" {
		want = "npu0/ctx2> " + chunk
	}
	n := s.Count(want)
	s.Send(chunk + "\r")
	s.Wait(fmt.Sprintf("%q once more", want), func(m *shown) bool { return strings.Count(m.Text(), want) > n })
	s.prompted("")
}

func (s *session) history() string {
	b, err := os.ReadFile(filepath.Join(s.state, "toy", "history"))
	if err != nil {
		s.t.Fatal(err)
	}
	return string(b)
}

var normal = world{cols: 80, rows: 24}

func TestTerminalSession(t *testing.T) {
	t.Parallel()
	s := start(t, normal)
	s.Shows("toy 1")
	s.do("hello", `ran "hello"`)
	s.do("fail", "error: failed as asked")
	s.do(".help", "help!")
	s.do(".nonsense", `no command ".nonsense"`)
	s.do(".5 + 1", `ran ".5 + 1"`)
	s.do("mode", "normal mode: true")
	s.prompted("")
	s.Send("partial\r")
	s.Shows("no newline%")
	s.prompted("")
	s.Send("\x04")
	s.Ends(0)
}

func TestTerminalWaysOut(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		out    func(s *session)
		status int
	}{
		{"Ctrl-D", func(s *session) { s.Send("\x04") }, 0},
		{"quit", func(s *session) { s.Send(".quit\r") }, 0},
		{"Exiter", func(s *session) { s.Send("exit\r") }, 4},
		{"os.Exit in a chunk", func(s *session) { s.Send("os.exit\r") }, 3},
		{"SIGTERM", func(s *session) { s.Send("half"); s.prompted("half"); s.Signal(syscall.SIGTERM) }, 143},
		{"SIGHUP", func(s *session) { s.Send("half"); s.prompted("half"); s.Signal(syscall.SIGHUP) }, 129},
		{"SIGTERM in a chunk", func(s *session) { s.Send("sleep\r"); s.Shows("sleeping"); s.Signal(syscall.SIGTERM) }, 143},
		{"SIGTERM in a paste", func(s *session) { s.Send("\x1b[200~half"); s.Signal(syscall.SIGTERM) }, 143},
		{"SIGTERM in a stuck chunk", func(s *session) { s.Send("stuck\r"); s.Shows("stuck now"); s.Signal(syscall.SIGTERM) }, 143},
		{"Ctrl-C twice", func(s *session) { s.Send("\x03"); s.Shows("Ctrl-C twice"); s.prompted(""); s.Send("\x03") }, 130},
		{"Ctrl-C twice at once", func(s *session) { s.Send("\x03\x03") }, 130},
		{"Ctrl-C in a stuck chunk", func(s *session) {
			s.Send("stuck\r")
			s.Shows("stuck now")
			s.Send("\x03")
			s.Wait("a new line", func(m *shown) bool { return strings.Contains(m.Text(), "^C") && m.X == 0 })
			s.Send("\x03")
			s.Shows("once more leaves")
			s.Send("\x03")
		}, 130},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := start(t, normal)
			s.prompted("")
			tt.out(s)
			s.Ends(tt.status)
		})
	}
}

func TestTerminalHangup(t *testing.T) {
	t.Parallel()
	s := start(t, normal)
	s.prompted("")
	s.HangUp()
	if got := s.Exit(); got != 129 {
		t.Errorf("exit status %d, want 129", got)
	}
}

// A terminal that takes no output any more, such as one behind a broken network, holds up no end.
func TestTerminalDeaf(t *testing.T) {
	t.Parallel()
	s := start(t, normal)
	s.prompted("")
	hear := s.Deafen()
	// Ctrl-L draws everything anew. When no more keys are taken the program is stuck in a write.
	for s.TrySend(strings.Repeat("\x0c", 1000), 300*time.Millisecond) == nil {
	}
	s.Signal(syscall.SIGTERM)
	s.Exit()
	if !s.Normal() {
		t.Error("the terminal was not left as it was")
	}
	hear()
}

// SIGQUIT ends a Go program with its stacks, but not in raw mode.
func TestTerminalQuit(t *testing.T) {
	t.Parallel()
	s := start(t, normal)
	s.Dumps = true
	s.prompted("")
	s.Signal(syscall.SIGQUIT)
	s.Ends(2)
}

// Without a shell to go back to, Ctrl-Z stops nothing.
func TestTerminalCtrlZ(t *testing.T) {
	t.Parallel()
	s := start(t, normal)
	s.prompted("")
	s.Send("abc\x1ad")
	s.prompted("abcd")
	s.Send("\r")
	s.Shows(`ran "abcd"`)
	s.prompted("")
	s.Send("\x04")
	s.Ends(0)
}

func TestTerminalCtrlC(t *testing.T) {
	t.Parallel()
	s := start(t, normal)
	s.prompted("")
	s.Send("x=99")
	s.prompted("x=99")
	s.Send("\x03")
	s.Shows("(to leave: Ctrl-D, or Ctrl-C twice at an empty prompt)")
	s.do("show x", `x is ""`)

	s.Send("for i=1,3 do\r")
	s.Line("        >> ")
	s.Send("print(")
	s.Line("        >> print(")
	s.Send("\x03")
	s.do("y=1", "")
	s.do("show y", `y is "1"`)

	s.Send("\x03") // one, and then something else
	s.do("z=2", "")
	s.Send("sleep\r")
	s.Shows("(main waits for a bell; Ctrl-C interrupts)")
	s.Send("\x03")
	s.Shows("interrupted")
	s.Send("\x03\x03")                                    // pressed more often than needed
	s.Within(2*haste, func(*shown) bool { return false }) // what is typed before they have come is dropped
	s.do("show z", `z is "2"`)
	s.Signal(os.Interrupt) // from another process, as if typed
	s.Wait("another ^C", func(m *shown) bool { return strings.Count(m.Text(), "^C") >= 7 })
	s.prompted("")
	if n := s.Count("to leave:"); n != 1 {
		t.Errorf("the hint was shown %d times", n)
	}
	s.Send("\x04")
	s.Ends(0)
}

func TestTerminalKeys(t *testing.T) {
	t.Parallel()
	s := start(t, normal)
	for _, tt := range []struct{ keys, want string }{
		{"abc\x01X\x05Y", "XabcY"},
		{"abc\x1b[D\x1b[DX\x1b[CY", "aXbYc"},
		{"abc\x02\x02X\x06Y", "aXbYc"},
		{"abc\x1b[D\x1b[3~", "ab"},
		{"abc\x1b[H\x1b[FX\x1bOHY", "YabcX"},
		{"a b c\x17\x17X", "a X"},
		{"one two\x1b[D\x17!", "one !o"},
		{"a\x14\x14b", "ab"},
		{"ab\x14", "ba"},
		{"one two\x15\x19\x19", "one twoone two"},
		{"one two\x1bbX\x0b\x19\x19", "one Xtwotwo"},
		{"一二 三\x1bbX\x1bfY", "一二 X三Y"},
		{"one two\x1b[1;5D\x1b[1;5DX\x1bd", "X two"},
		{"\x00a\x00b", "ab"},
		{"a\x1b[[A\x1b[15~\x1b[99;5u\x1b[M   b", "ab"},
		{"a\x1b]11;rgb:0000/0000/0000\x07b\x1bP1$r0m\x1b\\c\x1b[12;40Rd", "abcd"},
		{"\x1b[3~\x7f\x08\x1b[Dx", "x"},
		{"\xff\xfe!", "\ufffd\ufffd!"},
		{"🙂👍🏽\x7f!", "🙂👍!"},
		{"e\u0301x\x7f", "e\u0301"},
	} {
		s.prompted("")
		s.Send(tt.keys)
		s.Wait(fmt.Sprintf("%q after the keys %q", tt.want, tt.keys), func(m *shown) bool { return m.Current() == "npu0/ctx2> "+tt.want })
		s.Send("\r")
		s.Shows(fmt.Sprintf("ran %q", tt.want))
	}
	s.prompted("")
	s.Send("\x1b[3~") // Delete on an empty line is not Ctrl-D
	s.do("still here", "still here")
	s.Send("\x0c")
	s.Wait("a clear screen", func(m *shown) bool { return m.Y == 0 })
	s.prompted("")
	s.Send("\x04")
	s.Ends(0)
}

func TestTerminalWide(t *testing.T) {
	t.Parallel()
	s := start(t, normal)
	s.prompted("")
	s.Send(`x = "中文"`)
	s.prompted(`x = "中文"`)
	s.Send("\x1b[D\x1b[D")
	s.Wait("the cursor before 文", func(m *shown) bool { return m.X == repltest.Width(`npu0/ctx2> x = "中`) })
	s.Send("字")
	s.Wait("字", func(m *shown) bool {
		return m.Current() == `npu0/ctx2> x = "中字文"` && m.X == repltest.Width(`npu0/ctx2> x = "中字`)
	})
	s.Send("\r")
	s.do("show x", `x is "\"中字文\""`)

	long := strings.Repeat("中文🙂x", 40)
	s.Send(long)
	s.Wait("the long line", func(m *shown) bool { return strings.HasSuffix(m.Current(), "🙂x") && m.Y > 4 })
	rows := s.Count("\n")
	s.Send("\x01y")
	s.Wait("y at its start", func(m *shown) bool { return strings.HasPrefix(m.Current(), "npu0/ctx2> y中") && m.X == 12 })
	s.Send("\x05z\x01\x05\x01\x05")
	s.Wait("z at its end", func(m *shown) bool { return strings.HasSuffix(m.Current(), "xz") })
	if n := s.Count("\n"); n != rows {
		t.Errorf("the screen has %d lines after moving in a long one, %d before", n, rows)
	}
	s.Send("\r")
	s.Shows(ran("y" + long + "z"))
	s.prompted("")
	s.Send("\x04")
	s.Ends(0)
}

func TestTerminalCompletion(t *testing.T) {
	t.Parallel()
	s := start(t, normal)
	s.prompted("")
	s.Send("on\t")
	s.prompted("only_one")
	s.Send("\x15on\t\r") // keys, however fast
	s.Shows(`ran "only_one"`)
	s.prompted("")
	s.Send("x + pri\t")
	s.prompted("x + print")
	s.Shows("print    printer")
	s.Send("\t\t")
	s.prompted("x + printer")
	s.Send("(")
	s.prompted("x + printer(")
	if s.Count("print    printer") != 0 {
		t.Error("the candidates stay below")
	}
	s.Send("\x15_G.中")
	s.prompted("_G.中")
	s.Send("\t\t\t")
	s.prompted("_G.中文二")
	s.Send("\x1b[Z")
	s.prompted("_G.中文一")
	s.Send("\x7f")
	s.prompted("_G.中文")
	s.Send("\x15many\t")
	s.Shows("many59")
	s.prompted("many")
	s.Send("\x15nothing\t")
	s.Wait("a bell", func(m *shown) bool { return m.Bells > 0 })
	s.Send("\x15boom\t") // the evaluator panics
	s.prompted("boom")
	s.Send("\x15panic")
	s.prompted("panic")
	s.Send("\x15\tx")
	s.prompted("    x")
	s.Send("\x15\x04")
	s.Ends(0)
}

func paste(lines int) string {
	var b strings.Builder
	b.WriteString("for i=1,2 do\n")
	for i := range lines - 2 {
		fmt.Fprintf(&b, "\tpri\tx%03d 中\n", i)
	}
	return b.String() + "end"
}

func TestTerminalPaste(t *testing.T) {
	t.Parallel()
	text := paste(300)
	want := ran(text)
	for _, tt := range []struct {
		name, open, close string
		cols, rows        int
	}{
		{"marked", "\x1b[200~", "\x1b[201~\r", 80, 24},
		{"unmarked", "", "\r", 80, 24},
		{"marked, small", "\x1b[200~", "\x1b[201~\r", 20, 5},
		{"unmarked, small", "", "\r", 20, 5},
		{"CRLF", "\x1b[200~", "\r\n\x1b[201~\r", 80, 24},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := start(t, world{cols: tt.cols, rows: tt.rows})
			s.Wait("a prompt", func(m *shown) bool { return m.Paste })
			newline := "\r"
			if tt.name == "CRLF" {
				newline = "\r\n"
			}
			s.Send(tt.open + strings.ReplaceAll(text, "\n", newline) + tt.close)
			s.Wait("the paste run", func(m *shown) bool { return strings.Contains(m.Text(), want) && m.Paste })
			if got, want := s.history(), escapeEntry.Replace(text)+"\n"; got != want {
				t.Errorf("history is %q, want %q", got, want)
			}
			s.Send("\x04")
			s.Ends(0)
		})
	}
}

// Lines that are whole run one after the other, and what is not for the loop is left for the chunk.
func TestTerminalTypedAhead(t *testing.T) {
	t.Parallel()
	s := start(t, normal)
	s.prompted("")
	s.Send("a = 1\rshow a\ron\t\rb\tc\rinput\rfor the chunk\rlast\r")
	s.Shows(`ran "last"`)
	for _, want := range []string{`a is "1"`, `ran "on\t"`, `ran "b\tc"`, `input "for the chunk\n"`} {
		s.Shows(want)
	}
	s.prompted("")
	s.Send("\x1b[200~never ended")
	s.prompted("never ended")
	s.Send("\x1b[200~nor this")
	s.Send("\x03") // at once, though the paste has no end
	s.Shows("to leave")
	s.Signal(syscall.SIGTERM)
	s.Ends(143)
}

func TestTerminalHistory(t *testing.T) {
	t.Parallel()
	state := t.TempDir()
	s := start(t, world{cols: 80, rows: 24, state: state})
	s.prompted("")
	s.Send("\x12\x03") // Ctrl-R on an empty history, then Ctrl-C
	s.Wait("a fresh prompt", func(m *shown) bool { return m.Current() == "npu0/ctx2>" && strings.Contains(m.Text(), "to leave") })
	s.Send("\x03") // the first at an empty prompt
	s.Wait("another", func(m *shown) bool { return m.Current() == "npu0/ctx2>" && strings.Count(m.Text(), "^C") == 2 })
	s.Send("\x12\x12\x13zz\x7f")
	s.Shows("(no entry has `z')")
	s.Send("\r")
	s.prompted("")
	s.Send("\x12x\x12\x07")
	s.do("alive", `ran "alive"`)
	other := start(t, world{cols: 80, rows: 24, state: state})
	s.Send("function f\r")
	s.Line("        >> ")
	s.Send("body\rend\r")
	s.Shows(`ran "function f\nbody\nend"`)
	other.do("other \\n", "ran")
	s.do("mine", "ran")
	if want := "alive\nfunction f\\nbody\\nend\nother \\\\n\nmine\n"; s.history() != want {
		t.Errorf("history is %q, want %q", s.history(), want)
	}
	info, err := os.Stat(filepath.Join(state, "toy", "history"))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the history has mode %v, %v, want 0600", info.Mode(), err)
	}
	for _, x := range []*session{s, other} {
		x.Send("\x04")
		x.Ends(0)
	}

	s = start(t, world{cols: 80, rows: 24, state: state})
	s.prompted("")
	s.Send("draft\x1b[A")
	s.prompted("mine")
	s.Send("\x1b[A")
	s.prompted(`other \n`)
	s.Send("\x1b[A")
	s.Line("        >> end")
	s.Send("\x1b[A\x1b[A!")
	s.Wait("the first line", func(m *shown) bool { return m.Current() == "npu0/ctx2> fun!ction f" })
	s.Send("\x1b[B\x1b[B\x1b[B\x1b[B\x1b[B")
	s.prompted("draft")
	s.Send("\x15\x1b[A\x1b[A\x1b[A\r")
	s.Shows(`ran "fun!ction f\nbody\nend"`) // as it was changed
	s.prompted("")

	s.Send("\x12ali")
	s.Shows("(search `ali') alive")
	s.Send("\r")
	s.Shows(`ran "alive"`)
	s.prompted("")
	s.Send("keep\x12bod")
	s.Shows("(search `bod') fun!ction f")
	s.Send("\x7f\x7f\x7f")
	s.Shows("(search `') keep")
	s.Send("zzz")
	s.Shows("(no entry has `zzz')")
	s.Send("\x07")
	s.prompted("keep")
	s.Send("\x12mi\x05!")
	s.prompted("mine!")
	s.Send("\x03\x04")
	s.Ends(0)
}

func TestTerminalHistoryUnwritable(t *testing.T) {
	t.Parallel()
	state := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(state, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	s := start(t, world{cols: 80, rows: 24, state: state})
	s.Shows("toy: the history is not kept: ")
	s.do("one", `ran "one"`)
	s.do("two", `ran "two"`)
	if n := s.Count("not kept"); n != 1 {
		t.Errorf("%d warnings", n)
	}
	s.Send("\x1b[A")
	s.prompted("two")
	s.Send("\x03\x04")
	s.Ends(0)
}

// Every size works: what is typed runs, and nothing breaks.
func TestTerminalSizes(t *testing.T) {
	t.Parallel()
	for _, size := range [][2]int{{80, 24}, {20, 5}, {8, 3}, {7, 2}, {2, 2}, {1, 1}, {0, 0}, {80, 1}, {1, 24}} {
		t.Run(fmt.Sprint(size), func(t *testing.T) {
			t.Parallel()
			s := start(t, world{cols: size[0], rows: size[1]})
			s.Wait("a prompt", func(m *shown) bool { return m.Paste })
			s.Send("many\tpri\t\t\t\x15中\t\t\t\x7f\x15\x12a🙂\x07中文🙂 a\x01\x05\x1b[D\x1b[Db\tc")
			s.Send("\x15\x0b= 中文\r")
			s.Send("\x1b[A\x1b[A\x03")
			s.Send("k = done\r")
			s.Send("quiet\r")
			s.Send("show k\r")
			s.Wait("the value", func(m *shown) bool { return strings.Contains(strings.Join(strings.Fields(m.Text()), ""), `kis"done"`) })
			s.Wait("a prompt", func(m *shown) bool { return m.Paste })
			s.Send("\x04")
			s.Ends(0)
		})
	}
}

func TestTerminalResize(t *testing.T) {
	t.Parallel()
	s := start(t, normal)
	s.do("before", `ran "before"`)
	text := strings.TrimSpace(strings.Repeat("word ", 31))
	s.Send(text)
	s.Wait("the line", func(m *shown) bool { return strings.HasSuffix(m.Current(), "word") && m.Y > 2 })
	s.Resize(100, 30) // and no key
	s.Wait("the line broken anew", func(m *shown) bool { return m.Row(3) == ("npu0/ctx2> " + text)[:100] })
	for _, size := range [][2]int{{60, 10}, {100, 10}, {20, 5}, {1, 1}, {3, 2}, {80, 24}} {
		s.Resize(size[0], size[1])
		s.Send("\x01\x05") // and it is still alive
	}
	s.Send("!")
	s.Wait("the line on the new screen", func(m *shown) bool {
		return strings.HasSuffix(m.Text(), "word!") && strings.Contains(m.Text(), "npu0/ctx2> word word")
	})
	s.Send("\r")
	s.Wait("the result", func(m *shown) bool {
		return strings.Contains(m.Text(), ran(text+"!"))
	})
	s.prompted("")
	s.Send("\x04")
	s.Ends(0)
}

// An entry higher than the screen shows the part with the cursor, and all of it once it is run.
func TestTerminalTall(t *testing.T) {
	t.Parallel()
	s := start(t, world{cols: 20, rows: 5})
	s.Wait("a prompt", func(m *shown) bool { return m.Paste })
	s.Send("\x1b[200~" + paste(12) + "\x1b[201~")
	s.Wait("its end", func(m *shown) bool { return m.Current() == "> end" })
	s.Send(strings.Repeat("\x1b[A", 11) + "!")
	s.Wait("its start", func(m *shown) bool { return m.Y == 0 && m.Current() == "> for! i=1,2 do" })
	s.Send(strings.Repeat("\x1b[B", 6))
	s.Wait("its middle", func(m *shown) bool { return m.Y == 4 && strings.Contains(m.Current(), "x005") })
	s.Send("\r")
	s.Shows("ran(")
	s.Wait("a prompt", func(m *shown) bool { return m.Paste })
	if n := s.Count("x005"); n != 1 || s.Count("for! i") != 1 {
		t.Errorf("the entry does not stand once in what was shown: %d", n)
	}
	s.Send("\x04")
	s.Ends(0)
}

func TestTerminalColor(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		env  []string
		want bool
	}{
		{nil, true},
		{[]string{"NO_COLOR=1"}, false},
		{[]string{"TERM=vt100"}, false},
	} {
		s := start(t, world{cols: 80, rows: 24, env: tt.env})
		s.prompted("")
		s.Send("for x do")
		s.prompted("for x do")
		s.Send("\x15fail\r")
		s.Shows("error: failed")
		s.prompted("")
		s.Send("\x04")
		s.Ends(0)
		raw := s.Raw()
		for _, code := range []string{colors[Keyword] + "for" + sgrReset, sgrPrompt + "npu0/ctx2> " + sgrReset, sgrError + "error: failed"} {
			if strings.Contains(raw, code) != tt.want {
				t.Errorf("%v: code %q sent: %v", tt.env, code, !tt.want)
			}
		}
		if !tt.want && strings.Contains(raw, "m") && strings.Contains(raw, "\x1b[3") {
			t.Errorf("%v: colour in %q", tt.env, raw)
		}
	}
}

func TestPlainTerminal(t *testing.T) {
	t.Parallel()
	s := start(t, world{cols: 80, rows: 24, env: []string{"TERM=dumb"}})
	at := func(text string) {
		t.Helper()
		s.Wait(fmt.Sprintf("the line %q", text), func(m *shown) bool { return m.Current() == strings.TrimRight(text, " ") && m.X == len(text) })
	}
	s.Shows("toy 1")
	at("npu0/ctx2> ")
	s.Send("for i=1,2 do\n")
	at("        >> ")
	s.Send("body\nend\n")
	s.Shows(`ran "for i=1,2 do\nbody\nend"`)
	at("npu0/ctx2> ")
	s.Send("for x do\n")
	at("        >> ")
	s.Send("half")
	at("        >> half")
	s.Send("\x03")
	s.Shows("to leave:")
	at("npu0/ctx2> ")
	s.Send("sleep\n")
	s.Shows("sleeping")
	s.Send("\x03")
	s.Shows("interrupted")
	at("npu0/ctx2> ")
	s.Send("fail\n")
	s.Shows("error: failed")
	at("npu0/ctx2> ")
	s.Send("\x03")
	s.Wait("a new prompt", func(m *shown) bool { return strings.HasSuffix(m.Text(), "^C\nnpu0/ctx2>") })
	s.Send("\x04")
	s.Ends(0)
	if strings.Contains(s.Raw(), "\x1b") {
		t.Errorf("escape codes in %q", s.Raw())
	}
}

func TestPlainInput(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 100_000)
	for _, tt := range []struct {
		name, in, out, err string
		status             int
	}{
		{"empty", "", "", "", 0},
		{"lines", "a = 1\nshow a\n", "a is \"1\"\n", "", 0},
		{"no last newline", "last", "ran \"last\"\n", "", 0},
		{"BOM and CRLF", "\ufeffone\r\ntwo\r\n", "ran \"one\"\nran \"two\"\n", "", 0},
		{"chunk", "for x do\n\tbody\nend\n", "ran \"for x do\\n\\tbody\\nend\"\n", "", 0},
		{"unfinished", "for x do\n", "ran \"for x do\"\n", "", 0},
		{"failure", "fail\nnext\n", "ran \"next\"\n", "error: failed as asked\n", 1},
		{"exit", "exit\nnext\n", "", "", 4},
		{"read by the chunk", "input\nthis\nnext\n", "input \"this\\n\"\nran \"next\"\n", "", 0},
		{"long", long, ran(long) + "\n", "", 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			cmd := exec.Command(os.Args[0])
			cmd.Env = append(os.Environ(), "REPL_TOY=1", "GORACE=atexit_sleep_ms=0", "TERM=xterm", "XDG_STATE_HOME="+t.TempDir())
			cmd.Stdin = strings.NewReader(tt.in)
			var out, errs strings.Builder
			cmd.Stdout, cmd.Stderr = &out, &errs
			cmd.Run()
			if out.String() != tt.out || errs.String() != tt.err || cmd.ProcessState.ExitCode() != tt.status {
				t.Errorf("got %.200q, %.200q and status %d, want %.200q, %.200q and %d", out.String(), errs.String(), cmd.ProcessState.ExitCode(), tt.out, tt.err, tt.status)
			}
		})
	}
}

func TestPlainInterrupt(t *testing.T) {
	t.Parallel()
	for _, in := range []string{"", "sleep\n"} {
		r, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), repltest.Patience)
		defer cancel()
		cmd := exec.CommandContext(ctx, os.Args[0])
		cmd.Env = append(os.Environ(), "REPL_TOY=1", "GORACE=atexit_sleep_ms=0")
		cmd.Stdin = r
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		w.WriteString("ready\n" + in)
		ready := bufio.NewReader(out)
		for range strings.Count("ready\n"+in, "\n") {
			if _, err := ready.ReadString('\n'); err != nil {
				t.Fatal(err)
			}
		}
		cmd.Process.Signal(os.Interrupt)
		cmd.Wait()
		if got := cmd.ProcessState.ExitCode(); got != 130 {
			t.Errorf("SIGINT after %q: status %d, want 130", in, got)
		}
		r.Close()
		w.Close()
	}
}

// Any keys in any order leave a loop that works.
func TestTerminalStorm(t *testing.T) {
	t.Parallel()
	keys := []string{"a", "中", "🙂", "e\u0301", " ", "do ", "end ", "many", "(", ")", "\t", "\t\t", "\x1b[Z", "\r", "\x1b\r", "\x01", "\x02", "\x05", "\x06",
		"\x07", "\x08", "\x0b", "\x0c", "\x0e", "\x10", "\x12", "\x13", "\x14", "\x15", "\x17", "\x19", "\x7f", "\x00", "\x1b[A", "\x1b[B", "\x1b[C", "\x1b[D",
		"\x1b[H", "\x1b[F", "\x1b[3~", "\x1bb", "\x1bf", "\x1bd", "\x1b\x7f", "\x1b[200~one\n\ttwo\x1b[201~", "\x1b[1;5C", "\x1b[1;5D", "\xff", "\x1b[999;999R"}
	for seed, size := range [][2]int{{80, 24}, {9, 3}, {1, 1}} {
		t.Run(fmt.Sprint(size), func(t *testing.T) {
			t.Parallel()
			s := start(t, world{cols: size[0], rows: size[1]})
			s.Wait("a prompt", func(m *shown) bool { return m.Paste })
			r := rand.New(rand.NewPCG(uint64(seed), 5))
			for range 40 {
				var b strings.Builder
				for range 1 + r.IntN(30) {
					b.WriteString(keys[r.IntN(len(keys))])
				}
				s.Send(b.String())
			}
			// Keys that come while a chunk runs are the terminal's: Ctrl-S stops it, Ctrl-Q goes on, and
			// Ctrl-C may meet the chunk.
			hint := func(m *shown) bool {
				return strings.Contains(strings.Join(strings.Fields(m.Text()), ""), "(toleave:")
			}
			for end := time.Now().Add(repltest.Patience); time.Now().Before(end) && !s.Within(200*time.Millisecond, hint); {
				s.Send("\x11x\x03")
			}
			s.Wait("the hint", hint)
			s.Signal(syscall.SIGTERM)
			s.Ends(143)
		})
	}
}
