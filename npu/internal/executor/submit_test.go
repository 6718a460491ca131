package executor_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"npulua/npu/internal/driver"
	"npulua/npu/internal/executor"
)

func TestRefusedCommandIsToldOnce(t *testing.T) {
	f, e := newFake(t, executor.Options{})
	f.enqueue = func(c *driver.Command) error {
		if c.Value%2 == 1 {
			return driver.Errorf(driver.CodeInvalidHandle, "call", "value %d", c.Value)
		}
		return nil
	}
	c := e.NewCaller(background)
	defer c.Close()
	wait := func(s driver.Stream) error {
		return c.Wait(&executor.Target{Context: 1, Stream: s, Timeout: -1})
	}
	for i := range uint64(30) {
		submit(c, 1, 1, i)
	}
	if err := wait(2); err != nil {
		t.Errorf("another stream: %v", err)
	}
	if err := c.Wait(&executor.Target{Context: 1, Stream: 1, Timeout: -1, KeepFaults: true}); err != nil {
		t.Errorf("a wait that leaves faults: %v", err)
	}
	var e1 *driver.Error
	if err := wait(1); !errors.As(err, &e1) || e1.Code != driver.CodeInvalidHandle || e1.Site != 1 || e1.Op != "fill" {
		t.Errorf("first wait: %#v", err)
	} else if want := []driver.Site{3, 5, 7, 9, 11, 13, 15, 17}; !slices.Equal(e1.Affected, want) {
		t.Errorf("affected %v, want %v", e1.Affected, want)
	}
	if err := wait(1); err != nil {
		t.Errorf("second wait: %v", err)
	}
}

// A fault of the device and a refused command are two errors: one wait tells both.
func TestFaultAndRefusalAreBothTold(t *testing.T) {
	f, e := newFake(t, executor.Options{})
	f.enqueue = func(c *driver.Command) error {
		f.fault = &driver.Error{Code: driver.CodeVectorException, Site: 5}
		return driver.CodeStreamContext
	}
	c := e.NewCaller(background)
	defer c.Close()
	submit(c, 1, 1, 6)
	err := c.Wait(&executor.Target{Context: 1, Stream: 1, Timeout: -1})
	if !errors.Is(err, driver.CodeVectorException) || !errors.Is(err, driver.CodeStreamContext) {
		t.Errorf("got %v", err)
	}
	if err := c.Wait(&executor.Target{Context: 1, Stream: 1, Timeout: -1}); err != nil {
		t.Errorf("second wait: %v", err)
	}
}

func TestQueueFull(t *testing.T) {
	t.Run("room comes with time", func(t *testing.T) {
		f, e := newClockFake(t)
		room := 2
		f.enqueue = func(*driver.Command) error {
			if room == 0 {
				return driver.CodeQueueFull
			}
			room--
			return nil
		}
		for i := range 100 {
			f.todo = append(f.todo, todo{time.Duration(i), func() { room++ }})
		}
		c := e.NewCaller(background)
		defer c.Close()
		for i := range uint64(50) {
			submit(c, 1, 1, i)
		}
		if err := c.Wait(&executor.Target{Context: 1, Stream: 1, Timeout: -1}); err != nil {
			t.Error(err)
		}
		look(t, c, func() {
			if len(f.log) != 50 || !slices.IsSorted(f.log) {
				t.Errorf("got %v", f.log)
			}
		})
	})
	t.Run("nothing can make room", func(t *testing.T) {
		f, e := newClockFake(t)
		f.enqueue = func(*driver.Command) error { return driver.CodeQueueFull }
		c := e.NewCaller(background)
		defer c.Close()
		submit(c, 1, 1, 7)
		err := c.Wait(&executor.Target{Context: 1, Stream: 1, Timeout: -1})
		if codeOf(err) != driver.CodeResourceStream || !strings.Contains(err.Error(), "queue is full") {
			t.Errorf("got %v", err)
		}
	})
	t.Run("without a clock", func(t *testing.T) {
		f, e := newFake(t, executor.Options{})
		n := 0
		f.enqueue = func(*driver.Command) error {
			if n++; n%3 != 0 {
				return driver.CodeQueueFull
			}
			return nil
		}
		c := e.NewCaller(background)
		defer c.Close()
		for i := range uint64(20) {
			submit(c, 1, 1, i)
		}
		look(t, c, func() {
			if len(f.log) != 20 || !slices.IsSorted(f.log) {
				t.Errorf("got %v", f.log)
			}
		})
	})
	t.Run("abort", func(t *testing.T) {
		f, e := newFake(t, executor.Options{})
		f.enqueue = func(*driver.Command) error { return driver.CodeQueueFull }
		c := e.NewCaller(background)
		defer c.Close()
		submit(c, 1, 1, 1)
		e.Abort()
		within(t, "the call", func() { look(t, c, func() {}) })
	})
}

// A place that is cancelled holds no command, and between Begin and Submit nothing can wait.
func TestCancelledPlace(t *testing.T) {
	f, e := newFake(t, executor.Options{})
	c := e.NewCaller(background)
	defer c.Close()
	p, cmd := c.Begin()
	cmd.Op, cmd.Context = driver.OpCopy, 1
	p.Cancel()
	p, _ = c.Begin()
	func() {
		defer func() {
			if recover() == nil {
				t.Error("a call between Begin and Submit did not panic")
			}
		}()
		_ = c.Call(0, func(driver.Driver) error { return nil })
	}()
	p.Cancel()
	var n int
	if err := c.Call(0, func(driver.Driver) error { n = len(f.log); return nil }); err != nil || n != 0 {
		t.Errorf("%d commands, %v, want none", n, err)
	}
}
