package executor_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"npulua/npu/internal/driver"
	"npulua/npu/internal/executor"
	"npulua/npu/null"
)

// fake is a driver without a clock whose parts a test replaces. It notes what reaches it, and on
// which goroutine's turn: only the executor may call it, so its fields need no lock.
type fake struct {
	*null.Driver
	log      []uint64 // values of the commands in order
	contexts []driver.Context
	enqueue  func(c *driver.Command) error
	query    func(s driver.Stream) (bool, error)
	fault    error // of every stream, taken once
}

func (f *fake) Enqueue(c *driver.Command) error {
	if f.enqueue != nil {
		if err := f.enqueue(c); err != nil {
			return err
		}
	}
	f.log = append(f.log, c.Value)
	return nil
}

func (f *fake) SetCurrentContext(c driver.Context) error {
	f.contexts = append(f.contexts, c)
	return nil
}

func (f *fake) QueryStream(s driver.Stream) (bool, error) {
	if f.query != nil {
		return f.query(s)
	}
	return true, nil
}

func (f *fake) SynchronizeStream(driver.Stream, time.Duration) error {
	err := f.fault
	f.fault = nil
	return err
}

// clockFake is a fake with a clock: a list of times at which something happens.
type clockFake struct {
	*fake
	now   time.Duration
	todo  []todo // in order of time
	looks uint64
}

type todo struct {
	at time.Duration
	fn func()
}

func (f *clockFake) Now() time.Duration { return f.now }

func (f *clockFake) Next() (time.Duration, bool) {
	if len(f.todo) == 0 {
		return 0, false
	}
	return f.todo[0].at, true
}

func (f *clockFake) Advance(limit time.Duration) bool {
	if len(f.todo) == 0 || limit >= 0 && f.todo[0].at > limit {
		f.now = max(f.now, limit)
		return false
	}
	next := f.todo[0]
	f.todo = f.todo[1:]
	f.now = max(f.now, next.at)
	if next.fn != nil {
		next.fn()
	}
	return true
}

func (f *clockFake) Changes() uint64   { f.looks++; return f.looks }
func (f *clockFake) Untimed(fn func()) { fn() }

// newFake starts an executor over a fake, and ends it with the test.
func newFake(t *testing.T, opts executor.Options) (*fake, *executor.Executor) {
	f := &fake{Driver: null.Open()}
	return f, start(t, f, opts)
}

func newClockFake(t *testing.T) (*clockFake, *executor.Executor) {
	f := &clockFake{fake: &fake{Driver: null.Open()}}
	return f, start(t, f, executor.Options{})
}

func start(t *testing.T, d driver.Driver, opts executor.Options) *executor.Executor {
	e := executor.New(d, opts)
	t.Cleanup(func() { within(t, "Close", e.Close) })
	return e
}

// within fails the test where fn takes so long that it must hang.
func within(t *testing.T, what string, fn func()) {
	t.Helper()
	done := make(chan struct{})
	go func() {
		defer close(done)
		fn()
	}()
	select {
	case <-done:
	case <-time.After(20 * time.Second):
		t.Fatalf("%s hangs", what)
	}
}

func submit(c *executor.Caller, ctx driver.Context, s driver.Stream, v uint64) {
	p, cmd := c.Begin()
	cmd.Op, cmd.Context, cmd.Stream, cmd.Value, cmd.Site = driver.OpFill, ctx, s, v, driver.Site(v)
	p.Submit()
}

// look reads the driver's notes on its own thread.
func look(t *testing.T, c *executor.Caller, fn func()) {
	t.Helper()
	if err := c.Call(1, func(driver.Driver) error { fn(); return nil }); err != nil {
		t.Fatal(err)
	}
}

func codeOf(err error) driver.Code {
	var code driver.Code
	errors.As(err, &code)
	return code
}

var background = context.Background()
