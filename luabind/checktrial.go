package luabind

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	lua "github.com/yuin/gopher-lua"

	"npulua/luabind/check"
	"npulua/npu"
)

// trial is an attempt of a test as its function sees it.
type trial struct {
	bound   any
	test    *check.Test
	attempt *check.Attempt
	dev     *npu.Device // nil: the test is of none
	over    bool
}

var trialClass = &class[*trial]{
	name:  "test",
	text:  "What the function of `check.test` is given, to say what it finds. A message may be a format, as for `string.format`, with values after it. `t:expect`, `t:metric`, `t:try`, `t:fail`, `t:warn` and `t:log` go on; `t:require`, `t:skip`, `t:missing` and `t:error` end the test.",
	plain: true,
	methods: []method[*trial]{
		{"expect", doc{"(condition, message, ...)", "boolean", "The test fails where the condition is false or nil; it goes on. Returns whether it held.", "", `t:expect(sum == 10, "sum is %g, not 10", sum)`}, nil, trialExpect},
		{"require", doc{"(condition, message, ...)", "condition", "As `expect`, but a condition that does not hold ends the test. Returns the condition.", "", `local dev = t:require(devices[1], "no device")`}, nil, trialRequire},
		{"try", doc{"(fn, ...)", "boolean, results of fn or the error", "Calls `fn(...)`, which is what is tested: where it raises an NPU error the test fails and goes on, and the error is returned after false. Other errors, and those of calls that cannot be meant (100000), that the backend lacks (207000) or for which the host has no room (`err.host`), are raised as they are: the test could not run.", "", `if not t:try(function() s:copy(dst, src) s:synchronize() end) then return end`}, nil, trialTry},
		{"metric", doc{"(name, value, unit [, options])", "boolean", "Notes a number. One that is outside its bounds fails the test, nil and what is no number (NaN, infinity) is the result `error`. Returns whether it is good. Times are seconds and sizes bytes, unless the unit says something else.", "a value of another type; bounds that no number can keep", `t:metric("bandwidth", 1.2e10, "B/s", {min = 1e10})`}, []option{
			{"min", "the least good value; none", anything},
			{"max", "the greatest good value; none", anything},
		}, trialMetric},
		{"fail", doc{"(message, ...)", "", "The test fails; it goes on.", "", `t:fail("byte %d is wrong", i)`}, nil, saying(check.Failed, "message", false)},
		{"warn", doc{"(message, ...)", "", "The test warns, which keeps exit status 0 unless the report is strict.", "", `t:warn("slow: %g s", seconds)`}, nil, saying(check.Warned, "message", false)},
		{"log", doc{"(message, ...)", "", "A message for the record: reports for programs have it, and the table where the test did not pass.", "", `t:log("round %d", i)`}, nil, saying(check.Log, "message", false)},
		{"skip", doc{"(reason, ...)", "", "Ends the test, which does not apply here, because of what the device cannot do: it counts neither as a pass nor as a failure.", "", `t:skip("needs two devices")`}, nil, saying(check.Skipped, "reason", true)},
		{"missing", doc{"(name, reason, ...)", "", "Ends the test, which lacks what it needs and the machine should have: `operators`, `sensors`, or one of `needs` of `check.setup`. It could not run, unless `allow_skip` there has the name: then it is skipped. `t:skip` is for what the device cannot do.", "a name that is none of these", `if not npu.device(0):sensors().available then t:missing("sensors", "no libdcmi") end`}, nil, trialMissing},
		{"error", doc{"(message, ...)", "", "Ends the test, which could not run: nothing is known of what it was to test.", "", `t:error("no reference file")`}, nil, saying(check.Errored, "message", true)},
	},
	fields: []field[*trial]{
		{"device", doc{Text: "The device of the option `device`; nil without one."}, func(c *call, t *trial) (lua.LValue, error) {
			if t.dev == nil {
				return lua.LNil, nil
			}
			return c.in.device(t.dev), nil
		}},
		{"name", doc{Text: "Name of the test."}, func(_ *call, t *trial) (lua.LValue, error) { return lua.LString(t.test.Name), nil }},
		{"number", doc{Text: "Number of the attempt, from 1."}, func(_ *call, t *trial) (lua.LValue, error) { return lua.LNumber(len(t.test.Earlier) + 1), nil }},
		{"level", doc{Text: "Level that was asked for with `check.setup`, 1 to 3: a test may do more where it is higher."}, func(c *call, _ *trial) (lua.LValue, error) {
			return lua.LNumber(c.in.checks.report.Level), nil
		}},
	},
	str: func(t *trial) string { return fmt.Sprintf("test(%s, %v)", t.test.Name, t.attempt.Result) },
}

// open refuses a test that is over.
func (c *call) open(t *trial) error {
	if t.over {
		return c.errorf("the test %s is over", quote(t.test.Name, 60))
	}
	return nil
}

// stopped is the error that ends the function of a test.
func (c *call) stopped() error { return &scriptError{value: c.in.checks.stop, in: c.in} }

// saying notes a message; with stop it ends the test.
func saying(k check.Kind, name string, stop bool) func(*call, *trial) error {
	return func(c *call, t *trial) error {
		if err := c.open(t); err != nil {
			return err
		}
		text, err := c.message(1, name, "")
		if err != nil {
			return err
		}
		t.attempt.Add(k, text)
		if k == check.Failed {
			t.attempt.Checks++
		}
		if stop {
			return c.stopped()
		}
		return nil
	}
}

// trialMissing ends a test for want of something. The first line of what it says is for tables.
func trialMissing(c *call, t *trial) error {
	if err := c.open(t); err != nil {
		return err
	}
	name, err := c.string(1, "name")
	if err != nil {
		return err
	}
	k := c.in.checks
	if !slices.Contains(k.needs, name) {
		return c.errorf("argument 1 (name) must be %s, or one of the option needs of check.setup, got %q%s", strings.Join(k.needs, ", "), name, npu.Suggest(name, k.needs))
	}
	reason, err := c.message(2, "reason", "")
	if err != nil {
		return err
	}
	t.attempt.Lack(name, reason, slices.Contains(k.allowed, name))
	return c.stopped()
}

// expectation notes whether argument 1 holds.
func (c *call) expectation(t *trial) (bool, error) {
	if err := c.open(t); err != nil {
		return false, err
	}
	if c.count() == 0 {
		return false, c.wrongType(1, "condition", "a condition")
	}
	if lua.LVAsBool(c.arg(1)) {
		t.attempt.Checks++
		return true, nil
	}
	text, err := c.message(2, "message", "what was expected at "+c.in.sites.text(c.site)+" does not hold")
	if err != nil {
		return false, err
	}
	t.attempt.Checks++
	t.attempt.Add(check.Failed, text)
	return false, nil
}

func trialExpect(c *call, t *trial) error {
	ok, err := c.expectation(t)
	c.push(lua.LBool(ok))
	return err
}

func trialRequire(c *call, t *trial) error {
	ok, err := c.expectation(t)
	switch {
	case err != nil:
		return err
	case !ok:
		return c.stopped()
	}
	c.push(c.arg(1))
	return nil
}

func trialTry(c *call, t *trial) error {
	if err := c.open(t); err != nil {
		return err
	}
	fn, err := c.function(1, "fn")
	if err != nil {
		return err
	}
	var args []lua.LValue
	for i := 2; i <= c.count(); i++ {
		args = append(args, c.arg(i))
	}
	results, err := c.in.protected(c.L, fn, args...)
	if err == nil {
		t.attempt.Checks++
		c.push(lua.LTrue)
		for _, v := range results {
			c.push(v)
		}
		return nil
	}
	var script *scriptError
	if !errors.As(err, &script) || !isFinding(script.value) || c.t.Interrupted() {
		return err
	}
	t.attempt.Checks++
	t.attempt.Add(check.Failed, c.in.finding(c.t, script.value))
	c.push(lua.LFalse)
	c.push(script.value)
	return nil
}

// isFinding reports whether an error says something of the device: an NPU error, but none of a call that cannot be
// meant, or that is not there, or for which the host has no room.
func isFinding(v lua.LValue) bool {
	tb, ok := v.(*lua.LTable)
	if !ok || !isErrorObject(tb) || isOfHost(tb) {
		return false
	}
	code := tb.RawGetString("code")
	return code != lua.LNumber(npu.ErrInvalidParam) && code != lua.LNumber(npu.ErrNotSupported)
}

// isOfHost reports whether v is an NPU error that says that the host has no room.
func isOfHost(v lua.LValue) bool {
	tb, ok := v.(*lua.LTable)
	return ok && isErrorObject(tb) && tb.RawGetString("host") == lua.LTrue
}

var namesDevice = regexp.MustCompile(`\bdevice \d`)

// finding is an error as a message of a test. NPU errors that name no device get that which was current on t.
func (in *Interp) finding(t *npu.Thread, v lua.LValue) string {
	text := shownText(in.text(v))
	if text == "" {
		return "an error without a text"
	}
	if tb, ok := v.(*lua.LTable); ok && isErrorObject(tb) {
		if x, err := t.CurrentContext(); err == nil && !namesDevice.MatchString(text) {
			return fmt.Sprintf("device %d: %s", x.Device().ID(), text)
		}
	}
	return text
}

func trialMetric(c *call, t *trial) error {
	if err := c.open(t); err != nil {
		return err
	}
	name, err := c.string(1, "name")
	if err != nil {
		return err
	}
	m := check.Metric{Name: shownLine(name)}
	if m.Name == "" {
		return c.errorf("argument 1 (name) is empty")
	}
	if c.arg(2) != lua.LNil {
		v, err := c.number(2, "value")
		if err != nil {
			return err
		}
		m.Value = &v
	}
	if c.arg(3) != lua.LNil {
		unit, err := c.string(3, "unit")
		if err != nil {
			return err
		}
		m.Unit = shownLine(unit)
	}
	o, err := c.table(4)
	if err != nil {
		return err
	}
	if m.Min, err = o.bound("min"); err != nil {
		return err
	}
	if m.Max, err = o.bound("max"); err != nil {
		return err
	}
	if m.Min != nil && m.Max != nil && *m.Min > *m.Max {
		return c.errorf("no number is at least %s and at most %s", number(*m.Min), number(*m.Max))
	}
	t.attempt.Measure(m)
	list := t.attempt.Metrics
	c.push(lua.LBool(list[len(list)-1].Result == check.Pass))
	return nil
}

// bound reads a bound of a metric; nil: none.
func (o opts) bound(name string) (*float64, error) {
	switch v := o.get(name).(type) {
	case *lua.LNilType:
		return nil, nil
	case lua.LNumber:
		f := float64(v)
		if f != f || f-f != 0 {
			return nil, o.c.errorf("option %q must be a number that is finite, got %s", name, number(f))
		}
		return &f, nil
	default:
		return nil, o.wrongType(name, "a number", v)
	}
}
