package luabind

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"math"
	"os"
	"slices"
	"strings"
	"time"

	lua "github.com/yuin/gopher-lua"

	"npulua/internal/printable"
	"npulua/luabind/lua51"
	"npulua/npu"
)

// logVariable says how much is logged, and how, where scripts do not.
const logVariable = "NPULUA_LOG"

// logLevels are the levels by name; "off" is above all that is logged.
var logLevels = map[string]slog.Level{"debug": slog.LevelDebug, "info": slog.LevelInfo, "warn": slog.LevelWarn, "error": slog.LevelError, "off": slog.LevelError + 100}

// Names of levels and formats, in the order in which messages list them.
var (
	logLevelNames = []string{"debug", "info", "warn", "error", "off"}
	logFormats    = []string{"text", "json"}
)

var (
	levelOption = option{"level", "the lowest level that is written: `debug`, `info`, `warn`, `error`, or `off`; info", oneOf(logLevelNames...)}
	levelErrors = "fields of names that the log uses itself (`time`, `level`, `msg`, `logger`, `simulated`, `sim_time`); tables that have no JSON; a log that cannot be written"
)

var logModule = &module{
	name: "log",
	text: "Log lines with a level, a message and fields: text (`time=... level=info msg=\"copied\" bytes=64`) or JSON, one object a line. " +
		"`time` is real time in UTC (RFC 3339). On a simulator each line also has `simulated=true` and, where time is virtual, `sim_time`, what `npu.time` says in seconds (not in host functions of a stream). " +
		"A value is a string, a number, a boolean, an error, or a table, which is written as JSON. " +
		"The functions write to standard error. The environment variable NPULUA_LOG has the level and the format of loggers that do not set them: `debug`, `json` or `debug,json`; a sandbox does not read it.",
	functions: slices.Concat(levelFunctions(), []function{
		{"enabled", doc{"(level)", "boolean", "Whether lines of a level are written.", "levels that do not exist", `print(require("log").enabled("debug"))`}, nil, func(c *call) error { return c.withMainLogger(loggerEnabled) }},
		{"set_level", doc{"(level)", "", "Sets the lowest level that the functions of the module write. Loggers have their own.", "levels that do not exist", `require("log").set_level("debug")`}, nil, func(c *call) error { return c.withMainLogger(loggerSetLevel) }},
		{"new", doc{"([options])", "logger", "Makes a logger. One for a file adds to its end, line by line, without a buffer; it is opened once, by whichever worker comes first, and begun anew where it was moved away or removed. A logger cannot go to a worker: make it there.", "options that do not exist; a file that cannot be written", "local log = require(\"log\").new{name = \"burnin\", level = \"debug\", fields = {device = 0}}\nlog:info(\"begin\", {hours = 2})"},
			[]option{
				{"name", "what the field `logger` says; none", anything},
				levelOption,
				{"format", "`text` or `json`; text", oneOf(logFormats...)},
				{"file", "path of a file in place of standard error", aFile},
				{"fields", "table of fields that every line has", anything},
			}, logNew},
	}),
	classes: []func() classHelp{loggerClass.help},
}

var loggerClass = &class[*logger]{
	name: "logger", plain: true,
	text: "Writes log lines (`log.new`).",
	methods: slices.Concat(levelMethods(), []method[*logger]{
		{"with", doc{"(fields)", "logger", "A logger that writes to the same place, with more fields on every line.", "as `log.info`", `local mine = logger:with{device = 3}`}, nil, loggerWith},
		{"enabled", doc{"(level)", "boolean", "Whether lines of a level are written.", "levels that do not exist", `if logger:enabled("debug") then print("all") end`}, nil, loggerEnabled},
		{"set_level", doc{"(level)", "", "Sets the lowest level that is written.", "levels that do not exist", `logger:set_level("warn")`}, nil, loggerSetLevel},
	}),
	fields: []field[*logger]{
		{"level", doc{Text: "The lowest level that is written."}, func(_ *call, l *logger) (lua.LValue, error) { return lua.LString(levelName(l.level)), nil }},
		{"name", doc{Text: "Its name; nil where it has none."}, func(_ *call, l *logger) (lua.LValue, error) {
			if l.name == "" {
				return lua.LNil, nil
			}
			return lua.LString(l.name), nil
		}},
	},
	str: func(l *logger) string { return fmt.Sprintf("logger(%q, %s)", l.name, levelName(l.level)) },
}

// logger belongs to one machine.
type logger struct {
	name   string
	level  slog.Level
	json   bool
	fields map[string]slog.Value
	file   *logFile // nil: standard error
	bound  any
}

// levelFunctions are log.debug and so on.
func levelFunctions() []function {
	var rows []function
	for _, name := range logLevelNames[:4] {
		level := logLevels[name]
		rows = append(rows, function{name, doc{"(message [, fields])", "", levelText(name), levelErrors, fmt.Sprintf(`require("log").%s("copied", {bytes = 64})`, name)}, nil,
			func(c *call) error {
				return c.withMainLogger(func(c *call, l *logger) error { return loggerLog(c, l, level) })
			}})
	}
	return rows
}

func levelMethods() []method[*logger] {
	var rows []method[*logger]
	for _, name := range logLevelNames[:4] {
		level := logLevels[name]
		rows = append(rows, method[*logger]{name, doc{"(message [, fields])", "", levelText(name), levelErrors, fmt.Sprintf(`logger:%s("copied", {bytes = 64})`, name)}, nil,
			func(c *call, l *logger) error { return loggerLog(c, l, level) }})
	}
	return rows
}

func levelText(name string) string {
	return "Writes a line of the level `" + name + "`. The message is a string, a number or an error. Fields of the call come in place of those of the logger."
}

func levelName(level slog.Level) string {
	for name, l := range logLevels {
		if l == level {
			return name
		}
	}
	return level.String()
}

// logDefaults are what NPULUA_LOG says.
func (in *Interp) logDefaults() (level slog.Level, asJSON bool, err error) {
	if in.mayReadEnvironment() != nil {
		return slog.LevelInfo, false, nil
	}
	for word := range strings.SplitSeq(os.Getenv(logVariable), ",") {
		word = strings.TrimSpace(word)
		l, isLevel := logLevels[word]
		switch {
		case isLevel:
			level = l
		case word == "json":
			asJSON = true
		case word != "" && word != "text":
			return 0, false, fmt.Errorf("the environment variable %s has the unknown word %q%s", logVariable, word, npu.Suggest(word, slices.Concat(logLevelNames, logFormats)))
		}
	}
	return level, asJSON, nil
}

// withMainLogger calls fn with the logger of the module itself.
func (c *call) withMainLogger(fn func(*call, *logger) error) error {
	if c.in.mainLogger == nil {
		level, asJSON, err := c.in.logDefaults()
		if err != nil {
			return c.errorf("%v", err)
		}
		c.in.mainLogger = &logger{level: level, json: asJSON}
	}
	return fn(c, c.in.mainLogger)
}

func logNew(c *call) error {
	o, err := c.table(1)
	if err != nil {
		return err
	}
	l := new(logger)
	if l.level, l.json, err = c.in.logDefaults(); err != nil {
		return c.errorf("%v", err)
	}
	if l.name, err = o.string("name"); err != nil {
		return err
	}
	level, err := o.oneOf("level", logLevelNames)
	if err != nil {
		return err
	}
	if level != "" {
		l.level = logLevels[level]
	}
	format, err := o.oneOf("format", logFormats)
	if err != nil {
		return err
	}
	if format != "" {
		l.json = format == "json"
	}
	if v := o.get("fields"); v != lua.LNil {
		t, ok := v.(*lua.LTable)
		if !ok {
			return o.wrongType("fields", "a table", v)
		}
		if l.fields, err = c.logFields(l, t); err != nil {
			return err
		}
	}
	path, err := o.fileOption("file")
	if err != nil {
		return err
	}
	if path != "" {
		if l.file, err = c.in.root().logFiles.get(c.in.disk(), path); err != nil {
			return c.fileError(path, err)
		}
	}
	if c.in.loggers == nil {
		c.in.loggers = register(c.in, loggerClass)
	}
	c.push(c.in.loggers.wrap(l, &l.bound))
	return nil
}

// oneOf is an option that is one of some words; "" where it was left out.
func (o opts) oneOf(name string, words []string) (string, error) {
	word, err := o.string(name)
	if err == nil && o.get(name) != lua.LNil && !slices.Contains(words, word) {
		err = o.c.errorf("option %q must be %s, got %q%s", name, strings.Join(words, ", "), word, npu.Suggest(word, words))
	}
	return word, err
}

// level reads a level.
func (c *call) level(i int) (slog.Level, error) {
	name, err := c.string(i, "level")
	if err != nil {
		return 0, err
	}
	level, ok := logLevels[name]
	if !ok {
		return 0, c.errorf("argument %d (level) must be %s, got %q%s", i, strings.Join(logLevelNames, ", "), name, npu.Suggest(name, logLevelNames))
	}
	return level, nil
}

func loggerEnabled(c *call, l *logger) error {
	level, err := c.level(1)
	if err == nil {
		c.push(lua.LBool(level >= l.level && level <= slog.LevelError))
	}
	return err
}

func loggerSetLevel(c *call, l *logger) (err error) {
	level, err := c.level(1)
	if err == nil {
		l.level = level
	}
	return err
}

func loggerWith(c *call, l *logger) error {
	t, ok := c.arg(1).(*lua.LTable)
	if !ok {
		return c.wrongType(1, "fields", "a table")
	}
	fields, err := c.logFields(l, t)
	if err != nil {
		return err
	}
	more := &logger{name: l.name, level: l.level, json: l.json, file: l.file, fields: maps.Clone(l.fields)}
	if more.fields == nil {
		more.fields = fields
	} else {
		maps.Copy(more.fields, fields)
	}
	c.push(c.in.loggers.wrap(more, &more.bound))
	return nil
}

// loggerLog checks the arguments also where the line is not written.
func loggerLog(c *call, l *logger, level slog.Level) error {
	message, err := c.logMessage()
	if err != nil {
		return err
	}
	var fields map[string]slog.Value
	switch v := c.arg(2).(type) {
	case *lua.LNilType:
	case *lua.LTable:
		if fields, err = c.logFields(l, v); err != nil {
			return err
		}
	default:
		return c.wrongType(2, "fields", "a table")
	}
	if level < l.level {
		return nil
	}
	line, err := l.line(level, message, fields, c.simulatedFields())
	if err != nil {
		return c.errorf("%v", err)
	}
	if l.file != nil {
		return c.fileError(l.file.path, l.file.write(line))
	}
	if err := c.in.std.Stderr.WriteContext(c.ctx(), string(line)); err != nil {
		return c.fileError("standard error", err)
	}
	return nil
}

func (c *call) logMessage() (string, error) {
	v := c.arg(1)
	if text, ok := lua51.Text(v); ok {
		return text, nil
	}
	if t, ok := v.(*lua.LTable); ok && isErrorObject(t) {
		return errorText(t), nil
	}
	return "", c.wrongType(1, "message", "a string, a number or an error")
}

// ownFields are names of fields that the log sets.
var ownFields = []string{slog.TimeKey, slog.LevelKey, slog.MessageKey, "logger", "simulated", "sim_time"}

// logFields reads a table of fields for l.
func (c *call) logFields(l *logger, t *lua.LTable) (map[string]slog.Value, error) {
	fields := make(map[string]slog.Value)
	var bad error
	t.ForEach(func(k, v lua.LValue) {
		name, ok := k.(lua.LString)
		switch {
		case bad != nil:
			return
		case !ok:
			bad = c.errorf("fields are by name, got the key %s", describe(k))
		case name == "":
			bad = c.errorf("the name of a field is empty")
		case slices.Contains(ownFields, string(name)):
			bad = c.errorf("the field %q is one that the log sets itself", string(name))
		default:
			fields[string(name)], bad = c.logValue(v, l.json)
			if bad != nil {
				bad = c.errorf("field %q: %v", string(name), bad)
			}
		}
	})
	return fields, bad
}

// logValue is a value as a line has it.
func (c *call) logValue(v lua.LValue, asJSON bool) (slog.Value, error) {
	switch x := v.(type) {
	case lua.LBool:
		return slog.BoolValue(bool(x)), nil
	case lua.LNumber:
		if n, ok := exact(x); ok {
			return slog.Int64Value(n), nil
		}
		if f := float64(x); !math.IsNaN(f) && !math.IsInf(f, 0) {
			return slog.Float64Value(f), nil
		}
		return slog.StringValue(lua51.NumberText(float64(x))), nil
	case lua.LString:
		return slog.StringValue(string(x)), nil
	case *lua.LTable:
		if isErrorObject(x) {
			return slog.StringValue(errorText(x)), nil
		}
	case *lua.LUserData:
		if x != c.in.null {
			return slog.StringValue(lua51.Tostring(c.L, x)), nil
		}
	default:
		return slog.StringValue(v.String()), nil
	}
	text, err := c.in.encodeJSON(v, 0, jsonDepth)
	if asJSON {
		return slog.AnyValue(json.RawMessage(text)), err
	}
	return slog.StringValue(text), err
}

// simulatedFields tell that a line is about no real hardware.
func (c *call) simulatedFields() []slog.Attr {
	if !c.in.session.Info().Simulated {
		return nil
	}
	fields := []slog.Attr{slog.Bool("simulated", true)}
	if c.in.session.VirtualTime() {
		if now, err := c.t.Now(); err == nil { // a host function of a stream cannot ask
			fields = append(fields, slog.Float64("sim_time", now.Seconds()))
		}
	}
	return fields
}

// line is a line of the log.
func (l *logger) line(level slog.Level, message string, fields map[string]slog.Value, more []slog.Attr) ([]byte, error) {
	all := make(map[string]slog.Value, len(l.fields)+len(fields))
	maps.Copy(all, l.fields)
	maps.Copy(all, fields)
	r := slog.NewRecord(time.Now(), level, message, 0)
	if l.name != "" {
		r.AddAttrs(slog.String("logger", l.name))
	}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		r.AddAttrs(slog.Attr{Key: name, Value: all[name]})
	}
	r.AddAttrs(more...)
	var b bytes.Buffer
	options := &slog.HandlerOptions{Level: slog.LevelDebug, ReplaceAttr: logAttr}
	var h slog.Handler = slog.NewTextHandler(&b, options)
	if l.json {
		h = slog.NewJSONHandler(&b, options)
	}
	err := h.Handle(context.Background(), r)
	return printable.JSON(b.Bytes()), err // the other form has escapes already
}

// logAttr writes time and level as the module has them.
func logAttr(_ []string, a slog.Attr) slog.Attr {
	switch v := a.Value.Any().(type) {
	case time.Time:
		return slog.String(a.Key, v.UTC().Format("2006-01-02T15:04:05.000Z07:00"))
	case slog.Level:
		return slog.String(a.Key, levelName(v))
	}
	return a
}
