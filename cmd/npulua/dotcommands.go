package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"text/tabwriter"
	"time"

	"npulua/luabind"
	"npulua/npu"
	"npulua/repl"
)

// dotCommand is a line of the interactive mode that is no Lua.
type dotCommand struct {
	name, args, text string
	run              func(s *interactive, ctx context.Context, arg string) error
}

// dotCommands is set in init, because .help lists them.
var dotCommands []dotCommand

func init() {
	dotCommands = []dotCommand{
		{".help", "", "this list; help() explains functions, types, kernels and error codes", dotHelp},
		{".load", "FILE", "run a script in this session", dotLoad},
		{".save", "FILE", "write the chunks that ran without an error to a script", dotSave},
		{".time", "CODE", "run CODE and say how long it took: on the host, and on the backend's clock", dotTime},
		{".bench", "CODE", "run CODE again and again, and say how long one run takes", dotBench},
		{".devices", "", "the devices, and how much of their memory is used", dotDevices},
		{".streams", "", "the open streams, and what each is at", dotStreams},
		{".memory", "", "the open buffers and other handles, and where each was made", dotMemory},
		{".trace", "on|off|show", "draw what the streams did in the last chunk; on does so after each", dotTrace},
		{".reset", "", "close everything and begin with a fresh session", dotReset},
		{".edit", "", "write a chunk in $VISUAL or $EDITOR, beginning with the last one", dotEdit},
		{".quit", "", "leave", dotQuit},
	}
}

// splitCommand splits a line into the name of a command and its argument.
func splitCommand(line string) (name, arg string) {
	line = strings.TrimSpace(line)
	if i := strings.IndexAny(line, " \t\n"); i >= 0 {
		return line[:i], strings.TrimSpace(line[i:])
	}
	return line, ""
}

// Complete implements repl.Evaluator: names of commands, their files, words and code, and else Lua.
func (s *interactive) Complete(text string, pos int) (start int, candidates []string) {
	begin := len(text) - len(strings.TrimLeft(text, " \t"))
	if begin >= pos || text[begin] != '.' {
		return s.Evaluator.Complete(text, pos)
	}
	name, arg := text[begin:pos], pos
	if i := strings.IndexAny(name, " \t\n"); i >= 0 {
		name, arg = name[:i], begin+i+1
		for arg < pos && (text[arg] == ' ' || text[arg] == '\t') {
			arg++
		}
	}
	typed := text[arg:pos]
	var words []string
	switch {
	case arg == pos && begin+len(name) == pos:
		start, typed = begin, name
		for _, c := range dotCommands {
			words = append(words, c.name)
		}
	case name == ".load", name == ".save":
		path := withHome(typed)
		from, names := luabind.CompletePath(path)
		if from -= len(path) - len(typed); from < 0 {
			return pos, nil // a "~" alone
		}
		return arg + from, names
	case name == ".trace":
		start, words = arg, []string{"off", "on", "show"}
	case name == ".time", name == ".bench":
		start, candidates = s.Evaluator.Complete(text[arg:], pos-arg)
		return arg + start, candidates
	default:
		return pos, nil
	}
	for _, w := range words {
		if strings.HasPrefix(w, typed) {
			candidates = append(candidates, w)
		}
	}
	return start, candidates
}

// Command implements repl.Evaluator.
func (s *interactive) Command(ctx context.Context, line string) (bool, error) {
	s.fit()
	name, arg := splitCommand(line)
	var names []string
	for _, c := range dotCommands {
		if c.name != name {
			names = append(names, c.name)
			continue
		}
		switch {
		case arg == "" && c.args != "" && name != ".trace":
			return true, fmt.Errorf("usage: %s %s", c.name, c.args)
		case arg != "" && c.args == "":
			return true, fmt.Errorf("%s takes no argument", c.name)
		}
		return true, c.run(s, ctx, arg)
	}
	if hint := npu.Suggest(name, names); hint != "" {
		return true, fmt.Errorf("no command %q%s", name, hint)
	}
	return false, nil
}

// Incomplete implements repl.Evaluator: of the commands those that take code go on.
func (s *interactive) Incomplete(chunk string) bool {
	name, arg := splitCommand(chunk)
	for _, c := range dotCommands {
		if c.name == name {
			return c.args == "CODE" && s.Evaluator.Incomplete(arg)
		}
	}
	return s.Evaluator.Incomplete(chunk)
}

func dotHelp(s *interactive, _ context.Context, _ string) error {
	w := tabwriter.NewWriter(s.out, 0, 0, 2, ' ', 0)
	for _, c := range dotCommands {
		fmt.Fprintf(w, "%s\t%s\n", strings.TrimSpace(c.name+" "+c.args), c.text)
	}
	fmt.Fprintf(w, "\t\n")
	fmt.Fprintf(w, "expression\tits values are printed; _ is the first of the last ones\n")
	fmt.Fprintf(w, "name?\twhat help knows of it, as in npu.device?\n")
	fmt.Fprintf(w, "Tab\tcompletes names, options, kernels and files\n")
	fmt.Fprintf(w, "Ctrl-R\tsearches the history\n")
	fmt.Fprintf(w, "Ctrl-C\tdrops what is typed, or ends what runs\n")
	fmt.Fprintf(w, "Ctrl-D\tleaves\n")
	return w.Flush()
}

// fileName is the file that people mean by an argument: it may stand in quotes, and begin with ~.
func fileName(arg string) string {
	if n := len(arg); n > 1 && (arg[0] == '"' || arg[0] == '\'') && arg[n-1] == arg[0] {
		return arg[1 : n-1]
	}
	return withHome(arg)
}

// withHome replaces the ~ that path begins with.
func withHome(path string) string {
	rest, ok := strings.CutPrefix(path, "~")
	if home, err := os.UserHomeDir(); ok && err == nil && (rest == "" || rest[0] == '/') {
		return home + rest
	}
	return path
}

func dotLoad(s *interactive, ctx context.Context, arg string) error {
	file := fileName(arg)
	return s.run(func() error { return s.Runner(ctx).RunFile(file) }, fmt.Sprintf("dofile(%q)", file))
}

func dotSave(s *interactive, _ context.Context, arg string) error {
	file := fileName(arg)
	var code strings.Builder
	n := 0
	for _, chunk := range s.chunks {
		if text := s.statement(chunk); text != "" {
			code.WriteString(text + "\n")
			n++
		}
	}
	if n == 0 {
		return errors.New("nothing has run yet")
	}
	if err := os.WriteFile(file, []byte(code.String()), 0o666); err != nil {
		return fmt.Errorf("cannot write %s: %w", file, errors.Unwrap(err))
	}
	fmt.Fprintf(s.out, "%d chunks in %s\n", n, file)
	return nil
}

// statement is chunk as it can stand in a script: an expression sets _, as it did here; "" for a question to
// help.
func (s *interactive) statement(chunk string) string {
	if s.compiles("do " + chunk + "\nend") {
		return chunk
	}
	text := "_ = " + strings.TrimPrefix(strings.TrimSpace(chunk), "=")
	if s.compiles("do " + text + "\nend") {
		return text
	}
	return ""
}

func (s *interactive) compiles(code string) bool {
	_, err := s.Prepare(code)
	return err == nil
}

// timed calls run and returns what it took of the host's time and of the backend's.
func (s *interactive) timed(run func() error) (host, device time.Duration, err error) {
	before, begin := s.Now(), time.Now()
	err = run()
	return time.Since(begin), s.Now() - before, err
}

// clock names the time of the backend.
func (s *interactive) clock() string {
	if s.in.Session().Info().Simulated {
		return "virtual"
	}
	return "device"
}

func dotTime(s *interactive, ctx context.Context, code string) error {
	host, device, err := s.timed(func() error { return s.Eval(ctx, code) })
	if err == nil {
		fmt.Fprintf(s.out, "%v on the host, %v %s\n", rounded(host), rounded(device), s.clock())
	}
	return err
}

// benchTime is how long .bench measures.
const benchTime = 300 * time.Millisecond

func dotBench(s *interactive, ctx context.Context, code string) error {
	run, err := s.Prepare(code)
	if err != nil {
		return err
	}
	runs := 0
	host, device, err := s.timed(func() error {
		for end := time.Now().Add(benchTime); time.Now().Before(end); runs++ {
			if err := run(ctx); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	n := time.Duration(runs)
	fmt.Fprintf(s.out, "%d runs: %v each on the host, %v %s\n", runs, rounded(host/n), rounded(device/n), s.clock())
	return nil
}

// rounded is d with four digits.
func rounded(d time.Duration) time.Duration {
	for unit := time.Duration(1); ; unit *= 10 {
		if d < 10000*unit {
			return d.Round(unit)
		}
	}
}

func dotDevices(s *interactive, _ context.Context, _ string) error { return s.show(s.Devices()) }
func dotStreams(s *interactive, _ context.Context, _ string) error { return s.show(s.Streams()) }
func dotMemory(s *interactive, _ context.Context, _ string) error  { return s.show(s.Memory()) }

// show prints text.
func (s *interactive) show(text string) error {
	_, err := fmt.Fprintln(s.out, strings.TrimRight(text, "\n"))
	return err
}

func dotTrace(s *interactive, _ context.Context, arg string) error {
	switch arg {
	case "on", "off":
		s.traces = arg == "on"
	case "show", "":
		s.showTrace()
	default:
		return fmt.Errorf("usage: .trace on|off|show, got %q", arg)
	}
	return nil
}

// showTrace draws what the streams have done since the last chunk began.
func (s *interactive) showTrace() { _ = s.show(s.Timeline(s.last, s.width())) }

func dotReset(s *interactive, _ context.Context, _ string) error {
	err := s.in.Close(true)
	in, openErr := s.open()
	if openErr != nil {
		return fmt.Errorf("%w; leave with .quit", openErr)
	}
	s.use(in)
	s.last = 0
	if err == nil {
		fmt.Fprintln(s.out, "a fresh session")
	}
	return err
}

func dotEdit(s *interactive, ctx context.Context, _ string) error {
	f, err := os.CreateTemp("", "npulua-*.lua")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	if n := len(s.chunks); n > 0 {
		fmt.Fprintln(f, s.chunks[n-1])
	}
	if err := f.Close(); err != nil {
		return err
	}
	editor := "vi"
	for _, name := range []string{"EDITOR", "VISUAL"} {
		if e := strings.TrimSpace(os.Getenv(name)); e != "" {
			editor = e
		}
	}
	// As others run it: $EDITOR may have options and quotes.
	cmd := exec.CommandContext(ctx, "sh", "-c", editor+` "$@"`, editor, f.Name())
	cmd.Stdin, cmd.Stdout, cmd.Stderr = s.p.stdin, s.p.stdout, s.p.stderr
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("%s: %w", editor, err)
	}
	code, err := os.ReadFile(f.Name())
	if err != nil || strings.TrimSpace(string(code)) == "" {
		return err
	}
	return repl.Entry(strings.TrimRight(string(code), "\n"))
}

func dotQuit(*interactive, context.Context, string) error { return exit{exitOK} }
