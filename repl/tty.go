package repl

import (
	"io"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"
	"golang.org/x/term"
)

func isTerminal(f *os.File) bool { return term.IsTerminal(int(f.Fd())) }

// tty switches a terminal between its normal mode and the one for editing.
type tty struct {
	fd    int
	mu    sync.Mutex
	saved *unix.Termios // the normal mode, while the mode for editing is on
}

// raw has every key come at once, unechoed, Ctrl-C and Ctrl-Z included. Output stays as it was, so
// that "\n" still begins a line, and so does the Enter key: what is typed ahead for the chunk itself
// to read ends in "\n".
func (t *tty) raw() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.saved != nil {
		return nil
	}
	s, err := unix.IoctlGetTermios(t.fd, getTermios)
	if err != nil {
		return err
	}
	r := *s
	r.Iflag &^= unix.IXON | unix.ISTRIP | unix.INLCR | unix.IGNCR
	r.Iflag |= unix.ICRNL
	r.Lflag &^= unix.ICANON | unix.ECHO | unix.ISIG | unix.IEXTEN
	r.Cc[unix.VMIN], r.Cc[unix.VTIME] = 1, 0
	if err := unix.IoctlSetTermios(t.fd, setTermios, &r); err != nil {
		return err
	}
	t.saved = s
	return nil
}

// restore puts the terminal back into its normal mode. Typed text that was not read stays.
func (t *tty) restore() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.saved != nil {
		unix.IoctlSetTermios(t.fd, setTermios, t.saved)
		t.saved = nil
	}
}

// size returns columns and rows of the terminal; 80 and 24 where it does not know.
func size(fd int) (cols, rows int) {
	cols, rows, err := term.GetSize(fd)
	if err != nil || cols <= 0 {
		cols = 80
	}
	if err != nil || rows <= 0 {
		rows = 24
	}
	return cols, rows
}

// source reads a file descriptor. A read can be given up at any time, which a plain read in another
// goroutine cannot: that one would steal the next key.
type source struct {
	fd           int
	wakeR, wakeW *os.File
}

// What ended a wait of source.
const (
	readable = iota
	woken
	timedOut
)

func newSource(f *os.File) (*source, error) {
	r, w, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	return &source{fd: int(f.Fd()), wakeR: r, wakeW: w}, nil
}

func (s *source) close() {
	s.wakeR.Close()
	s.wakeW.Close()
}

// wake ends the wait that goes on, or the next one.
func (s *source) wake() { s.wakeW.Write([]byte{0}) }

// wait waits until there is something to read, wake is called, or d has passed; a negative d is
// forever.
func (s *source) wait(d time.Duration) int {
	end := time.Now().Add(d)
	for {
		ms := -1
		if d >= 0 {
			ms = int(max(0, time.Until(end).Round(time.Millisecond)/time.Millisecond))
		}
		fds := []unix.PollFd{{Fd: int32(s.fd), Events: unix.POLLIN}, {Fd: int32(s.wakeR.Fd()), Events: unix.POLLIN}}
		n, err := unix.Poll(fds, ms)
		switch {
		case err == unix.EINTR:
			continue
		case err != nil:
			return readable // and the read says what is wrong
		case n == 0:
			return timedOut
		case fds[1].Revents != 0:
			var b [64]byte
			s.wakeR.Read(b[:])
			return woken
		}
		return readable
	}
}

// pending reports whether there is something to read now.
func (s *source) pending() bool {
	fds := []unix.PollFd{{Fd: int32(s.fd), Events: unix.POLLIN}}
	n, err := unix.Poll(fds, 0)
	return err == nil && n > 0
}

// read reads what is there, after wait.
func (s *source) read(p []byte) (int, error) {
	for {
		n, err := unix.Read(s.fd, p)
		switch {
		case err == unix.EINTR, err == unix.EAGAIN:
			continue
		case err != nil:
			return 0, err
		case n == 0:
			return 0, io.EOF
		}
		return n, nil
	}
}
