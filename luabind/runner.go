package luabind

import (
	"context"
	"strings"

	lua "github.com/yuin/gopher-lua"
)

// Runner runs whole scripts: those of Interp until they end, those of Evaluator.Runner until a context does.
type Runner struct {
	in   *Interp
	call func(fn lua.LValue, args ...lua.LValue) error
}

// RunString compiles and runs a chunk called name, which may start with =.
func (r Runner) RunString(code, name string) error {
	name = strings.TrimPrefix(name, "=")
	fn, err := r.in.loadShown(r.in.L, []byte(code), "="+name, name)
	return r.run(fn, err)
}

// RunFile runs a script; "-" is standard input. The script's arguments are also its "...".
func (r Runner) RunFile(path string) error {
	data, name, err := readFile(r.in.ctx, path, r.in.opts.Stdin)
	if err != nil {
		return err
	}
	fn, err := r.in.loadFile(r.in.L, data, name)
	return r.run(fn, err)
}

// Require loads a module, as -l does.
func (r Runner) Require(name string) error {
	return r.call(r.in.L.GetGlobal("require"), lua.LString(name))
}

func (r Runner) run(fn lua.LValue, err error) error {
	if err != nil {
		return err
	}
	var args []lua.LValue
	for _, a := range r.in.opts.Args {
		args = append(args, lua.LString(a))
	}
	return r.call(fn, args...)
}

// callMain calls fn in the machine's first task.
func (in *Interp) callMain(fn lua.LValue, args ...lua.LValue) error {
	_, err := in.protected(in.L, fn, args...)
	return err
}

// Runner runs scripts as chunks, which the end of ctx ends as it does in Eval. What they return is not printed.
func (e *Evaluator) Runner(ctx context.Context) Runner {
	return Runner{e.in, func(fn lua.LValue, args ...lua.LValue) error {
		_, err := e.run(ctx, fn, args...)
		if flushErr := e.flush(ctx); err == nil {
			err = flushErr
		}
		return err
	}}
}
