package npu_test

import (
	"runtime"
	"testing"
	"time"

	"npulua/npu"
)

// While a scope closes, other tasks run, and garbage collection with them; what it closes stays its own.
func TestClosingScopeKeepsItsHandles(t *testing.T) {
	c := newCrew(t)
	spin := must(c.s.Kernel("spin"))(t)
	task := must(c.Spawn(c.t, func(th *npu.Thread) error {
		return th.Scope(func() error {
			ctx := must(th.Device(0))(t).DefaultContext()
			for range 5 {
				st := must(ctx.CreateStream(th, npu.StreamOptions{}))(t)
				check(t, st.Launch(th, spin, 1, []npu.Arg{{Number: 5}}))
			}
			return nil
		})
	}))(t)
	check(t, c.t.Sleep(2*time.Second)) // now it waits for the newest stream
	if task.State() != npu.TaskWaiting {
		t.Fatalf("the task is %v", task.State())
	}
	for range 5 {
		runtime.GC()
		check(t, c.t.Sleep(time.Microsecond))
	}
	check(t, task.Join(c.t, -1))
	if left := c.s.Leaks(); len(left) != 0 {
		t.Errorf("left: %v", left)
	}
}
