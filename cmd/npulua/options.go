package main

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"npulua/luabind/quantity"
	"npulua/npu"
)

// options is the command line.
type options struct {
	operates bool    // the script comes with npulua, and checks or measures devices: exitNotChecked where it could not
	chunks   []chunk // -e and -l, in order
	args     []string
	given    []string // the options themselves, as they stand on the command line
	report   string
	session  npu.Options
	leaks    bool
	timeout  time.Duration // 0: none
	version  bool
	help     bool

	interactive bool
	sandbox     sandboxOptions
	reportRoot  *os.Root // of report, from the begin of the script on
}

// chunk is code to run, or a module to load, before the script.
type chunk struct {
	text   string
	module bool
}

// chunkFlag collects -e and -l in the order in which they were given.
type chunkFlag struct {
	o      *options
	module bool
}

func (f chunkFlag) Set(s string) error {
	f.o.chunks = append(f.o.chunks, chunk{s, f.module})
	return nil
}
func (f chunkFlag) String() string { return "" }
func (f chunkFlag) Type() string {
	if f.module {
		return "MODULE"
	}
	return "CODE"
}

// timeFlag is a time above zero: a number of seconds, or a duration such as 1m30s.
type timeFlag struct {
	d     *time.Duration
	least time.Duration // 0: any above 0
}

// longestTime is the longest that options mean, in seconds: about 31 years.
const longestTime = 1e9

func (f timeFlag) Set(s string) error {
	v, err := quantity.ParseSeconds(s)
	if err != nil || !(v > 0) || v < f.least.Seconds() {
		least := "above 0"
		if f.least > 0 {
			least = "of " + quantity.Duration(f.least.Seconds()) + " or more"
		}
		return fmt.Errorf("want a time %s, such as 90, 500ms or 1m30s, got %q", least, s)
	}
	*f.d = max(time.Duration(min(v, longestTime)*float64(time.Second)), 1)
	return nil
}
func (f timeFlag) String() string {
	if *f.d == 0 {
		return ""
	}
	return quantity.ExactDuration(f.d.Seconds())
}
func (f timeFlag) Type() string { return "TIME" }

// choiceFlag is one word of a list.
type choiceFlag struct {
	to    *string
	words []string
}

func (f choiceFlag) Set(s string) error {
	for _, w := range f.words {
		if w == s {
			*f.to = s
			return nil
		}
	}
	return fmt.Errorf("want %s, got %q%s", strings.Join(f.words, ", "), s, npu.Suggest(s, f.words))
}
func (f choiceFlag) String() string { return *f.to }
func (f choiceFlag) Type() string   { return strings.Join(f.words, "|") }

func newFlags(o *options) *pflag.FlagSet {
	fs := pflag.NewFlagSet("npulua", pflag.ContinueOnError)
	fs.SetInterspersed(false)
	fs.SortFlags = false
	fs.Usage = func() {}
	fs.VarP(chunkFlag{o, false}, "execute", "e", "run CODE before the script, or instead of one")
	fs.VarP(chunkFlag{o, true}, "require", "l", "load MODULE before the script")
	fs.BoolVarP(&o.interactive, "interactive", "i", false, "read chunks after the script; without a script a terminal does so anyway")
	fs.BoolVarP(&o.version, "version", "v", false, "show the version")
	fs.BoolVarP(&o.help, "help", "h", false, "show this text")
	o.session.Backend = "auto"
	fs.Var(choiceFlag{&o.session.Backend, npu.BackendNames()}, "backend", "what runs the commands; null does nothing, to measure the way down")
	fs.Var(textFlag{&o.session.Sim, "PROFILE[:COUNT]"}, "sim", "simulate this part: 310p, 910b, 910_93 or a .json file, and how many, as in 310p:4")
	fs.Var(faultFlag{&o.session.Faults}, "fault", "let something go wrong on the simulator, as in op=copy,device=0,nth=3,code=507054 or device=1,lost; may be repeated")
	fs.Var(scenarioFlag{&o.session.Faults}, "scenario", "the faults of a scenario that comes with npulua (lost_device, slow_link, ...) or of a .json file")
	clock := "virtual"
	fs.Var(clockFlag{&o.session.Wall, &clock}, "clock", "time of the simulator: virtual jumps to the next event, wall keeps real time")
	fs.BoolVar(&o.session.Blocking, "blocking", false, "wait after every queued command, so that errors are raised at the call (also ASCEND_LAUNCH_BLOCKING=1)")
	fs.BoolVar(&o.leaks, "leaks", false, "list at the end the handles that were never closed")
	fs.Var(textFlag{&o.report, "DIR"}, "report", "write what ran, metrics (metrics.prom), checks and a picture of the streams into files in DIR at the end")
	fs.Var(timeFlag{d: &o.timeout}, "timeout", "end the script after TIME, as in 90 (seconds), 500ms or 1m30s, with exit status 124; chunks that are typed have no such end")
	addSandboxFlags(fs, &o.sandbox)
	return fs
}

// textFlag is any text; name stands for it in the help.
type textFlag struct {
	to   *string
	name string
}

func (f textFlag) Set(s string) error {
	*f.to = s
	return nil
}
func (f textFlag) String() string { return *f.to }
func (f textFlag) Type() string   { return f.name }

// clockFlag sets whether time is real.
type clockFlag struct {
	wall *bool
	name *string
}

func (f clockFlag) Set(s string) error {
	if err := (choiceFlag{f.name, []string{"virtual", "wall"}}).Set(s); err != nil {
		return err
	}
	*f.wall = s == "wall"
	return nil
}
func (f clockFlag) String() string { return *f.name }
func (f clockFlag) Type() string   { return "virtual|wall" }

func parseOptions(args []string) (*options, error) {
	o := new(options)
	fs := newFlags(o)
	if err := fs.Parse(args); err != nil {
		return nil, flagError(fs, err)
	}
	o.args = fs.Args()
	if fs.Changed("report") {
		if st, err := os.Stat(o.report); err != nil || !st.IsDir() {
			return nil, fmt.Errorf("--report: %q is no folder", o.report)
		}
		o.session.History = true
	}
	for _, name := range []string{"sim", "fault", "scenario"} {
		if !fs.Changed(name) {
			continue
		}
		switch o.session.Backend {
		case "auto":
			o.session.Backend = "sim"
		case "sim":
		default:
			return nil, fmt.Errorf("--%s goes with the simulator, not with --backend=%s", name, o.session.Backend)
		}
	}
	if err := o.finishSandbox(fs); err != nil {
		return nil, err
	}
	if os.Getenv("ASCEND_LAUNCH_BLOCKING") == "1" {
		o.session.Blocking = true
	}
	return o, nil
}

// flagError writes the parser's errors shorter, and adds the nearest option to an unknown one.
func flagError(fs *pflag.FlagSet, err error) error {
	var bad *pflag.InvalidValueError
	if errors.As(err, &bad) {
		return fmt.Errorf("--%s: %w", bad.GetFlag().Name, bad.Unwrap())
	}
	name, ok := strings.CutPrefix(err.Error(), "unknown flag: --")
	if !ok {
		return err
	}
	var names []string
	fs.VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
	return fmt.Errorf("unknown option --%s%s", name, npu.Suggest(name, names))
}

func helpText() string {
	var b strings.Builder
	b.WriteString("npulua runs Lua scripts that drive NPUs.\n\nUsage:\n  npulua [options] [script [args]]\n")
	for _, c := range commands {
		fmt.Fprintf(&b, "  npulua %s\n", c.usage)
	}
	b.WriteString("\nWithout a script a terminal gives an interactive session; else the program is read from standard input,\nas - does by name.\n\nOptions:\n")
	const choice = "[=true|false]" // nobody writes it
	flags := strings.ReplaceAll(newFlags(new(options)).FlagUsagesWrapped(100), choice, strings.Repeat(" ", len(choice)))
	b.WriteString(strings.Replace(flags, " DIR[="+noDir+"]", "[=DIR]  ", 1))
	b.WriteString("\nExit status: 0 success, 1 error, 2 usage, 3 a check failed, 4 a check could not run, 70 defect of npulua,\n71 no memory left, 124 timeout, 125 a limit of the sandbox, 129 hangup, 130 interrupted, 141 nobody reads standard output, 143 terminated,\nor what os.exit says.\n")
	return b.String()
}
