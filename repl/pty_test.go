package repl

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/creack/pty"
	"golang.org/x/sys/unix"
)

// session is a toy program in a pseudo terminal.
type session struct {
	t         *testing.T
	master    *os.File
	slave     *os.File
	masterFd  int
	cmd       *exec.Cmd
	before    unix.Termios
	done      chan error
	mu        sync.Mutex
	m         *model
	raw       []byte
	changed   chan struct{}
	statePath string
	dumps     bool // stacks are expected
}

const patience = 15 * time.Second // for a loaded machine; nothing waits so long otherwise

type world struct {
	cols, rows int
	env        []string
	state      string // XDG_STATE_HOME
}

func start(t *testing.T, w world) *session {
	t.Helper()
	master, slave, err := pty.Open()
	if err != nil {
		t.Skip("no pseudo terminals here: ", err)
	}
	// A file that does not block, so that Close ends its Read.
	fd, err := unix.FcntlInt(master.Fd(), unix.F_DUPFD_CLOEXEC, 0)
	if err == nil {
		err = unix.SetNonblock(fd, true)
	}
	if err != nil {
		t.Fatal(err)
	}
	master.Close()
	master = os.NewFile(uintptr(fd), "ptmx")
	if w.state == "" {
		w.state = t.TempDir()
	}
	s := &session{t: t, master: master, slave: slave, done: make(chan error, 1), changed: make(chan struct{}, 1), statePath: w.state}
	s.masterFd = fd
	s.setSize(w.cols, w.rows)
	cols, rows := w.cols, w.rows
	if cols == 0 {
		cols, rows = 80, 24
	}
	s.m = newModel(cols, rows)
	s.before = s.termios()
	s.cmd = exec.Command(os.Args[0])
	s.cmd.Env = append(os.Environ(), "REPL_TOY=1", "GORACE=atexit_sleep_ms=0", "TERM=xterm-256color", "NO_COLOR=", "XDG_STATE_HOME="+w.state)
	s.cmd.Env = append(s.cmd.Env, w.env...)
	s.cmd.Stdin, s.cmd.Stdout, s.cmd.Stderr = slave, slave, slave
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() { s.done <- s.cmd.Wait() }()
	go func() {
		b := make([]byte, 4096)
		for {
			n, err := master.Read(b)
			s.mu.Lock()
			s.m.write(b[:n])
			s.raw = append(s.raw, b[:n]...)
			s.mu.Unlock()
			select {
			case s.changed <- struct{}{}:
			default:
			}
			if err != nil {
				return
			}
		}
	}()
	t.Cleanup(func() {
		s.cmd.Process.Kill()
		master.Close()
		slave.Close()
		s.mu.Lock()
		defer s.mu.Unlock()
		if len(s.m.unknown) > 0 {
			t.Errorf("the screen was sent what it does not know: %v", s.m.unknown)
		}
		if strings.Contains(string(s.raw), "DATA RACE") || !s.dumps && strings.Contains(string(s.raw), "goroutine ") {
			t.Errorf("the program broke:\n%s", s.raw)
		}
	})
	return s
}

func (s *session) termios() unix.Termios {
	v, err := unix.IoctlGetTermios(int(s.slave.Fd()), getTermios)
	if err != nil {
		s.t.Fatal(err)
	}
	return *v
}

func (s *session) send(text string) {
	s.t.Helper()
	s.master.SetWriteDeadline(time.Now().Add(patience))
	if _, err := s.master.WriteString(text); err != nil {
		s.t.Fatal(err)
	}
}

// wait waits until the screen is as ok wants it.
func (s *session) wait(what string, ok func(m *model) bool) {
	s.t.Helper()
	if s.within(patience, ok) {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.t.Fatalf("the screen never showed %s; cursor at %d,%d of\n%s\nraw: %q", what, s.m.x, s.m.y, s.m.text(), s.raw[max(0, len(s.raw)-800):])
}

// look asks ok about the screen as it is.
func (s *session) look(ok func(m *model) bool) bool {
	s.mu.Lock()
	defer s.mu.Unlock() // also where ok panics
	return ok(s.m)
}

// within reports whether the screen is as ok wants it before d has passed.
func (s *session) within(d time.Duration, ok func(m *model) bool) bool {
	deadline := time.After(d)
	for {
		if s.look(ok) {
			return true
		}
		select {
		case <-s.changed:
		case <-deadline:
			return false
		}
	}
}

func (s *session) see(text string) {
	s.t.Helper()
	s.wait(fmt.Sprintf("%q", text), func(m *model) bool { return strings.Contains(m.text(), text) })
}

// prompted waits for a prompt with text behind it, the cursor at its end.
func (s *session) prompted(text string) {
	s.t.Helper()
	s.line("npu0/ctx2> " + text)
}

func (s *session) line(text string) {
	s.t.Helper()
	s.wait(fmt.Sprintf("the line %q", text), func(m *model) bool {
		return m.current() == strings.TrimRight(text, " ") && m.x == textWidth(text) && m.paste
	})
}

// do runs a chunk and waits for what it prints and the prompt after it.
func (s *session) do(chunk, want string) {
	s.t.Helper()
	s.prompted("")
	if want == "" {
		want = "npu0/ctx2> " + chunk
	}
	n := s.count(want)
	s.send(chunk + "\r")
	s.wait(fmt.Sprintf("%q once more", want), func(m *model) bool { return strings.Count(m.text(), want) > n })
	s.prompted("")
}

// ends waits for the end of the program, and holds the terminal to what it was.
func (s *session) ends(status int) {
	s.t.Helper()
	select {
	case err := <-s.done:
		got := 0
		var exit *exec.ExitError
		if errors.As(err, &exit) {
			got = exit.ExitCode()
		}
		if got != status {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.t.Fatalf("exit status %d, want %d; the screen:\n%s", got, status, s.m.text())
		}
	case <-time.After(patience):
		s.t.Fatal("the program does not end")
	}
	if after := s.termios(); after != s.before {
		s.t.Errorf("the terminal was left as %+v, it was %+v", after, s.before)
	}
	s.wait("bracketed paste off", func(m *model) bool { return !m.paste })
}

func (s *session) resize(cols, rows int) {
	s.mu.Lock()
	s.m.resize(cols, rows)
	s.mu.Unlock()
	s.setSize(cols, rows)
}

func (s *session) setSize(cols, rows int) {
	if err := unix.IoctlSetWinsize(s.masterFd, unix.TIOCSWINSZ, &unix.Winsize{Col: uint16(cols), Row: uint16(rows)}); err != nil {
		s.t.Fatal(err)
	}
}

func (s *session) history() string {
	b, err := os.ReadFile(filepath.Join(s.statePath, "toy", "history"))
	if err != nil {
		s.t.Fatal(err)
	}
	return string(b)
}

func (s *session) count(text string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return strings.Count(s.m.text(), text)
}

var normal = world{cols: 80, rows: 24}

func TestTerminalSession(t *testing.T) {
	t.Parallel()
	s := start(t, normal)
	s.see("toy 1")
	s.do("hello", `ran "hello"`)
	s.do("fail", "error: failed as asked")
	s.do(".help", "help!")
	s.do(".nonsense", `no command ".nonsense"`)
	s.do(".5 + 1", `ran ".5 + 1"`)
	s.do("mode", "normal mode: true")
	s.prompted("")
	s.send("partial\r")
	s.see("no newline%")
	s.prompted("")
	s.send("\x04")
	s.ends(0)
}

func TestTerminalWaysOut(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		out    func(s *session)
		status int
	}{
		{"Ctrl-D", func(s *session) { s.send("\x04") }, 0},
		{"quit", func(s *session) { s.send(".quit\r") }, 0},
		{"Exiter", func(s *session) { s.send("exit\r") }, 4},
		{"os.Exit in a chunk", func(s *session) { s.send("os.exit\r") }, 3},
		{"SIGTERM", func(s *session) { s.send("half"); s.prompted("half"); s.cmd.Process.Signal(syscall.SIGTERM) }, 143},
		{"SIGHUP", func(s *session) { s.send("half"); s.prompted("half"); s.cmd.Process.Signal(syscall.SIGHUP) }, 129},
		{"SIGTERM in a chunk", func(s *session) { s.send("sleep\r"); s.see("sleeping"); s.cmd.Process.Signal(syscall.SIGTERM) }, 143},
		{"SIGTERM in a paste", func(s *session) { s.send("\x1b[200~half"); s.cmd.Process.Signal(syscall.SIGTERM) }, 143},
		{"SIGTERM in a stuck chunk", func(s *session) { s.send("stuck\r"); s.see("stuck now"); s.cmd.Process.Signal(syscall.SIGTERM) }, 143},
		{"Ctrl-C twice", func(s *session) { s.send("\x03"); s.see("Ctrl-C twice"); s.prompted(""); s.send("\x03") }, 130},
		{"Ctrl-C twice at once", func(s *session) { s.send("\x03\x03") }, 130},
		{"Ctrl-C in a stuck chunk", func(s *session) {
			s.send("stuck\r")
			s.see("stuck now")
			s.send("\x03")
			s.wait("a new line", func(m *model) bool { return strings.Contains(m.text(), "^C") && m.x == 0 })
			s.send("\x03")
			s.see("once more leaves")
			s.send("\x03")
		}, 130},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := start(t, normal)
			s.prompted("")
			tt.out(s)
			s.ends(tt.status)
		})
	}
}

func TestTerminalHangup(t *testing.T) {
	t.Parallel()
	s := start(t, normal)
	s.prompted("")
	s.slave.Close()
	s.master.Close()
	select {
	case err := <-s.done:
		var exit *exec.ExitError
		if !errors.As(err, &exit) || exit.ExitCode() != 129 {
			t.Errorf("the program ended with %v, want status 129", err)
		}
	case <-time.After(patience):
		t.Fatal("the program outlives its terminal")
	}
}

// A terminal that takes no output any more, such as one behind a broken network, holds up no end.
func TestTerminalDeaf(t *testing.T) {
	t.Parallel()
	s := start(t, normal)
	s.prompted("")
	s.mu.Lock() // the reader gets no further than this
	unlock := sync.OnceFunc(s.mu.Unlock)
	defer unlock()
	// Ctrl-L draws everything anew. When no more keys are taken the program is stuck in a write.
	var err error
	for err == nil {
		s.master.SetWriteDeadline(time.Now().Add(300 * time.Millisecond))
		_, err = s.master.WriteString(strings.Repeat("\x0c", 1000))
	}
	s.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case <-s.done:
	case <-time.After(patience):
		t.Fatal("the program does not end")
	}
	if after := s.termios(); after != s.before {
		t.Errorf("the terminal was left as %+v, it was %+v", after, s.before)
	}
	unlock()
}

// SIGQUIT ends a Go program with its stacks, but not in raw mode.
func TestTerminalQuit(t *testing.T) {
	t.Parallel()
	s := start(t, normal)
	s.dumps = true
	s.prompted("")
	s.cmd.Process.Signal(syscall.SIGQUIT)
	s.ends(2)
}

// Without a shell to go back to, Ctrl-Z stops nothing.
func TestTerminalCtrlZ(t *testing.T) {
	t.Parallel()
	s := start(t, normal)
	s.prompted("")
	s.send("abc\x1ad")
	s.prompted("abcd")
	s.send("\r")
	s.see(`ran "abcd"`)
	s.prompted("")
	s.send("\x04")
	s.ends(0)
}

func TestTerminalCtrlC(t *testing.T) {
	t.Parallel()
	s := start(t, normal)
	s.prompted("")
	s.send("x=99")
	s.prompted("x=99")
	s.send("\x03")
	s.see("(to leave: Ctrl-D, or Ctrl-C twice at an empty prompt)")
	s.do("show x", `x is ""`)

	s.send("for i=1,3 do\r")
	s.line("        >> ")
	s.send("print(")
	s.line("        >> print(")
	s.send("\x03")
	s.do("y=1", "")
	s.do("show y", `y is "1"`)

	s.send("\x03") // one, and then something else
	s.do("z=2", "")
	s.send("sleep\r")
	s.see("(main waits for a bell; Ctrl-C interrupts)")
	s.send("\x03")
	s.see("interrupted")
	s.send("\x03\x03")                                    // pressed more often than needed
	s.within(2*haste, func(*model) bool { return false }) // what is typed before they have come is dropped
	s.do("show z", `z is "2"`)
	s.cmd.Process.Signal(os.Interrupt) // from another process, as if typed
	s.wait("another ^C", func(m *model) bool { return strings.Count(m.text(), "^C") >= 7 })
	s.prompted("")
	if n := s.count("to leave:"); n != 1 {
		t.Errorf("the hint was shown %d times", n)
	}
	s.send("\x04")
	s.ends(0)
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
		s.send(tt.keys)
		s.wait(fmt.Sprintf("%q after the keys %q", tt.want, tt.keys), func(m *model) bool { return m.current() == "npu0/ctx2> "+tt.want })
		s.send("\r")
		s.see(fmt.Sprintf("ran %q", tt.want))
	}
	s.prompted("")
	s.send("\x1b[3~") // Delete on an empty line is not Ctrl-D
	s.do("still here", "still here")
	s.send("\x0c")
	s.wait("a clear screen", func(m *model) bool { return m.y == 0 })
	s.prompted("")
	s.send("\x04")
	s.ends(0)
}

func TestTerminalWide(t *testing.T) {
	t.Parallel()
	s := start(t, normal)
	s.prompted("")
	s.send(`x = "中文"`)
	s.prompted(`x = "中文"`)
	s.send("\x1b[D\x1b[D")
	s.wait("the cursor before 文", func(m *model) bool { return m.x == textWidth(`npu0/ctx2> x = "中`) })
	s.send("字")
	s.wait("字", func(m *model) bool {
		return m.current() == `npu0/ctx2> x = "中字文"` && m.x == textWidth(`npu0/ctx2> x = "中字`)
	})
	s.send("\r")
	s.do("show x", `x is "\"中字文\""`)

	long := strings.Repeat("中文🙂x", 40)
	s.send(long)
	s.wait("the long line", func(m *model) bool { return strings.HasSuffix(m.current(), "🙂x") && m.y > 4 })
	rows := s.count("\n")
	s.send("\x01y")
	s.wait("y at its start", func(m *model) bool { return strings.HasPrefix(m.current(), "npu0/ctx2> y中") && m.x == 12 })
	s.send("\x05z\x01\x05\x01\x05")
	s.wait("z at its end", func(m *model) bool { return strings.HasSuffix(m.current(), "xz") })
	if n := s.count("\n"); n != rows {
		t.Errorf("the screen has %d lines after moving in a long one, %d before", n, rows)
	}
	s.send("\r")
	s.see(ran("y" + long + "z"))
	s.prompted("")
	s.send("\x04")
	s.ends(0)
}

func TestTerminalCompletion(t *testing.T) {
	t.Parallel()
	s := start(t, normal)
	s.prompted("")
	s.send("on\t")
	s.prompted("only_one")
	s.send("\x15on\t\r") // keys, however fast
	s.see(`ran "only_one"`)
	s.prompted("")
	s.send("x + pri\t")
	s.prompted("x + print")
	s.see("print    printer")
	s.send("\t\t")
	s.prompted("x + printer")
	s.send("(")
	s.prompted("x + printer(")
	if s.count("print    printer") != 0 {
		t.Error("the candidates stay below")
	}
	s.send("\x15_G.中")
	s.prompted("_G.中")
	s.send("\t\t\t")
	s.prompted("_G.中文二")
	s.send("\x1b[Z")
	s.prompted("_G.中文一")
	s.send("\x7f")
	s.prompted("_G.中文")
	s.send("\x15many\t")
	s.see("many59")
	s.prompted("many")
	s.send("\x15nothing\t")
	s.wait("a bell", func(m *model) bool { return m.bells > 0 })
	s.send("\x15boom\t") // the evaluator panics
	s.prompted("boom")
	s.send("\x15panic")
	s.prompted("panic")
	s.send("\x15\tx")
	s.prompted("    x")
	s.send("\x15\x04")
	s.ends(0)
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
			s.wait("a prompt", func(m *model) bool { return m.paste })
			newline := "\r"
			if tt.name == "CRLF" {
				newline = "\r\n"
			}
			go s.master.WriteString(tt.open + strings.ReplaceAll(text, "\n", newline) + tt.close)
			s.wait("the paste run", func(m *model) bool { return strings.Contains(m.text(), want) && m.paste })
			if got, want := s.history(), escapeEntry.Replace(text)+"\n"; got != want {
				t.Errorf("history is %q, want %q", got, want)
			}
			s.send("\x04")
			s.ends(0)
		})
	}
}

// Lines that are whole run one after the other, and what is not for the loop is left for the chunk.
func TestTerminalTypedAhead(t *testing.T) {
	t.Parallel()
	s := start(t, normal)
	s.prompted("")
	s.send("a = 1\rshow a\ron\t\rb\tc\rinput\rfor the chunk\rlast\r")
	s.see(`ran "last"`)
	for _, want := range []string{`a is "1"`, `ran "on\t"`, `ran "b\tc"`, `input "for the chunk\n"`} {
		s.see(want)
	}
	s.prompted("")
	s.send("\x1b[200~never ended")
	s.prompted("never ended")
	s.send("\x1b[200~nor this")
	s.send("\x03") // at once, though the paste has no end
	s.see("to leave")
	s.cmd.Process.Signal(syscall.SIGTERM)
	s.ends(143)
}

func TestTerminalHistory(t *testing.T) {
	t.Parallel()
	state := t.TempDir()
	s := start(t, world{cols: 80, rows: 24, state: state})
	s.prompted("")
	s.send("\x12\x03") // Ctrl-R on an empty history, then Ctrl-C
	s.wait("a fresh prompt", func(m *model) bool { return m.current() == "npu0/ctx2>" && strings.Contains(m.text(), "to leave") })
	s.send("\x03") // the first at an empty prompt
	s.wait("another", func(m *model) bool { return m.current() == "npu0/ctx2>" && strings.Count(m.text(), "^C") == 2 })
	s.send("\x12\x12\x13zz\x7f")
	s.see("(no entry has `z')")
	s.send("\r")
	s.prompted("")
	s.send("\x12x\x12\x07")
	s.do("alive", `ran "alive"`)
	other := start(t, world{cols: 80, rows: 24, state: state})
	s.send("function f\r")
	s.line("        >> ")
	s.send("body\rend\r")
	s.see(`ran "function f\nbody\nend"`)
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
		x.send("\x04")
		x.ends(0)
	}

	s = start(t, world{cols: 80, rows: 24, state: state})
	s.prompted("")
	s.send("draft\x1b[A")
	s.prompted("mine")
	s.send("\x1b[A")
	s.prompted(`other \n`)
	s.send("\x1b[A")
	s.line("        >> end")
	s.send("\x1b[A\x1b[A!")
	s.wait("the first line", func(m *model) bool { return m.current() == "npu0/ctx2> fun!ction f" })
	s.send("\x1b[B\x1b[B\x1b[B\x1b[B\x1b[B")
	s.prompted("draft")
	s.send("\x15\x1b[A\x1b[A\x1b[A\r")
	s.see(`ran "fun!ction f\nbody\nend"`) // as it was changed
	s.prompted("")

	s.send("\x12ali")
	s.see("(search `ali') alive")
	s.send("\r")
	s.see(`ran "alive"`)
	s.prompted("")
	s.send("keep\x12bod")
	s.see("(search `bod') fun!ction f")
	s.send("\x7f\x7f\x7f")
	s.see("(search `') keep")
	s.send("zzz")
	s.see("(no entry has `zzz')")
	s.send("\x07")
	s.prompted("keep")
	s.send("\x12mi\x05!")
	s.prompted("mine!")
	s.send("\x03\x04")
	s.ends(0)
}

func TestTerminalHistoryUnwritable(t *testing.T) {
	t.Parallel()
	state := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(state, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	s := start(t, world{cols: 80, rows: 24, state: state})
	s.see("toy: the history is not kept: ")
	s.do("one", `ran "one"`)
	s.do("two", `ran "two"`)
	if n := s.count("not kept"); n != 1 {
		t.Errorf("%d warnings", n)
	}
	s.send("\x1b[A")
	s.prompted("two")
	s.send("\x03\x04")
	s.ends(0)
}

// Every size works: what is typed runs, and nothing breaks.
func TestTerminalSizes(t *testing.T) {
	t.Parallel()
	for _, size := range [][2]int{{80, 24}, {20, 5}, {8, 3}, {7, 2}, {2, 2}, {1, 1}, {0, 0}, {80, 1}, {1, 24}} {
		t.Run(fmt.Sprint(size), func(t *testing.T) {
			t.Parallel()
			s := start(t, world{cols: size[0], rows: size[1]})
			s.wait("a prompt", func(m *model) bool { return m.paste })
			s.send("many\tpri\t\t\t\x15中\t\t\t\x7f\x15\x12a🙂\x07中文🙂 a\x01\x05\x1b[D\x1b[Db\tc")
			s.send("\x15\x0b= 中文\r")
			s.send("\x1b[A\x1b[A\x03")
			s.send("k = done\r")
			s.send("quiet\r")
			s.send("show k\r")
			s.wait("the value", func(m *model) bool { return strings.Contains(strings.Join(strings.Fields(m.text()), ""), `kis"done"`) })
			s.wait("a prompt", func(m *model) bool { return m.paste })
			s.send("\x04")
			s.ends(0)
		})
	}
}

func TestTerminalResize(t *testing.T) {
	t.Parallel()
	s := start(t, normal)
	s.do("before", `ran "before"`)
	text := strings.TrimSpace(strings.Repeat("word ", 31))
	s.send(text)
	s.wait("the line", func(m *model) bool { return strings.HasSuffix(m.current(), "word") && m.y > 2 })
	s.resize(100, 30) // and no key
	s.wait("the line broken anew", func(m *model) bool { return line(m.cells[3]) == ("npu0/ctx2> " + text)[:100] })
	for _, size := range [][2]int{{60, 10}, {100, 10}, {20, 5}, {1, 1}, {3, 2}, {80, 24}} {
		s.resize(size[0], size[1])
		s.send("\x01\x05") // and it is still alive
	}
	s.send("!")
	s.wait("the line on the new screen", func(m *model) bool {
		return strings.HasSuffix(m.text(), "word!") && strings.Contains(m.text(), "npu0/ctx2> word word")
	})
	s.send("\r")
	s.wait("the result", func(m *model) bool {
		return strings.Contains(m.text(), ran(text+"!"))
	})
	s.prompted("")
	s.send("\x04")
	s.ends(0)
}

// An entry higher than the screen shows the part with the cursor, and all of it once it is run.
func TestTerminalTall(t *testing.T) {
	t.Parallel()
	s := start(t, world{cols: 20, rows: 5})
	s.wait("a prompt", func(m *model) bool { return m.paste })
	s.send("\x1b[200~" + paste(12) + "\x1b[201~")
	s.wait("its end", func(m *model) bool { return m.current() == "> end" })
	s.send(strings.Repeat("\x1b[A", 11) + "!")
	s.wait("its start", func(m *model) bool { return m.y == 0 && m.current() == "> for! i=1,2 do" })
	s.send(strings.Repeat("\x1b[B", 6))
	s.wait("its middle", func(m *model) bool { return m.y == 4 && strings.Contains(m.current(), "x005") })
	s.send("\r")
	s.see("ran(")
	s.wait("a prompt", func(m *model) bool { return m.paste })
	if n := s.count("x005"); n != 1 || s.count("for! i") != 1 {
		t.Errorf("the entry does not stand once in what was shown: %d", n)
	}
	s.send("\x04")
	s.ends(0)
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
		s.send("for x do")
		s.prompted("for x do")
		s.send("\x15fail\r")
		s.see("error: failed")
		s.prompted("")
		s.send("\x04")
		s.ends(0)
		raw := string(s.raw)
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
		s.wait(fmt.Sprintf("the line %q", text), func(m *model) bool { return m.current() == strings.TrimRight(text, " ") && m.x == len(text) })
	}
	s.see("toy 1")
	at("npu0/ctx2> ")
	s.send("for i=1,2 do\n")
	at("        >> ")
	s.send("body\nend\n")
	s.see(`ran "for i=1,2 do\nbody\nend"`)
	at("npu0/ctx2> ")
	s.send("for x do\n")
	at("        >> ")
	s.send("half")
	at("        >> half")
	s.send("\x03")
	s.see("to leave:")
	at("npu0/ctx2> ")
	s.send("sleep\n")
	s.see("sleeping")
	s.send("\x03")
	s.see("interrupted")
	at("npu0/ctx2> ")
	s.send("fail\n")
	s.see("error: failed")
	at("npu0/ctx2> ")
	s.send("\x03")
	s.wait("a new prompt", func(m *model) bool { return strings.HasSuffix(m.text(), "^C\nnpu0/ctx2>") })
	s.send("\x04")
	s.ends(0)
	if strings.Contains(string(s.raw), "\x1b") {
		t.Errorf("escape codes in %q", s.raw)
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
		ctx, cancel := context.WithTimeout(t.Context(), patience)
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
			s.wait("a prompt", func(m *model) bool { return m.paste })
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
			hint := func(m *model) bool {
				return strings.Contains(strings.Join(strings.Fields(m.text()), ""), "(toleave:")
			}
			for end := time.Now().Add(patience); time.Now().Before(end) && !s.within(200*time.Millisecond, hint); {
				s.send("\x11x\x03")
			}
			s.wait("the hint", hint)
			s.cmd.Process.Signal(syscall.SIGTERM)
			s.ends(143)
		})
	}
}
