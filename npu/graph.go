package npu

import (
	"errors"
	"fmt"
	"io"
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

	names map[string]int // node of each launch
	uses  []graphUse     // of all nodes; stale after an update
	stale bool
	open  uint64 // Session.closings when all of uses were open
	runs  *graphRuns
	calls bool // it runs host functions

	rec *graphRecording // while it is being recorded; nil: it is done
}

// graphRecording is what is needed of a graph while it is being recorded.
type graphRecording struct {
	streams []*streamState // that take part, the origin first; lanes of the nodes
	handles []*Stream      // of them: garbage collection must not take a stream that records
	last    []int          // last node of each lane, -1: none
	events  []*Event       // recorded; garbage collection must not take them either
	counts  map[string]int // of the launches by kernel
	uses    []graphUse     // of the command under way
}

// graphRuns is what the host knows of the replays. It does not hold the graph, so that recorded
// callbacks can have it.
type graphRuns struct {
	usage         // its uses are the streams with replays
	parallel bool // commands of several streams run side by side
}

// alone is the stream of the replay that is in a callback, where nothing of that stream can run
// meanwhile; nil where that is not certain.
func (r *graphRuns) alone() *streamState {
	var found *streamState
	for _, u := range r.uses {
		if u.ticket <= u.st.synced.Load() {
			continue
		}
		if found != nil || r.parallel {
			return nil
		}
		found = u.st
	}
	return found
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
	uses   []graphUse // keep what the command works on reachable
}

type graphUse struct {
	buf   *Buffer
	root  *memory // of buf
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
// (107027, 107028, 107030), and replays on these streams (107027). A wait for an event recorded
// elsewhere is refused (107024), and the graph is one without it. Default streams cannot be recorded
// (107031). An error of fn ends the recording and is returned.
func (s *Stream) Capture(t *Thread, fn func() error) (*Graph, error) {
	if err := s.usable(); err != nil {
		return nil, err
	}
	capturer, ok := t.s.drv.(driver.Capturer)
	switch {
	case !ok:
		return nil, need(t.s, capturer, "record graphs")
	case s.IsDefault():
		return nil, hinted(errorf(driver.CodeCaptureImplicit, "a default stream cannot record a graph"), "use a stream made with create_stream")
	case s.state.recording.Load() != nil:
		return nil, errorf(driver.CodeStreamCaptured, "the stream records a graph already")
	case t.recording != nil:
		return nil, errorf(driver.CodeCaptureConflict, "another graph is being recorded")
	}
	h := s.state.h
	g := &Graph{ctx: s.ctx, names: make(map[string]int), runs: new(graphRuns), rec: &graphRecording{counts: make(map[string]int)}}
	err := t.callOn(s.state.ctx, func(driver.Driver) error {
		err := capturer.BeginCapture(h)
		if err == nil {
			g.join(s) // before anybody else closes it
		}
		return err
	}, s.usable)
	if err != nil {
		return nil, err
	}
	t.recording = g
	err = fn()
	t.recording = nil
	ended := g.end(t, capturer)
	if err == nil {
		err = ended
	}
	if err != nil {
		if g.h != 0 {
			err = errors.Join(err, t.callOn(s.ctx.h, func(driver.Driver) error { return capturer.DestroyGraph(g.h) }, s.check))
		}
		return nil, err
	}
	graph := g.h
	g.res = &resource{kind: "graph", detail: fmt.Sprintf("%d commands", len(g.nodes)), parent: s.ctx.res, explicit: true, ctx: s.ctx.h,
		destroy: func(driver.Driver, bool) error { return capturer.DestroyGraph(graph) }}
	g.runs.guard(g.res)
	if err := t.create(s.ctx.h, g.res, func(driver.Driver) error { return nil }); err != nil {
		_ = t.call(0, func(driver.Driver) error { return capturer.DestroyGraph(graph) }) // it goes with its context else
		return nil, err
	}
	runtime.AddCleanup(g, (*resource).collect, g.res)
	return g, nil
}

// end lets the streams and events of a recording be ordinary ones again, and takes the driver's graph.
func (g *Graph) end(t *Thread, capturer driver.Capturer) error {
	rec := g.rec
	if rec == nil {
		return errorf(ErrInternal, "the session was closed inside the recording")
	}
	g.rec, g.stale = nil, true
	for _, st := range rec.streams {
		st.recording.Store(nil)
	}
	for _, e := range rec.events {
		if e.mark.recording == g {
			e.mark.recording = nil
		}
		if e.mark.of == g {
			e.mark.of = nil
		}
	}
	origin := rec.streams[0]
	return t.call(origin.ctx, func(driver.Driver) (err error) {
		if g.h, err = capturer.EndCapture(origin.h); err == nil {
			return nil
		}
		for _, st := range rec.streams { // commands that could not be recorded say why the graph is spoiled
			if refused := t.s.exec.Deferred(st.ctx, st.h); refused != nil {
				err = refused
			}
		}
		return err
	})
}

func recordingError() error {
	return hinted(errorf(driver.CodeStreamCaptured, "the stream records a graph: nothing runs on it"), "wait, and close, after the recording")
}

// join gives s a lane.
func (g *Graph) join(s *Stream) {
	s.state.recording.Store(g)
	r := g.rec
	r.streams = append(r.streams, s.state)
	r.handles = append(r.handles, s)
	r.last = append(r.last, -1)
	g.runs.parallel = len(r.streams) > 1
}

// note adds a command of st; after are nodes besides the one before it in its lane.
func (g *Graph) note(st *streamState, n graphNode, after ...int) int {
	r, i := g.rec, len(g.nodes)
	n.lane = slices.Index(r.streams, st)
	if last := r.last[n.lane]; last >= 0 && !slices.Contains(after, last) {
		n.after = append(n.after, last)
	}
	n.after = append(n.after, after...)
	if n.kernel != nil {
		n.name = g.freshName(n.kernel.name)
		g.names[n.name] = i
	}
	n.uses, r.uses = slices.Clone(r.uses), r.uses[:0]
	g.nodes = append(g.nodes, n)
	r.last[n.lane] = i
	return i
}

// freshName is name, numbered where a launch has it already.
func (g *Graph) freshName(name string) string {
	for {
		g.rec.counts[name]++
		fresh := name
		if n := g.rec.counts[name]; n > 1 {
			fresh = fmt.Sprintf("%s#%d", name, n)
		}
		if _, taken := g.names[fresh]; !taken {
			return fresh
		}
	}
}

// use keeps a buffer that the command under way works on.
func (r *graphRecording) use(b *Buffer, write bool) {
	r.uses = append(r.uses, graphUse{b.allocation(), b.root, write})
}

// merge brings the uses of the whole graph up to date.
func (g *Graph) merge() {
	if !g.stale {
		return
	}
	g.uses, g.stale = nil, false
	index := make(map[*Buffer]int)
	for i := range g.nodes {
		for _, u := range g.nodes[i].uses {
			j, ok := index[u.buf]
			if !ok {
				j = len(g.uses)
				index[u.buf] = j
				g.uses = append(g.uses, u)
			}
			g.uses[j].write = g.uses[j].write || u.write
		}
	}
}

// Replay queues one run of the graph on s, which is of the graph's context (107004). Runs of one graph follow each
// other, on whichever streams. A fault of a recorded command is one of s, with the place where it was recorded.
func (g *Graph) Replay(t *Thread, s *Stream) error {
	if err := g.res.usable(); err != nil {
		return err
	}
	if err := s.usable(); err != nil {
		return err
	}
	if s.ctx != g.ctx {
		return hinted(errorf(driver.CodeModelContext, "the graph was recorded in %v, the stream is of %v", g.ctx, s.ctx),
			"replay it on a stream of its context, or record it in the other one too")
	}
	if s.state.recording.Load() != nil {
		return replayRecordedError()
	}
	if err := g.checkUses(t.s.closings.Load()); err != nil {
		return err
	}
	q, err := s.begin(t, driver.OpReplay, g.res)
	if err != nil {
		return err
	}
	if err := g.checkUses(t.s.closings.Load()); err != nil {
		return q.cancel(err)
	}
	if s.state.recording.Load() != nil {
		return q.cancel(replayRecordedError())
	}
	q.Graph, q.calls = g.h, g.calls
	for _, u := range g.uses {
		u.root.used(s.state, t.Site, u.write)
	}
	g.runs.used(s.state, t.Site, false) // close waits for it
	return q.submit()
}

func replayRecordedError() error {
	return hinted(errorf(driver.CodeStreamCaptured, "the stream records a graph: a replay cannot be part of it"), "replay on another stream, or after the recording")
}

// checkUses fails where a buffer of the graph was closed, or is being closed. It looks at them only where something was
// since the last time.
func (g *Graph) checkUses(closings uint64) error {
	g.merge()
	if closings == g.open {
		return nil
	}
	for _, u := range g.uses {
		if u.root.res.ending.Load() {
			e := u.root.res.closedError()
			e.Detail = "the graph works on a buffer that is gone: " + e.Detail
			return e
		}
	}
	g.open = closings
	return nil
}

// Update gives the launch called name (see Nodes) new arguments, for replays that are queued later.
func (g *Graph) Update(t *Thread, name string, args []Arg) error {
	if err := g.res.usable(); err != nil {
		return err
	}
	i, ok := g.names[name]
	if !ok {
		return g.noLaunchError(name)
	}
	n := &g.nodes[i]
	v := variant{dev: n.bound.dev, caller: n.bound.caller}
	if err := n.kernel.bind(g.ctx.deflt, t, args, &v); err != nil {
		return err
	}
	if v != n.bound {
		return errorf(ErrParamInvalid, "launch %q was recorded for other types", name)
	}
	usable := func() error {
		for _, a := range args {
			if a.Buffer != nil {
				if err := a.Buffer.usable(); err != nil {
					return err
				}
			}
		}
		return g.res.usable()
	}
	err := t.callOn(g.ctx.h, func(d driver.Driver) error {
		words := n.kernel.pack(nil, args, &v, func(b *Buffer, _ bool) driver.Ptr { return b.span.On(d) })
		return t.s.drv.(driver.Capturer).UpdateGraph(g.h, i, words)
	}, usable)
	if err != nil {
		return err
	}
	n.uses, g.stale = nil, true
	for j, a := range args {
		if a.Buffer != nil {
			n.uses = append(n.uses, graphUse{a.Buffer.allocation(), a.Buffer.root, n.kernel.sig.Params[j].Dir != driver.DirIn})
		}
	}
	return nil
}

func (g *Graph) noLaunchError(name string) error {
	var names []string
	for i := range g.nodes {
		if g.nodes[i].kernel != nil {
			names = append(names, g.nodes[i].name)
		}
	}
	return errorf(ErrParamInvalid, "the graph has no launch %q%s", name, Suggest(name, names))
}

// Context is the owner of g.
func (g *Graph) Context() *Context { return g.ctx }

// Count is the number of recorded commands.
func (g *Graph) Count() int { return len(g.nodes) }

// Closed reports whether g was closed, by itself or with its context.
func (g *Graph) Closed() bool { return g.res.closed.Load() }

// Nodes describes the recorded commands, in order.
func (g *Graph) Nodes() []GraphNode {
	out := make([]GraphNode, len(g.nodes))
	for i, n := range g.nodes {
		out[i] = GraphNode{Op: n.op.String(), Name: n.name, Stream: n.lane, Site: n.site, After: slices.Clone(n.after)}
	}
	return out
}

// dotText makes a text what stands between quotes in DOT.
var dotText = strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`, "\r", "", "\x00", "")

// SaveDOT writes the graph for Graphviz: a box a command, in a column a stream.
func (g *Graph) SaveDOT(path string) error { return g.SaveDOTTo(File{Name: path}) }

// SaveDOTTo is SaveDOT for a file anywhere.
func (g *Graph) SaveDOTTo(file File) error {
	var b strings.Builder
	b.WriteString("digraph npu {\n  node [shape=box, fontname=monospace];\n")
	for i, n := range g.nodes {
		label := n.op.String()
		if n.name != "" {
			label += " " + n.name
		}
		lines := []string{label, fmt.Sprintf("stream %d", n.lane+1)}
		if at := g.res.session.Where(n.site); at != "" {
			lines = append(lines, at)
		}
		fmt.Fprintf(&b, "  n%d [label=\"%s\", group=s%d];\n", i+1, dotText.Replace(strings.Join(lines, "\n")), n.lane)
		for _, a := range n.after {
			fmt.Fprintf(&b, "  n%d -> n%d;\n", a+1, i+1)
		}
	}
	b.WriteString("}\n")
	return writeError(file.save(func(w io.Writer) error {
		_, err := io.WriteString(w, b.String())
		return err
	}))
}

// Close waits for replays that are queued or running and destroys the graph.
func (g *Graph) Close(t *Thread) error { return g.res.close(t, "", false) }
