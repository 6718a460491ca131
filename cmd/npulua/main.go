// Command npulua runs Lua scripts that drive NPUs.
package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"os/signal"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/term"

	"npulua/luabind"
	"npulua/npu"
	"npulua/scripts"
)

func main() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(gcPercent)
	}
	os.Exit(run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

// gcPercent is how much garbage there may be for each byte in use. Lua's numbers become garbage by the
// million while little is in use, and the default would collect after every 4 MB of them.
const gcPercent = 400

// run is main with its world passed in. It returns the exit status.
func run(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	p := &program{stdin: stdin, stdout: stdout, stderr: stderr}
	o, err := parseOptions(args)
	if err != nil {
		return p.usage(err)
	}
	if o.help {
		fmt.Fprint(stdout, helpText())
		return exitOK
	}
	if o.version {
		fmt.Fprintf(stdout, "npulua %s  Lua 5.1  %s/%s\n", npu.Version, runtime.GOOS, runtime.GOARCH)
		if len(o.chunks) == 0 && len(o.args) == 0 {
			return exitOK
		}
	}
	if len(o.args) > 0 {
		for _, c := range commands {
			if c.name == o.args[0] {
				return c.run(p, o, o.args[1:])
			}
		}
	}
	return p.execute(o, nil)
}

// program is the world that the command works in.
type program struct {
	stdin          io.Reader
	stdout, stderr io.Writer
}

func (p *program) usage(err error) int {
	fmt.Fprintf(p.stderr, "npulua: %v\n  try 'npulua --help'\n", err)
	return exitUsage
}

func isTerminal(stream any) bool {
	f, ok := stream.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// source is a script that comes with the binary.
type source struct{ name, code string }

// execute runs -e and -l, then the script. embedded, where set, takes the place of a file.
func (p *program) execute(o *options, embedded *source) int {
	script, interactive := "", o.interactive
	switch {
	case embedded != nil:
		script = embedded.name
	case len(o.args) > 0:
		script, o.args = o.args[0], o.args[1:]
	case interactive:
	case len(o.chunks) == 0 && !o.version:
		if interactive = isTerminal(p.stdin); !interactive {
			script = "-"
		}
	}
	if interactive && o.timeout > 0 && script == "" && len(o.chunks) == 0 {
		return p.usage(errors.New("--timeout is for a script, and there is none"))
	}

	ctx, cancel := context.WithCancelCause(context.Background())
	defer cancel(nil)
	unwatch := sync.OnceFunc(watchSignals(ctx, cancel, p.stderr))
	defer unwatch()
	timer := time.AfterFunc(cmp.Or(o.timeout, math.MaxInt64), func() { p.interrupt(cancel, errTimeout, exitTimeout) })
	defer timer.Stop()

	var in *luabind.Interp
	open := func() (*luabind.Interp, error) {
		m, err := luabind.Open(ctx, luabind.Options{
			Session: o.session, Script: script, Args: o.args, Samples: scripts.Data(), Interactive: interactive,
			Stdin: p.stdin, Stdout: p.stdout, Stderr: p.stderr, StdinTerminal: isTerminal(p.stdin), StdoutTerminal: isTerminal(p.stdout),
			Exit: func(code int) { os.Exit(p.finish(ctx, in, o, nil, code)) },
		})
		if err == nil {
			in = m
		}
		return m, err
	}
	if _, err := open(); err != nil {
		return p.cannotOpen(err)
	}
	if notice := in.Session().Info().Notice; notice != "" {
		fmt.Fprintf(p.stderr, "npulua: %s\n", notice)
	}
	if interactive && ctx.Err() == nil {
		unwatch() // signals are for the loop now
		var failed error
		status := p.interact(ctx, in, open, func(r luabind.Runner) error {
			defer timer.Stop() // a timeout is for the script
			failed = p.runChunks(r, o, script, embedded)
			return failed
		})
		if ctx.Err() != nil {
			return p.finish(ctx, in, o, failed, exitStatus(ctx, failed))
		}
		return p.leave(ctx, cancel, in, o, status)
	}
	err := p.runChunks(in.Runner, o, script, embedded)
	if err == nil {
		err = in.Finish()
	}
	return p.finish(ctx, in, o, err, exitStatus(ctx, err))
}

// leave ends an interactive session: without waiting, after a signal or where work is left that may take
// long.
func (p *program) leave(ctx context.Context, cancel context.CancelCauseFunc, in *luabind.Interp, o *options, status int) int {
	pending := p.pending(in)
	if status < exitHangup && len(pending) == 0 {
		defer watchSignals(ctx, cancel, p.stderr)()
		if got := p.finish(ctx, in, o, nil, status); got != exitError { // a fault that the end found is told, and no more
			return got
		}
		return status
	}
	defer time.AfterFunc(grace, func() { os.Exit(status) }).Stop() // the terminal may take no output any more
	for _, line := range pending {
		fmt.Fprintf(p.stderr, "npulua: dropped: %s\n", line)
	}
	_ = in.Close(true)
	return status
}

// pending says what work is left, a line for each stream. A host function that does not end holds up the answer.
func (p *program) pending(in *luabind.Interp) []string {
	answer := make(chan []string, 1)
	go func() { answer <- in.Session().Pending() }()
	select {
	case lines := <-answer:
		return lines
	case <-time.After(100 * time.Millisecond):
		return []string{"a host function that has not ended, and what waits for it"}
	}
}

// cannotOpen reports why there is no session: an option that cannot be meant, or the backend.
func (p *program) cannotOpen(err error) int {
	var e *npu.Error
	if !errors.As(err, &e) {
		fmt.Fprintf(p.stderr, "npulua: %v\n", err)
		return exitError
	}
	if e.Code == npu.ErrInvalidParam {
		return p.usage(errors.New(e.Detail))
	}
	if strings.Contains(e.Detail, "\n") { // a list of what was tried
		fmt.Fprintf(p.stderr, "npulua: %s\n", e.Detail)
	} else {
		fmt.Fprintf(p.stderr, "npulua: %v\n", err)
	}
	if e.Hint != "" {
		fmt.Fprintf(p.stderr, "  hint: %s\n", e.Hint)
	}
	return exitError
}

func (p *program) runChunks(r luabind.Runner, o *options, script string, embedded *source) error {
	for _, c := range o.chunks {
		var err error
		if c.module {
			err = r.Require(c.text)
		} else {
			err = r.RunString(c.text, "(command line)")
		}
		if err != nil {
			return err
		}
	}
	switch {
	case embedded != nil:
		return r.RunString(embedded.code, embedded.name)
	case script != "":
		return r.RunFile(script)
	}
	return nil
}

// finish reports what went wrong, tears the session down and returns the exit status: status, or
// exitError where that is 0 and the teardown found a fault that nobody had been told.
func (p *program) finish(ctx context.Context, in *luabind.Interp, o *options, err error, status int) int {
	if flushErr := in.Flush(); flushErr != nil && !errors.Is(context.Cause(ctx), luabind.ErrClosedPipe) {
		return p.cannotWrite(in, flushErr)
	}
	if errors.Is(context.Cause(ctx), luabind.ErrClosedPipe) {
		_ = in.Close(true) // nobody reads any more, so nobody is told
		return exitClosedPipe
	}
	interrupted := ctx.Err() != nil
	code, exits := in.WorkerExit()
	if exits && !interrupted {
		if o.leaks {
			p.reportLeaks(in)
		}
		_ = in.Close(true) // what queued work is left was dropped when the worker ended the script
		return code
	}
	var internal *npu.PanicError
	switch {
	case interrupted && !errors.As(err, &internal):
		p.reportInterrupt(ctx, o)
		in.AwaitWorkers(grace / 2) // for what they say of their waits
		for _, line := range in.HangReport() {
			fmt.Fprintf(p.stderr, "  %s\n", line)
		}
		if trace := in.Traceback(err); trace != "" { // what it says is only that it was interrupted
			fmt.Fprintln(p.stderr, trace)
		}
	case err != nil:
		fmt.Fprintf(p.stderr, "npulua: %s\n", p.printable(in.FormatError(err)))
	}
	if o.leaks {
		p.reportLeaks(in)
	}
	var pending []string
	if !interrupted {
		pending = p.pending(in) // before the session closes
	}
	slow := time.AfterFunc(endNotice, func() { p.tellEnd(pending) })
	closeErr := in.Close(interrupted)
	slow.Stop()
	switch {
	case interrupted:
	case ctx.Err() != nil: // while the end waited for queued work
		p.reportInterrupt(ctx, o)
		status = exitStatus(ctx, nil)
	case closeErr != nil:
		fmt.Fprintf(p.stderr, "npulua: at exit: %s\n", p.printable(in.FormatError(closeErr)))
		if status == exitOK {
			status = exitStatus(ctx, closeErr)
		}
	}
	if code, ok := in.ExitStatus(); ok && !interrupted {
		return code
	}
	return status
}

// endNotice is how long the end may wait for queued work before people are told.
const endNotice = 2 * time.Second

// tellEnd says what the end of a script waits for.
func (p *program) tellEnd(pending []string) {
	for _, line := range pending {
		fmt.Fprintf(p.stderr, "npulua: the script is over and waits for its queued work (Ctrl-C drops it): %s\n", line)
	}
}

// cannotWrite ends a program whose standard output cannot be written: to a closed pipe quietly, as
// others end by a signal then.
func (p *program) cannotWrite(in *luabind.Interp, err error) int {
	_ = in.Close(true) // its work cannot be reported
	if errors.Is(err, syscall.EPIPE) {
		return exitClosedPipe
	}
	fmt.Fprintf(p.stderr, "npulua: standard output: %v\n", err)
	return exitError
}

// printable is text of a script that may go to a terminal.
func (p *program) printable(text string) string {
	if isTerminal(p.stderr) {
		return luabind.Printable(text)
	}
	return text
}

// reportInterrupt says what ended the script from outside.
func (p *program) reportInterrupt(ctx context.Context, o *options) {
	cause := context.Cause(ctx)
	if errors.Is(cause, errTimeout) {
		fmt.Fprintf(p.stderr, "npulua: timeout: the script ran longer than %v\n", o.timeout)
		return
	}
	fmt.Fprintf(p.stderr, "npulua: %v\n", cause)
}

func (p *program) reportLeaks(in *luabind.Interp) {
	leaks := in.Session().Leaks()
	total := 0
	for _, l := range leaks {
		total += l.Count
	}
	fmt.Fprintf(p.stderr, "npulua: %d handle(s) never closed\n", total)
	for _, l := range leaks {
		where, detail := in.Place(l.Site), l.Detail
		if where == "" {
			where = "?"
		}
		if detail != "" {
			detail = ", " + detail
		}
		if l.Count > 1 {
			detail += fmt.Sprintf(", %d times", l.Count)
		}
		fmt.Fprintf(p.stderr, "  %s: %s%s\n", where, l.Kind, detail)
	}
}

// grace is how long an interrupted script may take to end, teardown included.
const grace = 2 * time.Second

// interrupt ends the script; where it does not end in time, the process.
func (p *program) interrupt(cancel context.CancelCauseFunc, cause error, status int) {
	cancel(cause)
	time.AfterFunc(grace, func() {
		fmt.Fprintf(p.stderr, "npulua: the script does not stop, ending the process without teardown\n")
		os.Exit(status)
	})
}

// watchSignals turns SIGINT, SIGTERM and SIGHUP into the end of the script; a second one ends the
// process at once.
func watchSignals(ctx context.Context, cancel context.CancelCauseFunc, stderr io.Writer) (stop func()) {
	ch := make(chan os.Signal, 2)
	done := make(chan struct{})
	signal.Notify(ch, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	pipes := make(chan os.Signal, 1)
	signal.Notify(pipes, syscall.SIGPIPE) // so that a closed pipe is an error of write, not the end
	go func() {
		p := &program{stderr: stderr}
		for n := 0; ; n++ {
			select {
			case sig := <-ch:
				cause := signalError{sig}
				first, end := context.WithCancelCause(context.Background())
				end(cause)
				status := exitStatus(first, nil)
				if n > 0 {
					os.Exit(status)
				}
				p.interrupt(cancel, cause, status)
			case <-done:
				return
			}
		}
	}()
	return func() {
		signal.Stop(ch)
		signal.Stop(pipes)
		close(done)
	}
}
