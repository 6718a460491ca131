// Package repltest runs a program in a pseudo terminal, and knows what a person would see of it: Session is
// the program, Screen what it shows. It knows nothing of package repl, whose own tests use it as those of the
// built binary do.
package repltest

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/creack/pty"
	"golang.org/x/sys/unix"
	"golang.org/x/term"
)

// Patience is how long a test waits for what must come. It is for a loaded machine; nothing takes so
// long otherwise.
const Patience = 40 * time.Second

// Session is a program in a pseudo terminal. Its methods fail the test where they wait in vain.
type Session struct {
	Dumps bool // stacks of goroutines are expected

	t       testing.TB
	cmd     *exec.Cmd
	master  *os.File
	slave   *os.File
	before  *term.State
	exited  chan struct{}
	changed chan struct{}
	reading sync.Mutex // held while the terminal takes no output

	mu     sync.Mutex
	screen *Screen
	raw    []byte
	unseen []byte // what UpTo has not returned yet, without escape codes
}

// Start starts cmd in a terminal of its own. With no columns the terminal does not know its size, and the
// screen has 80 x 24. What the screen does not know, a data race and a crash fail the test at its end.
func Start(t testing.TB, cmd *exec.Cmd, cols, rows int) *Session {
	t.Helper()
	master, slave, err := open()
	if err != nil {
		t.Skip("no pseudo terminals here: ", err)
	}
	s := &Session{t: t, cmd: cmd, master: master, slave: slave, exited: make(chan struct{}), changed: make(chan struct{}, 1)}
	s.setSize(cols, rows)
	if cols == 0 {
		cols, rows = 80, 24
	}
	s.screen = NewScreen(cols, rows)
	s.before = s.state()
	cmd.Stdin, cmd.Stdout, cmd.Stderr = slave, slave, slave
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() { _ = cmd.Wait(); close(s.exited) }()
	go s.read()
	t.Cleanup(s.close)
	return s
}

// open returns a pseudo terminal. Close ends a Read of its master.
func open() (master, slave *os.File, err error) {
	blocking, slave, err := pty.Open()
	if err != nil {
		return nil, nil, err
	}
	defer blocking.Close()
	fd, err := unix.FcntlInt(blocking.Fd(), unix.F_DUPFD_CLOEXEC, 0)
	if err == nil {
		err = unix.SetNonblock(fd, true)
	}
	return os.NewFile(uintptr(fd), "ptmx"), slave, err
}

func (s *Session) read() {
	b := make([]byte, 4096)
	for {
		s.reading.Lock()
		//lint:ignore SA2001 it waits while the terminal is deaf
		s.reading.Unlock()
		n, err := s.master.Read(b)
		s.mu.Lock()
		_, _ = s.screen.Write(b[:n])
		s.raw = append(s.raw, b[:n]...)
		s.unseen = append(s.unseen, b[:n]...)
		s.mu.Unlock()
		select {
		case s.changed <- struct{}{}:
		default:
		}
		if err != nil {
			return
		}
	}
}

var stacks = regexp.MustCompile(`goroutine \d+ (gp=\S+ )?.*\[`)

func (s *Session) close() {
	_ = s.cmd.Process.Kill() // where the test has failed
	s.master.Close()
	s.slave.Close()
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.screen.Unknown) > 0 {
		s.t.Errorf("the screen was sent what it does not know: %v", s.screen.Unknown)
	}
	if raw := string(s.raw); strings.Contains(raw, "DATA RACE") || !s.Dumps && stacks.MatchString(raw) {
		s.t.Errorf("the program broke:\n%s", raw[max(0, len(raw)-20_000):])
	}
}

func (s *Session) state() *term.State {
	s.t.Helper()
	state, err := term.GetState(int(s.slave.Fd()))
	if err != nil {
		s.t.Fatal(err)
	}
	return state
}

// Normal reports whether the terminal is in the mode in which the program found it.
func (s *Session) Normal() bool {
	s.t.Helper()
	return *s.state() == *s.before
}

// Stty returns what `stty -g` says of the terminal, "" where there is no stty.
func (s *Session) Stty() string {
	s.t.Helper()
	path, err := exec.LookPath("stty")
	if err != nil {
		return ""
	}
	cmd := exec.Command(path, "-g")
	cmd.Stdin = s.slave
	out, err := cmd.CombinedOutput()
	if err != nil {
		s.t.Fatalf("stty -g: %v: %s", err, out)
	}
	return string(out)
}

// Send types text.
func (s *Session) Send(text string) {
	s.t.Helper()
	if err := s.TrySend(text, Patience); err != nil {
		s.t.Fatal(err)
	}
}

// TrySend types text, and gives up when the terminal has not taken all of it after d.
func (s *Session) TrySend(text string, d time.Duration) error {
	_ = s.master.SetWriteDeadline(time.Now().Add(d))
	_, err := s.master.WriteString(text)
	return err
}

// Signal sends a signal to the program.
func (s *Session) Signal(sig os.Signal) {
	s.t.Helper()
	if err := s.cmd.Process.Signal(sig); err != nil {
		s.t.Fatal(err)
	}
}

// Resize makes the terminal larger or smaller, of which the program is told.
func (s *Session) Resize(cols, rows int) {
	s.t.Helper()
	s.mu.Lock()
	s.screen.Resize(cols, rows)
	s.mu.Unlock()
	s.setSize(cols, rows)
}

func (s *Session) setSize(cols, rows int) {
	s.t.Helper()
	if err := pty.Setsize(s.slave, &pty.Winsize{Cols: uint16(cols), Rows: uint16(rows)}); err != nil {
		s.t.Fatal(err)
	}
}

// HangUp takes the terminal away, as a broken connection does.
func (s *Session) HangUp() {
	s.slave.Close()
	s.master.Close()
}

// Deafen has the terminal take no more output than fits between it and the program, as one behind a broken
// network, until hear is called.
func (s *Session) Deafen() (hear func()) {
	s.reading.Lock()
	hear = sync.OnceFunc(s.reading.Unlock)
	s.t.Cleanup(hear)
	return hear
}

// Look calls f with the screen as it is. Nothing is shown meanwhile.
func (s *Session) Look(f func(*Screen)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f(s.screen)
}

// Raw returns all that the program wrote.
func (s *Session) Raw() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return string(s.raw)
}

// Count returns how often text stands in what is shown and in what has scrolled away.
func (s *Session) Count(text string) (n int) {
	s.Look(func(m *Screen) { n = strings.Count(m.Text(), text) })
	return n
}

// Within reports whether ok becomes true of the screen before d has passed.
func (s *Session) Within(d time.Duration, ok func(*Screen) bool) bool {
	return s.until(d, func() (yes bool) {
		s.Look(func(m *Screen) { yes = ok(m) })
		return yes
	})
}

// until calls ok whenever something was shown.
func (s *Session) until(d time.Duration, ok func() bool) bool {
	for end := time.After(d); ; {
		if ok() {
			return true
		}
		select {
		case <-s.changed:
		case <-end:
			return false
		}
	}
}

// Wait waits until ok is true of the screen. what says of what that is a picture.
func (s *Session) Wait(what string, ok func(*Screen) bool) {
	s.t.Helper()
	if !s.Within(Patience, ok) {
		s.fatal("the screen never showed " + what)
	}
}

// fatal fails the test with what is shown.
func (s *Session) fatal(text string) {
	s.t.Helper()
	raw := s.Raw()
	s.Look(func(m *Screen) {
		shown := m.Text()
		s.t.Fatalf("%s; cursor at %d,%d of\n%s\nraw: %q", text, m.X, m.Y, shown[max(0, len(shown)-4000):], raw[max(0, len(raw)-800):])
	})
}

// Shows waits until text stands on the screen, or in what has scrolled away.
func (s *Session) Shows(text string) {
	s.t.Helper()
	s.Wait(fmt.Sprintf("%q", text), func(m *Screen) bool { return strings.Contains(m.Text(), text) })
}

// Line waits for a line that is edited, with text in it and the cursor at its end.
func (s *Session) Line(text string) {
	s.t.Helper()
	s.Wait(fmt.Sprintf("the line %q", text), func(m *Screen) bool {
		return m.Current() == strings.TrimRight(text, " ") && m.X == Width(text) && m.Paste
	})
}

// UpTo waits for text in what the program wrote, and returns what it wrote since the last call, with text at
// its end and without escape codes. What was drawn over is part of it.
func (s *Session) UpTo(text string) string {
	s.t.Helper()
	var before, rest []byte
	if !s.until(Patience, func() (ok bool) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.unseen = escapes.ReplaceAll(s.unseen, nil)
		if before, rest, ok = bytes.Cut(s.unseen, []byte(text)); ok {
			s.unseen = rest
		}
		return ok
	}) {
		unseen := s.Unseen()
		s.t.Fatalf("%q does not come; got %q", text, unseen[max(0, len(unseen)-4000):])
	}
	return string(before) + text
}

var escapes = regexp.MustCompile("\x1b\\[[0-9;?]*[A-Za-z]|\x1b[=>78]|\r|\a")

// Unseen returns what the program wrote and UpTo has not returned, without escape codes.
func (s *Session) Unseen() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return string(escapes.ReplaceAll(s.unseen, nil))
}

// Exit waits for the end of the program, and returns its status, or -1 where a signal ended it.
func (s *Session) Exit() int {
	s.t.Helper()
	select {
	case <-s.exited:
	case <-time.After(Patience):
		s.fatal("the program does not end")
	}
	return s.cmd.ProcessState.ExitCode()
}

// endMark is written behind all that the program wrote, for Ends to know when the screen shows that. It means
// nothing to a terminal.
const endMark = "\x1b[?7777h"

// Ends waits for the end of the program, and checks its status, and that the terminal is as it was. All that
// the program wrote is shown then.
func (s *Session) Ends(status int) {
	s.t.Helper()
	if got := s.Exit(); got != status {
		s.fatal(fmt.Sprintf("exit status %d, want %d", got, status))
	}
	if got := s.state(); *got != *s.before {
		s.t.Errorf("the terminal was left as %+v, it was %+v", *got, *s.before)
	}
	go func() { _, _ = s.slave.WriteString(endMark) }()
	s.Wait("all that was written", func(m *Screen) bool { return m.ended })
	s.Look(func(m *Screen) {
		s.raw = bytes.Replace(s.raw, []byte(endMark), nil, 1)
		if m.Paste {
			s.t.Error("bracketed paste is left on")
		}
		if m.Hidden || m.Second {
			s.t.Errorf("the terminal was left with a hidden cursor: %v, with the second screen: %v", m.Hidden, m.Second)
		}
	})
}
