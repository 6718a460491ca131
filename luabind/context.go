package luabind

import (
	lua "github.com/yuin/gopher-lua"

	"npulua/npu"
)

var contextClass = &class[*npu.Context]{
	name: "context",
	text: "State on one device that owns streams and events. Objects made from a context belong to it, whichever context is current.",
	methods: []method[*npu.Context]{
		{"create_stream", doc{"([options])", "stream", "Makes a stream: an ordered queue of work. Streams run in parallel.", "207005 where the device has no more streams", `local s = ctx:create_stream{priority = 0}`}, []option{
			{"priority", "0 (highest, the default) to 7", anything},
			{"failure", "what a failed command does to the whole context: `continue` (the default) or `stop`; stop cannot be undone", oneOf("continue", "stop")},
		}, contextCreateStream},
		{"create_event", doc{"([options])", "event", "Makes an event: a mark to record in a stream, and to wait for or take the time from.", "207007 where the device has no more events", `local e = ctx:create_event{timing = true}`}, []option{
			{"timing", "whether `npu.elapsed` can be asked; false", aBoolean},
		}, contextCreateEvent},
		{"alloc", doc{"(dtype, count [, options])", "buffer", "Takes device memory for `count` elements on the context's device. Its contents are undefined; the simulator fills it with bytes of 0xff (NaN, -1). The memory belongs to the device and outlives the context.", "207001 where that much is not free; 100000 for a type or count that cannot be", `local x = ctx:alloc("float32", 1024)`}, []option{
			{"policy", "page policy: `huge_first` (the default), `huge_only`, `normal_only`, and each with `_p2p`", oneOf("huge_first", "huge_only", "normal_only", "huge_first_p2p", "huge_only_p2p", "normal_only_p2p")},
		}, contextAlloc},
		{"set_current", doc{"()", "", "Makes the context current for this task.", "107017 where it was closed", `ctx:set_current()`}, nil, contextSetCurrent},
		{"use", doc{"(fn, ...)", "results of fn", "Makes the context current, calls `fn(...)`, and makes the former one current again, whatever `fn` made current, also after an error.", "an error of fn, unchanged", `ctx:use(function() print(npu.current_context()) end)`}, nil, contextUse},
		{"synchronize", doc{"([timeout])", "", "Waits for the work of all streams of the context. `timeout` in seconds; left out it waits for ever.", "507046 when the timeout is over (the work goes on); a fault of the work, once", `ctx:synchronize()`}, nil, synchronize[*npu.Context]},
		{"set_option", doc{"(name, value)", "", "Sets an option of the context: `deterministic`, `debug_kernel`, `strong_consistency`; `value` is a whole number or a boolean (1 or 0).", "100000 for an option that does not exist", `ctx:set_option("deterministic", 1)`}, nil, contextSetOption},
		{"get_option", doc{"(name)", "number", "Reads an option of the context.", "107021 where it was never set; 100000 for an option that does not exist", `print(ctx:get_option("deterministic"))`}, nil, contextGetOption},
		{"close", doc{"()", "", "Waits for the work of the context, which the runtime would drop (`aclrtDestroyContext` does not wait), and destroys it with its streams and events. Where it was current, the context of before is current again. Calling it again does nothing.", "107002 for a default context; a fault of the queued work, once", `ctx:close()`}, nil, contextClose},
	},
	fields: []field[*npu.Context]{
		{"id", doc{Text: "Number of the context in its device: 0 for the default one, then counting from 1."}, func(c *call, x *npu.Context) (lua.LValue, error) { return lua.LNumber(x.ID()), nil }},
		{"device", doc{Text: "The device of the context."}, func(c *call, x *npu.Context) (lua.LValue, error) { return c.in.device(x.Device()), nil }},
		{"default_stream", doc{Text: "The stream that the context has without being asked. It does not synchronize with other streams. Of several workers, the one that asks first has it; the others get error 107003."}, contextDefaultStream},
		{"is_default", doc{Text: "Whether it is the default context of its device."}, func(c *call, x *npu.Context) (lua.LValue, error) { return lua.LBool(x.IsDefault()), nil }},
		{"closed", doc{Text: "Whether the context was closed, by itself or with its device."}, func(c *call, x *npu.Context) (lua.LValue, error) { return lua.LBool(x.Closed()), nil }},
	},
	str: (*npu.Context).String,
}

func contextDefaultStream(c *call, x *npu.Context) (lua.LValue, error) {
	s, err := x.DefaultStreamFor(c.t)
	if err != nil {
		return nil, err
	}
	return c.in.stream(s), nil
}

func contextCreateStream(c *call, x *npu.Context) error {
	o, err := c.table(1)
	if err != nil {
		return err
	}
	priority, err := o.int("priority", 0)
	if err != nil {
		return err
	}
	failure, err := o.string("failure")
	if err != nil {
		return err
	}
	s, err := x.CreateStream(c.t, npu.StreamOptions{Priority: int(priority), Failure: failure})
	if err == nil {
		c.push(c.in.stream(s))
	}
	return err
}

func contextCreateEvent(c *call, x *npu.Context) error {
	o, err := c.table(1)
	if err != nil {
		return err
	}
	timing, err := o.bool("timing", false)
	if err != nil {
		return err
	}
	e, err := x.CreateEvent(c.t, timing)
	if err == nil {
		c.push(c.in.event(e))
	}
	return err
}

func contextAlloc(c *call, x *npu.Context) error {
	typ, err := c.dtype(1)
	if err != nil {
		return err
	}
	count, err := c.int(2, "count")
	if err != nil {
		return err
	}
	o, err := c.table(3)
	if err != nil {
		return err
	}
	policy, err := o.string("policy")
	if err != nil {
		return err
	}
	b, err := x.Alloc(c.t, typ, count, policy)
	if err == nil {
		c.push(c.in.buffer(b))
	}
	return err
}

func contextSetCurrent(c *call, x *npu.Context) error { return x.SetCurrent(c.t) }

func contextUse(c *call, x *npu.Context) error {
	return c.runBlock(1, func(body func() error) error { return c.t.Use(x, body) })
}

// runBlock calls the function that is argument i, with the arguments after it, inside block. Its
// results become those of the call.
func (c *call) runBlock(i int, block func(body func() error) error) error {
	fn, err := c.function(i, "fn")
	if err != nil {
		return err
	}
	var args []lua.LValue
	for j := i + 1; j <= c.count(); j++ {
		args = append(args, c.arg(j))
	}
	var results []lua.LValue
	err = block(func() (err error) {
		results, err = c.in.protected(c.L, fn, args...)
		return err
	})
	for _, v := range results {
		c.push(v)
	}
	return err
}

func contextSetOption(c *call, x *npu.Context) error {
	name, err := c.string(1, "name")
	if err != nil {
		return err
	}
	var value int64
	if b, ok := c.arg(2).(lua.LBool); ok {
		if b {
			value = 1
		}
	} else if value, err = c.int(2, "value"); err != nil {
		return err
	}
	return x.SetOption(c.t, name, value)
}

func contextGetOption(c *call, x *npu.Context) error {
	name, err := c.string(1, "name")
	if err != nil {
		return err
	}
	v, err := x.Option(c.t, name)
	c.push(lua.LNumber(v))
	return err
}

func contextClose(c *call, x *npu.Context) error { return x.Close(c.t) }
