package npu

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"npulua/npu/internal/executor"
)

// Scheduler lets tasks take turns: threads of control of which one runs at a time, each with a goroutine
// and a current context of its own. A task runs until it waits, or until Turn; then the one goes on that
// has been ready for longest, so that the order is the same in every run. Waits suspend only their task,
// and when every task waits the session's time goes on.
//
// A scheduler and its tasks count as one goroutine: everything but Channel is used by whichever task runs.
type Scheduler struct {
	s       *Session
	c       *executor.Caller
	machine Machine
	main    *Task
	current *Task
	ready   queue[*Task]
	live    map[*Task]struct{} // spawned and not ended
	failed  []*Task            // ended with an error that nobody has joined
	count   int                // spawned so far
	waits   int                // targets posted and not answered
	quiet   int                // calls of Turn since all tasks waited last
	rests   int                // how often all tasks have waited
	unpaid  time.Duration      // by what was computed since then while no task waited
	fresh   bool               // the running task has got its turn since the last call of Turn
	closed  bool               // nothing is spawned any more
	over    bool               // the session closes: no task but the one that closes it runs again
	ended   atomic.Bool        // see End
	unhook  func()             // undoes what SetContext began; nil: nothing

	name       string           // of the first task, for messages; "": main
	number     int              // in the order of messages; 0: that of main
	direct     *executor.Target // what the first task waits for where it is the only one
	directSite Site             // where

	turn sync.Mutex // held but while all tasks wait, so that others can tell what for

	mu    sync.Mutex
	inbox []*suspension // ended from other goroutines
}

// Machine is told when tasks take turns, so that it can exchange what belongs to the one that runs.
type Machine interface {
	Leave(t *Task) // t stops running, or its end has come
	Enter(t *Task) // t goes on after Leave
}

// NewScheduler makes main, a thread made by Open or NewThread, the first task. Waits of main suspend only
// itself from now on.
func (s *Session) NewScheduler(main *Thread, m Machine) *Scheduler {
	sch := &Scheduler{s: s, c: main.c, machine: m, live: make(map[*Task]struct{})}
	sch.main = &Task{sch: sch, thread: main, state: TaskRunning}
	sch.current = sch.main
	main.task = sch.main
	sch.turn.Lock()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.schedulers = append(s.schedulers, sch)
	return sch
}

// SetName gives the first task another name in messages, which come in the order of number; that of main
// is 0. Before it waits.
func (s *Scheduler) SetName(name string, number int) {
	s.s.mu.Lock()
	defer s.s.mu.Unlock()
	s.name, s.number = name, number
}

// End takes s out of the session: nothing of it uses the NPU any more, and its streams are anybody's. Again it does nothing.
func (s *Scheduler) End() {
	s.ended.Store(true)
	s.s.mu.Lock()
	defer s.s.mu.Unlock()
	s.s.schedulers = slices.DeleteFunc(s.s.schedulers, func(x *Scheduler) bool { return x == s })
}

// maxTasks is how many tasks of a session may be there at once that have not ended, those of all schedulers: each takes
// some 20 KB.
const maxTasks = 10_000

// Spawn makes a task that calls fn once its turn comes. It has no current context, as a new host thread. It is part of
// the group of by. ErrResource where there are too many tasks.
func (s *Scheduler) Spawn(by *Thread, fn func(*Thread) error) (*Task, error) {
	return s.spawn(by, by.group, fn)
}

func (s *Scheduler) spawn(by *Thread, group *Group, fn func(*Thread) error) (*Task, error) {
	if s.closed {
		return nil, errorf(ErrInternal, "the program is at its end: no task can be started")
	}
	if s.s.tasks.Add(1) > maxTasks {
		s.s.tasks.Add(-1)
		e := errorf(ErrResource, "%d tasks have not ended, and no more can be there at once", maxTasks)
		e.Host = true
		return nil, hinted(e, "join tasks before others are spawned, or let fewer tasks do the work")
	}
	s.count++
	t := newTask(s, s.count, by.Site, group, fn)
	s.live[t] = struct{}{}
	s.makeReady(t)
	return t, nil
}

// makeReady lets t run when its turn comes. Where a host function does it, while all tasks wait for the
// backend, that wait is over.
func (s *Scheduler) makeReady(t *Task) {
	s.ready.push(t)
	if s.c.Inside() {
		s.c.Wake()
	}
}

// SetContext lets ctx end the waits of the first task, besides what ends those of all. The other tasks go on.
// With context.Background nothing else ends them. The caller is the first task.
func (s *Scheduler) SetContext(ctx context.Context) {
	if s.unhook != nil {
		s.unhook()
		s.unhook = nil
	}
	s.main.ctx = nil
	if ctx.Done() == nil {
		return
	}
	s.main.ctx = ctx
	ended := make(chan func(), 1)
	stop := context.AfterFunc(ctx, func() { ended <- s.s.exec.Refuse() })
	s.unhook = func() {
		if !stop() { // ctx has ended
			(<-ended)()
		}
	}
}

// Current is the task that runs.
func (s *Scheduler) Current() *Task { return s.current }

// Alone reports whether the first task is the only one.
func (s *Scheduler) Alone() bool { return len(s.live) == 0 }

// patience is how many turns may pass before virtual time goes on: so many that what most scripts compute
// takes none.
const patience = 1000

// passing is how many turns count at once then, so that the executor, which spins before it parks, does not
// take the CPU that another worker could have.
const passing = 200

// Spend says that the running task has computed for cost of a virtual time. Where other tasks wait for the backend it
// has passed before the next thing that the task asks of the backend happens; computing is free elsewhere.
func (s *Scheduler) Spend(cost time.Duration) {
	switch {
	case s.c.Inside(): // it is the work of a stream
	case s.waits > 0:
		s.c.Spend(cost)
	default:
		s.unpaid += cost
	}
}

// Rests is how often all tasks have waited so far.
func (s *Scheduler) Rests() int { return s.rests }

// Turn lets other tasks run that are ready, after a while in which the running one has not waited, with the cost of what
// it computed since Spend or Turn was called last. The caller is the running task.
//
// Virtual time waits for a scheduler that runs, but not for ever: where it has not waited for patience
// calls, the time that they have taken since passes for other threads of the session that wait.
func (s *Scheduler) Turn(cost time.Duration) {
	if s.c.Inside() {
		return
	}
	s.Spend(cost)
	if s.quiet++; s.quiet > patience && s.quiet%passing == 0 && s.waits == 0 && s.s.threads.Load() > 1 {
		_ = s.c.Pass(s.unpaid) // an error is for those who wait
		s.unpaid = 0
	}
	if s.Alone() {
		return
	}
	s.takeInbox()
	if s.waits > 0 {
		answered, _ := s.c.Poll() // an error is for those who wait
		s.answer(answered)
	}
	if s.fresh { // what others have used up is not its own
		s.fresh = false
		return
	}
	s.yield()
}

// rested says that all tasks have waited.
func (s *Scheduler) rested() {
	s.quiet, s.unpaid = 0, 0
	s.rests++
}

// yield lets the other tasks run that are ready.
func (s *Scheduler) yield() {
	if s.ready.len() == 0 {
		return
	}
	t := s.current
	t.state = TaskReady
	s.ready.push(t)
	s.pause(t)
}

// Finish waits, as the first task, until all others have ended. An error is that of the wait; failures of
// tasks are left to Failures.
func (s *Scheduler) Finish() error {
	for len(s.live) > 0 {
		if err := s.tasks()[0].ended(s.main, -1); err != nil {
			return err
		}
	}
	return nil
}

// FinishCalls waits, as the first task, until the host functions have run that tasks of s have queued, also as kernels and in
// graphs: nobody runs them once s has ended. An error is that of the wait; faults of the work stay.
func (s *Scheduler) FinishCalls() error {
	t := s.main.thread
	states, unpin := s.s.pinStreams(s.s.root)
	defer unpin()
	for _, st := range states {
		if st.sch.Load() != s || st.calls <= st.synced.Load() || st.recording.Load() != nil {
			continue
		}
		if err := st.unlessGone(t.wait(st.target(-1, true))); err != nil {
			return err
		}
	}
	return nil
}

// Abandon cancels all tasks but the first, which calls it, and lets them end.
func (s *Scheduler) Abandon() {
	s.closed = true
	if s.current != s.main {
		return // the program ends inside a task: the others do not run again
	}
	for _, t := range s.tasks() {
		t.Cancel(s.main.thread)
	}
	s.main.shield++
	defer func() { s.main.shield-- }()
	for len(s.live) > 0 {
		if s.Finish() != nil && !s.stepAbandoned() {
			return
		}
	}
}

// stepAbandoned lets the tasks that are ready run, after the wait of the first one was interrupted. It
// reports false where none was.
func (s *Scheduler) stepAbandoned() bool {
	ran := false
	if err := s.c.Err(); err != nil {
		for _, t := range s.tasks() {
			t.wake(err)
		}
	}
	s.machine.Leave(s.main)
	for s.ready.len() > 0 {
		if t := s.ready.pop(); t != s.main {
			s.resume(t)
			ran = true
		}
	}
	s.current = s.main
	s.machine.Enter(s.main)
	return ran
}

// Failures are the tasks that failed and that nobody has joined, in the order of their ends. Tasks that
// were cancelled do not count.
func (s *Scheduler) Failures() []*Task { return s.failed }

// tasks are the live ones, oldest first.
func (s *Scheduler) tasks() []*Task {
	list := make([]*Task, 0, len(s.live))
	for t := range s.live {
		list = append(list, t)
	}
	slices.SortFunc(list, func(a, b *Task) int { return a.number - b.number })
	return list
}

// pause gives the turn of t away and returns when it has it again.
func (s *Scheduler) pause(t *Task) {
	s.machine.Leave(t)
	if t == s.main {
		s.loop()
	} else {
		t.yield(struct{}{})
	}
	t.state = TaskRunning
	s.current, s.fresh = t, true
	s.machine.Enter(t)
}

// loop gives turns to the other tasks until it is that of the first one, on whose goroutine it runs.
func (s *Scheduler) loop() {
	for {
		switch t := s.ready.pop(); t {
		case nil:
			s.await()
		case s.main:
			return
		default:
			s.resume(t)
		}
	}
}

func (s *Scheduler) resume(t *Task) {
	s.current, s.fresh, t.state = t, true, TaskRunning
	t.next()
	s.current = nil
}

// await lets time pass, where nothing is ready to run.
func (s *Scheduler) await() {
	if s.takeInbox() {
		return
	}
	s.turn.Unlock()
	answered, err := s.c.Await()
	s.turn.Lock()
	s.rested()
	s.answer(answered)
	s.takeInbox()
	switch {
	case err == nil:
	case errors.Is(err, executor.ErrDeadlock):
		s.deadlock()
	default:
		s.s.noteHang(s.c, s.number, s.waitTexts)
		for _, t := range s.everyone() {
			t.wake(own(err))
		}
	}
}

// everyone is the first task and the live ones, oldest first.
func (s *Scheduler) everyone() []*Task { return append([]*Task{s.main}, s.tasks()...) }

// answer ends the waits for targets.
func (s *Scheduler) answer(targets []*executor.Target) {
	for _, target := range targets {
		w, ok := target.Owner.(*suspension)
		if !ok {
			continue
		}
		err := target.Err
		if w.timed {
			err = timeoutError(target.Timeout)
		}
		w.target = nil
		s.waits--
		if w.end(err) {
			s.ready.push(w.task)
		}
	}
}

// takeInbox makes the tasks ready whose waits were ended from other goroutines.
func (s *Scheduler) takeInbox() bool {
	s.mu.Lock()
	list := s.inbox
	s.inbox = nil
	s.mu.Unlock()
	for _, w := range list {
		s.ready.push(w.task)
	}
	return len(list) > 0
}

// queue is first in, first out.
type queue[T any] struct {
	items []T
	head  int
}

func (q *queue[T]) len() int { return len(q.items) - q.head }

func (q *queue[T]) push(x T) {
	if q.head > 32 && q.head*2 > len(q.items) {
		n := copy(q.items, q.items[q.head:])
		clear(q.items[n:])
		q.items, q.head = q.items[:n], 0
	}
	q.items = append(q.items, x)
}

// pop takes the oldest item; the zero value where there is none.
func (q *queue[T]) pop() (x T) {
	if q.len() == 0 {
		return x
	}
	var none T
	x, q.items[q.head] = q.items[q.head], none
	if q.head++; q.head == len(q.items) {
		q.items, q.head = q.items[:0], 0
	}
	return x
}
