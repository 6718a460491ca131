package main

import (
	"fmt"
	"slices"
	"strings"

	"npulua/luabind"
	"npulua/npu"
	"npulua/scripts"
)

// command is a word in the place of a script. A script of that name runs as ./NAME.
type command struct {
	name, usage string
	run         func(p *program, o *options, args []string) int
}

// commands is set in init, because help lists them.
var commands []command

func init() {
	commands = []command{
		{"help", "help [TOPIC]          explain a function, type, kernel or error code", helpCommand},
		{"run", "run [NAME [args]]      run a script that comes with npulua; alone it lists them", runCommand},
		{"serve", "serve SCRIPT [...]    run a script on a schedule, with metrics and a status page over HTTP", serveCommand},
		{"doctor", "doctor [--json]        can NPUs be used here, and if not, why; with --sim the simulator", doctorCommand},
	}
}

func helpCommand(p *program, _ *options, args []string) int {
	if len(args) > 1 {
		return p.usage(fmt.Errorf("help takes one topic, got %d", len(args)))
	}
	text, ok := luabind.Help(strings.Join(args, ""))
	if !ok {
		fmt.Fprintf(p.stderr, "npulua: %s\n  'npulua help' lists the topics\n", text)
		return exitUsage
	}
	fmt.Fprintln(p.stdout, text)
	return exitOK
}

func runCommand(p *program, o *options, args []string) int {
	if len(args) == 0 {
		for _, s := range scripts.List() {
			fmt.Fprintf(p.stdout, "%-16s %s\n", s.Name, s.Summary())
		}
		return exitOK
	}
	name := strings.TrimSuffix(args[0], ".lua")
	s, ok := scripts.Find(name)
	if !ok {
		var names []string
		for _, s := range scripts.List() {
			names = append(names, s.Name)
		}
		return p.usage(fmt.Errorf("no script %q%s ('npulua run' lists them)", name, npu.Suggest(name, names)))
	}
	return p.runScript(o, s, args[1:])
}

// runScript runs a script that comes with npulua. Its help is what it makes itself, which takes no device, or its
// first comment block.
func (p *program) runScript(o *options, s scripts.Script, args []string) int {
	o.args = args
	if end := slices.Index(args, "--"); end >= 0 {
		args = args[:end]
	}
	if slices.Contains(args, "--help") {
		if !s.MakesHelp() {
			fmt.Fprintln(p.stdout, s.Help())
			return exitOK
		}
		o.session.Backend = "sim"
	}
	o.operates = s.MakesHelp()
	return p.execute(o, &source{name: s.Name + ".lua", code: s.Code})
}
