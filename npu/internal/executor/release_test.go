package executor_test

import (
	"testing"

	"npulua/npu/internal/driver"
	"npulua/npu/internal/executor"
)

func TestReleases(t *testing.T) {
	f, e := newFake(t, executor.Options{})
	c := e.NewCaller(background)
	defer c.Close()

	// Tried again after each wait until it says yes; the current context is as before.
	tries := 0
	submit(c, 1, 1, 0)
	e.Release(func(d driver.Driver) bool {
		_ = d.SetCurrentContext(7)
		tries++
		return tries == 3
	})
	for range 5 {
		if err := c.Wait(&executor.Target{Context: 1, Stream: 1, Timeout: -1}); err != nil {
			t.Fatal(err)
		}
		look(t, c, func() { _ = e.Again(func() error { return nil }) })
	}
	look(t, c, func() {
		if tries != 3 {
			t.Errorf("tried %d times, want 3", tries)
		}
		if last := f.contexts[len(f.contexts)-1]; last != 1 {
			t.Errorf("current context is %d", last)
		}
	})

	// A panic in one does not keep the next from running.
	ran := make(chan struct{})
	e.Release(func(driver.Driver) bool { panic("broken") })
	e.Release(func(driver.Driver) bool { close(ran); return true })
	within(t, "the release", func() { <-ran })
}

// What is released reaches the driver after the commands that were published before: they may use it.
func TestReleaseComesAfterTheCommands(t *testing.T) {
	f, e := newFake(t, executor.Options{})
	hold := make(chan struct{})
	f.enqueue = func(c *driver.Command) error {
		if c.Value == 0 {
			<-hold
		}
		return nil
	}
	c := e.NewCaller(background)
	defer c.Close()
	const n = 1000 // more than the executor takes at once
	for i := range uint64(n) {
		submit(c, 1, 1, i)
	}
	got := -1
	e.Release(func(driver.Driver) bool { got = len(f.log); return true })
	close(hold)
	look(t, c, func() { _ = e.Again(func() error { return nil }) })
	look(t, c, func() {
		if got != n {
			t.Errorf("released after %d commands, want %d", got, n)
		}
	})
}
