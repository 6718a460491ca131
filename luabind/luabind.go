// Package luabind gives Lua scripts the NPU: the module "npu" and its handle types over package npu,
// in one Lua virtual machine.
//
//	in, err := luabind.Open(ctx, luabind.Options{Session: npu.Options{Backend: "sim"}})
//	if err != nil { ... }
//	err = in.RunString(`print(npu.device_count())`, "=example")
//	closeErr := in.Close(false)
//
// What scripts can call is declared in tables of rows, one a function, next to the functions; the
// reference in API.md is made of the same rows.
//
// An Interp belongs to one goroutine. Cancelling the context of Open from another one ends whatever
// the script does, and no pcall hides it.
package luabind

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"sync"
	"sync/atomic"
	"time"

	lua "github.com/yuin/gopher-lua"

	"npulua/luabind/display"
	"npulua/luabind/lua51"
	"npulua/luabind/metrics"
	"npulua/luabind/web"
	"npulua/npu"
)

// Limits of the virtual machine: calls that nest deeper, or that need more values at once, end in
// a Lua error.
const (
	maxCalls    = 16000
	firstValues = 4096
	maxValues   = 1 << 20
)

// Options of Open.
type Options struct {
	Session npu.Options // Where is set by Open
	Script  string      // path of the script, whose folder modules are looked for in; "" for none
	Args    []string    // arg[1], arg[2], ...; arg[0] is Script
	Stdin   io.Reader   // what "-" reads; nil: os.Stdin
	Stdout  io.Writer   // what print and io write to, through a buffer; nil: os.Stdout
	Stderr  io.Writer   // nil: os.Stderr
	// StdinTerminal and StdoutTerminal say that people sit there: output is shown line by line then.
	StdinTerminal, StdoutTerminal bool
	Columns                       int   // of the terminal of Stdout, which tables fit; 0: there is no limit
	Samples                       fs.FS // files that scripts read as "sample:NAME"; nil: none
	Library                       fs.FS // modules NAME.lua that require finds where no file is one; nil: none
	// Scenarios are the lists of faults that come with npulua; nil: none.
	Scenarios func() []npu.FaultScenario
	// Embedded says that Script is no file: nothing lies beside it.
	Embedded bool
	// Interactive says that a person types chunks, for an Evaluator: there is a global "help" then.
	Interactive bool
	// Inherited are what children of the script get beside the standard streams; nil: whatever is open, and with it
	// what the vendor's library opened.
	Inherited Descriptors
	// Sandbox confines the scripts; nil: they may do what the process may.
	Sandbox *Sandbox
	// Settle returns when what has come from outside, such as a signal, was acted on; it is called where the script may
	// see the consequences before. nil: nothing does.
	Settle func()
	// Exit ends the process; os.exit calls it after the session is closed. nil: os.exit is an error.
	Exit func(code int)
	// Display is the terminal behind Stdout and Stderr, for bars and screens. Whoever ends the process calls its End
	// before. nil: Open makes one.
	Display *display.Display
}

// Interp is one Lua virtual machine with the npu module.
type Interp struct {
	Runner // runs scripts until the context of Open ends

	L        *lua.LState
	opts     Options
	session  *npu.Session
	thread   *npu.Thread
	threads  *lua51.Threads
	linker   *lua51.Linker
	memory   *ledger // of what all machines of the session take
	policy   *policy // of Options.Sandbox, shared with workers; nil: none
	io       *lua51.IO
	std      *lua51.Streams
	sites    *sites
	calls    []*call
	columns  int // of the terminal: see Options.Columns and Evaluator.Fit
	builtins map[string]*npu.Kernel

	operators     map[string]*npu.Operator // that were used
	loadedModules map[string]*lua.LTable   // of modules that were required
	checks        *checks                  // of the module check; nil: nobody required it
	null          *lua.LUserData           // json.null; nil: not made yet
	arrayMeta     *lua.LTable              // marks arrays of JSON

	metrics        *metricTypes // nil: not made yet
	metricRegistry *metrics.Registry
	registryOnce   sync.Once // makes that of the main script's machine

	mainLogger *logger           // of the module log itself; nil: not used yet
	loggers    *binding[*logger] // nil: not made yet
	logFiles   logFiles          // of the main script's machine, also those of workers

	csvReaders *binding[*csvReader] // nil: not made yet
	csvOpen    map[*csvReader]bool  // whose files are open

	responses *binding[*response] // nil: not made yet
	web       web.Client          // of the main script's machine, also for workers

	barType    *binding[*progressBar] // nil: not made yet
	screenType *binding[*textScreen]  // nil: not made yet

	tempDirs  tempDirs // of the main script's machine, also those of workers
	errorMeta *lua.LTable
	devices   *binding[*npu.Device]
	contexts  *binding[*npu.Context]
	streams   *binding[*npu.Stream]
	events    *binding[*npu.Event]
	buffers   *binding[*npu.Buffer]
	kernels   *binding[*npu.Kernel]
	graphs    *binding[*npu.Graph]
	models    *binding[*npu.Model]
	tasks     *binding[*task]
	channels  *binding[*npu.Channel]
	faults    *binding[*npu.Fault]
	args      []npu.Arg            // scratch of launches
	replays   map[*npu.Graph]int64 // what replays count as; nil: nothing was recorded, or nobody counts

	start      time.Time     // of the main script's machine: when it was made
	parent     *Interp       // of a worker: the machine of the main script
	open       func(*Interp) // openMachine: a worker's function is in its tables
	workerType *binding[*worker]
	bound      []boundClass // all of them
	workersMu  sync.Mutex
	workers    []*worker             // of the main script's machine: all of them; under workersMu
	started    int                   // of those; under workersMu
	library    map[lua.LValue]string // names of what the library made
	common     map[any]*any          // values of handles that several machines use

	sched     *npu.Scheduler
	ran       int64 // instructions that computed has told of
	rests     int   // of sched, when computed was called last
	free      int64 // instructions that take no time
	main      *task // the script's first one
	trails    trails
	deadlocks map[*lua.LTable]bool  // errors that say so
	told      map[fmt.Stringer]bool // tasks and workers of whose failure somebody was told: see Evaluator.Notices

	outer      context.Context                // of Open
	ctx        *lua51.Ending                  // ends the scripts
	panicked   atomic.Pointer[npu.PanicError] // of the main script's machine: the defect of ours that ended the scripts
	toldDefect atomic.Bool                    // it was the error of a call
	exiting    bool                           // os.exit was called where the session could not be closed
	exitCode   int
	exited     bool // os.exit was called
}

// Open starts a session and a virtual machine over it.
func Open(ctx context.Context, opts Options) (*Interp, error) {
	in := &Interp{sites: newSites(), columns: opts.Columns, start: time.Now()}
	in.Runner = Runner{in, in.callMain}
	in.outer, in.ctx = ctx, lua51.NewEnding(ctx)
	opts.Session.Held = in.settle
	opts.Session.Where = in.sites.text
	opts.Session.History = opts.Session.History || opts.Interactive
	if err := in.openLimits(&opts); err != nil {
		in.ctx.End(nil)
		return nil, err
	}
	session, err := npu.Open(in.ctx, opts.Session)
	if err != nil {
		in.closeLimits()
		in.ctx.End(nil)
		return nil, err
	}
	in.opts = opts
	in.session, in.thread = session, session.Main()
	in.openStreams()
	in.open = (*Interp).openMachine
	in.openMachine()
	return in, nil
}

// openMachine makes the virtual machine.
func (in *Interp) openMachine() {
	in.L = lua.NewState(lua.Options{
		CallStackSize: maxCalls, RegistrySize: firstValues, RegistryMaxSize: maxValues,
		RegistryGrowStep: firstValues, MinimizeStackMemory: true,
	})
	in.openLibraries()
	in.deadlocks = make(map[*lua.LTable]bool)
	in.told = make(map[fmt.Stringer]bool)
	in.openTasks()
	in.errorMeta = in.newErrorMeta()
	in.devices = register(in, deviceClass)
	in.contexts = register(in, contextClass)
	in.streams = register(in, streamClass)
	in.events = register(in, eventClass)
	in.buffers = register(in, bufferClass)
	in.kernels = register(in, kernelClass)
	in.graphs = register(in, graphClass)
	in.models = register(in, modelClass)
	in.tasks = register(in, taskClass)
	in.channels = register(in, channelClass)
	in.faults = register(in, faultClass)
	in.workerType = register(in, workerClass)
	in.common = make(map[any]*any)
	in.openModule()
	in.openBase()
	in.openModules()
	if in.opts.Interactive {
		in.openHelp()
	}
	if in.policy != nil {
		in.confine()
	}
	in.snapshot()
	in.setArgs()
}

// ErrClosedPipe is the cause of the end of a script whose standard output nobody reads any more.
var ErrClosedPipe = errors.New("standard output is closed")

// openStreams makes the standard streams, which all machines of the session use.
func (in *Interp) openStreams() {
	o := &in.opts
	if o.Stdin == nil {
		o.Stdin = os.Stdin
	}
	if o.Stdout == nil {
		o.Stdout = os.Stdout
	}
	if o.Stderr == nil {
		o.Stderr = os.Stderr
	}
	if o.Display == nil {
		o.Display = display.New(o.Stdin, o.Stdout, o.Stderr)
	}
	mode := lua51.BlockBuffered
	if o.StdoutTerminal {
		mode = lua51.LineBuffered
	}
	in.std = &lua51.Streams{
		Stdin: o.Stdin, Stdout: lua51.NewOutput(o.Display.Writer(o.Stdout), mode), Stderr: lua51.NewOutput(o.Display.Writer(o.Stderr), lua51.Unbuffered),
		StdinTerminal: o.StdinTerminal, Interactive: o.Interactive, Inherited: o.Inherited, Lend: o.Display.Lend,
	}
	if p := in.policy; p != nil {
		in.std.System = p
		in.std.Stdout.AskFirst(p.Write)
		in.std.Stderr.AskFirst(p.Write)
	}
	in.std.Stdout.OnBroken(func(error) { in.ctx.End(ErrClosedPipe) })
}

// openLibraries replaces what the virtual machine's library gets wrong.
func (in *Interp) openLibraries() {
	in.threads = lua51.OpenThreads(in.L, in.ctx)
	in.threads.OnDefect(func(value any, stack []byte) { in.abort(&npu.PanicError{Value: value, Stack: stack}) })
	in.sites.threads = in.threads
	in.threads.SetLimits(in.memory, in.policy != nil)
	in.memory.join(in.threads)
	in.linker = lua51.NewLinker(in.L)
	lua51.OpenBase(in.L, in.std.Stdout, npu.Suggest)
	lua51.OpenString(in.L)
	lua51.OpenTable(in.L)
	lua51.OpenMath(in.L)
	lua51.OpenOS(in.L, in.std)
	in.io = lua51.OpenIO(in.L, in.std)
}

// ExitStatus is what a script gave to os.exit in a host function or in a worker, from where it cannot end
// the process itself; ok is false where it did not.
func (in *Interp) ExitStatus() (status int, ok bool) {
	if code, ok := in.WorkerExit(); ok {
		return code, true
	}
	return in.exitCode, in.exiting
}

// WorkerExit is what os.exit was given in a worker, which has ended the script: an error of that is only
// its consequence. ok is false where none did.
func (in *Interp) WorkerExit() (status int, ok bool) {
	var e *exitError
	ok = errors.As(context.Cause(in.ctx), &e)
	if ok {
		status = e.code
	}
	return status, ok
}

// Flush writes what scripts have printed. It returns the first error that writing ever had.
func (in *Interp) Flush() error {
	_ = in.std.Stdout.Flush(context.Background()) // Err has it too
	return in.std.Stdout.Err()
}

// flush is Flush; what nobody takes does not hold up a forced end.
func (in *Interp) flush(force bool) {
	ctx := context.Background()
	if force {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, flushTime)
		defer cancel()
	}
	_ = in.std.Stdout.Flush(ctx) // Err has it too
}

// Session is the session that the scripts work in.
func (in *Interp) Session() *npu.Session { return in.session }

// HangReport says what was waited for when the context of Open ended, and which streams had work left then,
// a line each, for people.
func (in *Interp) HangReport() []string {
	if lines := in.session.HangReport(); len(lines) > 0 {
		return lines
	}
	return in.sched.Report() // the script ran: what its other tasks wait for
}

// Abandon cancels the tasks and workers that are left, and returns when they have ended.
func (in *Interp) Abandon() {
	in.sched.Abandon()
	in.endWorkers()
}

// Close cancels the tasks and workers that are left, ends the session as npu.Session.Close does, then the virtual
// machine. Without force it also returns the errors of tasks that nobody joined.
func (in *Interp) Close(force bool) error {
	if force {
		in.ctx.End(context.Canceled)
	}
	in.Abandon()
	in.opts.Display.Leave(nil)
	err := in.session.Close(force)
	if !force {
		err = errors.Join(in.failure(), err)
	}
	if defect := in.panicked.Load(); defect != nil && !in.toldDefect.Load() { // it came up where an error was put in words, say
		err = defect
	}
	in.flush(force)      // callbacks have run
	in.io.Finish(in.ctx) // at once where that has ended
	in.io.Close()
	in.closeCSV()
	in.L.Close()
	in.closeLogs()
	in.web.Close()
	in.removeTempDirs()
	in.closeLimits()
	in.ctx.End(nil)
	return err
}

// Place is the text of a place in a script, "script.lua:12".
func (in *Interp) Place(site npu.Site) string { return in.sites.text(site) }

// setArgs sets arg as lua(1) does: the script at 0, its arguments from 1 on, and the program and its options before
// it.
func (in *Interp) setArgs() {
	arg := in.L.NewTable()
	before := os.Args[:1]
	if in.opts.Script != "" {
		arg.RawSetInt(0, lua.LString(in.opts.Script))
		if at := len(os.Args) - len(in.opts.Args) - 1; in.policy == nil && at > 0 && os.Args[at] == in.opts.Script {
			before = os.Args[:at]
		}
		for i, a := range before {
			arg.RawSetInt(i-len(before), lua.LString(a))
		}
	} else {
		arg.RawSetInt(0, lua.LString(os.Args[0]))
	}
	for i, a := range in.opts.Args {
		arg.RawSetInt(i+1, lua.LString(a))
	}
	in.L.SetGlobal("arg", arg)
}

// settle ends the scripts where something outside was about to. It may be called from any goroutine.
func (in *Interp) settle() {
	if in.opts.Settle != nil {
		in.opts.Settle()
	}
	if in.outer.Err() != nil {
		in.ctx.End(context.Cause(in.outer))
	}
}

// abort ends the scripts because of a defect of ours, the first one of which is told. No pcall goes on.
func (in *Interp) abort(err *npu.PanicError) {
	root := in.root()
	root.panicked.CompareAndSwap(nil, err)
	root.ctx.End(err)
}
