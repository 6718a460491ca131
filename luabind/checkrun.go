package luabind

import (
	"errors"
	"fmt"
	"strings"
	"time"

	lua "github.com/yuin/gopher-lua"

	"npulua/luabind/check"
	"npulua/npu"
)

// testOptions are those of check.test.
type testOptions struct {
	level   int
	timeout time.Duration
	retries int
	device  int // check.NoDevice: none
	group   string
}

const maxRetries = 100

func (c *call) testOptions(k *checks, i int) (t testOptions, err error) {
	o, err := c.table(i)
	if err != nil {
		return t, err
	}
	if t.level, err = o.level(); err != nil {
		return t, err
	}
	if t.timeout, err = o.seconds("timeout", k.timeout); err != nil {
		return t, err
	}
	retries, err := o.int("retries", 0)
	if err != nil {
		return t, err
	}
	if retries < 0 || retries > maxRetries {
		return t, c.errorf("option \"retries\" must be 0 to %d, got %d", maxRetries, retries)
	}
	device, err := o.int("device", check.NoDevice)
	if err != nil {
		return t, err
	}
	if device < 0 && o.get("device") != lua.LNil || device > 1<<30 {
		return t, c.errorf("option \"device\" must be the id of a device, from 0, got %d", device)
	}
	t.retries, t.device = int(retries), int(device)
	t.group, err = o.string("group")
	t.group = shownLine(t.group)
	return t, err
}

func checkTest(c *call) error {
	k, err := c.openChecks()
	if err != nil {
		return err
	}
	name, err := c.string(1, "name")
	if err != nil {
		return err
	}
	if name = shownLine(name); name == "" {
		return c.errorf("argument 1 (name) is empty")
	}
	i := 2
	if _, ok := c.arg(2).(*lua.LFunction); !ok {
		i = 3
	}
	fn, err := c.function(i, "fn")
	if err != nil {
		return err
	}
	options := 2
	if i == 2 {
		options = 4 // none
	}
	o, err := c.testOptions(k, options)
	if err != nil {
		return err
	}
	switch {
	case c.t.Group() != nil:
		return c.errorf("a test cannot be inside another one")
	case c.t.Inside():
		return c.errorf("a test cannot be inside a host function or a kernel")
	}
	k.began = true
	if err := k.begin(c); err != nil {
		return err
	}
	t := &check.Test{Name: name, Group: o.group, Device: o.device, Level: o.level, Where: shownLine(c.in.sites.text(c.site))}
	k.report.Tests = append(k.report.Tests, t)
	if o.level > k.report.Level {
		t.Skip(fmt.Sprintf("level %d", o.level))
	} else if err := c.runTest(k, t, o, fn); err != nil {
		return err
	}
	c.in.tell(k, t)
	c.push(lua.LString(t.Result.String()))
	return nil
}

// tell shows a test to people who watch.
func (in *Interp) tell(k *checks, t *check.Test) {
	if in.opts.StdoutTerminal && !k.quiet && !k.json && k.markdown != "-" {
		_ = in.std.Stdout.WriteContext(in.ctx, t.Line()+"\n") // Flush has the error
	}
}

// runTest makes the attempts of t. An error is none of the test: the script ends.
func (c *call) runTest(k *checks, t *check.Test, o testOptions, fn *lua.LFunction) error {
	begin, err := c.t.Now()
	if err != nil {
		return err
	}
	k.running++
	t.Running, t.Begin = true, begin-k.start
	defer func() { k.running-- }()
	for {
		err := c.attempt(t, o, fn)
		if now, e := c.t.Now(); e == nil {
			t.Took = now - begin
		}
		if err != nil {
			return err // Running tells that it has not come to its end
		}
		if len(t.Earlier) >= o.retries || t.Result != check.Fail && t.Result != check.Error {
			break
		}
		t.Earlier = append(t.Earlier, t.Attempt)
		t.Attempt = check.Attempt{}
	}
	t.Running = false
	return nil
}

// attempt runs fn once, in a task of its own, and takes away what it leaves.
func (c *call) attempt(t *check.Test, o testOptions, fn *lua.LFunction) error {
	in, by := c.in, c.t
	g := in.sched.NewGroup()
	x := &trial{test: t, attempt: &t.Attempt}
	k := &task{turn: in.threads.NewTask(), state: in.L}
	var err error
	k.Task, err = g.Spawn(by, func(th *npu.Thread) error {
		if err := x.open(th, o.device); err != nil {
			return err
		}
		_, err := k.turn.Run(fn, in.checks.trials.wrap(x, &x.bound))
		return in.caught(err)
	})
	if err != nil {
		return err
	}
	k.Bound = k
	k.OnCancel = func() { k.turn.Cancel(errTestOver) }

	w := watch{in: in, by: by, group: g, trial: x, timeout: o.timeout}
	err = w.run(k)
	by.Shield(func() { err = errors.Join(err, w.clear()) })
	x.over = true
	if err == nil {
		t.Attempt.End()
	}
	return err
}

// errTestOver is what the instructions of a test raise whose time is over.
var errTestOver = errors.New("the test was ended")

// open makes a context of its own current for the test.
func (x *trial) open(th *npu.Thread, id int) (err error) {
	if id == check.NoDevice {
		return nil
	}
	if x.dev, err = th.Device(id); err != nil {
		return err
	}
	_, err = x.dev.CreateContext(th)
	return err
}

// watch waits for a test, and for what it has begun.
type watch struct {
	in      *Interp
	by      *npu.Thread
	group   *npu.Group
	trial   *trial
	timeout time.Duration
	late    bool // it did not end in time
}

// run waits until the function of the test, what it spawned and the work that it queued are over, or its time is.
// An error says that who waits must not go on.
func (w *watch) run(k *task) error {
	begin, err := w.by.Now()
	if err != nil {
		return err
	}
	left := func() time.Duration {
		now, _ := w.by.Now() // it did not fail before
		return max(w.timeout-(now-begin), 0)
	}
	if err := k.AwaitEnd(w.by, w.timeout); err != nil {
		return w.timedOut(err, "timed out after "+check.Seconds(w.timeout))
	}
	if err := w.ended(k); err != nil {
		return err
	}
	if err := w.group.Await(w.by, left()); err != nil {
		return w.timedOut(err, "timed out after "+check.Seconds(w.timeout)+": tasks that it spawned have not ended")
	}
	fault, err := w.group.Settle(w.by, left())
	w.faults(fault, "left a fault: ")
	if err != nil {
		return w.timedOut(err, "timed out after "+check.Seconds(w.timeout)+": work that it queued is not done")
	}
	return nil
}

// ended judges the end of the test's function.
func (w *watch) ended(k *task) error {
	w.group.TakeFailures()
	err := k.Err()
	var panicked *npu.PanicError
	var script *scriptError
	var e *npu.Error
	switch {
	case err == nil:
	case errors.As(err, &panicked):
		return err
	case errors.As(err, &script):
		if script.value == w.in.checks.stop {
			return nil
		}
		text := w.in.finding(w.trial, script.value)
		w.trial.attempt.Add(check.Errored, text)
		if script.trace != "" {
			w.trial.attempt.Add(check.Log, shownTrace(strings.Replace(script.trace, "in main chunk", "in the function of the test", 1)))
		}
	case errors.As(err, &e):
		w.trial.attempt.Add(check.Errored, fmt.Sprintf("device %d cannot be used: %s", w.trial.test.Device, shownText(errorText(w.in.errorObjects(err, "device", w.trial.test.Where)))))
	default:
		w.trial.attempt.Add(check.Errored, shownText(err.Error()))
	}
	return nil
}

// faults notes what work has left.
func (w *watch) faults(err error, what string) {
	for _, one := range flatten(err) {
		if one != nil {
			w.trial.attempt.Add(check.Errored, what+w.in.finding(w.trial, w.in.errorObjects(one, "synchronize", "")))
		}
	}
}

// timedOut notes that the time of the test is over, where err says that; any other error is returned.
func (w *watch) timedOut(err error, text string) error {
	var e *npu.Error
	if !errors.As(err, &e) || e.Code != npu.ErrStreamTimeout || w.by.Interrupted() {
		return err
	}
	w.late = true
	lines := w.group.Report(w.by)
	for _, line := range lines {
		text += "\n" + shownLine(line)
	}
	w.trial.attempt.Add(check.Errored, text)
	return nil
}

// clear ends what is left of the test and closes what it made. Where the program is ended from outside, the end of the
// session does.
func (w *watch) clear() error {
	if w.in.ctx.Err() != nil {
		return nil
	}
	w.group.Cancel(w.by)
	w.cleanup(w.group.Abort(w.by))
	if err := w.group.Await(w.by, -1); err != nil {
		return err
	}
	for _, t := range w.group.TakeFailures() {
		if s, ok := t.Err().(*scriptError); ok && s.value == w.in.checks.stop {
			continue
		}
		w.trial.attempt.Add(check.Errored, shownText(fmt.Sprintf("%v failed, and nobody joined it: %s", t, w.in.FormatError(t.Err()))))
	}
	w.cleanup(w.group.Close(w.by))
	return nil
}

// cleanup notes that something was not cleaned up.
func (w *watch) cleanup(err error) {
	w.faults(err, "could not be cleaned up: ")
}
