package npu

import (
	"slices"
	"time"
)

// Case is one thing that Select waits for: a value to receive from Channel, room to send Value to it, or
// the end of Task.
type Case struct {
	Channel *Channel
	Send    bool
	Value   any
	Task    *Task
}

// String names the case for messages.
func (c Case) String() string {
	switch {
	case c.Task != nil:
		return c.Task.String()
	case c.Send:
		return "sending to " + c.Channel.String()
	}
	return c.Channel.String()
}

// Chosen is what Select did.
type Chosen struct {
	Index int  // of the case, from 0
	Value any  // that was received
	Open  bool // of a channel: false where it is closed and empty
}

// Select does the first of cases that can be done, and waits until one can. timeout as in Channel.Send;
// with try it does not wait, and Index is -1 where none can be done. A case that sends to a closed channel
// fails with ErrInvalidHandle.
func Select(t *Thread, cases []Case, timeout time.Duration, try bool) (Chosen, error) {
	task, err := t.needTask()
	if err != nil {
		return Chosen{}, err
	}
	for _, c := range cases {
		if c.Task != nil && c.Task.sch != task.sch {
			return Chosen{}, otherScheduler()
		}
	}
	w := &suspension{task: task, on: cases}
	parties := make([]*party, len(cases))
	unlock := lockAll(cases)
	for i, c := range cases {
		if chosen, done, err := c.try(task.sch); done || err != nil {
			unlock()
			chosen.Index = i
			return chosen, err
		}
		parties[i] = &party{w: w, value: c.Value, index: i}
	}
	if try {
		unlock()
		return Chosen{Index: -1}, nil
	}
	if err := task.mayWait(); err != nil {
		unlock()
		return Chosen{}, err
	}
	for i, c := range cases {
		c.join(parties[i])
	}
	unlock()
	err = task.suspendFor(w, timeout)
	for i, c := range cases {
		if err != nil || i != w.chosen {
			c.leave(parties[i])
		}
	}
	return Chosen{w.chosen, w.value, w.open}, err
}

// lockAll locks the channels of cases, each once and always in the same order.
func lockAll(cases []Case) (unlock func()) {
	var list []*Channel
	for _, c := range cases {
		if c.Channel != nil {
			list = append(list, c.Channel)
		}
	}
	slices.SortFunc(list, func(a, b *Channel) int { return a.number - b.number })
	list = slices.Compact(list)
	for _, c := range list {
		c.mu.Lock()
	}
	return func() {
		for _, c := range list {
			c.mu.Unlock()
		}
	}
}

// try does c if that can be done at once; its channel is locked.
func (c Case) try(by *Scheduler) (chosen Chosen, done bool, err error) {
	switch {
	case c.Task != nil:
		return Chosen{}, c.Task.Ended(), nil
	case c.Send:
		done, err = c.Channel.send(by, c.Value)
		return Chosen{}, done, err
	}
	chosen.Value, chosen.Open, done = c.Channel.receive(by)
	return chosen, done, nil
}

// join puts p into the queue of c; its channel is locked.
func (c Case) join(p *party) {
	switch {
	case c.Task != nil:
		c.Task.joiners = append(c.Task.joiners, p)
	case c.Send:
		c.Channel.senders.push(p)
	default:
		c.Channel.receivers.push(p)
	}
}

// leave takes p out of the queue of c, where it still is.
func (c Case) leave(p *party) {
	switch {
	case c.Task != nil:
		c.Task.joiners = slices.DeleteFunc(c.Task.joiners, func(x *party) bool { return x == p })
	case c.Send:
		c.Channel.leave(p, &c.Channel.senders)
	default:
		c.Channel.leave(p, &c.Channel.receivers)
	}
}
