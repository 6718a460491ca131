package npu_test

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"npulua/npu"
)

// Values come in the order of sending, whatever the capacity, and no more wait than that.
func TestChannelsKeepOrder(t *testing.T) {
	for _, capacity := range []int64{0, 1, 2, 7, 100} {
		t.Run(fmt.Sprint("capacity ", capacity), func(t *testing.T) {
			c := newCrew(t)
			ch := c.channel(capacity)
			const n = 50
			sent := 0
			c.spawn(func(th *npu.Thread) {
				for i := range n {
					check(t, ch.Send(th, i, -1))
					sent++
				}
				check(t, ch.Close(th))
			})
			got := 0
			for {
				v, ok, err := ch.Receive(c.t, -1)
				check(t, err)
				if !ok {
					break
				}
				if v != got {
					t.Fatalf("capacity %d: received %v, want %d", capacity, v, got)
				}
				got++
				if n := ch.Len(); int64(n) > capacity || sent-got > int(capacity)+1 {
					t.Fatalf("capacity %d: %d values wait, %d sent, %d received", capacity, n, sent, got)
				}
			}
			if got != n || ch.Len() != 0 || !ch.Closed() || int64(ch.Capacity()) != capacity {
				t.Errorf("capacity %d: %d received, %v", capacity, got, ch)
			}
		})
	}
}

// Several senders and receivers are served in the order of their calls.
func TestChannelsAreFair(t *testing.T) {
	c := newCrew(t)
	ch := c.channel(0)
	for i := range 3 {
		c.spawn(func(th *npu.Thread) {
			v, _, err := ch.Receive(th, -1)
			c.note("%d gets %v, %v", i, v, err)
		})
	}
	c.turn()
	for i := range 3 {
		check(t, ch.Send(c.t, i, -1))
	}
	c.finish()
	c.wantLog("0 gets 0, <nil>", "1 gets 1, <nil>", "2 gets 2, <nil>")
	for i := range 3 {
		c.spawn(func(th *npu.Thread) { check(t, ch.Send(th, i, -1)) })
	}
	c.turn()
	for i := range 3 {
		if v, _, _ := ch.Receive(c.t, -1); v != i {
			t.Errorf("received %v, want %d", v, i)
		}
	}
	c.finish()
}

func TestChannelTimeouts(t *testing.T) {
	for _, d := range []time.Duration{0, 1, time.Millisecond} {
		t.Run(fmt.Sprint("timeout ", d), func(t *testing.T) {
			c := newCrew(t)
			ch := c.channel(1)
			_, _, err := ch.Receive(c.t, d)
			want(t, err, npu.ErrStreamTimeout)
			check(t, ch.Send(c.t, "a", d))
			want(t, ch.Send(c.t, "b", d), npu.ErrStreamTimeout)
			if got := now(t, c.t); got != 2*d {
				t.Errorf("timeout %v: it is %v, want %v", d, got, 2*d)
			}
			// what was not done in time is not done later
			if v, _, err := ch.Receive(c.t, d); v != "a" || err != nil {
				t.Errorf("timeout %v: received %v, %v", d, v, err)
			}
			if _, _, ok, _ := ch.TryReceive(c.t); ok || ch.Len() != 0 {
				t.Errorf("timeout %v: %v", d, ch)
			}
			check(t, ch.Send(c.t, "c", d))
		})
	}
}

// Of a value and a timeout at one time the one that comes first wins.
func TestChannelTimeoutAtTheSameTime(t *testing.T) {
	c := newCrew(t)
	ch := c.channel(0)
	c.spawn(func(th *npu.Thread) {
		_, _, err := ch.Receive(th, time.Second)
		want(t, err, npu.ErrStreamTimeout) // it was posted first
	})
	c.spawn(func(th *npu.Thread) {
		check(t, th.Sleep(time.Second))
		ok, err := ch.TrySend(th, 1)
		if ok || err != nil {
			t.Errorf("TrySend = %v, %v, want false", ok, err)
		}
	})
	c.finish()
}

func TestTryForms(t *testing.T) {
	c := newCrew(t)
	for _, capacity := range []int64{0, 1, 3} {
		ch := c.channel(capacity)
		for i := range capacity {
			if ok, err := ch.TrySend(c.t, i); !ok || err != nil {
				t.Errorf("capacity %d: TrySend = %v, %v", capacity, ok, err)
			}
		}
		if ok, err := ch.TrySend(c.t, 9); ok || err != nil {
			t.Errorf("capacity %d: TrySend to a full channel = %v, %v", capacity, ok, err)
		}
		check(t, ch.Close(c.t))
		check(t, ch.Close(c.t))
		_, err := ch.TrySend(c.t, 9)
		want(t, err, npu.ErrInvalidHandle)
		want(t, ch.Send(c.t, 9, -1), npu.ErrInvalidHandle)
		for i := range capacity {
			if v, open, ok, err := ch.TryReceive(c.t); v != i || !open || !ok || err != nil {
				t.Errorf("capacity %d: TryReceive = %v, %v, %v, %v", capacity, v, open, ok, err)
			}
		}
		for range 2 {
			if v, open, ok, err := ch.TryReceive(c.t); v != nil || open || !ok || err != nil {
				t.Errorf("capacity %d: TryReceive at the end = %v, %v, %v, %v", capacity, v, open, ok, err)
			}
		}
	}
	_, err := c.t.NewChannel(-1)
	want(t, err, npu.ErrInvalidParam)
	_, err = c.t.NewChannel(npu.MaxCapacity + 1)
	want(t, err, npu.ErrInvalidParam)
}

// Close ends the waits of both sides.
func TestCloseEndsWaits(t *testing.T) {
	c := newCrew(t)
	full, empty := c.channel(1), c.channel(1)
	check(t, full.Send(c.t, "old", -1))
	for i := range 2 {
		c.spawn(func(th *npu.Thread) { want(t, full.Send(th, i, -1), npu.ErrInvalidHandle) })
		c.spawn(func(th *npu.Thread) {
			if v, open, err := empty.Receive(th, -1); v != nil || open || err != nil {
				t.Errorf("Receive = %v, %v, %v, want the end", v, open, err)
			}
		})
	}
	c.turn()
	check(t, full.Close(c.t))
	check(t, empty.Close(c.t))
	c.finish()
	if v, open, err := full.Receive(c.t, -1); v != "old" || !open || err != nil {
		t.Errorf("Receive = %v, %v, %v, want what was left", v, open, err)
	}
}

// Share replaces what waits, all of it or, at an error, nothing; once it has succeeded it does nothing.
func TestShare(t *testing.T) {
	c := newCrew(t)
	ch := c.channel(4)
	for i := range 4 {
		check(t, ch.Send(c.t, i, -1))
	}
	_, _, err := ch.Receive(c.t, -1)
	check(t, err)
	stop := errors.New("stop")
	err = ch.Share(func(v any) (any, error) {
		if v == 3 {
			return nil, stop
		}
		return v.(int) * 10, nil
	})
	if err != stop {
		t.Errorf("Share() = %v, want %v", err, stop)
	}
	if ch.Shared() {
		t.Error("shared after an error")
	}
	for range 2 {
		check(t, ch.Share(func(v any) (any, error) {
			return v.(int) * 10, nil
		}))
	}
	for _, want := range []int{10, 20, 30} {
		if v, _, _ := ch.Receive(c.t, -1); v != want {
			t.Errorf("received %v, want %d", v, want)
		}
	}
}

// A thread without a scheduler has no channels.
func TestChannelsNeedAScheduler(t *testing.T) {
	s := open(t, npu.Options{})
	th := s.Main()
	ch := must(th.NewChannel(1))(t)
	want(t, ch.Send(th, 1, -1), npu.ErrInternal)
	_, _, err := ch.Receive(th, -1)
	want(t, err, npu.ErrInternal)
	want(t, ch.Close(th), npu.ErrInternal)
}

// Two schedulers on two goroutines exchange values; selects of both sides meet.
func TestChannelsBetweenSchedulers(t *testing.T) {
	for _, capacity := range []int64{0, 1, 5} {
		t.Run(fmt.Sprint("capacity ", capacity), func(t *testing.T) {
			a := newCrew(t)
			there, back := a.channel(capacity), a.channel(capacity)
			th := a.s.NewThread(t.Context())
			const tasks, n = 4, 200
			var wg sync.WaitGroup
			wg.Go(func() { // echoes, with tasks of its own
				defer th.Close()
				b := onThread(t, a.s, th)
				for range tasks {
					b.spawn(func(th *npu.Thread) {
						for {
							chosen, err := npu.Select(th, []npu.Case{{Channel: there}}, -1, false)
							check(t, err)
							if !chosen.Open {
								return
							}
							check(t, back.Send(th, chosen.Value.(int)*2, -1))
						}
					})
				}
				check(t, b.Finish())
			})
			sum := 0
			sender := a.spawn(func(th *npu.Thread) {
				for i := range n {
					if i%3 == 0 {
						_, err := npu.Select(th, []npu.Case{{Channel: there, Send: true, Value: i}}, -1, false)
						check(t, err)
					} else {
						check(t, there.Send(th, i, -1))
					}
				}
				check(t, there.Close(th))
			})
			within(t, "the exchange", func() {
				for range n {
					v, _, err := back.Receive(a.t, time.Hour)
					if err != nil {
						t.Error(err)
						return
					}
					sum += v.(int)
				}
				check(t, sender.Join(a.t, -1))
				a.t.Close() // time may pass without it
				wg.Wait()
			})
			if want := n * (n - 1); sum != want {
				t.Errorf("sum %d, want %d", sum, want)
			}
		})
	}
}
