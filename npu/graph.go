package npu

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"

	"npulua/npu/internal/driver"
)

// Graph is a recorded sequence of commands that can be replayed as one command.
type Graph struct {
	// Bound is free for bindings: what stands for the handle there.
	Bound any

	h     driver.Graph
	ctx   *Context
	res   *resource
	nodes []graphNode

	streams []*streamState // that take part in the recording, the origin first; lanes of the nodes
	last    []int          // last node of each lane, -1: none
	events  []*Event       // recorded in the recording
	uses    []graphUse     // keep what the commands work on reachable
}

// graphNode is one recorded command.
type graphNode struct {
	op     driver.Op
	name   string // of a launch: the kernel, numbered where it comes again
	lane   int
	site   Site
	after  []int
	kernel *Kernel
	bound  variant
}

type graphUse struct {
	buf   *Buffer
	write bool
}

// GraphNode describes one recorded command.
type GraphNode struct {
	Op     string // "launch"
	Name   string // of a launch, for Update
	Stream int    // which of the streams that took part, from 0: the one that Capture was called on
	Site   Site   // where it was recorded
	After  []int  // commands, from 0, that must be done before
}

// Capture records what fn queues on s, and on streams that fn draws in by events, instead of running
// it. A wait in another stream for an event recorded in s draws that stream in; it must be joined back
// by an event before fn ends (107025). Waits and blocking copies of the host are refused meanwhile
// (107027, 107028, 107030), as is a wait for an event recorded elsewhere (107024). Default streams
// cannot be recorded (107031). An error of fn ends the recording and is returned.
func (s *Stream) Capture(t *Thread, fn func() error) (*Graph, error) {
	if err := s.check(); err != nil {
		return nil, err
	}
	capturer, ok := t.s.drv.(driver.Capturer)
	switch {
	case !ok:
		return nil, need(t.s, capturer, "record graphs")
	case s.IsDefault():
		return nil, hinted(errorf(driver.CodeCaptureImplicit, "a default stream cannot record a graph"), "use a stream made with create_stream")
	case s.state.recording != nil:
		return nil, errorf(driver.CodeStreamCaptured, "the stream records a graph already")
	case t.recording != nil:
		return nil, errorf(driver.CodeCaptureConflict, "another graph is being recorded")
	}
	h := s.state.h
	if err := t.call(s.state.ctx, func(driver.Driver) error { return capturer.BeginCapture(h) }); err != nil {
		return nil, err
	}
	g := &Graph{ctx: s.ctx}
	g.join(s.state)
	t.recording = g
	err := fn()
	t.recording = nil
	ended := g.end(t, capturer)
	if err == nil {
		err = ended
	}
	if err != nil {
		if g.h != 0 {
			err = errors.Join(err, t.call(s.ctx.h, func(driver.Driver) error { return capturer.DestroyGraph(g.h) }))
		}
		return nil, err
	}
	graph := g.h
	g.res = t.s.adopt(t, &resource{kind: "graph", detail: fmt.Sprintf("%d commands", len(g.nodes)), parent: s.ctx.res, explicit: true, ctx: s.ctx.h,
		destroy: func(driver.Driver, bool) error { return capturer.DestroyGraph(graph) }})
	m := &memory{res: g.res}
	m.setLifetime()
	g.uses = append(g.uses, graphUse{buf: &Buffer{root: m}}) // replays under way count as uses of the graph
	runtime.AddCleanup(g, (*resource).collect, g.res)
	return g, nil
}

// end lets the streams and events of a recording be ordinary ones again, and takes the driver's graph.
func (g *Graph) end(t *Thread, capturer driver.Capturer) error {
	for _, st := range g.streams {
		st.recording = nil
	}
	for _, e := range g.events {
		e.recording = nil
	}
	origin := g.streams[0]
	return t.call(origin.ctx, func(driver.Driver) (err error) {
		g.h, err = capturer.EndCapture(origin.h)
		for _, st := range g.streams { // commands that could not be recorded say why the graph is spoiled
			if refused := t.s.exec.Deferred(st.ctx, st.h); refused != nil && err != nil {
				err = refused
			}
		}
		return err
	})
}

func recordingError() error {
	return hinted(errorf(driver.CodeStreamCaptured, "the stream records a graph: nothing runs on it"), "wait, and close, after the recording")
}

// join gives st a lane.
func (g *Graph) join(st *streamState) {
	st.recording = g
	g.streams = append(g.streams, st)
	g.last = append(g.last, -1)
}

// note adds a command of st; after are nodes besides the one before it in its lane.
func (g *Graph) note(st *streamState, n graphNode, after ...int) int {
	n.lane = slices.Index(g.streams, st)
	if last := g.last[n.lane]; last >= 0 {
		n.after = append(n.after, last)
	}
	n.after = append(n.after, after...)
	if n.kernel != nil {
		n.name = g.freshName(n.kernel.name)
	}
	g.nodes = append(g.nodes, n)
	g.last[n.lane] = len(g.nodes) - 1
	return g.last[n.lane]
}

func (g *Graph) freshName(name string) string {
	n := 1
	for i := range g.nodes {
		if k := g.nodes[i].kernel; k != nil && k.name == name {
			n++
		}
	}
	if n > 1 {
		return fmt.Sprintf("%s#%d", name, n)
	}
	return name
}

// use keeps a buffer that a recorded command works on.
func (g *Graph) use(b *Buffer, write bool) {
	b = b.allocation()
	for i := range g.uses {
		if g.uses[i].buf == b {
			g.uses[i].write = g.uses[i].write || write
			return
		}
	}
	g.uses = append(g.uses, graphUse{b, write})
}

// Replay queues one run of the graph on s, which is on the graph's device. Runs on one stream follow
// each other. A fault of a recorded command is one of s, with the place where it was recorded.
func (g *Graph) Replay(t *Thread, s *Stream) error {
	if err := g.res.check(); err != nil {
		return err
	}
	if err := s.check(); err != nil {
		return err
	}
	if s.ctx.dev != g.ctx.dev {
		return errorf(ErrStreamContext, "the graph is of device %d, the stream of device %d", g.ctx.dev.id, s.ctx.dev.id)
	}
	if s.state.recording != nil {
		return errorf(ErrNotSupported, "a replay cannot be recorded in a graph")
	}
	for _, u := range g.uses {
		if u.buf.root.res != g.res && u.buf.Closed() {
			e := u.buf.check().(*Error)
			e.Detail = "the graph works on a buffer that is gone: " + e.Detail
			return e
		}
	}
	p, c, err := s.begin(t, driver.OpReplay)
	if err != nil {
		return err
	}
	c.Graph = g.h
	for _, u := range g.uses {
		u.buf.used(s.state, t.Site, u.write)
	}
	return s.submit(t, p)
}

// Update gives the launch called name (see Nodes) new arguments, for replays that are queued later.
func (g *Graph) Update(t *Thread, name string, args []Arg) error {
	if err := g.res.check(); err != nil {
		return err
	}
	var names []string
	for i := range g.nodes {
		n := &g.nodes[i]
		if n.kernel == nil {
			continue
		}
		names = append(names, n.name)
		if n.name != name {
			continue
		}
		v := variant{dev: n.bound.dev, caller: n.bound.caller}
		if err := n.kernel.bind(g.ctx.deflt, t, args, &v); err != nil {
			return err
		}
		if v != n.bound {
			return errorf(ErrParamInvalid, "launch %q was recorded for other types", name)
		}
		words := n.kernel.pack(nil, args)
		for j, a := range args {
			if a.Buffer != nil {
				g.use(a.Buffer, n.kernel.sig.Params[j].Dir != driver.DirIn)
			}
		}
		return t.call(g.ctx.h, func(driver.Driver) error { return t.s.drv.(driver.Capturer).UpdateGraph(g.h, i, words) })
	}
	return errorf(ErrParamInvalid, "the graph has no launch %q%s", name, Suggest(name, names))
}

// Context is the owner of g.
func (g *Graph) Context() *Context { return g.ctx }

// Count is the number of recorded commands.
func (g *Graph) Count() int { return len(g.nodes) }

// Closed reports whether g was closed, by itself or with its context.
func (g *Graph) Closed() bool { return g.res.closed }

// Nodes describes the recorded commands, in order.
func (g *Graph) Nodes() []GraphNode {
	out := make([]GraphNode, len(g.nodes))
	for i, n := range g.nodes {
		out[i] = GraphNode{Op: n.op.String(), Name: n.name, Stream: n.lane, Site: n.site, After: slices.Clone(n.after)}
	}
	return out
}

// SaveDOT writes the graph for Graphviz: a box a command, in a column a stream.
func (g *Graph) SaveDOT(path string) error {
	var b strings.Builder
	b.WriteString("digraph npu {\n  node [shape=box, fontname=monospace];\n")
	for i, n := range g.nodes {
		label := n.op.String()
		if n.name != "" {
			label += " " + n.name
		}
		fmt.Fprintf(&b, "  n%d [label=\"%s\\nstream %d\\n%s\", group=s%d];\n", i+1, label, n.lane+1, g.res.session.Where(n.site), n.lane)
		for _, a := range n.after {
			fmt.Fprintf(&b, "  n%d -> n%d;\n", a+1, i+1)
		}
	}
	b.WriteString("}\n")
	return writeError(os.WriteFile(path, []byte(b.String()), 0o644))
}

// Close waits for replays under way and destroys the graph.
func (g *Graph) Close(t *Thread) error { return g.res.close(t, "", false) }
