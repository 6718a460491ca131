package luabind

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	lua "github.com/yuin/gopher-lua"

	"npulua/luabind/check"
	"npulua/luabind/quantity"
	"npulua/npu"
)

// testOptions are those of check.test.
type testOptions struct {
	level   int
	timeout time.Duration
	retries int
	device  int // check.NoDevice: none
	open    bool
	prepare bool
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
	if t.open, err = o.bool("open", true); err != nil {
		return t, err
	}
	if t.prepare, err = o.bool("prepares", false); err != nil {
		return t, err
	}
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
	now, err := c.t.Now()
	if err != nil {
		return err
	}
	t := &check.Test{Begin: now - k.start, Name: name, Group: o.group, Device: o.device, Level: o.level, Prepares: o.prepare, Where: shownLine(c.in.sites.text(c.site))}
	k.report.Tests = append(k.report.Tests, t)
	if o.level > k.report.Level {
		t.Skip(fmt.Sprintf("level %d", o.level))
	} else if err := c.runTest(k, t, o, fn); err != nil {
		return err
	}
	c.in.tell(k, t)
	c.push(lua.LString(t.Result.String()))
	if what := t.Lacks(); what != "" {
		c.push(lua.LString(what))
	}
	return nil
}

// tell shows a test to people who watch.
func (in *Interp) tell(k *checks, t *check.Test) {
	if in.opts.StdoutTerminal && !k.quiet && !k.silent && !k.json && k.markdown != "-" {
		_ = in.std.Stdout.WriteContext(in.ctx, t.Line()+"\n") // Flush has the error
	}
}

// runTest makes the attempts of t. An error is none of the test: the script ends.
func (c *call) runTest(k *checks, t *check.Test, o testOptions, fn *lua.LFunction) error {
	k.running++
	defer func() { k.running-- }()
	t.Running = true
	for {
		if err := c.attempt(t, o, fn); err != nil {
			if c.in.ctx.Err() == nil { // else EndChecks says what ended it
				t.Running = false
				t.Add(check.Errored, "was broken off: "+shownText(c.in.FormatError(err)))
			}
			return err
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

// attempt runs fn once, in a task of its own, and takes away what it leaves. Its time begins when its device is open.
func (c *call) attempt(t *check.Test, o testOptions, fn *lua.LFunction) error {
	w := watch{in: c.in, by: c.t, group: c.in.sched.NewGroup(), trial: &trial{test: t, attempt: &t.Attempt}, timeout: o.timeout}
	w.group.OutsideLimit = o.timeout
	var err error
	if o.open {
		err = w.open(o.device)
	}
	if err == nil {
		w.begin, err = c.t.Now()
	}
	if err == nil {
		if t.Earlier == nil {
			t.Begin = w.begin - c.in.checks.start
		}
		if t.Result == check.Pass {
			err = w.run(fn)
		}
	}
	c.t.Shield(func() { err = errors.Join(err, w.clear()) })
	w.trial.over = true
	if now, e := c.t.Now(); e == nil {
		t.Took = now - c.in.checks.start - t.Begin
	}
	if err == nil {
		t.Attempt.End()
	}
	return err
}

// errTestOver is what the instructions of a test raise whose time is over.
var errTestOver = errors.New("the test was ended")

// watch runs a test and waits for it, and for what it has begun.
type watch struct {
	in      *Interp
	by      *npu.Thread // who waits
	group   *npu.Group
	trial   *trial
	ctx     *npu.Context // of the test's own; nil: none
	main    *npu.Task    // that runs the function
	begin   time.Duration
	timeout time.Duration
}

// open makes a context for the test, in a task of its group: what is current for the caller stays so.
func (w *watch) open(id int) error {
	if id == check.NoDevice {
		return nil
	}
	t, err := w.group.Spawn(w.by, func(th *npu.Thread) (err error) {
		if w.trial.dev, err = th.Device(id); err == nil {
			w.ctx, err = w.trial.dev.CreateContext(th)
		}
		return err
	})
	if err != nil {
		return err
	}
	if err := t.AwaitEnd(w.by, -1); err != nil {
		return err
	}
	var e *npu.Error
	if err = t.Join(w.by, 0); errors.As(err, &e) {
		w.trial.attempt.Add(check.Errored, fmt.Sprintf("device %d cannot be used: %s", id, shownText(errorText(w.in.errorObjects(err, "device", w.trial.test.Where)))))
		return nil
	}
	return err
}

// left is how much time the test has.
func (w *watch) left() time.Duration {
	now, _ := w.by.Now() // which would fail in the wait, too
	return max(w.timeout-(now-w.begin), 0)
}

// run calls fn and waits until that, what it spawned and the work that it queued are over, or its time is. An error
// says that who waits must not go on.
func (w *watch) run(fn *lua.LFunction) error {
	k := &task{turn: w.in.threads.NewTask()}
	var err error
	k.Task, err = w.group.Spawn(w.by, func(th *npu.Thread) error {
		if w.ctx != nil {
			if err := w.ctx.SetCurrent(th); err != nil {
				return err
			}
		}
		_, err := k.turn.Run(fn, w.in.checks.trials.wrap(w.trial, &w.trial.bound))
		return w.in.caught(err)
	})
	if err != nil {
		return err
	}
	k.Bound, w.main = k, k.Task
	k.OnCancel = func() { k.turn.Cancel(errTestOver) }
	ctx, end := context.WithCancel(w.in.ctx)
	defer end()
	k.turn.BlockUntil(ctx)
	var program atomic.Pointer[string] // that the test still waited for when its time was over
	defer w.in.std.LimitPrograms(w.timeout, func(text string) {
		program.Store(&text)
		end()
	})()
	if err := k.AwaitEnd(w.by, w.timeout); err != nil {
		return w.timedOut(err, "")
	}
	if text := program.Load(); text != nil {
		w.trial.attempt.Add(check.Errored, w.expired()+"; "+shownText(*text))
		return nil
	}
	if now, err := w.by.Now(); err == nil && now-w.begin > w.timeout { // a call held everything up, the clock of the timeout too
		w.trial.attempt.Add(check.Errored, w.expired()+": its function ended after "+quantity.Took(now-w.begin))
		return nil
	}
	if err := w.ended(k); err != nil {
		return err
	}
	if err := w.group.Await(w.by, w.left()); err != nil {
		return w.timedOut(err, ": tasks that it spawned have not ended")
	}
	for _, x := range w.workers() {
		if _, _, err := x.ended.Receive(w.by, w.left()); err != nil {
			return w.timedOut(err, fmt.Sprintf(": %v has not ended", x))
		}
	}
	faults, err := w.group.Settle(w.by, w.left())
	for _, f := range faults {
		w.note(f.Err, "synchronize", fmt.Sprintf("left a fault on device %d: ", f.Device))
	}
	if err != nil {
		return w.timedOut(err, ": work that it queued is not done")
	}
	return nil
}

// ended judges the end of the test's function.
func (w *watch) ended(k *task) error {
	err := k.Join(w.by, 0)
	if cause := context.Cause(w.in.ctx); cause != nil { // the error says only that
		return cause
	}
	var script *scriptError
	if err == nil || !errors.As(err, &script) {
		return err // a defect of ours
	}
	if script.value == w.in.checks.stop {
		return nil
	}
	if isOfHost(script.value) {
		w.trial.attempt.LackHost(shownText(w.in.text(script.value)))
		return nil
	}
	w.trial.attempt.Add(check.Errored, w.in.finding(k.Thread(), script.value))
	if script.trace != "" {
		w.trial.attempt.Add(check.Log, shownTrace(strings.Replace(script.trace, "in main chunk", "in the function of the test", 1)))
	}
	return nil
}

// note notes an error of op, or several that are joined, which keeps the test from a good end.
func (w *watch) note(err error, op, what string) {
	for _, one := range flatten(err) {
		if one != nil {
			w.trial.attempt.Add(check.Errored, what+shownText(errorText(w.in.errorObjects(one, op, ""))))
		}
	}
}

// timedOut notes that the time of the test is over, where err says that, with text after it; any other error is
// returned.
func (w *watch) timedOut(err error, text string) error {
	var e *npu.Error
	if !errors.As(err, &e) || e.Code != npu.ErrStreamTimeout || w.by.Interrupted() {
		return err
	}
	text = w.expired() + text
	waits, streams := w.group.Report(w.by, w.main)
	lines := append(streams, waits...)
	if len(lines) > 0 {
		text += "; " + strings.Join(lines, "\n")
	}
	w.trial.attempt.Add(check.Errored, shownText(text))
	return nil
}

// expired begins the message of a test whose time is over.
func (w *watch) expired() string { return "timed out after " + quantity.Took(w.timeout) }

// clear ends what is left of the test and closes what it made. Where the program is ended from outside, the end of the
// session does.
func (w *watch) clear() error {
	if w.in.ctx.Err() != nil {
		return nil
	}
	w.group.Cancel(w.by)
	w.note(w.group.Abort(w.by), "check.test", notClean)
	if err := w.group.Await(w.by, -1); err != nil {
		return err
	}
	for _, t := range w.group.TakeFailures() {
		if s, ok := t.Err().(*scriptError); t == w.main || ok && s.value == w.in.checks.stop {
			continue
		}
		w.trial.attempt.Add(check.Errored, shownText(fmt.Sprintf("%v failed, and nobody joined it: %s", t, w.in.FormatError(t.Err()))))
	}
	for _, x := range w.workers() {
		if x.status() == npu.TaskRunning {
			x.ctx.End(errTestOver)
		}
		<-x.gone
		if err := x.takeFailure(); err != nil {
			w.trial.attempt.Add(check.Errored, shownText(fmt.Sprintf("%v failed, and nobody joined it: %s", x, w.in.FormatError(w.in.workerFailure(x, err, true)))))
		}
	}
	w.note(w.group.Close(w.by), "check.test", notClean)
	return nil
}

// workers are those that the test has started.
func (w *watch) workers() (list []*worker) {
	for _, x := range w.in.allWorkers() {
		if x.group == w.group {
			list = append(list, x)
		}
	}
	return list
}

// notClean begins the message of a test after which something is left on its device.
const notClean = "could not be cleaned up: "
