package luabind

import (
	"context"
	"errors"
	"path/filepath"
	"strings"

	lua "github.com/yuin/gopher-lua"

	"npulua/internal/printable"
	"npulua/luabind/cmdline"
)

var specOptions = []option{
	{"name", "what messages and help call the script; its file name without .lua", anything},
	{"summary", "one line of what it does", anything},
	{"text", "paragraphs for the help, with empty lines between them; lines that begin with a blank stay as they are", anything},
	{"options", "a list of `{\"name\", \"VALUE\", \"help\", ...}`, or `{\"name\", \"help\", ...}` for a flag, which has no value. Keys of it: `type` (`string`; `integer`, `number`; `seconds`: \"90\", \"1m30s\"; `bytes`: \"64K\" is 65,536, \"64KB\" 64,000; `devices`: \"all\", \"0,2-3\", a list of ids, whether there are such devices or not; `file`: a name), `default`, `min`, `max`, `choices` (a list), `short` (a letter), `many = true` (may be repeated: a list, of a flag the count), `required = true`", anything},
	{"positional", "a list of `{\"name\", \"help\", ...}` for arguments without a name, with the same keys but for `short` and `required`: they must be there unless `optional = true`", anything},
}

var argsModule = &module{
	name: "args",
	text: "Command lines of scripts: options are declared once, in rows, and make the help. Users write `--name value`, `--name=value`, `-n value`, `-n5`, `-abc` for three flags, and `--` before arguments that begin with a dash. " +
		"`--help` prints the help and ends the script with status 0; a mistake of the user goes to standard error and ends it with status 2, after the session is closed, as `os.exit` does. " +
		"Lists of declarations may hold lists of declarations, so that a module can offer some.",
	functions: []function{
		{"parse", doc{"(spec [, list])", "table", "The values of a command line by name, with `_` for `-`: a flag is true or false, numbers, times (in seconds) and sizes (in bytes) are numbers. What was left out and has no default is nil, with `many` an empty list. `list` has the words; left out they are those of the global `arg`. It ends the script where it prints help or a user's mistake.",
			"declarations that cannot be meant", "local args = require \"args\"\nlocal opt = args.parse({options = {\n  {\"device\", \"LIST\", \"devices to check\", type = \"devices\", default = \"all\"},\n  {\"repeat\", \"N\", \"copies of each size\", type = \"integer\", min = 1, default = 5},\n  {\"json\", \"print JSON\"},\n}}, {\"--repeat\", \"3\"})\nprint(opt[\"repeat\"], opt.json, #opt.device)"}, specOptions, argsParse},
		{"help", doc{"(spec)", "string", "The text of `--help`.", "declarations that cannot be meant", `io.write(args.help{name = "health", summary = "check devices", options = {{"json", "print JSON"}}})`}, specOptions, argsHelp},
	},
}

func argsHelp(c *call) error {
	spec, err := c.spec()
	if err == nil {
		c.push(lua.LString(spec.Help()))
	}
	return err
}

func argsParse(c *call) error {
	spec, err := c.spec()
	if err != nil {
		return err
	}
	words, err := c.words(2)
	if err != nil {
		return err
	}
	values, err := spec.Parse(words, c.in.session.DeviceCount())
	switch {
	case errors.Is(err, cmdline.ErrHelp):
		return c.endScript(c.in.std.Stdout.WriteContext, printable.Text(spec.Help()), 0)
	case err != nil:
		return c.endScript(c.in.std.Stderr.WriteContext, printable.Text(spec.Name+": "+err.Error()+"\n"+spec.Usage())+"\n", 2)
	}
	t := c.L.NewTable()
	for key, v := range values {
		t.RawSetString(key, optionValue(c.L, v))
	}
	c.push(t)
	return nil
}

// words are those of argument i, or of the global arg.
func (c *call) words(i int) ([]string, error) {
	v, name := c.arg(i), "argument 2 (list)"
	if v == lua.LNil {
		v, name = c.L.GetGlobal("arg"), "the global arg"
	}
	t, ok := v.(*lua.LTable)
	if !ok {
		return nil, c.errorf("%s must be a table, got %s", name, typeName(v))
	}
	var words []string
	for n := 1; t.RawGetInt(n) != lua.LNil; n++ {
		word, ok := t.RawGetInt(n).(lua.LString)
		if !ok {
			return nil, c.errorf("%s must be a list of strings, got %s at %d", name, typeName(t.RawGetInt(n)), n)
		}
		words = append(words, string(word))
	}
	return words, nil
}

func optionValue(L *lua.LState, v any) lua.LValue {
	switch x := v.(type) {
	case bool:
		return lua.LBool(x)
	case float64:
		return lua.LNumber(x)
	case string:
		return lua.LString(x)
	}
	t := L.NewTable()
	switch x := v.(type) {
	case []int:
		for _, id := range x {
			t.Append(lua.LNumber(id))
		}
	case []any:
		for _, item := range x {
			t.Append(optionValue(L, item))
		}
	}
	return t
}

// spec reads the declarations, which are argument 1.
func (c *call) spec() (*cmdline.Spec, error) {
	if c.arg(1).Type() != lua.LTTable {
		return nil, c.wrongType(1, "spec", "a table")
	}
	o, err := c.table(1)
	if err != nil {
		return nil, err
	}
	s := new(cmdline.Spec)
	for _, f := range []struct {
		name string
		to   *string
	}{{"name", &s.Name}, {"summary", &s.Summary}, {"text", &s.Text}} {
		if *f.to, err = o.string(f.name); err != nil {
			return nil, err
		}
	}
	c.in.nameSpec(s)
	if s.Options, err = c.declarations(o, "options"); err == nil {
		s.Positionals, err = c.declarations(o, "positional")
	}
	if err == nil {
		err = s.Check()
	}
	if err != nil {
		return nil, c.errorf("%v", err)
	}
	return s, nil
}

// nameSpec says how the script is called.
func (in *Interp) nameSpec(s *cmdline.Spec) {
	script := in.opts.Script
	base := strings.TrimSuffix(filepath.Base(script), ".lua")
	if script == "" || script == "-" {
		base = "script"
	}
	if s.Name == "" {
		s.Name = base
	}
	switch {
	case in.opts.Embedded:
		s.Program = "npulua run " + base
	case script == "" || script == "-":
		s.Program = s.Name
	default:
		s.Program = "npulua " + script
	}
}

// declarations reads a list of rows, in which lists of rows count as their rows.
func (c *call) declarations(o opts, name string) ([]*cmdline.Option, error) {
	v := o.get(name)
	if v == lua.LNil {
		return nil, nil
	}
	t, ok := v.(*lua.LTable)
	if !ok {
		return nil, o.wrongType(name, "a list of declarations", v)
	}
	r := rowReader{option: name == "options"}
	err := r.list(t, name, 0)
	return r.rows, err
}

// endScript writes a text and ends the script as os.exit does.
func (c *call) endScript(write func(context.Context, string) error, text string, status int) error {
	in := c.in
	if err := write(in.ctx, text); err != nil {
		return err
	}
	in.exitCode, in.exited = status, true
	in.exit(c.L)
	return nil
}
