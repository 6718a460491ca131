package sim

import (
	"slices"

	"npulua/npu/internal/driver"
)

// graph is a recorded sequence of commands, or one that is being recorded.
type graph struct {
	h       driver.Graph
	ctx     *context
	origin  *stream
	lanes   []*stream // streams that took part, the origin first; a lane is an index into it
	nodes   []node    // in order of recording
	shared  bool      // a replay may hold nodes: changes need a copy
	invalid *driver.Error
	running int       // replays queued or running
	active  bool      // one of them runs
	waiting []*stream // whose first command is a replay that waits for its end
	name    string    // of the model that it stands for
	turns   []uint64  // of runs of that model that are not over, in order of submission
}

// node is one recorded command.
type node struct {
	cmd  driver.Command
	lane int
	// after are the nodes that must be done before: the one before it in its lane, and the record that
	// a wait is for.
	after []int
	wait  int // record that an OpWait is for; -1: none
	// kernel is that of a launch: replays run it also where it was unloaded since.
	kernel *loadedKernel
	note   string // of an operator of a model: how its faults begin
	mishap *driver.Mishap
}

// capture is the part that a stream has in a graph being recorded.
type capture struct {
	g    *graph
	lane int
	last int // last node of the lane; -1: none
}

// eventCapture marks an event that was recorded in a capture.
type eventCapture struct {
	g    *graph
	node int
}

func captured(call string, s *stream) error {
	return driver.Errorf(driver.CodeStreamCaptured, call, "stream %d records a graph", s.id)
}

// BeginCapture implements driver.Capturer.
func (d *Driver) BeginCapture(h driver.Stream) error {
	const call = "aclmdlRICaptureBegin"
	if h == 0 {
		return driver.Errorf(driver.CodeCaptureImplicit, call, "a default stream cannot record a graph")
	}
	s, err := d.ownStream(call, h)
	if err != nil {
		return err
	}
	if s.capture != nil {
		return captured(call, s)
	}
	if err := s.ctx.over(); err != nil {
		return err
	}
	d.host(costQuery)
	g := &graph{ctx: s.ctx, origin: s}
	d.join(g, s)
	d.capturing++
	return nil
}

// join gives s a lane of g.
func (d *Driver) join(g *graph, s *stream) {
	s.capture = &capture{g: g, lane: len(g.lanes), last: -1}
	g.lanes = append(g.lanes, s)
}

// record adds a command to the graph that s records.
func (d *Driver) record(call string, s *stream, c *driver.Command, m *driver.Mishap) error {
	cp := s.capture
	g := cp.g
	if g.invalid != nil {
		return driver.Errorf(driver.CodeCaptureInvalid, call, "the capture was spoiled before: %s", g.invalid.Detail)
	}
	n := node{cmd: *c, lane: cp.lane, wait: -1, mishap: m}
	n.cmd.Args = slices.Clone(c.Args)
	if cp.last >= 0 {
		n.after = append(n.after, cp.last)
	}
	spoils, err := d.recordable(call, s, &n)
	if err != nil {
		if spoils {
			g.invalid, _ = err.(*driver.Error)
		}
		return err
	}
	d.host(submitCost(c))
	cp.last = len(g.nodes)
	g.nodes = append(g.nodes, n)
	if c.Op == driver.OpRecord {
		d.events[c.Event].captured = &eventCapture{g, cp.last}
	}
	return nil
}

// recordable checks a command and finds what a wait is for. spoils says whether a refusal ends the
// capture: only where the command got as far as the graph.
func (d *Driver) recordable(call string, s *stream, n *node) (spoils bool, err error) {
	switch c := &n.cmd; c.Op {
	case driver.OpWait:
		e, err := d.event(call, c.Event)
		if err != nil {
			return true, err
		}
		if e.captured == nil || e.captured.g != s.capture.g {
			return false, driver.Errorf(driver.CodeCaptureDependency, call, "the event was not recorded in this capture")
		}
		n.wait = e.captured.node
		n.after = append(n.after, n.wait)
		return false, nil
	case driver.OpResetEvent:
		return true, driver.Errorf(driver.CodeNotSupported, call, "%v cannot be recorded in a graph", c.Op)
	case driver.OpReplay, driver.OpModel:
		return false, captured(call, s)
	}
	t := d.newTask()
	defer d.recycle(t)
	t.cmd, t.s = n.cmd, s
	if n.cmd.Op == driver.OpCopy {
		if _, err := d.planQueued(t, call); err != nil {
			return true, err
		}
		if t.transfer.dst.pageable() || t.transfer.src.pageable() {
			return false, driver.Errorf(driver.CodeCaptureAsync, call, "a copy with pageable host memory cannot be recorded in a graph")
		}
		return false, nil
	}
	_, err = d.prepare(t, call)
	n.kernel = t.kernel
	return true, err
}

// meetCapture looks at a command of s, which records nothing. A wait for an event that was recorded in
// a capture takes s into it; a record makes it an ordinary event again.
func (d *Driver) meetCapture(call string, s *stream, c *driver.Command) error {
	if c.Op != driver.OpWait && c.Op != driver.OpRecord {
		return nil
	}
	e := d.events[c.Event]
	if e == nil || e.captured == nil {
		return nil
	}
	g := e.captured.g
	switch {
	case c.Op == driver.OpRecord:
		e.captured, e.was = nil, g
	case s.h == 0:
		return driver.Errorf(driver.CodeCaptureImplicit, call, "a default stream cannot take part in a capture")
	case s.ctx.dev != g.ctx.dev:
		return driver.Errorf(driver.CodeStreamContext, call, "the capture is of device %d, the stream of device %d", g.ctx.dev.id, s.ctx.dev.id)
	default:
		d.join(g, s)
	}
	return nil
}

// EndCapture implements driver.Capturer.
func (d *Driver) EndCapture(h driver.Stream) (driver.Graph, error) {
	const call = "aclmdlRICaptureEnd"
	s, err := d.ownStream(call, h)
	if err != nil {
		return 0, err
	}
	if s.capture == nil {
		return 0, driver.Errorf(driver.CodeStreamNotCaptured, call, "stream %d records no graph", s.id)
	}
	g := s.capture.g
	if g.origin != s {
		return 0, driver.Errorf(driver.CodeCaptureUnmatched, call, "the capture began on stream %d, not on stream %d", g.origin.id, s.id)
	}
	d.host(costQuery)
	loose := g.unjoined()
	d.dropCapture(g)
	if err := s.ctx.over(); err != nil {
		return 0, err
	}
	switch {
	case g.invalid != nil:
		return 0, driver.Errorf(driver.CodeCaptureInvalid, call, "the capture was spoiled: %s", g.invalid.Detail)
	case loose != nil:
		return 0, driver.Errorf(driver.CodeStreamUnjoined, call, "stream %d took part in the capture and was not joined back by an event", loose.id)
	}
	g.lanes = slices.Clone(g.lanes)
	g.h = driver.Graph(d.newHandle())
	d.graphs[g.h] = g
	return g.h, nil
}

// unjoined is a stream whose last command the origin's last one does not come after, or nil.
func (g *graph) unjoined() *stream {
	reached := make([]bool, len(g.nodes))
	var visit func(i int)
	visit = func(i int) {
		if i < 0 || reached[i] {
			return
		}
		reached[i] = true
		for _, j := range g.nodes[i].after {
			visit(j)
		}
	}
	visit(g.origin.capture.last)
	for _, s := range g.lanes[1:] {
		if last := s.capture.last; last >= 0 && !reached[last] {
			return s
		}
	}
	return nil
}

// dropCapture lets the streams and events of a capture be ordinary ones again.
func (d *Driver) dropCapture(g *graph) {
	for _, s := range g.lanes {
		s.capture = nil
	}
	for _, e := range d.events {
		if e.captured != nil && e.captured.g == g {
			e.captured = nil
		}
		if e.was == g {
			e.was = nil
		}
	}
	d.capturing--
}

// UpdateGraph implements driver.Capturer.
func (d *Driver) UpdateGraph(h driver.Graph, i int, args []uint64) error {
	const call = "aclmdlRIUpdate"
	g := d.graphs[h]
	switch {
	case g == nil:
		return driver.Errorf(driver.CodeInvalidHandle, call, "%#x is no live graph", uintptr(h))
	case i < 0 || i >= len(g.nodes) || g.nodes[i].cmd.Op != driver.OpLaunch:
		return driver.Errorf(driver.CodeRtParamInvalid, call, "command %d of the graph is no launch", i)
	case len(args) != len(g.nodes[i].cmd.Args):
		return driver.Errorf(driver.CodeRtParamInvalid, call, "%d argument words, the launch has %d", len(args), len(g.nodes[i].cmd.Args))
	}
	if err := g.ctx.over(); err != nil {
		return err
	}
	d.host(costSubmit)
	if g.shared {
		g.nodes, g.shared = slices.Clone(g.nodes), false
	}
	g.nodes[i].cmd.Args = slices.Clone(args)
	return nil
}

// DestroyGraph implements driver.Capturer.
func (d *Driver) DestroyGraph(h driver.Graph) error {
	const call = "aclmdlRIDestroy"
	g := d.graphs[h]
	if g == nil {
		return driver.Errorf(driver.CodeInvalidHandle, call, "%#x is no live graph", uintptr(h))
	}
	d.host(costQuery)
	delete(d.graphs, h) // replays that are queued still run
	return nil
}

func (d *Driver) prepareReplay(t *task, call string) (bool, error) {
	g := d.graphs[t.cmd.Graph]
	if g == nil {
		return false, driver.Errorf(driver.CodeInvalidHandle, call, "%#x is no live graph", uintptr(t.cmd.Graph))
	}
	if g.ctx != t.s.ctx {
		return false, driver.Errorf(driver.CodeModelContext, call, "the graph was recorded in another context than that of the stream")
	}
	g.running++
	g.shared = true
	t.graph, t.nodes = g, g.nodes
	return true, nil
}

// replay is one run of a graph.
type replay struct {
	t     *task // the OpReplay that waits for it
	left  int   // commands not done yet
	fault *driver.Error
	lanes []*stream // that its commands are on
}

// startReplay lets the commands of the graph run, on streams of its own that stand for those that
// took part in the capture. Replays of one graph run one after the other, on whichever streams.
func (d *Driver) startReplay(t *task) {
	g := t.graph
	if g.active || t.turn != 0 && t.turn != g.turns[0] {
		t.s.blocked = true
		g.waiting = append(g.waiting, t.s)
		return
	}
	g.active = true
	if m := t.mishap; m != nil && (m.Hang || m.Fault != nil) { // nothing of it runs
		d.schedule(t, deviceEvent)
		return
	}
	t.s.running = true
	t.start = d.now
	r := &replay{t: t, left: len(t.nodes)}
	if r.left == 0 {
		d.schedule(t, deviceEvent)
		return
	}
	lanes := make([]*stream, len(g.lanes))
	for i, s := range g.lanes {
		if s == nil { // of a model
			s = t.s
		}
		lanes[i] = &stream{h: s.h, id: s.id, ctx: t.s.ctx, priority: s.priority}
	}
	defer func(current *context) { d.thread.ctx = current }(d.thread.ctx) // copies are planned in a context
	d.thread.ctx = t.s.ctx
	r.lanes, t.running = lanes, r
	records := make([]*record, len(t.nodes))
	for i := range t.nodes {
		n := &t.nodes[i]
		s := lanes[n.lane]
		nt := d.newTask()
		nt.cmd = n.cmd
		nt.args = append(nt.args[:0], n.cmd.Args...)
		nt.cmd.Args = nt.args
		nt.s, nt.replay, nt.note, nt.mishap = s, r, n.note, n.mishap
		switch n.cmd.Op {
		case driver.OpRecord:
			records[i] = &record{s: s}
			nt.rec = records[i]
		case driver.OpWait:
			nt.rec = records[n.wait]
		case driver.OpLaunch:
			nt.kernel = n.kernel
		default:
			if _, err := d.prepare(nt, n.cmd.Op.Call()); err != nil {
				nt.fault = err // memory that is gone since, say
			}
		}
		d.seq++
		nt.seq = d.seq
		s.push(nt)
	}
	for _, s := range lanes {
		d.pump(s)
	}
}

// ran notes that a replay of g has ended, and starts the one that waits for that. turn is that of a run of a model,
// else 0.
func (d *Driver) ran(g *graph, turn uint64) {
	g.running--
	g.active = false
	g.pass(turn)
	d.startWaiting(g)
}

// pass takes a run of a model that is over, or was dropped, out of the order.
func (g *graph) pass(turn uint64) {
	if i := slices.Index(g.turns, turn); i >= 0 {
		g.turns = slices.Delete(g.turns, i, i+1)
	}
}

// startWaiting starts the replay of g whose turn it is, where it waits for that.
func (d *Driver) startWaiting(g *graph) {
	if g.active {
		return
	}
	i := slices.IndexFunc(g.waiting, func(s *stream) bool { return s.head.turn == 0 || s.head.turn == g.turns[0] })
	if i >= 0 {
		s := g.waiting[i]
		g.waiting = slices.Delete(g.waiting, i, i+1)
		s.blocked = false
		d.pump(s)
	}
}

// replayed notes that a command of a replay is done, and ends the replay with the last one.
func (d *Driver) replayed(r *replay, fault *driver.Error) {
	if r.fault == nil {
		r.fault = fault
	}
	if r.left--; r.left > 0 {
		return
	}
	start := r.t.start
	d.schedule(r.t, deviceEvent)
	r.t.start = start
	if r.fault != nil {
		r.t.fault = r.fault
	}
}
