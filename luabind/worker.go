package luabind

import (
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	lua "github.com/yuin/gopher-lua"

	"npulua/luabind/lua51"
	"npulua/npu"
)

// worker is a machine of its own that runs on another goroutine.
type worker struct {
	bound    any
	parent   *Interp
	number   int
	site     npu.Site
	function bool       // it runs a function, no file
	group    *npu.Group // of the test that started it; nil: none
	ctx      *lua51.Ending
	thread   *npu.Thread   // of its goroutine
	ended    *npu.Channel  // closed at the end, for scripts
	gone     chan struct{} // closed after that, when nothing of the worker is left

	mu          sync.Mutex
	cancelledAt npu.Site
	state       npu.TaskState
	results     parcel // its value is a list; each join unpacks them anew
	err         error  // *workerError, *npu.Error or *npu.PanicError
	joined      bool
}

// workerError is what the script of a worker raised.
type workerError struct {
	value parcel
	text  string
	trace string
}

func (e *workerError) Error() string { return e.text }

var workerClass = &class[*worker]{
	name: "worker",
	text: "A script in a Lua machine of its own (`npu.worker`), which runs really at the same time as the others, on another CPU where there is one. It shares the session, and nothing else but what is handed to it.",
	methods: []method[*worker]{
		{"join", doc{"([timeout])", "results", "Waits until the script and all its tasks have ended, and returns what it returned. `timeout` in seconds; left out it waits for ever.", "the error of the script; 107035 for a worker that was cancelled; 507046 when the timeout is over, or in a deadlock; 100000 for results that cannot be handed over", `print(w:join())`}, nil, workerJoin},
		{"cancel", doc{"()", "", "Ends the script: waits are over, and no instruction runs any more. Returns at once; `join` tells when it has ended.", "", `w:cancel()`}, nil, workerCancel},
	},
	fields: []field[*worker]{
		{"status", doc{Text: "`running`, `done`, `failed` or `cancelled`."}, func(_ *call, w *worker) (lua.LValue, error) { return lua.LString(w.status().String()), nil }},
		{"id", doc{Text: "Number of the worker, from 1."}, func(_ *call, w *worker) (lua.LValue, error) { return lua.LNumber(w.number), nil }},
		{"where", doc{Text: "Where the worker was started."}, func(c *call, w *worker) (lua.LValue, error) { return lua.LString(c.in.sites.text(w.site)), nil }},
	},
	str: func(w *worker) string { return fmt.Sprintf("worker(%d, %v)", w.number, w.status()) },
}

var workerFunctions = []function{
	{"worker", doc{"(path or fn, ...)", "worker", "Runs a script file (`-`: standard input), or a function, in a Lua machine of its own, at the same time as this one; the values after it are its arguments. What goes there, by arguments, channels, results and the locals that the function uses, is copied: numbers, strings, booleans, tables of them without metatables (error objects may have theirs); channels, devices and host buffers go by reference, built-in functions, modules and kernels by name, functions of the script only as the one to run and what that uses. What two sides do with the elements of one host buffer is not ordered: hand it over by a channel, or write other parts of it. Globals of this script are not there. The order in which workers proceed is not fixed, also on the simulator; virtual time waits while one computes, but for no more than some ten million instructions at a time. `os.exit` in it ends the program. A worker that fails and is never joined is reported at exit, with status 1; the script ends when all workers have ended. A worker ends when its tasks have, and the callbacks and kernels in Lua that it has queued; other work of its streams goes on.", "100000 for what cannot go there; an error of compiling; 100003 for a file that cannot be read; 207001 where 1,000 run already", `local w = npu.worker(function(n) local sum = 0 for i = 1, n do sum = sum + i end return sum end, 1e6)`}, nil, moduleWorker},
}

func (w *worker) status() npu.TaskState {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.state
}

// String names the worker for messages.
func (w *worker) String() string {
	if at := w.parent.sites.text(w.site); at != "" {
		return fmt.Sprintf("worker %d (started at %s)", w.number, at)
	}
	return fmt.Sprintf("worker %d", w.number)
}

// root is the machine of the main script.
func (in *Interp) root() *Interp {
	for in.parent != nil {
		in = in.parent
	}
	return in
}

func moduleWorker(c *call) error {
	in := c.in
	p := in.newPacker(true)
	build, err := in.workerMain(c, p)
	var args []any
	for i := 2; i <= c.count() && err == nil; i++ {
		var v any
		v, err = p.pack(c.arg(i))
		args = append(args, v)
	}
	if err != nil {
		p.drop()
		return err
	}
	root := in.root()
	if root.runningWorkers() >= maxWorkers {
		p.drop()
		return c.hostFull("there are %d workers that have not ended", maxWorkers)
	}
	if err := in.takeMachine(); err != nil {
		p.drop()
		return c.hostFull("%v", err)
	}
	w := &worker{parent: in, site: c.site, group: c.t.Group(), gone: make(chan struct{}), function: c.arg(1).Type() == lua.LTFunction, state: npu.TaskRunning}
	if w.ended, err = c.t.NewChannel(0); err != nil {
		in.giveMachine()
		p.drop()
		return err
	}
	root.workersMu.Lock()
	root.workers = append(slices.DeleteFunc(root.workers, (*worker).forgettable), w)
	root.started++
	w.number = root.started
	root.workersMu.Unlock()
	w.ended.SetName(w.String())

	w.ctx = lua51.NewEnding(root.ctx)
	w.thread = in.session.NewThread(w.ctx) // from now on time waits for it
	go w.run(build, parcel{args, p.held})
	c.push(in.workerType.wrap(w, &w.bound))
	return nil
}

// forgettable reports whether nothing is left of w but what its join returns, to whoever still has w.
func (w *worker) forgettable() bool {
	select {
	case <-w.gone:
	default:
		return false
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.joined || w.state != npu.TaskFailed
}

// forgetWorker lets the machine of the main script know no more of w, where that is all.
func (in *Interp) forgetWorker(w *worker) {
	root := in.root()
	root.workersMu.Lock()
	defer root.workersMu.Unlock()
	if w.forgettable() {
		root.workers = slices.DeleteFunc(root.workers, func(x *worker) bool { return x == w })
	}
}

// maxWorkers is how many workers there may be at a time: each has a machine of half a megabyte.
const maxWorkers = 1000

// runningWorkers is how many workers of the main script's machine have not ended.
func (in *Interp) runningWorkers() (n int) {
	for _, w := range in.allWorkers() {
		if w.status() == npu.TaskRunning {
			n++
		}
	}
	return n
}

// workerMain reads the first argument of npu.worker: what makes the function to run in the new machine.
func (in *Interp) workerMain(c *call, p *packer) (func(u *unpacker) lua.LValue, error) {
	switch x := c.arg(1).(type) {
	case lua.LString:
		path, err := c.path(1)
		if err != nil {
			return nil, err
		}
		read := in.readScript
		if path == "-" {
			read = in.readLoaded
		}
		data, name, err := read(path)
		if err != nil {
			return nil, c.refuse(npu.ErrInvalidFile, "", err)
		}
		proto, err := lua51.CompileNamed(data, "@"+name, name)
		if err != nil {
			return nil, c.errorf("%v", err)
		}
		return func(u *unpacker) lua.LValue {
			u.in.linker.Link(proto)
			return u.in.L.NewFunctionFromProto(proto)
		}, nil
	case *lua.LFunction:
		fn, err := p.pack(x)
		if err != nil {
			return nil, err
		}
		return func(u *unpacker) lua.LValue { return u.unpack(fn) }, nil
	}
	return nil, c.wrongType(1, "path or fn", "a string or a function")
}

// errEnd is the cause of the end of a worker's script.
var errEnd = errors.New("the worker was cancelled")

// run is the goroutine of w.
func (w *worker) run(build func(*unpacker) lua.LValue, args parcel) {
	defer w.parent.forgetWorker(w)
	defer close(w.gone)
	m := w.parent.newWorkerMachine(w)
	w.parent.giveMachine() // it is on the heap now
	var results []lua.LValue
	var err error
	if w.group != nil { // what it makes goes with it
		err = w.thread.Scope(func() (err error) {
			results, err = w.script(m, build, args)
			return err
		})
	} else {
		results, err = w.script(m, build, args)
	}
	packed, err := m.packResults(results, err)
	w.mu.Lock()
	w.results, w.err = packed, err
	switch {
	case err != nil && w.ctx.Err() != nil:
		w.state = npu.TaskCancelled
	case err != nil:
		w.state = npu.TaskFailed
	default:
		w.state = npu.TaskDone
	}
	w.mu.Unlock()
	m.opts.Display.Leave(m)
	m.sched.End()
	_ = w.ended.Close(m.thread) // it is open; who waits for that may use the streams
	m.io.Finish(m.ctx)
	m.io.Close()
	m.closeCSV()
	m.memory.leave(m.threads)
	m.L.Close()
	w.thread.Close()
	w.ctx.End(nil)
}

// script runs what the worker is there for, and its tasks.
func (w *worker) script(m *Interp, build func(*unpacker) lua.LValue, args parcel) (results []lua.LValue, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = &npu.PanicError{Value: r, Stack: debug.Stack()}
		}
	}()
	m.thread.Site = w.site // of the handles that are made of arguments
	u := m.newUnpacker(w.parent)
	fn := build(u)
	var values []lua.LValue
	for _, v := range args.value.([]any) {
		values = append(values, u.unpack(v))
	}
	args.drop() // the handles hold it now
	if u.err != nil {
		return nil, u.err
	}
	results, err = m.protected(m.L, fn, values...)
	if script, ok := err.(*scriptError); ok && w.function {
		script.trace = strings.Replace(script.trace, "in main chunk", "in the function of the worker", 1)
	}
	if err == nil {
		err = m.sched.Finish()
	}
	m.sched.Abandon()
	if e := m.sched.FinishCalls(); err == nil {
		err = e
	}
	if err == nil {
		err = m.failure()
	}
	return results, err
}

// packResults makes what join of another machine can take.
func (in *Interp) packResults(results []lua.LValue, err error) (parcel, error) {
	p := in.newPacker(false)
	var out []any
	for i := 0; i < len(results) && err == nil; i++ {
		var v any
		if v, err = p.pack(results[i]); err != nil {
			err.(*npu.Error).Detail = fmt.Sprintf("result %d: %s", i+1, err.(*npu.Error).Detail)
		}
		out = append(out, v)
	}
	if err == nil {
		return parcel{out, p.held}, nil
	}
	p.drop()
	var panicked *npu.PanicError
	if errors.As(err, &panicked) {
		return parcel{}, err
	}
	if script, ok := err.(*scriptError); ok {
		e := &workerError{text: in.text(script.value), trace: strings.Replace(script.trace, "in main chunk", "in the function of the worker", 1)}
		if trail := in.trails.text(script.value); trail != "" {
			e.trace += "\n" + trail
		}
		if x, err := in.parcel(script.value); err == nil {
			e.value = *x
		} else {
			e.value.value = lua.LString(e.text)
		}
		return parcel{}, e
	}
	if e, ok := err.(*npu.Error); ok {
		return parcel{}, e
	}
	text := in.FormatError(err)
	return parcel{}, &workerError{value: parcel{value: lua.LString(text)}, text: text}
}

// newWorkerMachine makes the machine of w, in the session of in.
func (in *Interp) newWorkerMachine(w *worker) *Interp {
	root := in.root()
	m := &Interp{parent: root, session: in.session, thread: w.thread, sites: &sites{table: in.sites.table}}
	m.ctx = w.ctx
	m.opts, m.memory, m.policy = root.opts, root.memory, root.policy
	m.opts.Stdin = noInput{}
	m.opts.Exit = root.exitFrom
	m.std = &lua51.Streams{Stdin: m.opts.Stdin, Stdout: root.std.Stdout, Stderr: root.std.Stderr, Inherited: root.std.Inherited, System: root.std.System, Lend: root.std.Lend}
	m.open = root.open
	m.open(m)
	m.sched.SetName(w.String(), w.number)
	return m
}

// noInput is the standard input of workers.
type noInput struct{}

func (noInput) Read([]byte) (int, error) { return 0, noInputError{} }

type noInputError struct{}

func (noInputError) Error() string { return "standard input belongs to the main script" }

// PlainText is what io functions return.
func (e noInputError) PlainText() (string, syscall.Errno) { return e.Error(), syscall.EPIPE }

// exitError is the cause of the end of a script in which a worker called os.exit.
type exitError struct{ code int }

func (e *exitError) Error() string { return fmt.Sprintf("os.exit(%d) in a worker", e.code) }

// exitFrom ends the main script because a worker has called os.exit.
func (in *Interp) exitFrom(code int) { in.ctx.End(&exitError{code}) }

func workerJoin(c *call, w *worker) error {
	timeout, err := c.timeout(1)
	if err != nil {
		return err
	}
	if _, _, err := w.ended.Receive(c.t, timeout); err != nil {
		return err
	}
	w.mu.Lock()
	w.joined = true
	results, err := w.results, w.err
	w.mu.Unlock()
	c.in.forgetWorker(w)
	if err != nil {
		err = c.in.workerFailure(w, err, false)
		if s, ok := err.(*scriptError); ok {
			s.whole = false
			c.in.trails.add(s.value, w.String()+":\n"+s.trace)
		}
		return err
	}
	list, _ := results.value.([]any)
	for _, v := range list { // each by itself: buffers that come twice are two handles
		value, err := c.in.unpack(v)
		if err != nil {
			return err
		}
		c.push(value)
	}
	return nil
}

// workerFailure is the error of w in this machine; told where it is only shown.
func (in *Interp) workerFailure(w *worker, err error, told bool) error {
	switch x := err.(type) {
	case *workerError:
		if w.status() == npu.TaskCancelled {
			break
		}
		u := in.newUnpacker(nil)
		u.told = told
		value := u.unpack(x.value.value)
		if u.err != nil {
			return u.err
		}
		return &scriptError{value: value, in: in, trace: x.trace, whole: true}
	case *npu.Error:
		e := *x
		return &e
	case *npu.PanicError:
		return x
	}
	what := "the worker was cancelled"
	if at := in.sites.text(w.cancelledAt); at != "" {
		what += " at " + at
	}
	return &npu.Error{Code: npu.ErrTaskAbort, Detail: what, Hint: "it has no results; worker.status tells before join"}
}

func workerCancel(c *call, w *worker) error {
	w.mu.Lock()
	if w.cancelledAt == 0 {
		w.cancelledAt = c.site
	}
	w.mu.Unlock()
	w.end()
	return nil
}

// end ends the script; no time passes before it notices.
func (w *worker) end() {
	w.ctx.End(errEnd)
	w.thread.Wake()
}

// finishWorkers waits, at the end of the main script, for the workers that still run. It reports whether
// there were any.
func (in *Interp) finishWorkers() (bool, error) {
	for _, w := range in.allWorkers() {
		if w.status() == npu.TaskRunning {
			_, _, err := w.ended.Receive(in.thread, -1)
			return true, err
		}
	}
	return false, nil
}

// AwaitWorkers waits, once the context of Open has ended, until the workers have, but not longer than d.
func (in *Interp) AwaitWorkers(d time.Duration) {
	over := time.After(d)
	for _, w := range in.allWorkers() {
		select {
		case <-w.gone:
		case <-over:
			return
		}
	}
}

func (in *Interp) allWorkers() []*worker {
	in.workersMu.Lock()
	defer in.workersMu.Unlock()
	return append([]*worker(nil), in.workers...)
}

// endWorkers cancels the workers that still run, and returns when nothing of them is left.
func (in *Interp) endWorkers() {
	for {
		list := slices.DeleteFunc(in.allWorkers(), func(w *worker) bool {
			select {
			case <-w.gone:
				return true
			default:
				return false
			}
		})
		if len(list) == 0 {
			return
		}
		for _, w := range list {
			if w.status() == npu.TaskRunning {
				w.end()
			}
		}
		for _, w := range list { // one may have started another meanwhile
			<-w.gone
		}
	}
}

// othersRun reports whether a worker, or the script that started this one, is there to use what this
// machine uses.
func (in *Interp) othersRun() bool {
	if in.parent != nil {
		return true
	}
	for _, w := range in.allWorkers() {
		if w.status() == npu.TaskRunning {
			return true
		}
	}
	return false
}

// takeFailure is the error of a worker that failed, for the one who is told of it first.
func (w *worker) takeFailure() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.state != npu.TaskFailed || w.joined {
		return nil
	}
	w.joined = true
	return w.err
}

// workerFailures are the errors of workers that failed and were never joined.
func (in *Interp) workerFailures() (list []*taskFailure) {
	for _, w := range in.allWorkers() {
		w.mu.Lock()
		failed, err := w.state == npu.TaskFailed && !w.joined, w.err
		w.mu.Unlock()
		if failed {
			list = append(list, &taskFailure{w, in.workerFailure(w, err, true)})
		}
	}
	return list
}
