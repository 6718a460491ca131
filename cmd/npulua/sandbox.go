package main

import (
	"errors"
	"fmt"
	"math"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"npulua/luabind"
)

// sandboxOptions are --sandbox and its limits.
type sandboxOptions struct {
	on        bool
	simulated bool // nobody said what is to run the commands
	timed     bool // nobody said how long the script may run
	limits    luabind.Sandbox
}

// Limits of a sandbox where nothing else is said.
const (
	sandboxTime         = time.Minute
	sandboxMemory       = 512 << 20
	sandboxInstructions = 1_000_000_000
	sandboxOutput       = 1 << 30
)

// addSandboxFlags declares the options of o.
func addSandboxFlags(fs *pflag.FlagSet, o *sandboxOptions) {
	o.limits.Memory, o.limits.Instructions, o.limits.Output = sandboxMemory, sandboxInstructions, sandboxOutput
	fs.Var(sandboxFlag{o}, "sandbox", "confine a script from others: no programs, network or environment; no files, or those in DIR, where relative paths start then; ends after 60 s if --timeout does not say else; simulated unless --backend is given")
	fs.Lookup("sandbox").NoOptDefVal = noDir
	fs.Var(sizeFlag{&o.limits.Memory}, "sandbox-memory", "most memory in a sandbox, as in 64M or 2G: Lua values, host buffers, simulated devices; exit status 125 when exceeded")
	fs.Var(countFlag{&o.limits.Instructions}, "sandbox-instructions", "most Lua instructions in a sandbox, of all workers together, as in 1e9; exit status 125")
	fs.Var(sizeFlag{&o.limits.Output}, "sandbox-output", "most that a sandbox writes to files and standard streams; exit status 125")
}

// noDir is what the parser gives where --sandbox has no folder.
const noDir = "\x01"

// sandboxFlag is --sandbox[=DIR].
type sandboxFlag struct{ o *sandboxOptions }

func (f sandboxFlag) Set(s string) error {
	if s == "" {
		return errors.New("want a folder behind =, or no =")
	}
	f.o.on, f.o.limits.Dir = true, s
	if s == noDir {
		f.o.limits.Dir = ""
	}
	return nil
}
func (f sandboxFlag) String() string { return "" }
func (f sandboxFlag) Type() string   { return "DIR" }

// sizeFlag is a number of bytes, with K, M or G behind it for 2^10, 2^20 and 2^30.
type sizeFlag struct{ n *int64 }

func (f sizeFlag) Set(s string) error {
	number, unit := s, 1.0
	for i, name := range []string{"K", "M", "G"} {
		if rest, ok := strings.CutSuffix(s, name); ok {
			number, unit = rest, math.Ldexp(1, 10*(i+1))
		}
	}
	v, err := strconv.ParseFloat(number, 64)
	if v *= unit; err != nil || !(v >= 1) || v > 1<<53 {
		return fmt.Errorf("want bytes above 0, as in 65536, 64M or 2G, got %q", s)
	}
	*f.n = int64(v)
	return nil
}
func (f sizeFlag) String() string {
	for i, unit := range []string{"G", "M", "K"} {
		if n := *f.n >> (10 * (3 - i)); n > 0 && n<<(10*(3-i)) == *f.n {
			return strconv.FormatInt(n, 10) + unit
		}
	}
	return strconv.FormatInt(*f.n, 10)
}
func (f sizeFlag) Type() string { return "SIZE" }

// countFlag is a whole number above 0.
type countFlag struct{ n *int64 }

func (f countFlag) Set(s string) error {
	v, err := strconv.ParseFloat(s, 64)
	if err != nil || !(v >= 1) || v > 1<<53 || v != math.Trunc(v) {
		return fmt.Errorf("want a whole number above 0, as in 1000000 or 1e6, got %q", s)
	}
	*f.n = int64(v)
	return nil
}
func (f countFlag) String() string { return strconv.FormatFloat(float64(*f.n), 'g', -1, 64) }
func (f countFlag) Type() string   { return "COUNT" }

// finishSandbox checks the options that go with --sandbox, and sets what it implies.
func (o *options) finishSandbox(fs *pflag.FlagSet) error {
	if !o.sandbox.on {
		for _, name := range []string{"sandbox-memory", "sandbox-instructions", "sandbox-output"} {
			if fs.Changed(name) {
				return fmt.Errorf("--%s goes with --sandbox", name)
			}
		}
		return nil
	}
	if o.timeout == 0 {
		o.timeout, o.sandbox.timed = sandboxTime, true
	}
	if !fs.Changed("backend") && !fs.Changed("sim") {
		o.session.Backend, o.sandbox.simulated = "sim", true
	}
	return nil
}

// limitHints are options that say more than an error does.
var limitHints = map[string]string{"memory": "--sandbox-memory", "instructions": "--sandbox-instructions", "output": "--sandbox-output"}

// limitHint is the line below the message of a limit.
func limitHint(e *luabind.LimitError) string {
	return "  hint: " + limitHints[e.Kind] + " sets it, where you trust the script with more"
}

// confine makes the sandbox of a run; interrupt ends the scripts.
func (p *program) confine(o *options, interrupt func(cause error, status int)) *luabind.Sandbox {
	if !o.sandbox.on {
		return nil
	}
	limitDescriptors()
	if b := o.session.Backend; p.watcher != nil && (b == "sim" || b == "null") { // a vendor's library takes what it takes
		limitMemory(o.sandbox.limits.Memory)
	}
	s := o.sandbox.limits
	s.OnLimit = func(err error) { interrupt(err, exitLimit) }
	s.Kill = func(err error) {
		fmt.Fprintf(p.stderr, "npulua: %v, ending the process without teardown\n", err)
		os.Exit(exitLimit)
	}
	return &s
}
