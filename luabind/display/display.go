// Package display shares one terminal between what scripts print, progress bars below that, and a full screen that
// takes their place. It knows nothing of Lua.
//
// Three locks keep it from waiting for a terminal that takes no output: state may be looked at while another goroutine
// writes, and callers that write do it through within, which a context or a time ends.
package display

import (
	"context"
	"io"
	"os"
	"sync"
	"syscall"
	"time"

	"golang.org/x/term"
)

// Display is a terminal. Its methods may be called from any goroutine.
type Display struct {
	out, err *os.File // standard output and standard error where they are the terminal; nil: they are not
	in       *os.File // where keys come from; nil: standard input is no terminal

	// writing is held while something goes to the terminal, also while that takes nothing. It guards what is known of
	// what the terminal shows.
	writing sync.Mutex
	area    area
	open    *Screen // nil: none is shown
	held    held    // what was printed meanwhile
	lent    int     // how many programs use the terminal
	partial bool    // the line above the bars has no end yet
	since   time.Time

	mu     sync.Mutex // guards what follows and the bars; nobody waits or writes under it
	bars   []*Bar
	ended  bool // by End: nothing is shown any more
	ticks  chan struct{}
	screen *Screen // the same as open, from before it is shown until after it is
}

// New makes a display of the standard streams. What is no terminal, or one that knows no codes, is written to as it is.
func New(stdin io.Reader, stdout, stderr io.Writer) *Display {
	d := new(Display)
	if os.Getenv("TERM") == "dumb" {
		return d
	}
	d.out, d.err = terminal(stdout), terminal(stderr)
	if d.out != nil && d.err != nil && !sameDevice(d.out, d.err) {
		d.err = nil // bars and prints of that one do not meet
	}
	if f, ok := stdin.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		d.in = f
	}
	return d
}

func terminal(w io.Writer) *os.File {
	if f, ok := w.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		return f
	}
	return nil
}

func sameDevice(a, b *os.File) bool {
	x, errX := a.Stat()
	y, errY := b.Stat()
	if errX != nil || errY != nil {
		return false
	}
	s, okS := x.Sys().(*syscall.Stat_t)
	t, okT := y.Sys().(*syscall.Stat_t)
	return okS && okT && s.Rdev == t.Rdev
}

// Shows reports whether w is the terminal.
func (d *Display) Shows(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && (f == d.out || f == d.err)
}

// Writer is w for what scripts print: where that is the terminal, it goes above the bars, and is held back while a
// screen is open.
func (d *Display) Writer(w io.Writer) io.Writer {
	if d.Shows(w) {
		return &writer{d, w.(*os.File)}
	}
	return w
}

type writer struct {
	d *Display
	f *os.File
}

// File is for programs that write to the terminal themselves: see Lend.
func (w *writer) File() *os.File { return w.f }

func (w *writer) Write(p []byte) (int, error) {
	d := w.d
	d.writing.Lock()
	defer d.writing.Unlock()
	if d.open != nil && d.lent == 0 {
		d.held.add(w.f, p)
		return len(p), nil
	}
	if len(p) == 0 {
		return 0, nil
	}
	before := ""
	if d.lent == 0 {
		before = d.above()
	}
	n, err := w.f.Write(append([]byte(before), p...))
	d.partial, d.since = p[len(p)-1] != '\n', time.Now()
	if d.area.wanted() {
		d.paint(false)
	}
	return max(0, n-len(before)), err
}

// tty is the file that codes go to.
func (d *Display) tty() *os.File {
	if d.err != nil {
		return d.err
	}
	return d.out
}

// size is that of a terminal, 80 x 24 where it does not know.
func size(f *os.File) (columns, rows int) {
	columns, rows, err := term.GetSize(int(f.Fd()))
	if err != nil || columns < 1 || rows < 1 {
		return 80, 24
	}
	return columns, rows
}

// Size is that of the terminal of standard output.
func (d *Display) Size() (columns, rows int, ok bool) {
	if d.out == nil {
		return 0, 0, false
	}
	columns, rows = size(d.out)
	return columns, rows, true
}

// within calls fn with d.writing held, on a goroutine of its own: it returns early where ctx ends before the terminal
// has taken everything.
func (d *Display) within(ctx context.Context, fn func() error) error {
	done := make(chan error, 1)
	go func() {
		d.writing.Lock()
		defer d.writing.Unlock()
		done <- fn()
	}()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// restoreTime is how long a terminal may take to be left as it was found.
const restoreTime = 200 * time.Millisecond

// Settle leaves what is shown: a screen is closed, and bars stay above whatever comes. A bar that is changed after that
// is shown again.
func (d *Display) Settle() { d.settle(nil, false) }

// Leave is Settle for what owner has shown, which has ended; nil stands for everybody.
func (d *Display) Leave(owner any) { d.settle(owner, true) }

// End is Settle for good. Whoever ends the process calls it first.
func (d *Display) End() {
	d.mu.Lock()
	d.ended = true
	d.mu.Unlock()
	d.settle(nil, true)
}

func (d *Display) settle(owner any, stopped bool) {
	ctx, cancel := context.WithTimeout(context.Background(), restoreTime)
	defer cancel()
	d.mu.Lock()
	s := d.screen
	if s != nil && owner != nil && s.owner != owner {
		s = nil
	}
	painted := false
	var tell []func()
	for _, b := range d.bars {
		if owner != nil && b.o.Owner != owner {
			continue
		}
		if !b.ended {
			b.parked, b.stopped = true, stopped
		}
		switch {
		case b.o.Tell == nil:
			painted = true
		case stopped && b.listed:
			if line := b.tell(false); line != "" {
				tell = append(tell, func() { b.o.Tell(line) })
			}
		}
	}
	d.mu.Unlock()
	if s != nil {
		_ = s.Close(ctx) // a terminal that takes nothing is not told, as nobody sees it
	}
	if painted {
		d.quickly(func() { d.paint(true) })
	}
	for _, f := range tell {
		f()
	}
	d.mu.Lock()
	d.forget(d.ended)
	d.mu.Unlock()
}
