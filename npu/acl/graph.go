//go:build linux && (amd64 || arm64)

package acl

import (
	"npulua/npu/internal/driver"
)

// capture is a recording in progress.
type capture struct {
	origin    *stream
	nodes     []node
	functions []uintptr // of the program, recorded in it
	group     uintptr   // of the launch that was recorded last

	workspaces *workspaces // of the launch that was recorded last
}

// node is one recorded command, on whichever stream.
type node struct {
	op     driver.Op
	site   driver.Site
	kernel *kernel // of a launch
	blocks uint32
	words  int
	task   int64   // number in the recording, where the library tells it
	group  uintptr // by which the library changes its arguments; 0: it cannot

	workspaces *workspaces // of a launch
}

// dropRecorded frees the memory of operators that were recorded and do not run any more.
func (d *Driver) dropRecorded(nodes []node) {
	for _, n := range nodes {
		if n.workspaces != nil {
			d.dropWorkspaces(n.workspaces)
		}
	}
}

// graph is a recording that can be replayed.
type graph struct {
	raw       uintptr
	ctx       *ctx
	nodes     []node
	functions []uintptr

	// Arguments change while earlier replays may still run, in an order that events keep.
	updates          driver.Stream // on which they are changed; 0: none yet
	replayed, update driver.Event
	wasReplayed      bool
	wasUpdated       bool
	last             *stream // of the last replay
}

// forgetWorkspaces forgets memory of a device that is gone.
func (g *graph) forgetWorkspaces(device int) {
	for i := range g.nodes {
		if g.ctx.device == device {
			g.nodes[i].workspaces = nil
		}
	}
}

// note counts a command that was recorded on s.
func (c *capture) note(cmd *driver.Command, k *kernel, task int64) {
	n := node{task: task, op: cmd.Op, site: cmd.Site, blocks: cmd.Blocks, words: len(cmd.Args), kernel: k}
	if k != nil {
		n.group, n.workspaces = c.group, c.workspaces
		c.workspaces = nil
	}
	c.nodes = append(c.nodes, n)
}

// suspect is the place of the only command of g that can fail, 0 where there are several.
func (g *graph) suspect() (site driver.Site, op driver.Op) {
	for _, n := range g.nodes {
		if n.op == driver.OpLaunch {
			if site != 0 && site != n.site {
				return 0, 0
			}
			site, op = n.site, n.op
		}
	}
	return site, op
}

// globalCapture is the mode in which blocking copies of the whole program are refused meanwhile.
const globalCapture = 0

// BeginCapture implements driver.Capturer.
func (d *Driver) BeginCapture(h driver.Stream) error {
	s, err := d.ownStream(&d.captureBegin, h)
	if err != nil {
		return err
	}
	if h == 0 {
		return driver.Errorf(driver.CodeCaptureImplicit, d.captureBegin.name, "a default stream cannot record a graph")
	}
	if err := s.ctx.over(); err != nil {
		return err
	}
	if err := d.call(&d.captureBegin, s.raw, globalCapture); err != nil {
		return d.refusedBy(s, err)
	}
	s.capture = &capture{origin: s}
	return nil
}

// EndCapture implements driver.Capturer.
func (d *Driver) EndCapture(h driver.Stream) (driver.Graph, error) {
	s, err := d.ownStream(&d.captureEnd, h)
	if err != nil {
		return 0, err
	}
	err = d.call(&d.captureEnd, s.raw, d.out.at(0))
	raw := uintptr(d.out[0])
	c := s.capture
	if c == nil || c.origin != s {
		return 0, err
	}
	for _, x := range d.streams {
		if x.capture == c {
			x.capture = nil
		}
	}
	for _, e := range d.events {
		if e.captured == c {
			e.captured = nil
		}
	}
	if over := s.ctx.over(); over != nil {
		if err == nil {
			_ = d.call(&d.destroyGraph, raw)
		}
		err = over
	}
	if err != nil {
		unexpect(c.functions...)
		d.dropRecorded(c.nodes)
		return 0, err
	}
	h2 := driver.Graph(d.handle())
	d.graphs[h2] = &graph{raw: raw, ctx: s.ctx, nodes: c.nodes, functions: c.functions}
	return h2, nil
}

func (d *Driver) graph(f *function, h driver.Graph) (*graph, error) {
	g := d.graphs[h]
	if g == nil {
		return nil, driver.Errorf(driver.CodeInvalidHandle, f.name, "the graph is not live")
	}
	return g, nil
}

func (d *Driver) queueReplay(s *stream, c *driver.Command) error {
	g, err := d.graph(&d.replay, c.Graph)
	if err != nil {
		return err
	}
	if s.capture != nil {
		return driver.Errorf(driver.CodeStreamCaptured, d.replay.name, "the stream records a graph")
	}
	if s.ctx != g.ctx { // the library would find that when it runs
		return driver.Errorf(driver.CodeModelContext, d.replay.name, "the graph was recorded in another context than that of the stream")
	}
	if g.wasUpdated {
		if err := d.call(&d.wait, s.raw, d.events[g.update].raw); err != nil {
			return err
		}
	}
	if err := d.queue(&d.replay, g.raw, s.raw); err != nil {
		return err
	}
	if g.updates != 0 { // its arguments change now and then
		g.wasReplayed = true
		return d.call(&d.record, d.events[g.replayed].raw, s.raw)
	}
	g.last = s
	return nil
}

// UpdateGraph implements driver.Capturer.
func (d *Driver) UpdateGraph(h driver.Graph, i int, words []uint64) error {
	g, err := d.graph(&d.updateBegin, h)
	if err != nil {
		return err
	}
	if i < 0 || i >= len(g.nodes) || g.nodes[i].op != driver.OpLaunch || len(words) != g.nodes[i].words {
		return driver.Errorf(driver.CodeRtParamInvalid, d.updateBegin.name, "command %d is no launch with %d words of arguments", i, len(words))
	}
	n := &g.nodes[i]
	if err := g.ctx.over(); err != nil {
		return err
	}
	if n.group == 0 {
		return absent(d.groupBegin.name)
	}
	return d.within(g.ctx, func() error {
		if err := d.openUpdates(g); err != nil {
			return err
		}
		s := d.streams[g.updates]
		if g.wasReplayed {
			if err := d.call(&d.wait, s.raw, d.events[g.replayed].raw); err != nil {
				return err
			}
		}
		if err := d.call(&d.updateBegin, s.raw, n.group); err != nil {
			return err
		}
		err := d.launchNow(s, n.workspaces, n.kernel, n.blocks, words)
		if e := d.call(&d.updateEnd, s.raw); err == nil {
			err = e
		}
		if err != nil {
			return fault(err)
		}
		g.wasUpdated = true
		return d.call(&d.record, d.events[g.update].raw, s.raw)
	})
}

// openUpdates makes what changes of arguments need, once.
func (d *Driver) openUpdates(g *graph) (err error) {
	if g.updates != 0 {
		return nil
	}
	if g.replayed, err = d.CreateEvent(driver.EventSync); err != nil {
		return err
	}
	if g.update, err = d.CreateEvent(driver.EventSync); err != nil {
		return err
	}
	if g.updates, err = d.CreateStream(driver.StreamConfig{}); err != nil {
		return err
	}
	if last := g.last; last != nil && (last.h == 0 || d.streams[last.h] == last) { // else its replays are over
		g.wasReplayed = true
		return d.call(&d.record, d.events[g.replayed].raw, last.raw)
	}
	return nil
}

// within calls fn with c current.
func (d *Driver) within(c *ctx, fn func() error) error {
	before := d.current
	if before != c {
		if err := d.SetCurrentContext(c.h); err != nil {
			return err
		}
		defer func() {
			if before != nil {
				_ = d.SetCurrentContext(before.h)
			}
		}()
	}
	return fn()
}

// DestroyGraph implements driver.Capturer.
func (d *Driver) DestroyGraph(h driver.Graph) error {
	g, err := d.graph(&d.destroyGraph, h)
	if err != nil {
		return err
	}
	if err := d.call(&d.destroyGraph, g.raw); err != nil {
		return err
	}
	delete(d.graphs, h)
	unexpect(g.functions...)
	d.dropRecorded(g.nodes)
	if g.updates == 0 || d.contexts[g.ctx.h] == nil {
		return nil
	}
	return d.within(g.ctx, func() error {
		_ = d.DestroyEvent(g.replayed)
		_ = d.DestroyEvent(g.update)
		return d.DestroyStream(g.updates, true) // nobody wants a change any more
	})
}
