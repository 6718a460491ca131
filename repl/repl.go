// Package repl is the interactive loop: prompts, line editing, history, and what Ctrl-C does. It runs
// no code itself; it is given an Evaluator, and imports nothing of ours.
//
//	status := repl.Run(ctx, evaluator, repl.Options{Name: "npulua", Banner: banner})
//
// On a terminal, lines are edited with readline (type Terminal); where there is none, or TERM tells
// that it understands no escape codes, they are read plainly (type Plain).
package repl

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"
)

// Evaluator runs chunks. Run calls one method at a time, except Waiting (see Waiter).
type Evaluator interface {
	// Eval runs a chunk and prints its values. ctx ends it, and all it waits for; variables stay.
	Eval(ctx context.Context, chunk string) error
	// Incomplete reports whether more lines may make a valid chunk of it, or a command: what the parser says.
	Incomplete(chunk string) bool
	// Complete lists what can stand in place of text[start:pos]. text is all of the chunk typed so
	// far, its earlier lines included; start and pos count bytes.
	Complete(text string, pos int) (start int, candidates []string)
	// Highlight splits text, which may have several lines, into spans to colour while it is typed.
	// What no span covers stays as it is.
	Highlight(text string) []Span
	// Prompt is the text before "> ", such as "npu0/ctx2".
	Prompt() string
	// FormatError is an error as people should see it, without a newline at the end.
	FormatError(err error) string
	// Command runs a line that begins with a dot and a letter (".help"); ok is false where there is
	// no such command. An Entry as err runs in place of the command.
	Command(ctx context.Context, line string) (ok bool, err error)
}

// Waiter is an Evaluator that can say what its chunk waits for, such as "main waits for stream 2 of npu0
// (line 1)", or "" while it does not wait. Waiting is called from another goroutine while Eval runs, and may return
// after it.
type Waiter interface {
	Waiting() string
}

// Exiter is an error of Eval or Command that ends the loop with its status: os.exit, .quit.
type Exiter interface {
	error
	ExitStatus() int
}

// Entry is what Command returns to have a chunk run and remembered as if it had been typed.
type Entry string

func (e Entry) Error() string { return "the chunk " + string(e) }

// Span is a piece of text to colour: text[Start:End], in bytes.
type Span struct {
	Start, End int
	Kind       Kind
}

// Kind is what a Span is to the language.
type Kind int

// The kinds of spans.
const (
	Text Kind = iota
	Keyword
	String
	Number
	Comment
	Name    // a name that the language or a module defines
	Invalid // what can never be right
)

// Lines is where chunks come from: a terminal, or a file or pipe.
type Lines interface {
	// Read returns the next entry, without its last newline. An entry is a line, or several where
	// they were pasted, recalled from the history, or edited as one. It returns io.EOF for Ctrl-D and
	// at the end of the input, ErrInterrupt for Ctrl-C where nothing was typed, ErrDropped for Ctrl-C
	// where something was, and the cause of ctx when ctx ends.
	Read(ctx context.Context, prompt string) (string, error)
	// Interactive reports whether a person sees prompts.
	Interactive() bool
	// Close leaves the terminal as it was found. No Read may be going on.
	Close() error
}

// What Read returns for Ctrl-C.
var (
	ErrInterrupt = errors.New("interrupted")
	ErrDropped   = errors.New("interrupted, and the typed text dropped")
)

// rememberer is Lines with a history.
type rememberer interface{ remember(entry string) }

// Options say where a loop reads and writes. Zero fields have the defaults that are named.
type Options struct {
	Name    string        // of the program, for messages: "npulua"
	Banner  string        // printed first where a person sees prompts
	In, Out *os.File      // os.Stdin, os.Stdout
	Err     io.Writer     // for errors and hints: os.Stderr
	History string        // path of the history file: HistoryPath(Name); "off": none is kept
	Wait    time.Duration // how long a chunk waits before the loop says for what: 1 s
	Lines   Lines         // instead of In and Out; Run closes it

	// First runs before the first prompt, as a chunk does: Ctrl-C ends its ctx, and the loop goes on. nil: nothing.
	First func(ctx context.Context) error
}

// Exit statuses of Run besides those of an Exiter; a signal gives 128 and its number.
const (
	statusOK          = 0
	statusError       = 1 // the input was no terminal, and a chunk failed
	statusInterrupted = 130
)

// Run reads chunks and has ev run them until the input ends, and returns the exit status: 0 for
// Ctrl-D, 130 for Ctrl-C twice at an empty prompt, and once where there are no prompts, 143 and 129 after SIGTERM and SIGHUP, or what an
// Exiter says.
//
// Run handles SIGINT, SIGTERM and SIGHUP itself while it runs, so ctx must not be one that SIGINT
// ends. When ctx ends, Run returns the status of the cause where that is an Exiter, and else as if the
// input had ended.
func Run(ctx context.Context, ev Evaluator, o Options) int {
	if o.Name == "" {
		o.Name = "npulua"
	}
	if o.In == nil {
		o.In = os.Stdin
	}
	if o.Out == nil {
		o.Out = os.Stdout
	}
	if o.Err == nil {
		o.Err = os.Stderr
	}
	if o.Wait == 0 {
		o.Wait = time.Second
	}
	l := &loop{ev: ev, o: o, lines: o.Lines, signals: make(chan os.Signal, 8)}
	signal.Notify(l.signals, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer signal.Stop(l.signals)
	if l.lines == nil {
		l.lines = openLines(ev, o)
	}
	defer l.close()
	if l.lines.Interactive() && o.Banner != "" {
		fmt.Fprintln(o.Out, strings.TrimRight(o.Banner, "\n"))
	}
	if o.First != nil {
		if status, done := l.eval(ctx, o.First); done {
			return status
		}
	}
	return l.run(ctx)
}

// openLines picks the best Lines for what In and Out are.
func openLines(ev Evaluator, o Options) Lines {
	if isTerminal(o.In) && isTerminal(o.Out) && hasEscapes() {
		t, err := NewTerminal(ev, o)
		if err == nil {
			return t
		}
		fmt.Fprintf(o.Err, "%s: lines cannot be edited: %v\n", o.Name, err)
	}
	return NewPlain(o.In, o.Out)
}

type loop struct {
	ev      Evaluator
	o       Options
	lines   Lines
	signals chan os.Signal

	hinted  bool      // the hint how to leave was shown
	failed  bool      // a chunk failed
	stopped time.Time // when the last chunk ended that Ctrl-C interrupted
}

// haste is how long after an interrupted chunk Ctrl-C still means that chunk: who presses it three
// times does not want to leave.
const haste = 500 * time.Millisecond

// close waits for Lines to close, but not for a terminal that takes no output any more.
func (l *loop) close() {
	done := make(chan struct{})
	go func() {
		defer close(done)
		l.lines.Close()
	}()
	select {
	case <-done:
	case <-time.After(time.Second):
	}
}

// signalled is why a Read or Eval was ended by a signal that ends the loop too.
type signalled struct{ sig syscall.Signal }

func (s signalled) Error() string   { return s.sig.String() }
func (s signalled) ExitStatus() int { return 128 + int(s.sig) }

// errStuck is what a chunk gives that goes on after Ctrl-C was pressed three times.
var errStuck = errors.New("the chunk does not end")

func (l *loop) run(ctx context.Context) int {
	chunk := ""     // lines of an unfinished chunk
	interrupts := 0 // Ctrl-C at the empty prompt, one after the other
	for {
		prompt := l.prompt(chunk != "")
		var text string
		err := l.during(ctx, func(ctx context.Context) (err error) {
			text, err = l.lines.Read(ctx, prompt)
			return err
		}, nil)
		var exit Exiter
		switch {
		case err == nil:
		case errors.As(err, &exit):
			return exit.ExitStatus()
		case errors.Is(err, ErrInterrupt) && !l.lines.Interactive():
			return statusInterrupted
		case errors.Is(err, ErrInterrupt) && chunk == "" && interrupts > 0 && time.Since(l.stopped) >= haste:
			return statusInterrupted
		case errors.Is(err, ErrInterrupt), errors.Is(err, ErrDropped):
			interrupts++
			if chunk != "" || errors.Is(err, ErrDropped) || time.Since(l.stopped) < haste {
				interrupts = 0
			}
			chunk = ""
			l.hint()
			continue
		default: // the end of the input, or of ctx; a terminal that is gone is an end too
			if chunk != "" && !l.lines.Interactive() && ctx.Err() == nil {
				if status, done := l.eval(ctx, l.chunk(chunk)); done {
					return status
				}
			}
			return l.status()
		}
		interrupts = 0
		if chunk != "" {
			chunk += "\n"
		}
		chunk += text
		if strings.TrimSpace(chunk) == "" {
			chunk = ""
			continue
		}
		if l.ev.Incomplete(chunk) {
			continue
		}
		status, done := l.eval(ctx, l.chunk(chunk))
		if done {
			return status
		}
		chunk = ""
	}
}

func (l *loop) status() int {
	if l.failed && !l.lines.Interactive() {
		return statusError
	}
	return statusOK
}

// prompt returns the prompt of a chunk's first line, or one as wide for the lines that continue it.
func (l *loop) prompt(more bool) string {
	p := l.ev.Prompt() + "> "
	if more {
		return continuation(p)
	}
	return p
}

// continuation returns the prompt that stands below p where an entry goes on.
func continuation(p string) string {
	return strings.Repeat(" ", max(0, textWidth(p)-3)) + ">> "[max(0, 3-textWidth(p)):]
}

func (l *loop) hint() {
	if l.hinted || !l.lines.Interactive() {
		return
	}
	l.hinted = true
	fmt.Fprintln(l.o.Err, "(to leave: Ctrl-D, or Ctrl-C twice at an empty prompt)")
}

// isCommand tells a dot command from a number such as .5.
func isCommand(chunk string) bool {
	chunk = strings.TrimLeft(chunk, " \t")
	return len(chunk) > 1 && chunk[0] == '.' && (chunk[1]|0x20 >= 'a' && chunk[1]|0x20 <= 'z' || chunk[1] == '?')
}

// chunk returns what runs a chunk or a command.
func (l *loop) chunk(text string) func(context.Context) error {
	return func(ctx context.Context) error {
		if !isCommand(text) {
			return l.ev.Eval(ctx, text)
		}
		ok, err := l.ev.Command(ctx, text)
		if err == nil && !ok {
			return fmt.Errorf("no command %q; .help lists what there is", strings.Fields(text)[0])
		}
		return err
	}
}

// eval calls run, and reports whether the loop ends, and with what status.
func (l *loop) eval(ctx context.Context, run func(context.Context) error) (status int, done bool) {
	interrupts := 0
	err := l.during(ctx, run, &interrupts)
	var exit Exiter
	var entry Entry
	switch {
	case errors.As(err, &entry):
		if r, ok := l.lines.(rememberer); ok {
			r.remember(string(entry))
		}
		return l.eval(ctx, l.chunk(string(entry)))
	case errors.As(err, &exit):
		return exit.ExitStatus(), true
	case errors.Is(err, errStuck), interrupts > 0 && !l.lines.Interactive():
		return statusInterrupted, true
	case ctx.Err() != nil: // an error is only its consequence
		return l.status(), true
	}
	if interrupts > 0 {
		l.stopped = time.Now()
	}
	if err == nil {
		return 0, false
	}
	l.failed = true
	text := l.ev.FormatError(err)
	if interrupts > 0 && err == context.Canceled {
		text = "interrupted"
	}
	if f, ok := l.o.Err.(*os.File); ok && HasColor(f) {
		text = sgrError + strings.ReplaceAll(text, "\n", sgrReset+"\n"+sgrError) + sgrReset
	}
	fmt.Fprintln(l.o.Err, text)
	return 0, false
}

// during calls f, and ends its ctx when a signal comes. SIGTERM and SIGHUP are returned as an error
// once f is back. interrupts is nil while a line is read: SIGINT, which another process sent, is then
// Ctrl-C. Else a chunk runs: SIGINT ends its ctx and is counted, and what it waits for is shown.
func (l *loop) during(ctx context.Context, f func(context.Context) error, interrupts *int) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	begun := time.Now()
	done := make(chan error, 1)
	go func() { done <- f(ctx) }()
	ticker := time.NewTicker(l.o.Wait / 2)
	defer ticker.Stop()
	var tick <-chan time.Time
	answers := make(chan string, 1)
	var shown string
	if _, ok := l.ev.(Waiter); ok && interrupts != nil && l.lines.Interactive() {
		tick = ticker.C
	}
	grace := 2 * time.Second // to end after a signal
	if interrupts == nil {
		grace = time.Second
	}
	var waits string    // what it waited for at the last tick
	var since time.Time // since when
	var ends error      // the signal that ends the loop
	var late, still <-chan time.Time
	for {
		select {
		case err := <-done:
			for interrupts != nil && ends == nil { // what came as the chunk ended is no answer to the next prompt
				var wait time.Duration // a program that was read from hears of it before this loop does
				if *interrupts == 0 && time.Since(begun) > 50*time.Millisecond {
					wait = 20 * time.Millisecond
				}
				select {
				case sig := <-l.signals:
					if sig != os.Interrupt {
						ends = signalled{sig.(syscall.Signal)}
					} else {
						*interrupts++
					}
					continue
				case <-time.After(wait):
				}
				break
			}
			if ends != nil {
				return ends
			}
			return err
		case <-late:
			return ends
		case <-still:
			fmt.Fprintln(l.o.Err, "(the chunk is still ending; Ctrl-C twice more leaves)")
		case sig := <-l.signals:
			switch {
			case sig != os.Interrupt:
				if ends == nil {
					ends = signalled{sig.(syscall.Signal)}
					late = time.After(grace)
				}
				cancel(ends)
			case interrupts == nil:
				cancel(ErrInterrupt)
			default:
				*interrupts++
				cancel(context.Canceled)
				if l.lines.Interactive() {
					fmt.Fprintln(l.o.Err) // after the ^C of the terminal
				}
				switch *interrupts {
				case 1:
					still = time.After(time.Second)
				case 2:
					still = nil
					fmt.Fprintln(l.o.Err, "(the chunk is still ending; Ctrl-C once more leaves)")
				case 3:
					return errStuck
				}
			}
		case <-tick:
			tick = nil // until the answer is there, which may take as long as what is asked about
			go func() { answers <- l.ev.(Waiter).Waiting() }()
		case w := <-answers:
			tick = ticker.C
			now := time.Now()
			if w != waits {
				waits, since = w, now
			}
			if w != "" && w != shown && now.Sub(since) >= l.o.Wait*2/5 {
				shown = w
				fmt.Fprintf(l.o.Err, "(%s; Ctrl-C interrupts)\n", w)
			}
		}
	}
}
