package luabind

import (
	"fmt"
	"slices"
	"strings"
	"time"

	lua "github.com/yuin/gopher-lua"

	"npulua/luabind/check"
	"npulua/npu"
)

var checkModule = &module{
	name: "check",
	text: "Tests of devices, for health checks: each ends in `pass`, `warn`, `fail`, `skip` or `error` (it could not run), and at the end of the script comes a report, as a table, JSON, JUnit XML or Markdown. " +
		"The exit status is 0 where all passed (3 for warnings with `strict`), 3 where a test failed, else 4 where one could not run or nothing was checked; `os.exit` may give another one than 0. " +
		"A test has a task and, with `device`, a context of its own; what it made is closed at its end, tasks and work of streams that it left are ended at its timeout. docs/check.md has the rules and formats.",
	functions: []function{
		{"setup", doc{"(options)", "", "Says what the report is about and where it goes. Before the first test; without it the report is a table.", "options that contradict each other; after the first test", `check.setup{title = "health", level = 2}`}, []option{
			{"title", "name of the report; the script's", anything},
			{"json", "true: the report is JSON on standard output, instead of a table, and what the script prints goes to standard error; false", aBoolean},
			{"junit", "file that JUnit XML is written to besides", aFile},
			{"markdown", "file that Markdown is written to besides; true, or `-`: standard output, instead of a table, as for json", anything},
			{"strict", "true: warnings give status 3; false", aBoolean},
			{"level", "1 to 3: tests of higher levels are not run; 1", anything},
			{"timeout", "seconds for each attempt of a test that says nothing else; 60", anything},
			{"needs", "list of names: what tests may lack, for `t:missing`, besides `operators` and `sensors`; none", anything},
			{"allow_skip", "list of such names: tests that lack it are skipped, in place of that they could not run; none", anything},
			{"quiet", "true: only the verdict is printed; false", aBoolean},
			{"report", "false: standard output is the script's, and a verdict that is no pass goes to standard error; true", aBoolean},
			{"brief", "true: the table has only tests that did not pass, because the script prints what they measured; false", aBoolean},
		}, checkSetup},
		{"test", doc{"(name [, options], fn)", "string [, string]", "Runs `fn(t)` as a test, at once, and returns its result; `not_run` where its level is above that of `check.setup`. Where the machine lacks what the test needs, the second result says what: a name that `t:missing` got, or `host memory`. An error of `fn` is the result `error`, and so is a timeout, a fault that its work left, and a test that checked nothing; after a failure the result stays `fail`. Tests of several devices run at the same time where tasks (`npu.spawn`) call this function; the report has them in the order in which they began.",
			"a test in a test, in a worker, in a host function or after `check.finish`", "local check = require \"check\"\ncheck.test(\"copies\", {device = 0}, function(t)\n  local x = npu.current_context():alloc(\"float32\", 4)\n  t:try(function() x:upload{1, 2, 3, 4} end)\n  t:expect(x:download():sum() == 10, \"wrong sum\")\nend)"}, []option{
			{"level", "1 to 3: the least level of `check.setup` that runs it; 1", anything},
			{"timeout", "seconds for each attempt, those for waiting for what it left included", anything},
			{"retries", "how often it is run again after `fail` or `error`, from the beginning, 0 to 100; passing then is a pass, and counted as flaky; 0", anything},
			{"device", "id of a device: a context of its own on it is current in the test", anything},
			{"prepares", "true: what the test finds is what others need, such as a device that answers; where only such tests pass, nothing was checked; false", aBoolean},
			{"open", "false: the report names the device, but the test opens it itself, so that a device that cannot be opened fails it instead of keeping it from running; true", aBoolean},
			{"group", "what the report calls several tests together", anything},
		}, checkTest},
		{"data", doc{"(name, value)", "", "Puts a value into the report for programs, as member `name` of its object `data`: what the script measured, beside its tests. A table becomes JSON as by `json.encode`; a later value of the name replaces the one before.",
			"what has no JSON, with its place; after `check.finish`", `check.data("rates", {{bytes = 4096, rate = 1.5e9}})`}, nil, checkData},
		{"finish", doc{"()", "table", "Ends the tests and gives the report now, instead of at the end of the script: `status` (the exit status), `verdict` (`pass`, `warn`, `fail` or `error`), `text` (the verdict in a line), `totals` (tests by result) and `tests`, a list of `name`, `group`, `device`, `result`, `reason`, `seconds`, `attempts`.", "where tests run; a file that cannot be written", `local check = require "check"
check.test("one", function(t) t:expect(npu.device_count() > 0, "no device") end)
print(check.finish().verdict)`}, nil, checkFinish},
	},
	fields: []constant{
		{"options", doc{Text: "Declarations of the command line options `--json`, `--junit`, `--markdown`, `--strict`, `--allow-skip` and `--level` for the module `args`: a list of rows such as `{\"level\", \"N\", \"...\", type = \"integer\", min = 1, max = 3, default = 1}`. Their values can be given to `check.setup`."}, checkOptions(true)},
		{"report_options", doc{Text: "The same without `--level`, for scripts whose tests are all of level 1."}, checkOptions(false)},
	},
	classes: []func() classHelp{trialClass.help},
}

// serverNeeds is what tests need and a server with NPUs should have.
var serverNeeds = []string{"operators", "sensors"}

// defaultTestTime is the timeout of tests that nobody gave one.
const defaultTestTime = time.Minute

// maxLevel is the highest level of tests.
const maxLevel = 3

// checks is what the module keeps for one script.
type checks struct {
	report   check.Report
	timeout  time.Duration
	json     bool
	markdown string // a file, "-": standard output; "": none
	junit    string
	needs    []string      // what tests may lack
	allowed  []string      // of needs: for want of it tests are skipped
	files    []*reportFile // junit and markdown, as far as they are files
	quiet    bool
	brief    bool
	silent   bool // standard output is the script's

	began    bool // setup or test was called
	written  bool // the report was given
	start    time.Duration
	running  int
	stop     *lua.LUserData // what ends a test that has said all
	trials   *binding[*trial]
	settings bool // setup was called
}

// checkState is made when the module is first required.
func (in *Interp) checkState() *checks {
	if in.checks == nil {
		in.checks = &checks{
			timeout: defaultTestTime, needs: serverNeeds, report: check.Report{Level: 1, Title: "checks"}, trials: register(in, trialClass),
			stop: &lua.LUserData{Env: in.L.Env, Metatable: lua.LNil},
		}
		if s := in.opts.Script; s != "" && s != "-" {
			in.checks.report.Title = scriptTitle(s)
		}
	}
	return in.checks
}

// openChecks makes the state of c's machine ready for a call, and refuses what cannot be.
func (c *call) openChecks() (*checks, error) {
	if c.in.parent != nil {
		return nil, c.errorf("tests belong to the main script, not to a worker: call check.test in tasks of npu.spawn to run several at once")
	}
	k := c.in.checkState()
	if k.written {
		return nil, c.errorf("the report was given by check.finish")
	}
	return k, nil
}

func checkSetup(c *call) error {
	k, err := c.openChecks()
	if err != nil {
		return err
	}
	if _, ok := c.arg(1).(*lua.LTable); !ok {
		return c.wrongType(1, "options", "a table")
	}
	if k.began && !k.settings || len(k.report.Tests) > 0 {
		return c.errorf("comes before the first test")
	}
	o, err := c.table(1)
	if err != nil {
		return err
	}
	next := *k
	if err := next.read(o); err != nil {
		return err
	}
	for _, path := range []string{next.junit, next.markdown} {
		if path != "" && path != "-" {
			if err := probeReport(c.in.disk(), path); err != nil {
				return c.errorf("%v", err)
			}
		}
	}
	if next.junit != "" && sameFile(c.in.disk(), next.junit, next.markdown) {
		return c.errorf("junit and markdown are one file: %s", shownLine(next.junit))
	}
	if alone := next.json || next.markdown == "-"; alone && !c.in.opts.Interactive {
		out := c.in.std.Stdout
		if out.Passed() && !c.in.opts.StdoutTerminal {
			return c.errorf("standard output is to have the report and nothing else, and has something already: call it before anything is printed")
		}
		out.Divert(c.in.ctx, c.in.std.Stderr)
	}
	for _, path := range []string{next.junit, next.markdown} {
		if path != "" && path != "-" && !slices.ContainsFunc(next.files, func(r *reportFile) bool { return r.path == path }) {
			file := newReportFile(c.in.disk(), path)
			next.files = append(next.files, &file)
		}
	}
	next.began, next.settings = true, true
	*k = next
	return k.begin(c)
}

// read takes the options of setup.
func (k *checks) read(o opts) (err error) {
	r := &k.report
	if title, err := o.string("title"); err != nil {
		return err
	} else if title != "" {
		r.Title = shownLine(title)
	}
	if k.json, err = o.bool("json", false); err != nil {
		return err
	}
	if k.junit, err = o.fileName("junit"); err != nil {
		return err
	}
	if on, ok := o.get("markdown").(lua.LBool); ok {
		if on {
			k.markdown = "-"
		}
	} else if k.markdown, err = o.fileName("markdown"); err != nil {
		return err
	}
	if k.json && k.markdown == "-" {
		return o.c.errorf("json and markdown cannot both be on standard output: give markdown a file")
	}
	if r.Strict, err = o.bool("strict", false); err != nil {
		return err
	}
	if r.Level, err = o.level(); err != nil {
		return err
	}
	if k.timeout, err = o.seconds("timeout", defaultTestTime); err != nil {
		return err
	}
	needs, err := o.stringList("needs")
	if err != nil {
		return err
	}
	k.needs = slices.Concat(serverNeeds, needs)
	if k.allowed, err = o.stringList("allow_skip"); err != nil {
		return err
	}
	for _, name := range k.allowed {
		if !slices.Contains(k.needs, name) {
			return o.c.errorf("option \"allow_skip\": no test lacks %q, but %s%s", name, strings.Join(k.needs, ", "), npu.Suggest(name, k.needs))
		}
	}
	if k.quiet, err = o.bool("quiet", false); err != nil {
		return err
	}
	if k.brief, err = o.bool("brief", false); err != nil {
		return err
	}
	report, err := o.bool("report", true)
	k.silent = !report
	if err == nil && k.silent && (k.json || k.markdown == "-") {
		return o.c.errorf("report = false leaves standard output to the script: json or markdown cannot be there")
	}
	return err
}

// begin notes where and when the tests begin, at the first call.
func (k *checks) begin(c *call) error {
	if k.report.Info.Version != "" {
		return nil
	}
	now, err := c.t.Now()
	if err != nil {
		return err
	}
	k.start = now
	k.report.Info = c.in.checkInfo(c.t)
	return nil
}

// checkInfo is where the tests run.
func (in *Interp) checkInfo(t *npu.Thread) check.Info {
	info := in.session.Info()
	out := check.Info{Version: npu.Version, Backend: info.Name, Detail: shownLine(info.Detail), Simulated: info.Simulated}
	for id := range in.session.DeviceCount() {
		d := check.Device{ID: id}
		if x, err := in.session.DeviceInfo(t, id); err == nil { // a device that tells nothing is there all the same
			d.Name, d.Family, d.Memory = shownLine(x.Name), shownLine(x.Family), x.Memory
		}
		out.Devices = append(out.Devices, d)
	}
	return out
}

// level reads the option level.
func (o opts) level() (int, error) {
	n, err := o.int("level", 1)
	if err == nil && (n < 1 || n > maxLevel) {
		err = o.c.errorf("option \"level\" must be 1 to %d, got %d", maxLevel, n)
	}
	return int(n), err
}

// seconds reads an option that is a time above 0.
func (o opts) seconds(name string, otherwise time.Duration) (time.Duration, error) {
	switch v := o.get(name).(type) {
	case *lua.LNilType:
		return otherwise, nil
	case lua.LNumber:
		d, err := o.c.seconds(fmt.Sprintf("option %q", name), float64(v))
		if err == nil && d == 0 {
			err = o.c.errorf("option %q must be above 0 s, got %s", name, number(float64(v)))
		}
		return d, err
	default:
		return 0, o.wrongType(name, "a number", v)
	}
}

// fileName reads an option that is the name of a file.
func (o opts) fileName(name string) (string, error) {
	s, err := o.string(name)
	if err == nil && o.get(name) != lua.LNil && !isFileName(s) {
		err = o.c.errorf("option %q is no file name: %q", name, s)
	}
	return s, err
}

// checkOptions is check.report_options, and with level check.options.
func checkOptions(level bool) func(*Interp) lua.LValue {
	return func(in *Interp) lua.LValue {
		if in.parent == nil {
			in.checkState() // a script that requires the module is one of tests
		}
		list := in.L.NewTable()
		add := func(cells ...string) *lua.LTable {
			row := in.L.NewTable()
			for _, cell := range cells {
				row.Append(lua.LString(cell))
			}
			list.Append(row)
			return row
		}
		add("json", "print the report as JSON")
		add("junit", "FILE", "write the report to FILE as JUnit XML, too")
		add("markdown", "FILE", "write the report to FILE as Markdown, too; - is standard output")
		add("strict", "warnings give exit status 3")
		row := add("allow-skip", "NAME", "skip tests for want of operators, or of sensors; else they could not run")
		row.RawSetString("many", lua.LTrue)
		row.RawSetString("choices", in.strings(serverNeeds))
		if level {
			row = add("level", "N", "run the tests up to this level: 1 is quick, 3 is thorough")
			for key, v := range map[string]lua.LValue{"type": lua.LString("integer"), "min": lua.LNumber(1), "max": lua.LNumber(maxLevel), "default": lua.LNumber(1)} {
				row.RawSetString(key, v)
			}
		}
		return list
	}
}
