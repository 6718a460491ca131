package luabind

import (
	lua "github.com/yuin/gopher-lua"

	"npulua/npu"
)

var eventClass = &class[*npu.Event]{
	name: "event",
	text: "Mark in a stream: streams and the host can wait for it, and `npu.elapsed` takes the time between two. Recording it again moves it.",
	methods: []method[*npu.Event]{
		{"synchronize", doc{"([timeout])", "", "Waits until the work that the event stands for is done. `timeout` in seconds: 0 asks without waiting, left out it waits for ever. An event that was never recorded is no wait.", "507047 when the timeout is over (the work goes on); a fault of its stream, once", `e:synchronize()`}, nil, synchronize[*npu.Event]},
		{"query", doc{"()", "boolean", "Whether the work that the event stands for is done; true where it was never recorded.", "", `print(e:query())`}, nil, query[*npu.Event]},
		{"close", doc{"()", "", "Destroys the event. Waits that are queued already are not affected. Calling it again does nothing.", "", `e:close()`}, nil, eventClose},
	},
	fields: []field[*npu.Event]{
		{"context", doc{Text: "The context of the event."}, func(c *call, e *npu.Event) (lua.LValue, error) { return c.in.context(e.Context()), nil }},
		{"timing", doc{Text: "Whether `npu.elapsed` can be asked."}, func(c *call, e *npu.Event) (lua.LValue, error) { return lua.LBool(e.Timing()), nil }},
		{"recorded", doc{Text: "Whether the event was ever recorded."}, func(c *call, e *npu.Event) (lua.LValue, error) { return lua.LBool(e.Recorded()), nil }},
		{"closed", doc{Text: "Whether the event was closed, by itself or with its context."}, func(c *call, e *npu.Event) (lua.LValue, error) { return lua.LBool(e.Closed()), nil }},
	},
	str: (*npu.Event).String,
}

func eventClose(c *call, e *npu.Event) error { return e.Close(c.t) }
