package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/term"

	"npulua/internal/printable"
	"npulua/luabind"
	"npulua/npu"
	"npulua/repl"
)

// interactive is what the loop of package repl works with: the machine of the moment, and the commands that
// begin with a dot.
type interactive struct {
	*luabind.Evaluator
	p    *program
	in   *luabind.Interp
	open func() (*luabind.Interp, error) // makes another machine, for .reset
	out  io.Writer

	current atomic.Pointer[luabind.Evaluator] // the same as Evaluator, for Waiting
	chunks  []string                          // that ran without an error, for .save and .edit
	last    time.Duration                     // virtual time when the last chunk began
	traces  bool                              // .trace on: the timeline is shown after each chunk
}

// exit ends the loop with a status.
type exit struct{ status int }

func (e exit) Error() string   { return fmt.Sprintf("exit %d", e.status) }
func (e exit) ExitStatus() int { return e.status }

// interact runs first, then reads chunks from the terminal until people leave, and returns the exit status.
// open makes the machine that takes the place of in at .reset.
func (p *program) interact(ctx context.Context, in *luabind.Interp, open func() (*luabind.Interp, error), first func(luabind.Runner) error) int {
	s := &interactive{p: p, open: open, out: p.stdout}
	s.use(in)
	opts := repl.Options{Name: "npulua", Banner: luabind.Wrap(banner(in.Session().Info()), s.width()), Err: p.errors}
	opts.In, _ = p.stdin.(*os.File)
	opts.Out, _ = p.stdout.(*os.File)
	opts.First = func(ctx context.Context) error {
		return s.run(func() error { return first(s.Runner(ctx)) }, "")
	}
	return repl.Run(ctx, s, opts)
}

// use makes in the machine of the loop.
func (s *interactive) use(in *luabind.Interp) {
	s.in, s.Evaluator = in, in.NewEvaluator()
	s.current.Store(s.Evaluator)
	s.fit()
}

// fit tells the evaluator how wide the terminal is. Where there is none, tables and help are as wide as they
// want to be.
func (s *interactive) fit() {
	s.Width = s.width()
	if isTerminal(s.p.stdout) {
		s.Fit(s.Width)
	}
}

// width is how many columns there are.
func (s *interactive) width() int { return cmp.Or(s.p.columns(), 80) }

// columns is how wide the terminal of standard output is; 0: it is none.
func (p *program) columns() int {
	if f, ok := p.stdout.(*os.File); ok {
		if w, _, err := term.GetSize(int(f.Fd())); err == nil && w > 0 {
			return w
		}
	}
	return 0
}

func banner(info npu.Info) string {
	what := info.Detail
	if what == "" {
		what = "backend " + info.Name
	}
	return fmt.Sprintf("npulua %s, Lua 5.1, %s/%s: %s\n", npu.Version, runtime.GOOS, runtime.GOARCH, what) +
		"Type help() for functions and kernels, .help for commands, npu.devices() to see what there is; Ctrl-D leaves."
}

// Eval implements repl.Evaluator.
func (s *interactive) Eval(ctx context.Context, chunk string) error {
	s.fit() // people resize the terminal
	if name := strings.TrimRight(strings.TrimSpace(chunk), "()"); (name == "exit" || name == "quit") && !s.Defined(name) {
		return errors.New("to leave: .quit or Ctrl-D")
	}
	return s.run(func() error { return s.Evaluator.Eval(ctx, chunk) }, chunk)
}

// run calls eval, which runs a chunk. Where it succeeds, chunk is what .save and .edit know of it; "": nothing.
func (s *interactive) run(eval func() error, chunk string) error {
	s.last = s.Now()
	err := eval()
	s.p.display.Settle()
	if code, ok := s.in.WorkerExit(); ok {
		return exit{code}
	}
	if err == nil && chunk != "" {
		s.chunks = append(s.chunks, chunk)
	}
	for _, text := range s.Notices() {
		fmt.Fprintln(s.p.stderr, s.wrap(text))
	}
	if s.traces {
		if text := s.Timeline(s.last, s.width()); text != luabind.EmptyTimeline {
			_ = s.show(text)
		}
	}
	return err
}

// FormatError implements repl.Evaluator.
func (s *interactive) FormatError(err error) string { return s.wrap(s.Evaluator.FormatError(err)) }

// wrap is a message that a terminal obeys in nothing, broken where it would break it inside a word.
func (s *interactive) wrap(text string) string {
	text = printable.Text(text)
	if !isTerminal(s.p.errors) {
		return text
	}
	return luabind.Wrap(text, s.width())
}

// Waiting implements repl.Waiter.
func (s *interactive) Waiting() string {
	return printable.Text(strings.Join(s.current.Load().Waiting(), "; "))
}

// Highlight implements repl.Evaluator.
func (s *interactive) Highlight(text string) []repl.Span {
	var spans []repl.Span
	for _, x := range s.Evaluator.Highlight(text) {
		spans = append(spans, repl.Span{Start: x.Start, End: x.End, Kind: kinds[x.Kind]})
	}
	return spans
}

var kinds = map[luabind.SpanKind]repl.Kind{
	luabind.SpanKeyword: repl.Keyword, luabind.SpanString: repl.String, luabind.SpanNumber: repl.Number,
	luabind.SpanComment: repl.Comment, luabind.SpanKnown: repl.Name, luabind.SpanUnknown: repl.Text,
}
