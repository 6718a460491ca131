package luabind

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	lua "github.com/yuin/gopher-lua"

	"npulua/luabind/check"
)

// ChecksEnd is how a script ended, for EndChecks.
type ChecksEnd struct {
	Err    error  // of the script
	Status int    // exit status without its tests
	Forced string // what ended it from outside, "interrupted"; "": nothing
	Exit   bool   // Status is what a worker or a host function gave to os.exit
}

// SettleChecks waits, at the end of a script that has tests, for the work that it has queued outside of them: what that
// leaves, an error says.
func (in *Interp) SettleChecks() error {
	if in.checks == nil || in.checks.written || in.opts.Interactive || in.exited {
		return nil
	}
	return in.session.Settle(in.thread)
}

// EndChecks writes the report of a script that has tests, unless check.finish has, and returns the exit status of the
// program. An error says what could not be written; the status is not 0 then.
func (in *Interp) EndChecks(end ChecksEnd) (int, error) {
	k := in.checks
	if k == nil || in.opts.Interactive || in.exited && !k.began {
		return end.Status, nil
	}
	own := end.Forced == "" && (!in.exited && !end.Exit || end.Status == 0)
	if k.written {
		switch {
		case !own:
		case k.report.ExitStatus != 0:
			end.Status = k.report.ExitStatus
		case end.Status != 0:
			end.Status = check.StatusError
		}
		return end.Status, nil
	}
	r := &k.report
	endTests(r, end.Forced)
	if end.Forced == "" && !end.Exit {
		in.addScript(end.Err)
		for _, f := range in.failures() {
			in.addScript(f)
		}
	}
	r.ExitStatus = end.Status
	if own {
		r.ExitStatus = r.Status()
	}
	err := in.finishChecks(k)
	if err != nil && r.ExitStatus == 0 {
		r.ExitStatus = check.StatusError
	}
	return r.ExitStatus, err
}

// endTests notes what ended the script, and its tests that run.
func endTests(r *check.Report, forced string) {
	r.Ended = forced
	for _, t := range r.Tests {
		if t.Running {
			t.Running = false
			t.Add(check.Errored, cmp.Or(forced, "the script ended")+" before the test came to its end")
		}
	}
}

// Salvage gives what a script has printed, and the report of its tests, where the process ends without it: a call of the
// vendor's library or of the system holds it up. Nothing here may wait for that.
func (in *Interp) Salvage(forced string, status int) {
	defer func() { _ = recover() }() // the script may go on meanwhile
	if k := in.checks; k != nil && k.began && !k.written {
		endTests(&k.report, forced)
		k.report.ExitStatus = status
		_ = in.writeChecks(k) // nobody is left to tell
	}
	ctx, cancel := context.WithTimeout(context.Background(), flushTime)
	defer cancel()
	_ = in.std.Stdout.Flush(ctx) // nor here
}

// ChecksJSON is the report that EndChecks or check.finish gave, as JSON; nil where there were no tests.
func (in *Interp) ChecksJSON() []byte {
	if in.checks == nil || !in.checks.written {
		return nil
	}
	return in.checks.report.JSON()
}

// addScript notes an error outside of tests.
func (in *Interp) addScript(err error) {
	if err == nil {
		return
	}
	t := &check.Test{Name: "(the script)", Device: check.NoDevice, Level: 1}
	text, _, _ := strings.Cut(in.FormatError(err), tracebackHeader)
	t.Add(check.Errored, shownText(text))
	in.checks.report.Tests = append(in.checks.report.Tests, t)
}

// finishChecks is writeChecks with the time that the tests took.
func (in *Interp) finishChecks(k *checks) error {
	r := &k.report
	if r.Info.Version == "" { // there was no test
		r.Info = in.checkInfo(in.thread)
	}
	if now, err := in.thread.Now(); err == nil {
		r.Took = now - k.start
	}
	return in.writeChecks(k)
}

// writeChecks writes the report where it was asked for.
func (in *Interp) writeChecks(k *checks) error {
	k.written = true
	r := &k.report
	var errs []error
	for _, file := range k.files {
		switch file.path {
		case k.junit:
			errs = append(errs, file.write(in.disk(), r.JUnit()))
		case k.markdown:
			errs = append(errs, file.write(in.disk(), r.Markdown()))
		default: // of an earlier setup
			file.restore(in.disk())
		}
	}
	text, to := "", in.std.Stdout
	switch {
	case k.silent:
		if to = in.std.Stderr; r.Verdict() != check.Pass {
			text = r.Title + ": " + r.Sentence() + "\n"
		}
	case k.json:
		text = string(r.JSON())
	case k.markdown == "-":
		text = string(r.Markdown())
	case k.quiet:
		text = r.Sentence() + "\n"
	default:
		text = in.checkSummary(r, k.brief)
		if in.opts.StdoutTerminal && len(r.Tests) > 0 { // below the lines of the tests
			text = "\n" + text
		}
	}
	ctx, cancel := context.Context(in.ctx), context.CancelFunc(func() {})
	if ctx.Err() != nil {
		ctx, cancel = context.WithTimeout(context.Background(), flushTime)
	}
	defer cancel()
	_ = to.WriteOwn(ctx, text) // Flush has the error
	return errors.Join(errs...)
}

// checkSummary is the report for people. A brief one has no lines of tests that passed.
func (in *Interp) checkSummary(r *check.Report, brief bool) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n%s\n", r.Title, r.Where())
	if rows := r.Rows(brief, check.CellReason); len(rows) > 1 {
		b.WriteString(in.wrapTable(rows) + "\n")
	}
	if !brief {
		b.WriteString(in.wrapped(r.LeftOut()))
	}
	b.WriteString(r.Details())
	fmt.Fprintf(&b, "%s\n%s\n", r.Counts(), r.Sentence())
	return b.String()
}

func checkFinish(c *call) error {
	k, err := c.openChecks()
	if err != nil {
		return err
	}
	if k.running > 0 {
		return c.errorf("a test is running")
	}
	k.began = true
	if err := k.begin(c); err != nil {
		return err
	}
	r := &k.report
	r.ExitStatus = r.Status()
	if err := c.in.finishChecks(k); err != nil {
		if r.ExitStatus == 0 {
			r.ExitStatus = check.StatusError
		}
		return c.errorf("%v", err)
	}
	c.push(c.in.checkTable(r))
	return nil
}

// checkTable is the report as scripts see it.
func (in *Interp) checkTable(r *check.Report) *lua.LTable {
	n := r.Totals()
	tests := in.L.NewTable()
	for _, t := range r.Tests {
		row := in.record("name", t.Name, "result", t.Result.String(), "seconds", t.Took.Seconds(), "attempts", float64(t.Attempts()))
		if t.Group != "" {
			row.RawSetString("group", lua.LString(t.Group))
		}
		if t.Device != check.NoDevice {
			row.RawSetString("device", lua.LNumber(t.Device))
		}
		if why := t.Reason(); why != "" {
			row.RawSetString("reason", lua.LString(why))
		}
		tests.Append(row)
	}
	totals := in.record("tests", float64(len(r.Tests)), "pass", float64(n.Pass), "warn", float64(n.Warn), "fail", float64(n.Fail),
		"error", float64(n.Error), "skip", float64(n.Skip), "not_run", float64(n.NotRun), "flaky", float64(n.Flaky))
	return in.record("status", float64(r.ExitStatus), "verdict", r.Verdict().String(), "text", r.Sentence(), "totals", totals, "tests", tests)
}
