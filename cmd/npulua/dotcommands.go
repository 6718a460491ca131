package main

import (
	"context"
	"fmt"
	"strings"
	"text/tabwriter"

	"npulua/npu"
)

// dotCommand is a line of the interactive mode that is no Lua. Arguments in brackets may be left out; CODE may have
// several lines.
type dotCommand struct {
	name, args, text string
	run              func(s *interactive, ctx context.Context, arg string) error
}

// dotCommands is set in init, because .help lists them.
var dotCommands []dotCommand

// usage is the command with its arguments.
func (c dotCommand) usage() string { return strings.TrimSpace(c.name + " " + c.args) }

func init() {
	dotCommands = []dotCommand{
		{".help", "[COMMAND]", "this list, or what COMMAND does; help() explains the rest", dotHelp},
		{".load", "FILE", "run a script in this session", dotLoad},
		{".save", "FILE", "write the chunks that ran without an error to a script", dotSave},
		{".save!", "FILE", "the same, in the place of a file that is there already", dotSaveOver},
		{".time", "CODE", "run CODE, and say how long host and backend took", dotTime},
		{".bench", "CODE", "run CODE again and again, and say how long one run takes", dotBench},
		{".devices", "", "the devices, and how much of their memory is used", dotDevices},
		{".streams", "", "the open streams, and what each is at", dotStreams},
		{".memory", "", "how much memory is used, and where buffers were made", dotMemory},
		{".trace", "[on|off|show]", "draw what streams did in the last chunk; on: after each", dotTrace},
		{".reset", "", "close everything and begin with a fresh session", dotReset},
		{".edit", "", "write a chunk in $VISUAL or $EDITOR, from the last one on", dotEdit},
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

// otherNames are what commands like ours are called elsewhere.
var otherNames = map[string]string{
	".exit": ".quit", ".bye": ".quit", ".read": ".load", ".run": ".load", ".write": ".save", ".clear": ".reset", ".editor": ".edit",
}

// findCommand finds a command by its name; an error says what was probably meant.
func findCommand(name string) (dotCommand, error) {
	var names, longer []string
	for _, c := range dotCommands {
		if c.name == name {
			return c, nil
		}
		names = append(names, c.name)
		if strings.HasPrefix(c.name, name) {
			longer = append(longer, c.name)
		}
	}
	meant, hint := otherNames[name], "; .help lists what there is"
	if meant == "" && len(longer) == 1 {
		meant = longer[0]
	}
	if meant != "" {
		hint = fmt.Sprintf(", did you mean %q?", meant)
	} else if near := npu.Suggest(name, names); near != "" {
		hint = near
	}
	return dotCommand{}, fmt.Errorf("no command %q%s", name, hint)
}

// Command implements repl.Evaluator.
func (s *interactive) Command(ctx context.Context, line string) (bool, error) {
	s.fit()
	name, arg := splitCommand(line)
	if about, ok := strings.CutSuffix(name, "?"); ok && arg == "" { // as in "name?"
		name, arg = ".help", strings.TrimPrefix(about, ".")
	}
	c, err := findCommand(name)
	switch {
	case err != nil:
		return true, err
	case arg == "" && c.args != "" && c.args[0] != '[':
		return true, fmt.Errorf("usage: %s %s", c.name, c.args)
	case arg != "" && c.args == "":
		return true, fmt.Errorf("%s takes no argument", c.name)
	}
	return true, c.run(s, ctx, arg)
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

func dotHelp(s *interactive, _ context.Context, about string) error {
	if about != "" {
		c, err := findCommand("." + strings.TrimPrefix(about, "."))
		if err != nil {
			return fmt.Errorf("%w; help() explains what is no command", err)
		}
		_, err = fmt.Fprintf(s.out, "%s  %s\n", c.usage(), c.text)
		return err
	}
	w := tabwriter.NewWriter(s.out, 0, 0, 2, ' ', 0)
	for _, c := range dotCommands {
		fmt.Fprintf(w, "%s\t%s\n", c.usage(), c.text)
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

func dotQuit(*interactive, context.Context, string) error { return exit{exitOK} }
