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
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/term"

	"npulua/cmd/npulua/supervise"
	"npulua/luabind"
	"npulua/luabind/display"
	"npulua/npu"
	"npulua/scripts"
)

func main() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(gcPercent)
	}
	supervise.Lean()
	watcher := supervise.Find()
	os.Exit(run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr, watcher))
}

// gcPercent is how much garbage there may be for each byte in use. Lua's numbers become garbage by the
// million while little is in use, and the default would collect after every 4 MB of them.
const gcPercent = 400

// run is main with its world passed in. It returns the exit status.
func run(args []string, stdin io.Reader, stdout, stderr io.Writer, watcher *supervise.Watcher) int {
	p := newProgram(stdin, stdout, stderr)
	p.watcher = watcher
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
	o.given = args[:len(args)-len(o.args)]
	if len(o.args) > 0 {
		for _, c := range commands {
			if c.name == o.args[0] {
				if o.sandbox.on && c.name != "run" && c.name != "serve" {
					return p.usage(fmt.Errorf("--sandbox is for a script, not for %s", c.name))
				}
				return c.run(p, o, o.args[1:])
			}
		}
	}
	return p.execute(o, nil)
}

// program is the world that the command works in.
type program struct {
	stdin     io.Reader
	stdout    io.Writer
	stderr    io.Writer // for what npulua itself says: a terminal obeys nothing of it
	errors    io.Writer // standard error as it is, for scripts and the programs that they start
	inherited luabind.Descriptors
	watcher   *supervise.Watcher // of this process; nil: none
	display   *display.Display   // the terminal; whoever ends the process calls its End before
	fence     fence              // in the row of signals
	// salvage gives the results that there are, where the process ends without the script; nil: none yet.
	salvage atomic.Pointer[func(cause error, status int)]
	session atomic.Pointer[npu.Session] // nil: none yet
}

func newProgram(stdin io.Reader, stdout, stderr io.Writer) *program {
	return &program{stdin: stdin, stdout: stdout, stderr: messages{stderr}, errors: stderr, inherited: luabind.InheritedDescriptors(), display: display.New(stdin, stdout, stderr)}
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
	if interactive && o.sandbox.on {
		return p.usage(errors.New("--sandbox is for a script, not for what is typed"))
	}
	if interactive && o.timeout > 0 && script == "" && len(o.chunks) == 0 {
		return p.usage(errors.New("--timeout is for a script, and there is none"))
	}

	stdout, stderr := p.stdout, p.errors // of scripts
	if !interactive {
		if status, ok := p.supervise(o); ok {
			return status
		}
	}
	if o.sandbox.on {
		stdout, stderr = plainTerminal(stdout), plainTerminal(stderr)
		p.stderr = messages{&cut{stderr, mostMessages}}
	}
	ctx, cancel := context.WithCancelCause(context.Background())
	defer cancel(nil)
	unwatch := sync.OnceFunc(p.watchSignals(ctx, cancel))
	defer unwatch()
	timer := time.AfterFunc(cmp.Or(o.timeout, math.MaxInt64), func() { p.interrupt(cancel, errTimeout, exitTimeout) })
	defer timer.Stop()

	var in *luabind.Interp
	open := func() (*luabind.Interp, error) {
		m, err := luabind.Open(ctx, luabind.Options{
			Session: o.session, Script: script, Args: o.args, Samples: scripts.Data(), Library: scripts.Library(), Scenarios: scenarios, Interactive: interactive, Embedded: embedded != nil,
			Stdin: p.stdin, Stdout: stdout, Stderr: stderr, StdinTerminal: isTerminal(p.stdin), StdoutTerminal: isTerminal(p.stdout), Columns: p.columns(),
			Inherited: p.inherited, Display: p.display, Sandbox: p.confine(o, func(cause error, status int) { p.interrupt(cancel, cause, status) }),
			Settle: p.settle, Exit: func(code int) { os.Exit(p.finish(ctx, in, o, nil, code)) },
		})
		if err == nil {
			in = m
		}
		return m, err
	}
	if _, err := open(); err != nil {
		status := p.cannotOpen(err)
		if status == exitError && o.operates {
			return exitNotChecked
		}
		return status
	}
	defer p.watchMemory(o)()
	salvage := func(cause error, status int) {
		in.Salvage(cause.Error(), status)
		p.endReport(o, in)
	}
	p.salvage.Store(&salvage)
	p.session.Store(in.Session())
	if err := p.beginReport(o, in.Session().Info()); err != nil {
		_ = in.Close(true)
		fmt.Fprintf(p.stderr, "npulua: --report: %v\n", err)
		return exitError
	}
	for notice := range strings.Lines(in.Session().Info().Notice) {
		fmt.Fprintf(p.stderr, "npulua: %s\n", strings.TrimSuffix(notice, "\n"))
	}
	if o.sandbox.simulated {
		fmt.Fprintf(p.stderr, "npulua: --sandbox uses the simulator unless --backend says else: %s\n", in.Session().Info().Detail)
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

// cannotOpen reports why there is no session: an option that cannot be meant, or the backend.
func (p *program) cannotOpen(err error) int {
	var e *npu.Error
	var dir *luabind.SandboxDirError
	if errors.As(err, &dir) {
		return p.usage(fmt.Errorf("--sandbox: %s: %w", dir.Dir, dir.Err))
	}
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
