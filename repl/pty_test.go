package repl

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

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
		{"Exiter", func(s *session) { s.Send("exit\r") }, 4},
		{"os.Exit in a chunk", func(s *session) { s.Send("os.exit\r") }, 3},
		{"SIGTERM in a stuck chunk", func(s *session) { s.Send("stuck\r"); s.Shows("stuck now"); s.Signal(syscall.SIGTERM) }, 143},
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

// An evaluator that panics costs a completion or the colours, not the session.
func TestTerminalCompletion(t *testing.T) {
	t.Parallel()
	s := start(t, normal)
	s.prompted("")
	s.Send("many\t")
	s.Shows("many59")
	s.prompted("many")
	s.Send("\x15boom\t") // the evaluator panics
	s.prompted("boom")
	s.Send("\x15panic")
	s.prompted("panic")
	s.Send("\x15\x04")
	s.Ends(0)
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
