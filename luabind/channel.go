package luabind

import (
	"fmt"
	"runtime"
	"time"

	lua "github.com/yuin/gopher-lua"

	"npulua/npu"
)

var channelClass = &class[*npu.Channel]{
	name: "channel",
	text: "Hands values from task to task, in order (`npu.channel`). `for v in ch do` receives until the channel is closed and empty. `#ch` is how many values wait in it. nil cannot be sent.",
	methods: []method[*npu.Channel]{
		{"send", doc{"(value [, timeout])", "", "Hands a value over, and waits while the channel is full. `timeout` in seconds; left out it waits for ever.", "507046 when the timeout is over; 107017 for a channel that is closed, or is closed meanwhile; 100000 for nil, and for what cannot go to another worker; 507046 (deadlock) where nobody is left to receive", `ch:send(frame)`}, nil, channelSend},
		{"receive", doc{"([timeout])", "value", "Takes the oldest value, and waits while there is none; nil where the channel is closed and empty.", "507046 when the timeout is over; 507046 (deadlock) where nobody is left to send", `local frame = ch:receive()`}, nil, channelReceive},
		{"try_send", doc{"(value)", "boolean", "Hands a value over if that can be done at once.", "107017 for a closed channel; 100000 for nil, and for what cannot go to another worker", `if not ch:try_send(x) then print("full") end`}, nil, channelTrySend},
		{"try_receive", doc{"()", "value, boolean", "Takes the oldest value if there is one, and says whether there was: nil, false where there was none.", "", `local v, ok = ch:try_receive()`}, nil, channelTryReceive},
		{"close", doc{"()", "", "Lets no more values in. Who receives gets what is left, then nil; who waits to send gets an error. Calling it again does nothing.", "", `ch:close()`}, nil, channelClose},
	},
	fields: []field[*npu.Channel]{
		{"capacity", doc{Text: "How many values the channel holds; 0: it hands each over when a receiver is there."}, func(_ *call, ch *npu.Channel) (lua.LValue, error) { return lua.LNumber(ch.Capacity()), nil }},
		{"closed", doc{Text: "Whether the channel was closed; values may be left in it."}, func(_ *call, ch *npu.Channel) (lua.LValue, error) { return lua.LBool(ch.Closed()), nil }},
	},
	str: func(ch *npu.Channel) string {
		return fmt.Sprintf("channel(%d, %d of %d%s", ch.Number(), ch.Len(), ch.Capacity(), closedMark(ch.Closed()))
	},
	length: func(ch *npu.Channel) int64 { return int64(ch.Len()) },
	call: &method[*npu.Channel]{name: "receive", fn: func(c *call, ch *npu.Channel) error { // for v in ch
		v, _, err := ch.Receive(c.t, -1)
		if err != nil {
			return err
		}
		return c.pushReceived(v)
	}},
}

var channelFunctions = []function{
	{"channel", doc{"([capacity])", "channel", "Makes a channel that holds `capacity` values (0 where left out).", "100000 for a capacity that cannot be", `local ch = npu.channel(2)`}, nil, moduleChannel},
	{"select", doc{"(cases [, timeout])", "index, value, open", "Does the first of a list of cases that can be done, and waits until one can. A case is a channel to receive from, `{send = channel, value = v}`, or a task whose end is waited for. `index` counts from 1; `value` and `open` come from a receive alone, and `open` is false where the channel is closed and empty.", "100000 for a list that is empty or holds anything else; 507046 when the timeout is over; 107017 for sending to a closed channel; 507046 (deadlock) where no case can be done any more", `local i, v = npu.select({requests, stop}, 1)`}, nil, moduleSelect},
	{"try_select", doc{"(cases)", "index, value, open", "Does the first of the cases that can be done at once, as `npu.select`; nil where none can.", "100000 for a list that is empty or holds anything else; 107017 for sending to a closed channel", `if npu.try_select{stop} then return end`}, nil, moduleTrySelect},
}

// outgoing is v as it goes into ch: packed where machines share ch.
func (c *call) outgoing(ch *npu.Channel, v lua.LValue) (any, error) {
	if !ch.Shared() {
		return v, nil
	}
	x, err := c.in.parcel(v)
	if err != nil {
		return nil, err
	}
	return x, nil
}

// returned gives back what outgoing made, where it was not sent.
func returned(v any) {
	if x, ok := v.(*parcel); ok {
		x.drop()
	}
}

// pushReceived adds what came by a channel to the results.
func (c *call) pushReceived(v any) error {
	value, err := c.in.receive(v)
	if err == nil {
		c.push(value)
	}
	return err
}

// channel is the value of ch: one made by another machine gets a new one each time, which equals the last.
func (in *Interp) channel(ch *npu.Channel) lua.LValue {
	if ud, ok := ch.Bound.(*lua.LUserData); ok && ud.Metatable != in.channels.meta {
		return in.channels.wrap(ch, new(any))
	}
	return in.channels.wrap(ch, &ch.Bound)
}

func moduleChannel(c *call) error {
	var capacity int64
	if c.arg(1) != lua.LNil {
		var err error
		if capacity, err = c.int(1, "capacity"); err != nil {
			return err
		}
	}
	ch, err := c.t.NewChannel(capacity)
	if err == nil {
		c.push(c.in.channel(ch))
	}
	return err
}

// value reads an argument that is sent.
func (c *call) value(i int) (lua.LValue, error) {
	v := c.arg(i)
	if v == lua.LNil {
		return nil, c.errorf("argument %d (value) is nil, which receive returns where the channel is closed", i)
	}
	return v, nil
}

func channelSend(c *call, ch *npu.Channel) error {
	v, err := c.value(1)
	if err != nil {
		return err
	}
	timeout, err := c.timeout(2)
	if err != nil {
		return err
	}
	x, err := c.outgoing(ch, v)
	if err != nil {
		return err
	}
	if err = ch.Send(c.t, x, timeout); err != nil {
		returned(x)
	}
	return err
}

func channelTrySend(c *call, ch *npu.Channel) error {
	v, err := c.value(1)
	if err != nil {
		return err
	}
	x, err := c.outgoing(ch, v)
	if err != nil {
		return err
	}
	sent, err := ch.TrySend(c.t, x)
	if !sent {
		returned(x)
		giveWay(ch)
	}
	c.push(lua.LBool(sent))
	return err
}

// giveWay lets other machines run that use ch: a script that tries until it succeeds would keep the only CPU
// from them.
func giveWay(ch *npu.Channel) {
	if ch.Shared() {
		runtime.Gosched()
	}
}

func channelReceive(c *call, ch *npu.Channel) error {
	timeout, err := c.timeout(1)
	if err != nil {
		return err
	}
	v, _, err := ch.Receive(c.t, timeout)
	if err != nil {
		return err
	}
	return c.pushReceived(v)
}

func channelTryReceive(c *call, ch *npu.Channel) error {
	v, open, ok, err := ch.TryReceive(c.t)
	if !ok {
		giveWay(ch)
	}
	if err == nil {
		err = c.pushReceived(v)
	}
	c.push(lua.LBool(ok && open))
	return err
}

func channelClose(c *call, ch *npu.Channel) error { return ch.Close(c.t) }

func moduleSelect(c *call) error {
	timeout, err := c.timeout(2)
	if err != nil {
		return err
	}
	return c.selectCase(timeout, false)
}

func moduleTrySelect(c *call) error { return c.selectCase(-1, true) }

func (c *call) selectCase(timeout time.Duration, try bool) error {
	list, ok := c.arg(1).(*lua.LTable)
	if !ok {
		return c.wrongType(1, "cases", "a table")
	}
	if list.Len() == 0 {
		return c.errorf("argument 1 (cases) is empty: nothing could end the wait")
	}
	cases := make([]npu.Case, list.Len())
	chosen, err := npu.Chosen{Index: -1}, error(nil)
	for i := 0; i < len(cases) && err == nil; i++ {
		if cases[i], err = c.readCase(i+1, list.RawGetInt(i+1)); err == nil && cases[i].Send {
			cases[i].Value, err = c.outgoing(cases[i].Channel, cases[i].Value.(lua.LValue))
		}
	}
	if err == nil {
		chosen, err = npu.Select(c.t, cases, timeout, try)
	}
	for i, k := range cases {
		if i != chosen.Index || err != nil {
			returned(k.Value)
		}
	}
	if err != nil {
		return err
	}
	if chosen.Index < 0 {
		for _, k := range cases {
			if k.Channel != nil {
				giveWay(k.Channel)
			}
		}
		c.push(lua.LNil)
		return nil
	}
	c.push(lua.LNumber(chosen.Index + 1))
	if k := cases[chosen.Index]; k.Task == nil && !k.Send {
		if err := c.pushReceived(chosen.Value); err != nil {
			return err
		}
		c.push(lua.LBool(chosen.Open))
	}
	return nil
}

// readCase reads a case of a select.
func (c *call) readCase(i int, v lua.LValue) (npu.Case, error) {
	switch x := v.(type) {
	case *lua.LUserData:
		switch x := x.Value.(type) {
		case *npu.Channel:
			return npu.Case{Channel: x}, nil
		case *task:
			return npu.Case{Task: x.Task}, nil
		}
	case *lua.LTable:
		ud, _ := x.RawGetString("send").(*lua.LUserData)
		if ud == nil {
			break
		}
		ch, ok := ud.Value.(*npu.Channel)
		if !ok {
			break
		}
		value := x.RawGetString("value")
		if value == lua.LNil {
			return npu.Case{}, c.errorf("cases[%d] has no value to send", i)
		}
		return npu.Case{Channel: ch, Send: true, Value: value}, nil
	}
	return npu.Case{}, c.errorf("cases[%d] must be a channel, a task or {send = channel, value = v}, got %s", i, typeName(v))
}
