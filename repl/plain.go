package repl

import (
	"context"
	"io"
	"os"
	"strings"
	"unicode/utf8"
)

// Plain reads lines without editing: from a file or pipe, or from a terminal that understands no
// escape codes, which then edits lines itself.
type Plain struct {
	src      *source
	err      error // of newSource
	out      io.Writer
	terminal bool // both ends are one
	lineMode bool // the input hands out whole lines
	begun    bool
	buf      []byte
	eof      bool
}

// NewPlain reads from in, and writes prompts to out where both are terminals.
func NewPlain(in, out *os.File) *Plain {
	p := &Plain{out: out, lineMode: isTerminal(in)}
	p.terminal = p.lineMode && isTerminal(out)
	p.src, p.err = newSource(in)
	return p
}

// Interactive reports whether a person sees prompts.
func (p *Plain) Interactive() bool { return p.terminal }

// Close ends nothing: the terminal was always in its normal mode.
func (p *Plain) Close() error {
	if p.err == nil {
		p.src.close()
	}
	return nil
}

// Read returns the next line; the last one needs no newline. Nothing behind the line is read from a
// file or pipe, so that a chunk can read on where the loop stopped.
func (p *Plain) Read(ctx context.Context, prompt string) (string, error) {
	if p.err != nil {
		return "", p.err
	}
	if p.terminal {
		io.WriteString(p.out, prompt)
	}
	stop := context.AfterFunc(ctx, p.src.wake)
	defer stop()
	step := make([]byte, 1)
	if p.lineMode {
		step = make([]byte, 4096)
	}
	for {
		if i := strings.IndexByte(string(p.buf), '\n'); i >= 0 {
			line := p.buf[:i]
			p.buf = p.buf[i+1:]
			return p.text(line), nil
		}
		if p.eof {
			break
		}
		got := p.more(ctx, step)
		if err := context.Cause(ctx); got == woken && err != nil {
			p.buf = nil
			if p.terminal {
				io.WriteString(p.out, "\n")
			}
			return "", err
		}
	}
	line := p.buf
	p.buf = nil
	if len(line) > 0 {
		return p.text(line), nil
	}
	p.eof = p.eof && !p.lineMode // Ctrl-D ends one read of a terminal, not all
	if p.terminal {
		io.WriteString(p.out, "\n")
	}
	return "", io.EOF
}

// more reads on into buf. It returns woken where it was given up.
func (p *Plain) more(ctx context.Context, step []byte) int {
	for {
		if p.src.wait(-1) == woken {
			if ctx.Err() != nil {
				return woken
			}
			continue
		}
		n, err := p.src.read(step)
		p.buf = append(p.buf, step[:n]...)
		p.eof = err != nil
		// A line has a newline at its end: only then is it worth a search.
		if p.eof || p.lineMode || step[0] == '\n' {
			return readable
		}
	}
}

func (p *Plain) text(line []byte) string {
	s := strings.TrimSuffix(string(line), "\r")
	if !p.begun {
		p.begun = true
		s = strings.TrimPrefix(s, "\ufeff")
	}
	if p.terminal && !utf8.ValidString(s) {
		s = strings.ToValidUTF8(s, "\ufffd")
	}
	return s
}
