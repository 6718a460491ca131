package luabind

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	lua "github.com/yuin/gopher-lua"

	"npulua/luabind/lua51"
	"npulua/npu"
)

// task is a task as scripts see it, with what the machine keeps of it.
type task struct {
	*npu.Task
	bound   any
	turn    *lua51.Task
	results []lua.LValue
}

var taskClass = &class[*task]{
	name: "task",
	text: "A thread of control of the script (`npu.spawn`), with a current context of its own: none at the start. Tasks take turns in a fixed order. " +
		"Another one goes on when a task waits, and between two statements once it has run 10,000 to 20,000 instructions, of which a call of `npu` counts as 20; a statement without calls is never divided.",
	methods: []method[*task]{
		{"join", doc{"([timeout])", "results of fn", "Waits until the task has ended, and returns what its function returned. `timeout` in seconds; left out it waits for ever.", "the error of the task, unchanged; 507046 when the timeout is over; 107035 for a task that was cancelled; 507046 (deadlock) where it cannot end", `print(npu.spawn(function() return 1 + 1 end):join())`}, nil, taskJoin},
		{"cancel", doc{"()", "", "Ends the task: what it waits for is over, its next instruction raises an error that no pcall hides, and scopes close what they hold. Returns at once; `join` tells when the task has ended.", "", `t:cancel()`}, nil, taskCancel},
	},
	fields: []field[*task]{
		{"status", doc{Text: "`ready`, `running`, `waiting`, `done`, `failed` or `cancelled`."}, func(_ *call, t *task) (lua.LValue, error) { return lua.LString(t.State().String()), nil }},
		{"id", doc{Text: "Number of the task, from 1."}, func(_ *call, t *task) (lua.LValue, error) { return lua.LNumber(t.Number()), nil }},
		{"where", doc{Text: "Where the task was spawned."}, func(c *call, t *task) (lua.LValue, error) { return lua.LString(c.in.sites.text(t.Site())), nil }},
		{"traceback", doc{Text: "Where in the script its error came from; nil where it has not failed."}, func(_ *call, t *task) (lua.LValue, error) {
			if trace := traceOf(t.Err()); trace != "" {
				return lua.LString(trace), nil
			}
			return lua.LNil, nil
		}},
	},
	str: func(t *task) string { return fmt.Sprintf("task(%d, %v)", t.Number(), t.State()) },
}

var taskFunctions = []function{
	{"spawn", doc{"(fn, ...)", "task", "Makes a task that calls `fn(...)` once its turn comes. A task that fails and is never joined is reported at exit, with status 1; the script ends when all tasks have ended. At most 10,000 tasks can be there that have not ended.", "207005 for one more", `local t = npu.spawn(function() npu.sleep(1) end)`}, nil, moduleSpawn},
	{"join", doc{"(tasks [, timeout])", "first result of each", "Waits until all tasks of a list have ended. `timeout` in seconds, for them all together.", "when all have ended, the error of the first one of the list that failed or was cancelled (107035); other failures are reported at exit; 507046 when the timeout is over", `npu.join{npu.spawn(npu.sleep, 1), npu.spawn(npu.sleep, 2)}`}, nil, moduleJoin},
	{"sleep", doc{"(seconds)", "", "Suspends the task; others go on, and so do devices. On the simulator the time is virtual. With 0 the tasks run that are ready.", "100000 for less than 0", `npu.sleep(0.1)`}, nil, passing((*npu.Thread).Sleep)},
}

// scheduler makes the interpreter one that tasks take turns in.
func (in *Interp) openTasks() {
	in.main = &task{turn: in.threads.NewTask()}
	in.sched = in.session.NewScheduler(in.thread, in)
	in.free = freeInstructions
	in.threads.OnSlice(func() {
		if !in.thread.Inside() {
			in.sched.Turn(in.computed())
		}
	})
}

// instructionTime is what an instruction counts as, where tasks wait for virtual time meanwhile; assumed.
const instructionTime = 20 * time.Nanosecond

// freeInstructions is how many are run between two waits of all tasks without taking time: most scripts wait sooner.
const freeInstructions = lua51.Slice

// computed is the virtual time of what the machine has run since the last call.
func (in *Interp) computed() time.Duration {
	n := in.threads.Ran() - in.ran
	in.ran += n
	if rests := in.sched.Rests(); rests != in.rests {
		in.rests, in.free = rests, freeInstructions
	}
	free := min(n, in.free)
	in.free -= free
	return time.Duration(n-free) * instructionTime
}

// asWork calls fn, which is the work of a stream: what it computes is not that of the task.
func (in *Interp) asWork(fn func() error) error {
	defer func() { in.ran = in.threads.Ran() }()
	return fn()
}

func (in *Interp) taskOf(t *npu.Task) *task {
	if k, ok := t.Bound.(*task); ok {
		return k
	}
	return in.main
}

// Leave implements npu.Machine.
func (in *Interp) Leave(t *npu.Task) {
	in.taskOf(t).turn.Leave() // host functions that run meanwhile are of no task
}

// Enter implements npu.Machine.
func (in *Interp) Enter(t *npu.Task) {
	in.taskOf(t).turn.Enter()
	in.thread = t.Thread()
}

func moduleSpawn(c *call) error {
	fn, err := c.function(1, "fn")
	if err != nil {
		return err
	}
	var args []lua.LValue
	for i := 2; i <= c.count(); i++ {
		args = append(args, c.arg(i))
	}
	in := c.in
	k := &task{turn: in.threads.NewTask()}
	k.turn.BlockAs(c.L)
	k.Task, err = in.sched.Spawn(c.t, func(*npu.Thread) error {
		results, err := k.turn.Run(fn, args...)
		k.results = results
		err = in.caught(err)
		if script, ok := err.(*scriptError); ok {
			script.trace = strings.Replace(script.trace, "in main chunk", "in the function of the task", 1)
		}
		return err
	})
	if err != nil {
		return err
	}
	k.Bound = k
	k.OnCancel = func() { k.turn.Cancel(errCancelled) }
	c.push(in.tasks.wrap(k, &k.bound))
	return nil
}

// errCancelled is what the instructions of a cancelled task raise.
var errCancelled = errors.New("the task was cancelled")

func taskJoin(c *call, t *task) error {
	timeout, err := c.timeout(1)
	if err != nil {
		return err
	}
	if err := c.in.join(c, t, timeout); err != nil {
		return err
	}
	for _, v := range t.results {
		c.push(v)
	}
	return nil
}

// join waits for the end of t and keeps the traceback of its error.
func (in *Interp) join(c *call, t *task, timeout time.Duration) error {
	err := t.Join(c.t, timeout)
	var script *scriptError
	if t.State() == npu.TaskFailed && errors.As(err, &script) {
		in.trails.add(script.value, t.String()+":\n"+script.trace)
	}
	return err
}

func taskCancel(c *call, t *task) error {
	t.Cancel(c.t)
	return nil
}

func moduleJoin(c *call) error {
	list, ok := c.arg(1).(*lua.LTable)
	if !ok {
		return c.wrongType(1, "tasks", "a table of tasks")
	}
	timeout, err := c.timeout(2)
	if err != nil {
		return err
	}
	tasks := make([]*task, list.Len())
	for i := range tasks {
		v := list.RawGetInt(i + 1)
		ud, _ := v.(*lua.LUserData)
		if ud != nil {
			tasks[i], _ = ud.Value.(*task)
		}
		if tasks[i] == nil {
			return c.errorf("tasks[%d] must be a task, got %s", i+1, typeName(v))
		}
	}
	if err := c.allEnded(tasks, timeout); err != nil {
		return err
	}
	for _, t := range tasks {
		if t.Err() != nil {
			return c.in.join(c, t, -1)
		}
	}
	for _, t := range tasks {
		var first lua.LValue = lua.LNil
		if len(t.results) > 0 {
			first = t.results[0]
		}
		c.push(first)
	}
	return nil
}

// allEnded waits until all tasks have ended, in whatever way.
func (c *call) allEnded(tasks []*task, timeout time.Duration) error {
	left := timeout
	begin, err := c.t.Now()
	if err != nil {
		return err
	}
	for _, t := range tasks {
		if timeout > 0 {
			now, err := c.t.Now()
			if err != nil {
				return err
			}
			left = max(timeout-(now-begin), 0)
		}
		if err := t.AwaitEnd(c.t, left); err != nil {
			var e *npu.Error
			if errors.As(err, &e) && timeout >= 0 && e.Code == npu.ErrStreamTimeout {
				e.Detail = fmt.Sprintf("not done after %v", timeout) // of them all
			}
			return err
		}
	}
	return nil
}

// Finish waits, at the end of a script, until all its tasks and workers have ended.
func (in *Interp) Finish() error {
	err := in.sched.Finish()
	for more := true; more && err == nil; {
		if more, err = in.finishWorkers(); err == nil {
			err = in.sched.Finish()
		}
	}
	var e *npu.Error
	if errors.As(err, &e) && e.Op == "" {
		e.Op = "end of the script"
	}
	return err
}

// taskFailure is the error of a task that nobody joined.
type taskFailure struct {
	task fmt.Stringer // a task or worker
	err  error
}

func (f *taskFailure) Error() string { return fmt.Sprintf("%v failed: %v", f.task, f.err) }
func (f *taskFailure) Unwrap() error { return f.err }

// failures are the tasks that failed and were never joined. A deadlock has been told where the first task
// waited.
func (in *Interp) failures() (list []*taskFailure) {
	for _, t := range in.sched.Failures() {
		var script *scriptError
		if errors.As(t.Err(), &script) {
			if tb, ok := script.value.(*lua.LTable); ok && in.deadlocks[tb] {
				continue
			}
		}
		list = append(list, &taskFailure{t, t.Err()})
	}
	list = append(list, in.workerFailures()...)
	return slices.DeleteFunc(list, func(f *taskFailure) bool { return in.told[f.task] })
}

// failure is failures as one error.
func (in *Interp) failure() error {
	var errs []error
	for _, f := range in.failures() {
		errs = append(errs, f)
	}
	return errors.Join(errs...)
}

// traceOf is the traceback of an error of a script, "" where it has none.
func traceOf(err error) string {
	var script *scriptError
	if errors.As(err, &script) {
		return script.trace
	}
	return ""
}

// trails are the tracebacks of errors that went from task to task, by their values.
type trails struct{ list []trail }

type trail struct {
	value lua.LValue
	text  string
}

// maxTrails bounds the list; older ones are forgotten.
const maxTrails = 32

func (x *trails) add(v lua.LValue, text string) {
	text = strings.TrimSuffix(text, ":\n")
	if slices.Contains(x.list, trail{v, text}) { // joined again
		return
	}
	if len(x.list) == maxTrails {
		x.list = append(x.list[:0], x.list[1:]...)
	}
	x.list = append(x.list, trail{v, text})
}

// text is every traceback of v, in the order of the joins.
func (x *trails) text(v lua.LValue) string {
	var out []string
	for _, t := range x.list {
		if t.value == v {
			out = append(out, t.text)
		}
	}
	return strings.Join(out, "\n")
}
