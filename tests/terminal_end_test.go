//go:build linux

package tests

import (
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"
)

// Whatever ends a session leaves the terminal as `stty -g` found it before the program began.
func TestEndsTerminalAsBefore(t *testing.T) {
	t.Parallel()
	half := func(s *terminal) { s.send("half"); s.prompted("half") }
	entry := func(s *terminal) { s.send("for i=1,2 do\r"); s.Line("  >> ") }
	paste := func(s *terminal) { s.send("\x1b[200~half") }
	loop := func(s *terminal) { s.send("print 'begun' while true do end\r"); s.see("begun\n") }
	wait := func(s *terminal) { s.send("print 'begun' npu.sleep(1000)\r"); s.see("begun\n") }
	program := func(s *terminal) { s.send("print 'begun' os.execute 'exec sleep 1000'\r"); s.see("begun\n") }
	prompt := func(*terminal) {}
	sigterm := func(s *terminal) { s.Signal(syscall.SIGTERM) }
	sighup := func(s *terminal) { s.Signal(syscall.SIGHUP) }
	keys := func(text string) func(*terminal) { return func(s *terminal) { s.send(text) } }
	for _, tt := range []struct {
		name        string
		before, out func(*terminal)
		status      int
	}{
		{"Ctrl-D", prompt, keys("\x04"), 0},
		{".quit", prompt, keys(".quit\r"), 0},
		{"os.exit", prompt, keys("os.exit(3)\r"), 3},
		{"an error and Ctrl-D", func(s *terminal) {
			s.send("error('as asked', 0)\r")
			s.Wait("the error and a prompt", func(m *screen) bool {
				return m.Paste && strings.Contains(m.Text(), "\nas asked\n") && m.Current() == "npu>"
			})
		}, keys("\x04"), 0},
		{"Ctrl-C twice", prompt, func(s *terminal) { s.send("\x03"); s.Shows("Ctrl-C twice"); s.prompted(""); s.send("\x03") }, 130},
		{"Ctrl-C twice at once", prompt, keys("\x03\x03"), 130},
		{"SIGTERM at the prompt", prompt, sigterm, 143},
		{"SIGTERM in a line", half, sigterm, 143},
		{"SIGTERM in an unfinished chunk", entry, sigterm, 143},
		{"SIGTERM in a paste", paste, sigterm, 143},
		{"SIGTERM in a loop", loop, sigterm, 143},
		{"SIGTERM in a wait", wait, sigterm, 143},
		{"SIGTERM in a program", program, sigterm, 143},
		{"SIGHUP at the prompt", prompt, sighup, 129},
		{"SIGHUP in a line", half, sighup, 129},
		{"SIGHUP in a paste", paste, sighup, 129},
		{"SIGHUP in a loop", loop, sighup, 129},
		{"SIGHUP in a wait", wait, sighup, 129},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			cmd := exec.Command("sh", "-c", `read go; exec "$0" --backend=sim --clock=wall`, binary)
			cmd.Env = append(os.Environ(), "TERM=xterm-256color")
			s := startTerminal(t, cmd)
			found := s.Stty()
			s.send("\n")
			s.prompted("")
			tt.before(s)
			tt.out(s)
			s.ends(tt.status)
			switch left := s.Stty(); {
			case found == "":
				t.Skip("there is no stty here; what it shows was compared without it")
			case left != found:
				t.Errorf("stty -g says %q, before the program it said %q", left, found)
			}
		})
	}
}

// A terminal that is gone ends the session, also one with a chunk that runs.
func TestEndsHangUp(t *testing.T) {
	t.Parallel()
	for _, typed := range []string{"", "half", "print 'begun' while true do end\r", "print 'begun' npu.sleep(1000)\r"} {
		s := openScreen(t, 80, 24)
		s.prompted("")
		s.send(typed)
		if strings.HasSuffix(typed, "\r") {
			s.see("begun\n")
		} else {
			s.prompted(typed)
		}
		s.HangUp()
		if got := s.Exit(); got != 129 {
			t.Errorf("exit status %d after %q, want 129", got, typed)
		}
	}
}

// A terminal that takes no output any more, such as one behind a broken network, holds up no end.
func TestEndsDeaf(t *testing.T) {
	t.Parallel()
	s := openScreen(t, 80, 24)
	s.prompted("")
	hear := s.Deafen()
	// Ctrl-L draws everything anew. When no more keys are taken the program is stuck in a write.
	for s.TrySend(strings.Repeat("\x0c", 1000), 300*time.Millisecond) == nil {
	}
	s.Signal(syscall.SIGTERM)
	if got := s.Exit(); got != 143 {
		t.Errorf("exit status %d, want 143", got)
	}
	if !s.Normal() {
		t.Error("the terminal was not left as it was")
	}
	hear()
}

// Neither does one that a chunk prints to.
func TestEndsDeafWhilePrinting(t *testing.T) {
	t.Parallel()
	s := openScreen(t, 80, 24)
	s.prompted("")
	s.send("while true do print(('x'):rep(1000)) end\r")
	s.Shows("xxxxx")
	hear := s.Deafen()
	defer hear()
	s.Signal(syscall.SIGTERM)
	if got := s.Exit(); got != 143 {
		t.Errorf("exit status %d, want 143", got)
	}
}
