package npu_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"npulua/npu"
)

var errAsked = errors.New("asked for")

// nesting does random things to the current context of a thread, beside a model of it.
type nesting struct {
	*npu.Session
	tb       testing.TB
	rng      *rand.Rand
	sch      *npu.Scheduler
	explicit []*npu.Context
	trail    []string
}

// current is the model: what was made current, of which the last open one is.
type current []*npu.Context

func (m current) now() *npu.Context {
	for _, c := range slices.Backward(m) {
		if !c.Closed() {
			return c
		}
	}
	return nil
}

func (x *nesting) note(format string, args ...any) {
	x.trail = append(x.trail, fmt.Sprintf(format, args...))
}

func (x *nesting) verify(t *npu.Thread, m current) {
	x.tb.Helper()
	got, _ := t.CurrentContext()
	if want := m.now(); got != want {
		x.tb.Fatalf("current is %s, want %s, after %q", text(got), text(want), x.trail)
	}
}

func text(c *npu.Context) string {
	if c == nil {
		return "none"
	}
	return fmt.Sprintf("context %d of device %d", c.ID(), c.Device().ID())
}

func (x *nesting) device(t *npu.Thread) *npu.Device {
	return must(t.Device(x.rng.IntN(x.Session.DeviceCount())))(x.tb)
}

// body takes some steps on t, and returns errAsked or nil.
func (x *nesting) body(t *npu.Thread, m *current, depth int) error {
	if depth > 5 {
		return nil
	}
	for range x.rng.IntN(6) {
		if err := x.step(t, m, depth); err != nil {
			return err
		}
		x.verify(t, *m)
	}
	return nil
}

func (x *nesting) step(t *npu.Thread, m *current, depth int) error {
	inner := func() error { return x.body(t, m, depth+1) }
	anyContext := func() *npu.Context {
		if len(x.explicit) > 0 && x.rng.IntN(3) > 0 {
			return x.explicit[x.rng.IntN(len(x.explicit))]
		}
		return m.now()
	}
	switch x.rng.IntN(12) {
	case 0:
		dev := x.device(t)
		x.note("device %d", dev.ID())
		*m = append(*m, dev.DefaultContext())
	case 1, 2:
		dev := x.device(t)
		c := must(dev.CreateContext(t))(x.tb)
		x.note("create %s", text(c))
		*m = append(*m, dev.DefaultContext(), c)
		x.explicit = append(x.explicit, c)
	case 3:
		if c := anyContext(); c != nil && c.SetCurrent(t) == nil {
			x.note("set %s", text(c))
			*m = append(*m, c)
		}
	case 4, 5, 6:
		c := anyContext()
		if c == nil {
			return nil
		}
		x.note("use %s", text(c))
		before, closed := slices.Clone(*m), c.Closed()
		err := t.Use(c, func() error {
			*m = append(*m, c)
			x.verify(t, *m)
			return inner()
		})
		*m = before
		x.note("end of use: %v", err)
		if closed {
			want(x.tb, err, npu.ErrInvalidHandle)
			return nil
		}
		if x.rng.IntN(2) == 0 {
			return err
		}
	case 7:
		if len(x.explicit) > 0 {
			c := x.explicit[x.rng.IntN(len(x.explicit))]
			check(x.tb, c.Close(t))
			x.note("close %s", text(c))
		}
	case 8:
		if c := m.now(); c != nil && x.rng.IntN(4) == 0 {
			end := c.Device().Close
			if x.rng.IntN(2) == 0 {
				end = c.Device().Reset
			}
			check(x.tb, end(t))
			x.note("close device %d", c.Device().ID())
		}
	case 9:
		x.note("scope")
		return t.Scope(inner)
	case 10:
		x.note("task")
		task, err := x.sch.Spawn(t, func(own *npu.Thread) error {
			var m current
			x.verify(own, m)
			if err := x.body(own, &m, depth+1); err != nil {
				return err
			}
			check(x.tb, own.Sleep(0))
			return x.body(own, &m, depth+1)
		})
		check(x.tb, err)
		check(x.tb, t.Sleep(0))
		x.verify(t, *m)
		_ = task.Join(t, -1)
	case 11:
		if x.rng.IntN(3) == 0 {
			return errAsked
		}
	}
	return nil
}

func TestCurrentContextNesting(t *testing.T) {
	for seed := range uint64(40) {
		x := &nesting{Session: open(t, npu.Options{Backend: "sim", Sim: "910b:3"}), tb: t, rng: rand.New(rand.NewPCG(seed, 1))}
		x.sch = x.NewScheduler(x.Main(), idleMachine{})
		var m current
		for range 20 {
			if err := x.body(x.Main(), &m, 0); err != nil && err != errAsked {
				t.Fatalf("seed %d: %v, after %q", seed, err, x.trail)
			}
		}
		check(t, x.sch.Finish())
		check(t, x.Close(false))
	}
}
