package npu_test

import (
	"testing"
	"time"

	"npulua/npu"
)

// Select does the first case that can be done, at once where there is one.
func TestSelectAtOnce(t *testing.T) {
	c := newCrew(t)
	empty, full, room, closed := c.channel(1), c.channel(1), c.channel(1), c.channel(0)
	check(t, full.Send(c.t, "v", -1))
	check(t, closed.Close(c.t))
	ended := c.spawn(func(*npu.Thread) {})
	c.finish()
	never := c.spawn(func(th *npu.Thread) { check(t, th.Sleep(time.Hour)) })
	receive := func(ch *npu.Channel) npu.Case { return npu.Case{Channel: ch} }
	send := func(ch *npu.Channel) npu.Case { return npu.Case{Channel: ch, Send: true, Value: "s"} }
	for _, row := range []struct {
		name  string
		cases []npu.Case
		want  npu.Chosen
	}{
		{"none", []npu.Case{receive(empty), send(full), {Task: never}}, npu.Chosen{Index: -1}},
		{"receive", []npu.Case{receive(empty), receive(full), receive(closed)}, npu.Chosen{Index: 1, Value: "v", Open: true}},
		{"closed", []npu.Case{{Task: never}, receive(closed), send(room)}, npu.Chosen{Index: 1}},
		{"send", []npu.Case{send(full), send(room), receive(closed)}, npu.Chosen{Index: 0}}, // full was received from
		{"task", []npu.Case{send(full), {Task: ended}, receive(full)}, npu.Chosen{Index: 1}},
		{"the same twice", []npu.Case{receive(full), receive(full)}, npu.Chosen{Index: 0, Value: "s", Open: true}},
		{"both sides of one", []npu.Case{receive(full), send(full)}, npu.Chosen{Index: 1}},
	} {
		got, err := npu.Select(c.t, row.cases, -1, true)
		if err != nil || got != row.want {
			t.Errorf("%s: Select() = %+v, %v, want %+v", row.name, got, err, row.want)
		}
	}
	_, err := npu.Select(c.t, []npu.Case{receive(empty), send(closed), receive(closed)}, -1, true)
	want(t, err, npu.ErrInvalidHandle)
	_, err = npu.Select(c.t, []npu.Case{receive(empty), send(full)}, 0, false)
	want(t, err, npu.ErrStreamTimeout)
	_, err = npu.Select(c.t, []npu.Case{receive(empty), {Task: never}}, time.Minute, false)
	want(t, err, npu.ErrStreamTimeout)
	if got := now(t, c.t); got != time.Minute {
		t.Errorf("it is %v, want 1m", got)
	}
	if ok, _ := empty.TrySend(c.t, 1); !ok || empty.Len() != 1 {
		t.Errorf("a select that is over received: %v", empty)
	}
}

// Select waits for whatever comes first, and leaves the other cases undone.
func TestSelectWaits(t *testing.T) {
	for _, row := range []struct {
		name string
		do   func(c *crew, th *npu.Thread, in, out *npu.Channel)
		want npu.Chosen
		code npu.Code
	}{
		{"receive", func(_ *crew, th *npu.Thread, in, _ *npu.Channel) { check(t, in.Send(th, "v", -1)) }, npu.Chosen{Index: 0, Value: "v", Open: true}, 0},
		{"receive, tried", func(_ *crew, th *npu.Thread, in, _ *npu.Channel) {
			if ok, err := in.TrySend(th, "v"); !ok || err != nil {
				t.Errorf("TrySend = %v, %v", ok, err)
			}
		}, npu.Chosen{Index: 0, Value: "v", Open: true}, 0},
		{"close", func(_ *crew, th *npu.Thread, in, _ *npu.Channel) { check(t, in.Close(th)) }, npu.Chosen{Index: 0}, 0},
		{"send", func(_ *crew, th *npu.Thread, _, out *npu.Channel) {
			if v, open, err := out.Receive(th, -1); v != "s" || !open || err != nil {
				t.Errorf("Receive = %v, %v, %v", v, open, err)
			}
		}, npu.Chosen{Index: 1, Open: true}, 0},
		{"send to closed", func(_ *crew, th *npu.Thread, _, out *npu.Channel) { check(t, out.Close(th)) }, npu.Chosen{Index: 1}, npu.ErrInvalidHandle},
		{"task", func(*crew, *npu.Thread, *npu.Channel, *npu.Channel) {}, npu.Chosen{Index: 2}, 0},
		{"all: the first that is done wins", func(_ *crew, th *npu.Thread, in, out *npu.Channel) {
			_, _, err := out.Receive(th, -1)
			check(t, err)
			if ok, err := in.TrySend(th, "v"); ok || err != nil {
				t.Errorf("TrySend = %v, %v, want false", ok, err)
			}
		}, npu.Chosen{Index: 1, Open: true}, 0},
		{"both selects meet", func(_ *crew, th *npu.Thread, in, out *npu.Channel) {
			got, err := npu.Select(th, []npu.Case{{Channel: out}, {Channel: in, Send: true, Value: "v"}}, -1, false)
			if (got != npu.Chosen{Index: 0, Value: "s", Open: true}) || err != nil {
				t.Errorf("the other select: %+v, %v", got, err)
			}
		}, npu.Chosen{Index: 1, Open: true}, 0},
	} {
		t.Run(row.name, func(t *testing.T) {
			c := newCrew(t)
			in, out := c.channel(0), c.channel(0)
			task := c.spawn(func(th *npu.Thread) {
				check(t, th.Sleep(time.Second))
				row.do(c, th, in, out)
			})
			got, err := npu.Select(c.t, []npu.Case{{Channel: in}, {Channel: out, Send: true, Value: "s"}, {Task: task}}, time.Hour, false)
			if row.code != 0 {
				want(t, err, row.code)
			} else if err != nil || got != row.want {
				t.Errorf("%s: Select() = %+v, %v, want %+v", row.name, got, err, row.want)
			}
			c.finish()
			if got := now(t, c.t); got != time.Second {
				t.Errorf("%s: it is %v, want 1s", row.name, got)
			}
			for _, ch := range []*npu.Channel{in, out} { // nothing is left in the queues
				if _, _, ok, _ := ch.TryReceive(c.t); ok && !ch.Closed() {
					t.Errorf("%s: %v still sends", row.name, ch)
				}
				if ok, _ := ch.TrySend(c.t, 1); ok {
					t.Errorf("%s: %v still receives", row.name, ch)
				}
			}
		})
	}
}
