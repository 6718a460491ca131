package display

import (
	"context"
	"errors"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// keyboard has keys come one by one and without an echo. Ctrl-C stays a signal.
type keyboard struct {
	f       *os.File
	found   unix.Termios // mode of the terminal before
	raw     atomic.Bool
	resized atomic.Bool // since the last wait
	asking  atomic.Bool
	rest    []byte // read and no key yet; of whoever is asking

	mu     sync.Mutex // nobody waits under it
	pipe   [2]int     // a byte comes out of the first one where a wait has to look up
	closed bool
}

// ErrAsked is the error of a wait for a key while another one goes on.
var ErrAsked = errors.New("another task waits for a key")

// ErrGone is the error of a wait for a key of a terminal that is gone.
var ErrGone = errors.New("the terminal is gone")

// newKeyboard takes f over; nil, for no terminal, has no keys.
func newKeyboard(f *os.File) (*keyboard, error) {
	k := &keyboard{f: f}
	if err := unix.Pipe(k.pipe[:]); err != nil {
		return nil, err
	}
	for _, fd := range k.pipe {
		unix.CloseOnExec(fd)
		if err := unix.SetNonblock(fd, true); err != nil {
			k.close()
			return nil, err
		}
	}
	if f == nil {
		return k, nil
	}
	mode, err := unix.IoctlGetTermios(int(f.Fd()), getTermios)
	if err == nil {
		k.found = *mode
		err = k.take()
	}
	if err != nil {
		k.close()
		return nil, err
	}
	return k, nil
}

// take sets the mode, and give sets the one that was found. Neither waits for output.
func (k *keyboard) take() error {
	if k.f == nil {
		return nil
	}
	mode := k.found
	mode.Lflag &^= unix.ICANON | unix.ECHO
	mode.Cc[unix.VSUSP] = noKey // it is a key, since Go cannot give a handled SIGTSTP its default again
	mode.Cc[unix.VMIN], mode.Cc[unix.VTIME] = 1, 0
	k.raw.Store(true)
	return unix.IoctlSetTermios(int(k.f.Fd()), setTermios, &mode)
}

func (k *keyboard) give() {
	if k.raw.CompareAndSwap(true, false) {
		_ = unix.IoctlSetTermios(int(k.f.Fd()), setTermios, &k.found) // it worked when the keyboard was taken
	}
}

// look has a wait for a key look up.
func (k *keyboard) look() {
	k.mu.Lock()
	defer k.mu.Unlock()
	if !k.closed {
		_, _ = unix.Write(k.pipe[1], []byte{0}) // a full pipe does it, too
	}
}

// resize has the wait for a key, or the next one, tell of another size.
func (k *keyboard) resize() {
	k.resized.Store(true)
	k.look()
}

// escapeTime is how long the rest of the code of a key may take to come.
const escapeTime = 50 * time.Millisecond

// next waits for a key, so long as timeout says; less than 0: for ever. It returns "" where none came.
func (k *keyboard) next(ctx context.Context, timeout time.Duration) (string, error) {
	if !k.asking.CompareAndSwap(false, true) {
		return "", ErrAsked
	}
	defer k.asking.Store(false)
	defer context.AfterFunc(ctx, func() { k.look() })()
	end := time.Now().Add(timeout)
	for {
		if ctx.Err() != nil {
			return "", context.Cause(ctx)
		}
		if k.resized.CompareAndSwap(true, false) {
			return keyResize, nil
		}
		key, n := parseKey(k.rest, false)
		k.rest = k.rest[n:]
		if key != "" {
			return key, nil
		}
		if n > 0 {
			continue
		}
		wait := time.Duration(-1)
		if timeout >= 0 {
			wait = max(0, time.Until(end))
		}
		whole := len(k.rest) == 0
		if !whole && (wait < 0 || wait > escapeTime) {
			wait = escapeTime
		}
		came, err := k.await(wait)
		switch {
		case err != nil:
			return "", err
		case !came && !whole:
			key, n := parseKey(k.rest, true)
			if k.rest = k.rest[n:]; key != "" {
				return key, nil
			}
		case !came && timeout >= 0 && !time.Now().Before(end):
			return "", nil
		}
	}
}

// keyResize stands for a terminal that was given another size.
const keyResize = "resize"

// await reads what comes within wait; less than 0: it waits for ever. It reports whether there is reason to look.
func (k *keyboard) await(wait time.Duration) (bool, error) {
	fds := []unix.PollFd{{Fd: int32(k.pipe[0]), Events: unix.POLLIN}}
	if k.f != nil {
		fds = append(fds, unix.PollFd{Fd: int32(k.f.Fd()), Events: unix.POLLIN})
	}
	ms := -1
	if wait >= 0 {
		ms = int((min(wait, time.Hour) + time.Millisecond - 1) / time.Millisecond)
	}
	n, err := unix.Poll(fds, ms)
	switch {
	case errors.Is(err, unix.EINTR):
		return true, nil
	case err != nil || n == 0:
		return false, err
	}
	var b [256]byte
	if fds[0].Revents != 0 {
		_, _ = unix.Read(k.pipe[0], b[:]) // who comes too late finds nothing
		return true, nil
	}
	switch n, err := unix.Read(int(k.f.Fd()), b[:]); {
	case errors.Is(err, unix.EINTR) || errors.Is(err, unix.EAGAIN):
	case err != nil || n == 0:
		return false, ErrGone
	default:
		k.rest = append(k.rest, b[:n]...)
	}
	return true, nil
}

// close gives the terminal back. Nobody may wait for a key any more.
func (k *keyboard) close() {
	k.give()
	k.mu.Lock()
	defer k.mu.Unlock()
	if !k.closed {
		k.closed = true
		_ = unix.Close(k.pipe[0]) // a pipe has nothing to lose
		_ = unix.Close(k.pipe[1])
	}
}
