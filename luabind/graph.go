package luabind

import (
	"fmt"

	lua "github.com/yuin/gopher-lua"

	"npulua/npu"
)

var graphClass = &class[*npu.Graph]{
	name: "graph",
	text: "A recorded sequence of commands (`stream:capture`) that is replayed as one command. It keeps the buffers and kernels that it works on.",
	methods: []method[*npu.Graph]{
		{"replay", doc{"(stream)", "", "Queues one run of the graph on a stream of its context. Runs of one graph follow each other, on whichever streams; streams that took part in the recording run in parallel inside. A fault of a recorded command is raised by the next waiting call on the stream, with the line where it was recorded; the commands after it run, but for a context that stops on a failure. Until the stream has passed the replay, the host is refused the buffers of the graph, but for callbacks in it, where it has one stream and no replay waits on another.", "107004 for a stream of another context; 107017 where a buffer of the graph was closed; 107027 for a stream that records", `g:replay(s)`}, nil, graphReplay},
		{"update", doc{"(name, args)", "", "Gives a recorded launch new arguments, for replays that are queued later. Launches are called as their kernel, then `#2` and so on, skipping what another one is called; `nodes` lists them. `args` is a table of buffers and numbers, as for `launch`.", "107000 for an unknown name, or arguments that do not fit", `g:update("scale", {y, x, 3, n})`}, nil, graphUpdate},
		{"nodes", doc{"()", "table", "The recorded commands, in order: tables with `op`, `name` (of a launch), `stream` (from 1: the one that was captured), `where` (line) and `after` (indices of the commands that must be done before).", "", `for i, n in ipairs(g:nodes()) do print(i, n.op, n.where) end`}, nil, graphNodes},
		{"save", doc{"(path)", "", "Writes the graph for Graphviz.", "100004 where the file cannot be written", `g:save("graph.dot")`}, nil, graphSave},
		{"close", doc{"()", "", "Waits for replays that are queued or running and destroys the graph. Calling it again does nothing.", "", `g:close()`}, nil, graphClose},
	},
	fields: []field[*npu.Graph]{
		{"context", doc{Text: "The context of the graph."}, func(c *call, g *npu.Graph) (lua.LValue, error) { return c.in.context(g.Context()), nil }},
		{"count", doc{Text: "Number of recorded commands."}, func(c *call, g *npu.Graph) (lua.LValue, error) { return lua.LNumber(g.Count()), nil }},
		{"closed", doc{Text: "Whether the graph was closed, by itself or with its context."}, func(c *call, g *npu.Graph) (lua.LValue, error) { return lua.LBool(g.Closed()), nil }},
	},
	str: func(g *npu.Graph) string {
		return fmt.Sprintf("graph(%d commands, device %d%s", g.Count(), g.Context().Device().ID(), closedMark(g.Closed()))
	},
	length: func(g *npu.Graph) int64 { return int64(g.Count()) },
}

func (in *Interp) graph(g *npu.Graph) lua.LValue { return in.graphs.wrap(g, &g.Bound) }

func streamCapture(c *call, s *npu.Stream) error {
	fn, err := c.function(1, "fn")
	if err != nil {
		return err
	}
	in, L := c.in, c.L
	before := in.threads.Spent()
	g, err := s.Capture(c.t, func() error {
		_, err := in.protected(L, fn)
		return err
	})
	if err == nil {
		in.chargeReplays(g, in.threads.Spent()-before)
		c.push(in.graph(g))
	}
	return err
}

func graphReplay(c *call, g *npu.Graph) error {
	s, err := handle[*npu.Stream](c, 1, "stream", "a stream")
	if err != nil {
		return err
	}
	c.charge(c.in.replays[g])
	return g.Replay(c.t, s)
}

func graphUpdate(c *call, g *npu.Graph) error {
	name, err := c.string(1, "name")
	if err != nil {
		return err
	}
	tb, ok := c.arg(2).(*lua.LTable)
	if !ok {
		return c.wrongType(2, "args", "a table")
	}
	var args []npu.Arg
	for i := 1; i <= tb.Len(); i++ {
		a, ok := launchArg(tb.RawGetInt(i))
		if !ok {
			return c.wrongLaunchArg(fmt.Sprintf("args[%d]", i), tb.RawGetInt(i))
		}
		args = append(args, a)
	}
	return g.Update(c.t, name, args)
}

func graphNodes(c *call, g *npu.Graph) error {
	list := c.L.NewTable()
	for _, n := range g.Nodes() {
		after := c.L.NewTable()
		for _, i := range n.After {
			after.Append(lua.LNumber(i + 1))
		}
		t := c.in.record("op", n.Op, "stream", n.Stream+1, "where", c.in.sites.text(n.Site), "after", after)
		if n.Name != "" {
			t.RawSetString("name", lua.LString(n.Name))
		}
		list.Append(t)
	}
	c.push(list)
	return nil
}

func graphSave(c *call, g *npu.Graph) error {
	path, err := c.path(1)
	if err != nil {
		return err
	}
	return g.SaveDOTTo(c.in.target(path))
}

func graphClose(c *call, g *npu.Graph) error {
	delete(c.in.replays, g)
	return g.Close(c.t)
}
