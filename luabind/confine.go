package luabind

import (
	"io"
	"os"

	lua "github.com/yuin/gopher-lua"

	"npulua/luabind/lua51"
	"npulua/npu"
)

// openLimits opens the sandbox of opts, or, where there is none, what counts the memory.
func (in *Interp) openLimits(opts *Options) error {
	if opts.Sandbox == nil {
		in.memory = openLedger(nil, nil)
		if in.memory.spare > 0 {
			opts.Session.Memory = limitedMemory{in.memory}
		}
		return nil
	}
	script := opts.Script
	if script == "-" || opts.Embedded {
		script = ""
	}
	p, err := openPolicy(opts.Sandbox, script, func(err error) {
		if tell := opts.Sandbox.OnLimit; tell != nil {
			tell(err)
		}
		in.ctx.End(err)
	})
	if err != nil {
		return err
	}
	in.policy, in.memory = p, p.ledger
	opts.Session.Memory = hostMemory{p.ledger}
	return nil
}

// closeLimits is called when no script runs any more.
func (in *Interp) closeLimits() {
	if in.policy != nil {
		in.policy.close()
		return
	}
	in.memory.close()
}

// confine takes from the libraries of Lua what reaches into other functions, or out of the machine.
func (in *Interp) confine() {
	L := in.L
	in.threads.ConfineDebug()
	// What all strings, and all files, have in common is not the script's to change.
	if mt, ok := lua51.TypeMetatable(L, lua.LString("")); ok {
		mt.RawSetString("__metatable", lua.LString("string"))
	}
	in.io.Protect()
	L.GetGlobal("package").(*lua.LTable).RawSetString("loadlib", L.NewFunction(func(L *lua.LState) int {
		lua51.Raise(L, "%s", errNoLibraries.text)
		return 0
	}))
}

// mayCompile asks for a chunk of n bytes.
func (in *Interp) mayCompile(n int) error {
	if in.policy == nil {
		return nil
	}
	in.threads.Spend(n * compileSteps)
	return checkSource(n)
}

// compileSteps is how many instructions a byte of a chunk counts as when it is compiled.
const compileSteps = 5

const (
	machineBytes = 512 << 10 // what a worker takes before it does anything, about
	machineSteps = 100_000   // instructions that making it counts as
)

// takeMachine asks for a worker: many would be there before the heap shows them.
func (in *Interp) takeMachine() error {
	if in.policy == nil {
		return nil
	}
	in.threads.Spend(machineSteps)
	return hostMemory{in.policy.ledger}.Take(machineBytes)
}

// giveMachine is called when the worker's machine is there.
func (in *Interp) giveMachine() {
	if in.policy != nil {
		hostMemory{in.policy.ledger}.Give(machineBytes)
	}
}

// readLoaded reads a chunk for loadfile, dofile and npu.worker; "-" is standard input.
func (in *Interp) readLoaded(path string) (data []byte, name string, err error) {
	switch {
	case in.policy == nil:
		return readFile(in.ctx, path, in.opts.Stdin)
	case path == "-":
		return readFile(in.ctx, path, io.LimitReader(in.opts.Stdin, maxSource+1))
	}
	f, err := in.policy.OpenFile(path, openNow, 0)
	if err == nil {
		defer f.Close()
		data, err = readChunk(f)
	}
	return lua51.FileSource(data), path, cannotOpen(path, err)
}

// readScript reads a chunk for require and npu.worker, which is a file.
func (in *Interp) readScript(path string) (data []byte, name string, err error) {
	if in.policy == nil {
		data, err = readNamed(in.ctx, path)
		return data, path, err
	}
	data, err = in.policy.readCode(path)
	return lua51.FileSource(data), path, cannotOpen(path, err)
}

// isFile reports whether readScript can read a file.
func (in *Interp) isFile(path string) bool {
	if in.policy != nil {
		return in.policy.isCode(path)
	}
	info, err := os.Stat(path)
	return err == nil && !info.IsDir()
}

// target is the file that a script means to write by path.
func (in *Interp) target(path string) npu.File {
	if in.policy != nil {
		return npu.File{Name: path, FS: in.policy}
	}
	return npu.File{Name: path}
}
