package display

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"sync"
	"syscall"
	"time"
)

// Codes that begin and end a screen: the alternate one of the terminal, without a cursor.
const (
	enterCodes = "\x1b[?1049h\x1b[?25l\x1b[H\x1b[2J"
	leaveCodes = "\x1b[?25h\x1b[?1049l"
	lookReset  = "\x1b[0m"
)

// Errors of screens.
var (
	ErrNoTerminal = errors.New("standard output is no terminal")
	ErrOpen       = errors.New("a screen is open already")
	ErrClosed     = errors.New("the screen is closed")
	ErrNoKeyboard = errors.New("standard input is no terminal, so no key can come")
)

// Screen is a full screen of text. What scripts print while it is open is held back until it is closed.
type Screen struct {
	d     *Display
	owner any
	keys  *keyboard
	plain bool // without colours
	done  chan struct{}
	once  sync.Once
	users sync.WaitGroup // of keys

	// Under d.writing:
	lines         []string // asked for
	shown         []string // on the terminal
	columns, rows int      // of it then
}

// OpenScreen shows an empty screen. There is one at a time.
func (d *Display) OpenScreen(ctx context.Context, owner any) (*Screen, error) {
	if d.out == nil {
		return nil, ErrNoTerminal
	}
	d.mu.Lock()
	if d.screen != nil || d.ended {
		d.mu.Unlock()
		return nil, ErrOpen
	}
	keys, err := newKeyboard(d.in)
	if err != nil {
		d.mu.Unlock()
		return nil, err
	}
	s := &Screen{d: d, owner: owner, keys: keys, plain: os.Getenv("NO_COLOR") != "", done: make(chan struct{})}
	d.screen = s
	d.mu.Unlock()
	s.users.Add(1)
	ch := make(chan os.Signal, 4)
	signal.Notify(ch, syscall.SIGWINCH, syscall.SIGCONT, syscall.SIGQUIT)
	go s.watch(ch)
	err = d.within(ctx, func() error {
		if s.closed() {
			return ErrClosed
		}
		code := d.above()
		if d.partial {
			code, d.partial = code+"\r\n", false
		}
		d.open = s
		s.columns, s.rows = size(d.out)
		_, err := d.out.WriteString(code + enterCodes)
		return err
	})
	if err != nil {
		ctx, cancel := context.WithTimeout(context.Background(), restoreTime)
		defer cancel()
		_ = s.Close(ctx) // the first error says more
		return nil, err
	}
	return s, nil
}

func (s *Screen) closed() bool {
	select {
	case <-s.done:
		return true
	default:
		return false
	}
}

// Draw shows text from the upper left on. What does not fit is cut. It returns when the terminal has taken it, or ctx
// has ended.
func (s *Screen) Draw(ctx context.Context, text string) error {
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	for i, line := range lines {
		lines[i] = clean(expandTabs(strings.TrimSuffix(line, "\r")), !s.plain)
	}
	return s.d.within(ctx, func() error {
		if s.closed() {
			return ErrClosed
		}
		s.lines = lines
		return s.paint()
	})
}

// expandTabs sets blanks for tabs, to every eighth column.
func expandTabs(line string) string {
	for {
		before, after, ok := strings.Cut(line, "\t")
		if !ok {
			return line
		}
		line = before + strings.Repeat(" ", 8-width(before)%8) + after
	}
}

// paint writes the lines that are not as they are asked for. It is called with d.writing held.
func (s *Screen) paint() error {
	if s.d.lent > 0 {
		return nil
	}
	var b strings.Builder
	if columns, rows := size(s.d.out); columns != s.columns || rows != s.rows {
		s.columns, s.rows, s.shown = columns, rows, nil
		b.WriteString("\x1b[H\x1b[2J")
	}
	lines := s.lines[:min(len(s.lines), s.rows)]
	shown := make([]string, max(len(lines), len(s.shown)))
	for i := range shown {
		if i < len(lines) {
			shown[i] = clip(lines[i], s.columns, false)
		}
		if i < len(s.shown) && s.shown[i] == shown[i] || i >= len(s.shown) && shown[i] == "" {
			continue
		}
		fmt.Fprintf(&b, "\x1b[%d;1H\x1b[K%s", i+1, shown[i])
		if strings.Contains(shown[i], "\x1b[") {
			b.WriteString(lookReset)
		}
	}
	s.shown = shown[:len(lines)]
	if b.Len() == 0 {
		return nil
	}
	_, err := s.d.out.WriteString(b.String())
	return err
}

// Key waits for a key, so long as timeout says, less than 0 for ever: a character, a name such as "up", or "resize"
// after the terminal was given another size. It is "" where none came.
func (s *Screen) Key(ctx context.Context, timeout time.Duration) (string, error) {
	if s.keys.f == nil && timeout < 0 {
		return "", ErrNoKeyboard
	}
	s.d.mu.Lock()
	if s.closed() {
		s.d.mu.Unlock()
		return "", ErrClosed
	}
	s.users.Add(1)
	s.d.mu.Unlock()
	defer s.users.Done()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	stop := make(chan struct{})
	defer close(stop)
	go func() {
		select {
		case <-s.done:
			cancel(ErrClosed)
		case <-stop:
		}
	}()
	for {
		key, err := s.keys.next(ctx, timeout)
		if key != keySuspend {
			return key, err
		}
		s.pause() // after that there is a key at once
	}
}

// watch acts on signals as long as the screen is open.
func (s *Screen) watch(ch chan os.Signal) {
	defer s.users.Done()
	defer signal.Stop(ch)
	for {
		select {
		case <-s.done:
			return
		case sig := <-ch:
			if sig == syscall.SIGQUIT {
				s.leave()
				quit()
				continue
			}
			s.d.writing.Lock()
			if s.d.open == s && s.d.lent == 0 {
				if sig == syscall.SIGCONT { // a shell may have changed what it likes
					_ = s.keys.take() // as when the screen was opened
					s.columns = 0
				}
				_ = s.paint() // the next Draw tells
			}
			s.d.writing.Unlock()
			s.keys.resize()
		}
	}
}

// leave shows the terminal as it was before the screen, without closing that.
func (s *Screen) leave() {
	s.keys.give()
	s.d.quickly(func() {
		if s.d.open == s {
			_, _ = s.d.out.WriteString(leaveCodes) // nobody sees a terminal that takes nothing
		}
	})
}

// enter shows the screen again after leave. It is called with d.writing held.
func (s *Screen) enter() {
	_ = s.keys.take() // as when the screen was opened
	s.shown = nil
	_, _ = s.d.out.WriteString(enterCodes)
	_ = s.paint() // the next Draw tells
}

// pause leaves the terminal while the process is stopped, as Ctrl-Z does.
func (s *Screen) pause() {
	back := s.d.Lend()
	suspend()
	back()
	s.keys.resize()
}

// Close shows the terminal as it was before, and what was printed meanwhile. It may be called again. It returns early
// where ctx ends; the mode of the terminal is set by then.
func (s *Screen) Close(ctx context.Context) error {
	d := s.d
	s.once.Do(func() {
		d.mu.Lock()
		close(s.done)
		d.mu.Unlock()
		go func() {
			s.users.Wait()
			s.keys.close()
		}()
	})
	s.keys.give()
	return d.within(ctx, func() error {
		if d.open == s {
			s.keys.give()
			d.open = nil
			_, err := d.out.WriteString(leaveCodes)
			for _, p := range d.held.take(d.tty()) {
				if _, failed := p.f.Write(p.text); err == nil {
					err = failed
				}
				d.partial, d.since = p.text[len(p.text)-1] != '\n', time.Now()
			}
			d.free(s)
			return err
		}
		d.free(s)
		return nil
	})
}

// free lets another screen be opened.
func (d *Display) free(s *Screen) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.screen == s {
		d.screen = nil
	}
}
