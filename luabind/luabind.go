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
	"io"
	"io/fs"
	"path/filepath"
	"strings"

	lua "github.com/yuin/gopher-lua"

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
	Stdin   io.Reader   // what "-" reads
	Samples fs.FS       // files that scripts read as "sample:NAME"; nil: none
	// Exit ends the process; os.exit calls it after the session is closed. nil: os.exit is an error.
	Exit func(code int)
}

// Interp is one Lua virtual machine with the npu module.
type Interp struct {
	L        *lua.LState
	opts     Options
	session  *npu.Session
	thread   *npu.Thread
	sites    *sites
	calls    []*call
	state    *lua.LState // the one that called us last
	builtins map[string]*npu.Kernel

	errorMeta *lua.LTable
	devices   *binding[*npu.Device]
	contexts  *binding[*npu.Context]
	streams   *binding[*npu.Stream]
	events    *binding[*npu.Event]
	buffers   *binding[*npu.Buffer]
	kernels   *binding[*npu.Kernel]
	args      []npu.Arg // scratch of launches

	cancel   context.CancelCauseFunc
	panicked *npu.PanicError // the defect of ours that ended the script
	exiting  bool            // os.exit was called where the session could not be closed
	exitCode int
}

// Open starts a session and a virtual machine over it.
func Open(ctx context.Context, opts Options) (*Interp, error) {
	in := &Interp{opts: opts, sites: newSites()}
	ctx, in.cancel = context.WithCancelCause(ctx)
	opts.Session.Where = in.sites.text
	session, err := npu.Open(ctx, opts.Session)
	if err != nil {
		in.cancel(nil)
		return nil, err
	}
	in.session, in.thread = session, session.Main()
	in.L = lua.NewState(lua.Options{
		CallStackSize: maxCalls, RegistrySize: firstValues, RegistryMaxSize: maxValues,
		RegistryGrowStep: firstValues, MinimizeStackMemory: true,
	})
	in.L.SetContext(ctx)
	in.state = in.L
	in.errorMeta = in.newErrorMeta()
	in.devices = register(in, deviceClass)
	in.contexts = register(in, contextClass)
	in.streams = register(in, streamClass)
	in.events = register(in, eventClass)
	in.buffers = register(in, bufferClass)
	in.kernels = register(in, kernelClass)
	in.openModule()
	in.openBase()
	in.setArgs()
	return in, nil
}

// Session is the session that the scripts work in.
func (in *Interp) Session() *npu.Session { return in.session }

// Close ends the session as npu.Session.Close does, then the virtual machine.
func (in *Interp) Close(force bool) error {
	if force {
		in.cancel(context.Canceled)
	}
	err := in.session.Close(force)
	in.L.Close()
	in.cancel(nil)
	return err
}

// Place is the text of a place in a script, "script.lua:12".
func (in *Interp) Place(site npu.Site) string { return in.sites.text(site) }

// RunString compiles and runs a chunk called name. A name that starts with = is shown without it.
func (in *Interp) RunString(code, name string) error {
	fn, err := in.load([]byte(code), strings.TrimPrefix(name, "="))
	if err != nil {
		return err
	}
	return in.run(fn)
}

// RunFile runs a script; "-" is standard input. The script's arguments are also its "...".
func (in *Interp) RunFile(path string) error {
	data, name, err := readFile(path, in.opts.Stdin)
	if err != nil {
		return err
	}
	fn, err := in.load(data, name)
	if err != nil {
		return err
	}
	return in.run(fn)
}

// Require loads a module, as -l does.
func (in *Interp) Require(name string) error {
	in.L.Push(in.L.GetGlobal("require"))
	in.L.Push(lua.LString(name))
	return in.protected(in.L, 1, 0)
}

func (in *Interp) run(fn *lua.LFunction) error {
	in.L.Push(fn)
	for _, a := range in.opts.Args {
		in.L.Push(lua.LString(a))
	}
	return in.protected(in.L, len(in.opts.Args), 0)
}

// setArgs sets arg, and where modules are looked for: beside the script, then where Lua does.
func (in *Interp) setArgs() {
	L := in.L
	arg := L.NewTable()
	if in.opts.Script != "" {
		arg.RawSetInt(0, lua.LString(in.opts.Script))
		if pkg, ok := L.GetGlobal("package").(*lua.LTable); ok && in.opts.Script != "-" {
			dir := filepath.Dir(in.opts.Script)
			path := filepath.Join(dir, "?.lua") + ";" + filepath.Join(dir, "?", "init.lua") + ";" + L.GetField(pkg, "path").String()
			pkg.RawSetString("path", lua.LString(path))
		}
	}
	for i, a := range in.opts.Args {
		arg.RawSetInt(i+1, lua.LString(a))
	}
	L.SetGlobal("arg", arg)
}

// abort ends the script because of a defect of ours: its context is cancelled, so that no pcall
// goes on.
func (in *Interp) abort(err *npu.PanicError) {
	in.panicked = err
	in.cancel(err)
}
