package luabind

import (
	"fmt"

	lua "github.com/yuin/gopher-lua"

	"npulua/npu"
)

// launchExample is all that a first launch needs.
const launchExample = `dev = npu.device(0)
s = dev.context:create_stream()
x = dev.context:alloc("float32", 4) x:upload{1, -2, 3, -4}
y = dev.context:alloc("float32", 4)
s:launch(npu.kernel "relu", 1, y, x, y.count)
s:synchronize()
print(unpack(y:download():to_table()))`

var streamClass = &class[*npu.Stream]{
	name:   "stream",
	direct: true,
	text: "Ordered queue of work. `copy`, `fill`, `launch`, `record`, `wait` and `callback` queue a command and return at once; " +
		"what only the device can tell is raised by the next call on the stream that waits, with the line of the command that failed.",
	methods: []method[*npu.Stream]{
		{"copy", doc{"(dst, src)", "", "Queues a copy between device memory and pinned host memory, or between two device buffers. Type and count must be the same; the direction follows from the operands. The host is refused the buffers until the stream has passed the copy.", "107000 for pageable memory, overlapping or unlike operands; 107003 for a buffer of another device", `s:copy(x, h)`}, nil, streamCopy},
		{"fill", doc{"(buf, value)", "", "Queues a fill of a device buffer, element by element.", "100000 for a value that the type cannot hold", `s:fill(x, 0)`}, nil, streamFill},
		{"launch", doc{"(kernel, block_dim, ...)", "", "Queues a kernel with `block_dim` blocks (1 to 65535). The arguments must match its signature: device buffers for pointers, numbers for scalars, of `int64` and `uint64` also the digits as text. What only the kernel can tell, such as a count beyond an operand, is a fault of the stream.", "107000 for arguments that do not fit the signature", launchExample}, nil, streamLaunch},
		{"record", doc{"([event])", "event", "Queues a mark; the event then stands for all work queued on the stream so far. Left out, a new event with timing is made.", "107003 for an event of another device", `local e = s:record()`}, nil, streamRecord},
		{"wait", doc{"(event)", "", "Queues a wait: later work of the stream starts after what the event stands for now. The event may be of another stream, context or device. One that was never recorded is no wait.", "", `s2:wait(e)`}, nil, streamWait},
		{"callback", doc{"(fn [, options])", "", "Queues a call of `fn()` on the host, at the next waiting call after the stream has come to it; later work of the stream waits for it. `fn` may touch host buffers, and hand values to tasks by channels that have room, but make no NPU calls and not wait. An error in it is a fault of the stream.", "207000 with `blocking = false` while a graph is being recorded", `s:callback(function() print("half way") end)`}, []option{
			{"blocking", "false: later work of the stream does not wait for `fn`; a wait that comes to its end has run it, and an error in it is raised there; true", aBoolean},
		}, streamCallback},
		{"capture", doc{"(fn)", "graph", "Records what is queued on the stream while `fn()` runs, by other tasks too, and on streams that it draws in by events, as a graph instead of running it. A wait in another stream for an event recorded in this one draws that stream in; it must be joined back by an event before `fn` ends. Waits for the streams and blocking copies are refused inside. In a context that has stopped on a failure nothing is recorded.", "107025 for a stream that is not joined back; 107027, 107028, 107030 for waiting inside; 107024 for an event from outside; 107031 for a default stream; the failure that has stopped the context; an error of fn, unchanged", `local g = s:capture(function() s:launch(k, 8, y, x, n) end)`}, nil, streamCapture},
		{"synchronize", doc{"([timeout])", "", "Waits until all work queued so far is done. `timeout` in seconds: 0 asks without waiting, left out it waits for ever.", "507046 when the timeout is over (the work goes on; `report` says how far it is); the first fault of the work, once", `s:synchronize()`}, nil, synchronize[*npu.Stream]},
		{"query", doc{"()", "boolean", "Whether all work queued so far is done, without waiting.", "the first fault of the work, once", `print(s:query())`}, nil, query[*npu.Stream]},
		{"commands", doc{"()", "table", "What became of the commands of the stream, in order: the last ones that are over (128 at most), then all that are not. Tables with `op`, `state` (`queued`, `running`, `done`, `failed`, `skipped`; on hardware `pending` of all that are not known to be over), `where` (line), `name` (kernel of a launch), `code` (of a failed one) and, for the first that is not over, `waits_for` (what holds it back, in words). A skipped command never ran, because a failure stopped its context. A replay is one command. Takes no time and no fault.", "207000 where the backend does not tell", `for _, c in ipairs(s:commands()) do print(c.op, c.state, c.where) end`}, nil, streamCommands},
		{"close", doc{"()", "", "Waits for the work of the stream and destroys it. Calling it again does nothing.", "a fault of the work, once; 100000 for a default stream", `s:close()`}, nil, streamClose},
	},
	fields: []field[*npu.Stream]{
		{"context", doc{Text: "The context of the stream."}, func(c *call, s *npu.Stream) (lua.LValue, error) { return c.in.context(s.Context()), nil }},
		{"device", doc{Text: "The device of the stream."}, func(c *call, s *npu.Stream) (lua.LValue, error) { return c.in.device(s.Context().Device()), nil }},
		{"priority", doc{Text: "0 (highest) to 7."}, func(c *call, s *npu.Stream) (lua.LValue, error) { return lua.LNumber(s.Priority()), nil }},
		{"id", doc{Text: "Number that the runtime gave the stream in its device."}, func(c *call, s *npu.Stream) (lua.LValue, error) {
			id, err := s.ID(c.t)
			return lua.LNumber(id), err
		}},
		{"is_default", doc{Text: "Whether it is the default stream of its context."}, func(c *call, s *npu.Stream) (lua.LValue, error) { return lua.LBool(s.IsDefault()), nil }},
		{"closed", doc{Text: "Whether the stream was closed, by itself or with its context."}, func(c *call, s *npu.Stream) (lua.LValue, error) { return lua.LBool(s.Closed()), nil }},
	},
	str: (*npu.Stream).String,
}

func streamCopy(c *call, s *npu.Stream) error {
	dst, src, err := c.operands()
	if err != nil {
		return err
	}
	return s.Copy(c.t, dst, src)
}

func streamFill(c *call, s *npu.Stream) error {
	buf, err := c.buffer(1, "buf")
	if err != nil {
		return err
	}
	v, err := c.elementArg(2, "value", buf)
	if err != nil {
		return err
	}
	return s.FillValue(c.t, buf, v)
}

func streamLaunch(c *call, s *npu.Stream) error {
	k, err := handle[*npu.Kernel](c, 1, "kernel", "a kernel (npu.kernel \"name\")")
	if err != nil {
		return err
	}
	blocks, err := c.int(2, "block_dim")
	if err != nil {
		return err
	}
	args := c.in.args[:0]
	for i := 3; i <= c.count(); i++ {
		a, ok := launchArg(c.arg(i))
		if !ok {
			return c.wrongLaunchArg(fmt.Sprintf("argument %d (...)", i), c.arg(i))
		}
		args = append(args, a)
	}
	c.in.args = args
	if c.in.builtins[k.Name()] == k {
		c.chargeProducts(k.Name(), args)
	}
	err = s.Launch(c.t, k, blocks, args)
	clear(args) // keep no buffer alive
	return err
}

// wrongLaunchArg has the code of all arguments that do not fit a signature.
func (c *call) wrongLaunchArg(what string, v lua.LValue) error {
	return c.fail(npu.ErrParamInvalid, "%s must be a buffer or a number, got %s", what, typeName(v))
}

// launchArg reads an argument of a launch: a buffer, or a number, which may be text.
func launchArg(v lua.LValue) (npu.Arg, bool) {
	switch v := v.(type) {
	case lua.LNumber:
		return npu.Arg{Number: float64(v)}, true
	case lua.LString:
		return npu.Arg{Text: string(v)}, v != ""
	case *lua.LUserData:
		b, ok := v.Value.(*npu.Buffer)
		return npu.Arg{Buffer: b}, ok
	}
	return npu.Arg{}, false
}

func streamRecord(c *call, s *npu.Stream) error {
	var e *npu.Event
	var err error
	if c.arg(1) == lua.LNil {
		e, err = s.Context().CreateEvent(c.t, true)
	} else {
		e, err = handle[*npu.Event](c, 1, "event", "an event")
	}
	if err != nil {
		return err
	}
	if err := s.Record(c.t, e); err != nil {
		return err
	}
	c.push(c.in.event(e))
	return nil
}

func streamWait(c *call, s *npu.Stream) error {
	e, err := handle[*npu.Event](c, 1, "event", "an event")
	if err != nil {
		return err
	}
	return s.Wait(c.t, e)
}

func streamCallback(c *call, s *npu.Stream) error {
	fn, err := c.function(1, "fn")
	if err != nil {
		return err
	}
	o, err := c.table(2)
	if err != nil {
		return err
	}
	blocking, err := o.bool("blocking", true)
	if err != nil {
		return err
	}
	in, t := c.in, c.t
	run := func() error { return in.asWork(func() error { return in.callBack(t, fn) }) }
	if blocking {
		return s.Callback(t, run)
	}
	return s.Notify(t, run)
}

func streamClose(c *call, s *npu.Stream) error { return s.Close(c.t) }
