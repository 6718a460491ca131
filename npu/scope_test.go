package npu_test

import (
	"errors"
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

// What a scope closes takes no time of a virtual clock, since what garbage collection took before takes none.
func TestClosingScopeTakesNoTime(t *testing.T) {
	s := open(t, npu.Options{})
	th := s.Main()
	ctx := must(th.Device(0))(t).DefaultContext()
	check(t, ctx.SetCurrent(th))
	float32Type := mustType(t, "float32")
	spin := must(s.Kernel("spin"))(t)
	for name, makeOne := range map[string]func() error{
		"event":  func() error { _, err := ctx.CreateEvent(th, false); return err },
		"stream": func() error { _, err := ctx.CreateStream(th, npu.StreamOptions{}); return err },
		"stream with work": func() error {
			st, err := ctx.CreateStream(th, npu.StreamOptions{})
			if err != nil {
				return err
			}
			return errors.Join(st.Launch(th, spin, 1, []npu.Arg{{Number: 5}}), st.Synchronize(th, -1))
		},
		"context":       func() error { _, err := ctx.Device().CreateContext(th); return errors.Join(err, ctx.SetCurrent(th)) },
		"device memory": func() error { _, err := ctx.Alloc(th, float32Type, 100, ""); return err },
		"pinned memory": func() error { _, err := th.Host(float32Type, 100, true); return err },
		"host memory":   func() error { _, err := th.Host(float32Type, 100, false); return err },
		"model":         func() error { _, err := th.LoadModel(npu.File{Name: "../scripts/data/mlp_batch.json"}); return err },
	} {
		for _, collect := range []bool{false, true} {
			var inside time.Duration
			check(t, th.Scope(func() (err error) {
				for range 5 {
					if err := makeOne(); err != nil {
						return err
					}
				}
				if collect {
					th.Collect()
				}
				inside, err = th.Now()
				return err
			}))
			if took := must(th.Now())(t) - inside; took != 0 {
				t.Errorf("%s, collected before: %t: closing took %v", name, collect, took)
			}
		}
	}
}
