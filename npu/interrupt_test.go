package npu_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"npulua/npu"
)

// idleMachine is a Machine of tasks that share nothing.
type idleMachine struct{}

func (idleMachine) Leave(*npu.Task) {}
func (idleMachine) Enter(*npu.Task) {}

var errStop = errors.New("stop")

// The context of the first task ends its waits, and no wait of another one.
func TestContextOfTheFirstTask(t *testing.T) {
	s, err := npu.Open(t.Context(), npu.Options{Backend: "sim", Wall: true})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := s.Close(true); err != nil {
			t.Error(err)
		}
	}()
	main := s.Main()
	dev, err := main.Device(0)
	if err != nil {
		t.Fatal(err)
	}
	sch := s.NewScheduler(main, idleMachine{})
	defer sch.Abandon()
	spin, err := s.Kernel("spin")
	if err != nil {
		t.Fatal(err)
	}
	busy := func() *npu.Stream {
		st, err := dev.DefaultContext().CreateStream(main, npu.StreamOptions{})
		if err == nil {
			err = st.Launch(main, spin, 1, []npu.Arg{{Number: 60}})
		}
		if err != nil {
			t.Fatal(err)
		}
		return st
	}
	if err := main.Sleep(time.Millisecond); err != nil { // until real time has come as far as the model
		t.Fatal(err)
	}
	for _, alone := range []bool{true, false} {
		var other *npu.Task
		if !alone {
			if other, err = sch.Spawn(main, func(th *npu.Thread) error { return th.Sleep(time.Hour) }); err != nil {
				t.Fatal(err)
			}
		}
		var kept *npu.Stream
		for name, wait := range map[string]func() error{
			"sleep":       func() error { return main.Sleep(time.Hour) },
			"busy":        func() error { return main.Busy(time.Hour) },
			"synchronize": func() error { return busy().Synchronize(main, -1) },
			"timeout":     func() error { return busy().Synchronize(main, time.Hour) },
			"scope": func() error {
				return main.Scope(func() error {
					kept = busy()
					return kept.Synchronize(main, -1)
				})
			},
			"close": func() error { return busy().Close(main) },
		} {
			ctx, cancel := context.WithCancelCause(t.Context())
			sch.SetContext(ctx)
			time.AfterFunc(10*time.Millisecond, func() { cancel(errStop) })
			begin := time.Now()
			if err := wait(); !errors.Is(err, errStop) || time.Since(begin) > time.Second {
				t.Errorf("%s: %v after %v", name, err, time.Since(begin))
			}
			if err := main.Sleep(time.Hour); !errors.Is(err, errStop) {
				t.Errorf("%s: a later wait: %v", name, err)
			}
			sch.SetContext(context.Background())
			if err := main.Sleep(time.Microsecond); err != nil {
				t.Errorf("%s: afterwards: %v", name, err)
			}
		}
		if kept.Closed() {
			t.Error("a stream with work left was closed")
		}
		if other != nil && other.Ended() {
			t.Error("the other task has ended")
		}
	}
}

// What needs no wait is given back also after the interruption.
func TestScopeClosesAfterInterruption(t *testing.T) {
	s, err := npu.Open(t.Context(), npu.Options{Backend: "sim"})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close(true)
	main := s.Main()
	dev, err := main.Device(0)
	if err != nil {
		t.Fatal(err)
	}
	sch := s.NewScheduler(main, idleMachine{})
	ctx, cancel := context.WithCancelCause(t.Context())
	sch.SetContext(ctx)
	var st *npu.Stream
	var buf *npu.Buffer
	err = main.Scope(func() error {
		if st, err = dev.DefaultContext().CreateStream(main, npu.StreamOptions{}); err != nil {
			return err
		}
		if buf, err = dev.DefaultContext().Alloc(main, float32Type, 8, ""); err != nil {
			return err
		}
		if err := st.Fill(main, buf, 1); err != nil {
			return err
		}
		if err := st.Synchronize(main, -1); err != nil {
			return err
		}
		cancel(errStop)
		return main.Sleep(1)
	})
	if !errors.Is(err, errStop) {
		t.Errorf("got %v", err)
	}
	if !st.Closed() || !buf.Closed() {
		t.Errorf("stream closed: %v, buffer closed: %v", st.Closed(), buf.Closed())
	}
}

func TestHistory(t *testing.T) {
	s, err := npu.Open(t.Context(), npu.Options{Backend: "sim"})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close(true)
	main := s.Main()
	dev, err := main.Device(0)
	if err != nil {
		t.Fatal(err)
	}
	ctx, err := dev.CreateContext(main)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []*npu.Context{ctx, dev.DefaultContext()} {
		st, err := c.CreateStream(main, npu.StreamOptions{})
		if err != nil {
			t.Fatal(err)
		}
		x, err := c.Alloc(main, float32Type, 8, "")
		if err != nil {
			t.Fatal(err)
		}
		h, err := main.Host(float32Type, 8, true)
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(st.Copy(main, x, h), st.Copy(main, h, x), st.Synchronize(main, -1)); err != nil {
			t.Fatal(err)
		}
	}
	before, err := main.Now()
	if err != nil {
		t.Fatal(err)
	}
	list, now, err := s.History(main)
	if err != nil {
		t.Fatal(err)
	}
	if after, err := main.Now(); err != nil || now != before || after != before {
		t.Errorf("%v, %v and %v: it took time", before, now, after)
	}
	if len(list) != 2 || list[0].Context != 0 || list[1].Context != 1 || list[1].Name != "stream(1, context 1, device 0)" {
		t.Fatalf("got %+v", list)
	}
	for _, st := range list {
		c := st.Commands
		if len(c) != 2 || c[0].Way != "H2D" || c[1].Way != "D2H" || c[0].Start >= c[0].End || c[1].Start < c[0].End {
			t.Errorf("%s: %+v", st.Name, c)
		}
	}
	if cur, err := main.CurrentContext(); err != nil || cur != ctx {
		t.Errorf("the current context became %v", cur)
	}
}
