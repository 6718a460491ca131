package lua51

import (
	"context"
	"errors"
	"io"
	"os"
	"strings"
	"sync"
	"syscall"
)

// Buffering says when an Output passes on what was written to it.
type Buffering int

const (
	Unbuffered    Buffering = iota // at every write
	LineBuffered                   // at every write with an end of line in it
	BlockBuffered                  // when a block is full
)

// blockSize is how much an Output keeps before it must pass it on.
const blockSize = 64 << 10

// Output is a buffered writer for standard output, standard error and the files of scripts. Its
// methods may be called from any goroutine: no lock is held while the system writes, so that one
// blocked write does not hold up a Flush whose context ends.
//
// A write error drops the data it concerns, as C's streams do, is returned once, and the first one
// is kept for Err.
//
// If the destination is os.Stdout or os.Stderr, the program has to ask for SIGPIPE by signal.Notify:
// otherwise Go's runtime ends the process before a closed pipe is seen here.
type Output struct {
	dst    io.Writer
	prompt bool // dst does not block for longer than a disk takes

	mu      sync.Mutex
	mode    Buffering
	buf     []byte
	spare   []byte   // storage of the last block written
	writing *writing // the write under way
	err     error
	before  *Output
	divert  *Output // what scripts write goes there
	passed  bool    // something was passed on
	broken  func(error)

	ask func(n int) error // before n bytes are written; nil: nobody is asked
}

// writing is a block on its way to the system; err may be read once done is closed.
type writing struct {
	block []byte
	done  chan struct{}
	err   error
}

// NewOutput makes a buffered writer to dst; a terminal should be LineBuffered.
func NewOutput(dst io.Writer, mode Buffering) *Output {
	o := &Output{dst: dst, mode: mode}
	if f, ok := dst.(*os.File); ok {
		o.prompt = isDisk(f)
	}
	return o
}

// OnBroken sets the function that is called, once, when dst turns out to be a pipe nobody reads any
// more. It must not use o.
func (o *Output) OnBroken(hook func(error)) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.broken = hook
}

// FlushFirst makes o flush other before anything is written to o, so that the two show up in the
// order in which they were written.
func (o *Output) FlushFirst(other *Output) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.before = other
}

// AskFirst sets the function that is asked before n bytes are written, whose error they fail with. It must be called
// before anything is written.
func (o *Output) AskFirst(ask func(n int) error) { o.ask = ask }

// Err is the first error of a write to the destination.
func (o *Output) Err() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.err
}

// Write is for the host's own output; it waits as long as the destination does.
func (o *Output) Write(p []byte) (int, error) {
	if err := o.WriteContext(context.Background(), string(p)); err != nil {
		return 0, err
	}
	return len(p), nil
}

// Flush passes on everything written so far. When ctx ends first, what is still in the buffer stays
// there, and a block that the system has already been given may still go out.
func (o *Output) Flush(ctx context.Context) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.drain(ctx)
}

// Passed reports whether the destination has got anything.
func (o *Output) Passed() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.passed || o.writing != nil
}

// Divert has what scripts write from now on, and what the buffer has kept so far, go to another Output.
func (o *Output) Divert(ctx context.Context, to *Output) {
	o.mu.Lock()
	kept := string(o.buf)
	o.buf, o.divert = o.buf[:0], to
	o.mu.Unlock()
	if kept != "" {
		_ = to.WriteContext(ctx, kept) // as where a script writes to standard error
	}
}

// Diverted is where what scripts write goes: o, or what Divert was given.
func (o *Output) Diverted() *Output {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.divert != nil {
		return o.divert
	}
	return o
}

// WriteContext is for what scripts write: it returns early when ctx ends.
func (o *Output) WriteContext(ctx context.Context, s string) error {
	if to := o.Diverted(); to != o {
		return to.WriteContext(ctx, s)
	}
	return o.WriteOwn(ctx, s)
}

// WriteOwn is WriteContext for what the host writes for a script: it is not diverted.
func (o *Output) WriteOwn(ctx context.Context, s string) error {
	if o.ask != nil {
		if err := o.ask(len(s)); err != nil {
			return err
		}
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if first := o.before; first != nil {
		o.mu.Unlock()
		err := first.Flush(ctx)
		o.mu.Lock()
		if isInterruption(err) {
			return err
		}
	}
	now := o.mode == Unbuffered || o.mode == LineBuffered && strings.IndexByte(s, '\n') >= 0
	for {
		n := min(len(s), blockSize-len(o.buf))
		o.buf = append(o.buf, s[:n]...)
		if s = s[n:]; s == "" {
			break
		}
		if err := o.drain(ctx); err != nil {
			return err
		}
	}
	if now {
		return o.drain(ctx)
	}
	return nil
}

// drain empties the buffer. It is called with o.mu held, and gives it up while it waits.
func (o *Output) drain(ctx context.Context) error {
	for {
		if ctx.Err() != nil {
			return interruption{ctx.Err()}
		}
		w := o.writing
		if w == nil {
			if len(o.buf) == 0 {
				return nil
			}
			w = &writing{block: o.buf, done: make(chan struct{})}
			o.buf, o.spare, o.writing = o.spare[:0], nil, w
			if o.prompt || ctx.Done() == nil {
				o.mu.Unlock()
				o.send(w)
				o.mu.Lock()
			} else {
				go o.send(w)
			}
		}
		o.mu.Unlock()
		var stopped error
		select {
		case <-w.done:
		case <-ctx.Done():
			stopped = interruption{ctx.Err()}
		}
		o.mu.Lock()
		if stopped != nil {
			return stopped
		}
		if w.err != nil {
			return w.err
		}
	}
}

// send hands a block to the system. It is called without o.mu.
func (o *Output) send(w *writing) {
	_, w.err = o.dst.Write(w.block)
	o.mu.Lock()
	o.writing, o.spare, o.passed = nil, w.block[:0], true
	var hook func(error)
	if w.err != nil {
		if o.err == nil {
			o.err = w.err
		}
		if errors.Is(w.err, syscall.EPIPE) {
			hook, o.broken = o.broken, nil
		}
	}
	o.mu.Unlock()
	if hook != nil {
		hook(w.err)
	}
	close(w.done)
}

// setBuffering changes the mode for what is written from now on.
func (o *Output) setBuffering(mode Buffering) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.mode = mode
}

// isDisk reports whether f is a regular file, so that reading and writing it never waits for
// somebody else.
func isDisk(f *os.File) bool {
	info, err := f.Stat()
	return err == nil && info.Mode().IsRegular()
}
