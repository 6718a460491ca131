package luabind

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	lua "github.com/yuin/gopher-lua"

	"npulua/internal/printable"
	"npulua/luabind/lua51"
)

// maxOutput is how many bytes of each output of a program are kept, unless a call says otherwise.
const maxOutput, mostOutput = 16 << 20, 1 << 30

var execModule = &module{
	name: "exec",
	text: "Programs, without a shell: arguments reach the program as they are. A program gets no device that npulua has opened, and no input but `stdin`. " +
		"It runs in a process group of its own, which is killed when its time is over, and when the script, its task or Ctrl-C ends the wait. " +
		"In real time other tasks go on meanwhile; virtual time stands still until the program has ended, and no other task of the script runs.",
	functions: []function{
		{"run", doc{"(arguments [, options])", "table", "Runs a program to its end. `arguments` is a list: the program, a name that is looked for in PATH or a path, and its arguments. " +
			"The table has `status` (what the program gave to exit; nil where a signal ended it), `signal` (\"SIGKILL\"; else nil), `ok` (whether the status is 0), `timed_out` (its time was over, and it was killed), " +
			"`stdout`, `stderr`, `truncated` (there was more output than is kept), and `duration` (seconds of real time).",
			"a program that cannot be found or started; with `check` also one that fails, with the last lines of its standard error", `local r = require("exec").run({"uname", "-r"}, {timeout = 5})`},
			[]option{
				{"timeout", "seconds after which the program and its group are killed; none", anything},
				{"stdin", "text that the program reads; none", anything},
				{"cwd", "directory in which it runs; that of npulua", aFile},
				{"env", "table of environment variables that it gets besides those of npulua; `false` takes one away", anything},
				{"check", "true: a status other than 0, a signal, and a timeout are errors; false", aBoolean},
				{"max_output", "how many bytes are kept of each output, the first ones; 16 MiB", anything},
			}, execRun},
		{"find", doc{"(name)", "string", "The path of the program that `exec.run` would start: `name` is looked for in PATH, or is a path. nil where there is none.", "", `if require("exec").find("npu-smi") then print("found") end`}, nil, execFind},
	},
}

// findProgram is the absolute path of a program. A name with a slash counts from the directory of npulua.
func findProgram(name string) (string, error) {
	path, err := exec.LookPath(name)
	if err != nil && !errors.Is(err, exec.ErrDot) {
		return "", err
	}
	return filepath.Abs(path)
}

func execFind(c *call) error {
	name, err := c.string(1, "name")
	if err != nil {
		return err
	}
	if path, err := findProgram(name); err == nil {
		c.push(lua.LString(path))
		return nil
	}
	c.push(lua.LNil)
	return nil
}

func execRun(c *call) error {
	args, err := c.programArgs()
	if err != nil {
		return err
	}
	p, check, err := c.programOptions()
	if err != nil {
		return err
	}
	name := args[0]
	if p.Path, err = findProgram(name); err != nil {
		return c.errorf("%s", notFound(name, err))
	}
	p.Args = args[1:]
	if info, err := os.Stat(cmp.Or(p.Dir, ".")); err != nil || !info.IsDir() {
		return c.errorf("cwd: %s", fileReason(p.Dir, cmp.Or(err, error(syscall.ENOTDIR))))
	}
	var end lua51.ProgramEnd
	err = c.t.Outside("the program "+shortened(oneLine(name)), func(ctx context.Context) (err error) {
		end, err = c.in.std.RunProgram(ctx, p)
		return err
	})
	var unkillable lua51.UnkillableError
	switch number := syscall.Errno(0); {
	case errors.As(err, &unkillable):
		return c.errorf("%q: %v", name, err)
	case errors.As(err, &number):
		return c.errorf("%q cannot be started: %s", name, startReason(number))
	case err != nil:
		return err
	}
	if check {
		if text := programFailure(args, p, end); text != "" {
			return c.errorf("%s", text)
		}
	}
	t := c.in.record("stdout", string(end.Stdout), "stderr", string(end.Stderr), "truncated", end.Cut, "timed_out", end.TimedOut,
		"ok", end.Status == 0 && end.Signal == "", "duration", end.Duration.Seconds())
	if end.Signal == "" {
		t.RawSetString("status", lua.LNumber(end.Status))
	} else {
		t.RawSetString("signal", lua.LString(end.Signal))
	}
	c.push(t)
	return nil
}

// programArgs reads the list of the program and its arguments.
func (c *call) programArgs() ([]string, error) {
	t, ok := c.arg(1).(*lua.LTable)
	if !ok {
		return nil, c.wrongType(1, "arguments", "a list such as {\"npu-smi\", \"info\"}")
	}
	var bad error
	count := 0
	t.ForEach(func(k, _ lua.LValue) {
		if _, ok := k.(lua.LNumber); !ok && bad == nil {
			bad = c.errorf("the list of arguments has the key %s: options are a table of their own, after it", describe(k))
		}
		count++
	})
	if bad != nil {
		return nil, bad
	}
	args := make([]string, count)
	for i := range args {
		v := t.RawGetInt(i + 1)
		text, ok := lua51.Text(v)
		switch {
		case !ok:
			return nil, c.errorf("item %d of the list of arguments must be a string or a number, got %s", i+1, typeName(v))
		case strings.ContainsRune(text, 0):
			return nil, c.errorf("item %d of the list of arguments has a zero byte, which no argument can have", i+1)
		}
		args[i] = text
	}
	if count == 0 || args[0] == "" {
		return nil, c.errorf("the list of arguments has no program")
	}
	return args, nil
}

func (c *call) programOptions() (p lua51.Program, check bool, err error) {
	o, err := c.table(2)
	if err != nil {
		return p, false, err
	}
	if check, err = o.bool("check", false); err != nil {
		return p, false, err
	}
	if p.Timeout, err = o.positiveSeconds("timeout", 0); err != nil {
		return p, false, err
	}
	if p.Stdin, err = o.string("stdin"); err != nil {
		return p, false, err
	}
	if p.Dir, err = o.string("cwd"); err != nil {
		return p, false, err
	}
	limit, err := o.int("max_output", maxOutput)
	if err == nil && (limit < 0 || limit > mostOutput) {
		err = c.errorf("option \"max_output\" must be 0 to %d, got %d", mostOutput, limit)
	}
	if err != nil {
		return p, false, err
	}
	p.Limit = int(limit)
	p.Env, err = o.environment("env")
	return p, check, err
}

// positiveSeconds is an option in seconds, more than 0.
func (o opts) positiveSeconds(name string, otherwise time.Duration) (time.Duration, error) {
	v := o.get(name)
	if v == lua.LNil {
		return otherwise, nil
	}
	n, ok := v.(lua.LNumber)
	if !ok {
		return 0, o.wrongType(name, "a number of seconds", v)
	}
	d, err := o.c.seconds(fmt.Sprintf("option %q", name), float64(n))
	if err == nil && d == 0 {
		err = o.c.errorf("option %q must be more than 0 s", name)
	}
	return d, err
}

// environment is that of npulua with the changes of an option.
func (o opts) environment(name string) ([]string, error) {
	env := os.Environ()
	v := o.get(name)
	if v == lua.LNil {
		return env, nil
	}
	t, ok := v.(*lua.LTable)
	if !ok {
		return nil, o.wrongType(name, "a table", v)
	}
	var bad error
	t.ForEach(func(k, v lua.LValue) {
		key, ok := k.(lua.LString)
		value, isText := lua51.Text(v)
		switch {
		case bad != nil:
		case !ok || key == "" || strings.ContainsAny(string(key), "=\x00"):
			bad = o.c.errorf("option %q: %s is no name of a variable", name, describe(k))
		case v == lua.LFalse:
			env = append(env, string(key)+"\x00") // marks it
		case !isText || strings.ContainsRune(value, 0):
			bad = o.c.errorf("option %q: %s must be a string without zero bytes, a number or false, got %s", name, key, typeName(v))
		default:
			env = append(env, string(key)+"="+value)
		}
	})
	if bad != nil {
		return nil, bad
	}
	return withoutMarked(env), nil
}

// withoutMarked takes the variables out of env whose names stand there with a zero byte.
func withoutMarked(env []string) []string {
	gone := make(map[string]bool)
	for _, v := range env {
		if name, ok := strings.CutSuffix(v, "\x00"); ok {
			gone[name] = true
		}
	}
	kept := env[:0]
	for _, v := range env {
		if name, _, ok := strings.Cut(v, "="); ok && !gone[name] {
			kept = append(kept, v)
		}
	}
	return kept
}

// notFound says that there is no program called name.
func notFound(name string, err error) string {
	if strings.ContainsRune(name, '/') {
		if errors.Is(err, os.ErrNotExist) || errors.Is(err, exec.ErrNotFound) {
			return fmt.Sprintf("program %q does not exist", name)
		}
		return fmt.Sprintf("program %q cannot be run: no permission, or it is a directory", name)
	}
	return fmt.Sprintf("program %q was not found in PATH (%s)", name, os.Getenv("PATH"))
}

func startReason(number syscall.Errno) string {
	switch number {
	case syscall.ENOEXEC:
		return "it is no program for this machine, and does not begin with #!"
	case syscall.E2BIG:
		return "its arguments and environment are too long"
	case syscall.ENOENT:
		return "it, or the interpreter that it needs, does not exist"
	}
	return plainErrno(number)
}

// programFailure says how a program has failed; "" where it has not.
func programFailure(args []string, p lua51.Program, end lua51.ProgramEnd) string {
	var what string
	switch {
	case end.TimedOut:
		what = fmt.Sprintf("did not end within %v, and was killed", p.Timeout)
	case end.Signal != "":
		what = "was ended by " + end.Signal
	case end.Status != 0:
		what = fmt.Sprintf("ended with status %d", end.Status)
	default:
		return ""
	}
	command := []rune(strings.Join(args, " "))
	if len(command) > 80 {
		command = append(command[:77], []rune("...")...)
	}
	text := fmt.Sprintf("%q %s", string(command), what)
	if lines := lastLines(string(end.Tail), 5); lines != "" {
		text += ":\n  " + strings.ReplaceAll(printable.Text(lines), "\n", "\n  ")
	}
	return text
}

// lastLines is the last lines of text, without the end of the last one.
func lastLines(text string, most int) string {
	lines := strings.Split(strings.TrimRight(text, " \t\r\n"), "\n")
	return strings.Join(lines[max(0, len(lines)-most):], "\n")
}
