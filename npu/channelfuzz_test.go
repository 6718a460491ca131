package npu_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"npulua/npu"
)

// chanStep is one step of a task of FuzzChannels.
type chanStep struct {
	kind  byte // '=': select of cases, '?': try, 'c': close, 't': turn
	cases []chanCase
}

type chanCase struct {
	ch   int
	send bool
}

// chanProgram is what the tasks do; caps are the capacities of the channels.
type chanProgram struct {
	caps  []int
	tasks [][]chanStep
}

// readChanProgram makes a program of any bytes.
func readChanProgram(data []byte) chanProgram {
	next := func(n int) int {
		if len(data) == 0 {
			return 0
		}
		x := int(data[0]) % n
		data = data[1:]
		return x
	}
	p := chanProgram{caps: make([]int, 1+next(3)), tasks: make([][]chanStep, 1+next(5))}
	for i := range p.caps {
		p.caps[i] = next(3)
	}
	for n := 0; len(data) > 0 && n < 200; n++ {
		id := next(len(p.tasks))
		step := chanStep{kind: "====??ct"[next(8)]}
		if step.kind == 'c' && next(4) > 0 {
			step.kind = 't' // closing is rare
		}
		for range 1 + next(3) {
			step.cases = append(step.cases, chanCase{next(len(p.caps)), next(2) == 0})
		}
		p.tasks[id] = append(p.tasks[id], step)
	}
	return p
}

// chanValue is what a case sends, another one each time.
func chanValue(id, pc, i int) int { return id*10000 + pc*10 + i }

func chanNote(id, pc int, what string, args ...any) string {
	return fmt.Sprintf("task %d, step %d: ", id, pc) + fmt.Sprintf(what, args...)
}

// modelTask is a task of the model.
type modelTask struct {
	id, pc  int
	waiting *chanStep
	result  string // of the wait that is over
}

// model is how channels and turns should be, written the simplest way.
type model struct {
	p      chanProgram
	buf    [][]int
	closed []bool
	tasks  []*modelTask
	ready  []*modelTask
	queue  []*modelTask // those that wait, in the order of their waits
	log    []string
}

func (m *model) run() {
	m.buf, m.closed = make([][]int, len(m.p.caps)), make([]bool, len(m.p.caps))
	for id := range m.p.tasks {
		m.tasks = append(m.tasks, &modelTask{id: id})
	}
	m.ready = slices.Clone(m.tasks)
	for len(m.ready) > 0 {
		t := m.ready[0]
		m.ready = m.ready[1:]
		m.turn(t)
	}
	for _, t := range m.tasks {
		if t.waiting != nil {
			m.log = append(m.log, chanNote(t.id, t.pc, "deadlock"))
		}
	}
}

func (m *model) turn(t *modelTask) {
	for ; t.pc < len(m.p.tasks[t.id]); t.pc++ {
		step := &m.p.tasks[t.id][t.pc]
		if t.result == "" {
			switch step.kind {
			case 't':
				t.result = "turn"
				m.ready = append(m.ready, t)
				return
			case 'c':
				m.close(step.cases[0].ch)
				t.result = "close"
			default:
				if t.result = m.try(t, step); t.result == "" && step.kind == '?' {
					t.result = "none"
				}
			}
			if t.result == "" {
				t.waiting = step
				m.queue = append(m.queue, t)
				return
			}
		}
		m.log = append(m.log, chanNote(t.id, t.pc, "%s", t.result))
		t.result = ""
	}
}

// take ends the oldest wait that has a case of ch and that side, and returns the value it sends.
func (m *model) take(ch int, send bool, result func(i int) string) (value int, ok bool) {
	for k, t := range m.queue {
		for i, c := range t.waiting.cases {
			if c.ch == ch && c.send == send {
				t.result, t.waiting = result(i), nil
				m.queue = slices.Delete(m.queue, k, k+1)
				m.ready = append(m.ready, t)
				return chanValue(t.id, t.pc, i), true
			}
		}
	}
	return 0, false
}

func sentText(i int) string { return fmt.Sprintf("case %d sent", i) }

func gotText(v int) func(int) string {
	return func(i int) string { return fmt.Sprintf("case %d got %d", i, v) }
}

func endText(i int) string { return fmt.Sprintf("case %d closed", i) }

func refusedText(int) string { return "refused" }

// try does the first case that can be done.
func (m *model) try(t *modelTask, step *chanStep) string {
	for i, c := range step.cases {
		if c.send {
			v := chanValue(t.id, t.pc, i)
			if m.closed[c.ch] {
				return refusedText(i)
			}
			if _, ok := m.take(c.ch, false, gotText(v)); ok {
				return sentText(i)
			}
			if len(m.buf[c.ch]) < m.p.caps[c.ch] {
				m.buf[c.ch] = append(m.buf[c.ch], v)
				return sentText(i)
			}
			continue
		}
		if len(m.buf[c.ch]) > 0 {
			v := m.buf[c.ch][0]
			m.buf[c.ch] = m.buf[c.ch][1:]
			if next, ok := m.take(c.ch, true, sentText); ok {
				m.buf[c.ch] = append(m.buf[c.ch], next)
			}
			return gotText(v)(i)
		}
		if v, ok := m.take(c.ch, true, sentText); ok {
			return gotText(v)(i)
		}
		if m.closed[c.ch] {
			return endText(i)
		}
	}
	return ""
}

func (m *model) close(ch int) {
	m.closed[ch] = true
	for ok := true; ok; {
		_, ok = m.take(ch, false, endText)
	}
	for ok := true; ok; {
		_, ok = m.take(ch, true, refusedText)
	}
}

// runTask runs the steps of task id on th.
func (p chanProgram) runTask(c *crew, th *npu.Thread, id int, chans []*npu.Channel) {
	for pc, step := range p.tasks[id] {
		note := func(what string) { c.log = append(c.log, chanNote(id, pc, "%s", what)) }
		switch step.kind {
		case 't':
			c.turn()
			note("turn")
			continue
		case 'c':
			check(c.tb, chans[step.cases[0].ch].Close(th))
			note("close")
			continue
		}
		var cases []npu.Case
		for i, x := range step.cases {
			cases = append(cases, npu.Case{Channel: chans[x.ch], Send: x.send, Value: chanValue(id, pc, i)})
		}
		got, err := npu.Select(th, cases, -1, step.kind == '?')
		var e *npu.Error
		switch {
		case errors.As(err, &e) && npu.IsDeadlock(e):
			note("deadlock")
			return
		case errors.Is(err, npu.ErrInvalidHandle):
			note(refusedText(0))
		case err != nil:
			c.tb.Error(err)
		case got.Index < 0:
			note("none")
		case step.cases[got.Index].send:
			note(sentText(got.Index))
		case !got.Open:
			note(endText(got.Index))
		default:
			note(gotText(got.Value.(int))(got.Index))
		}
	}
}

// FuzzChannels holds channels, select and turns to the model, for any program of tasks.
func FuzzChannels(f *testing.F) {
	f.Add([]byte{0, 1, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 1})
	state := uint32(1)
	for n := 20; n <= 800; n += 20 {
		data := make([]byte, n)
		for i := range data {
			state = state*1664525 + 1013904223
			data[i] = byte(state >> 24)
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		p := readChanProgram(data)
		m := &model{p: p}
		m.run()
		c := newCrew(t)
		var chans []*npu.Channel
		for _, n := range p.caps {
			chans = append(chans, c.channel(int64(n)))
		}
		for id := range p.tasks {
			c.spawn(func(th *npu.Thread) { p.runTask(c, th, id, chans) })
		}
		within(t, "the tasks", func() {
			for !c.Alone() {
				_ = c.Finish() // a deadlock is told to this one too
			}
		})
		for i := range max(len(c.log), len(m.log)) {
			got, want := "the end", "the end"
			if i < len(c.log) {
				got = c.log[i]
			}
			if i < len(m.log) {
				want = m.log[i]
			}
			if got != want {
				t.Fatalf("line %d: %q, want %q; before: %q", i, got, want, m.log[max(i-10, 0):i])
			}
		}
	})
}
