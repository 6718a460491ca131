package tests

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
)

// npuGenerator writes random programs of the npu API whose answers depend on neither time nor backend: contexts and
// devices in any order, copies, launches, events, graphs, callbacks, tasks, resets, and failing kernels in both failure
// modes. Each call is a line of its own, which works whatever lines before it are left out, and prints what it answers.
//
// What a program may not ask, because the answer is a matter of time: whether work is done that nobody has waited for,
// and what other streams had done of their work when a failure stopped the context.
type npuGenerator struct {
	r     *rand.Rand
	lines []string
	next  int

	contexts, streams, buffers, hosts, events, graphs []*genHandle
}

// genHandle is a handle as far as the generator knows. A closed one is still used now and then.
type genHandle struct {
	name   string
	device int
	parent *genHandle // the context of a stream, event or graph; nil: a default context, or none
	closed bool

	stops   bool         // of a context: a failure stops it
	failing bool         // of a context: it is about to stop
	stopped bool         // of a context: it did
	idle    bool         // of a stream: all that was queued was waited for
	calls   bool         // of a stream: it had callbacks, which also tell how far it is
	main    bool         // of a stream: it is the default stream of its context
	faulty  bool         // of a stream: a kernel was queued that fails, and nobody has waited since; of a graph: it holds one
	unclear bool         // of a buffer: what it holds depends on how far streams came
	users   []*genHandle // of a buffer: streams with work on it
	work    []genWork    // of a graph: its commands
	stream  *genHandle
	late    bool // of an event: its stream had work since its record
	reached bool // of an event: its stream was waited for since its record, or it has none
	behind  bool // of an event: its record came after the failure that stopped the context
}

// genWork is a command that works on memory.
type genWork struct {
	code      string
	fails     bool
	races     bool       // what it writes depends on how far others came
	dst, from *genHandle // what it writes, and reads; from is nil for a fill
}

// npuPrelude is what the lines of a program call. An error counts by its code, the line that it blames, and the codes and
// lines of its text; what it says in words is the backend's.
const npuPrelude = `local H, log = {}, {}
local function text(v) return type(v) == "table" and "table" or tostring(v) end
local function answer(ok, ...)
	if ok then
		local t = {}
		for i = 1, select("#", ...) do t[i] = text((select(i, ...))) end
		return print("ok", table.concat(t, " "))
	end
	local e = (...)
	if type(e) ~= "table" or not e.code then return print("error", (tostring(e):gsub("^[^ ]*:%d+: ", ""))) end
	local codes = {}
	for line in tostring(e):gmatch("[^\n]+") do
		if not line:find("affected", 1, true) and not line:find("hint", 1, true) then
			for code in line:gmatch("%[(%d+) [A-Z_]+%]") do codes[#codes + 1] = code end
		end
	end
	print("error", e.code, e.where, table.concat(codes, " "))
end
local function step(n, fn) io.write(n, " ") answer(pcall(fn)) end
local bad = npu.kernel "vector_add"
`

func generateNPU(seed uint64) []string {
	g := &npuGenerator{r: rand.New(rand.NewPCG(seed, 0x6e7075))}
	for d := range 2 {
		g.withMain(&genHandle{name: fmt.Sprintf("npu.device(%d).context", d), device: d})
	}
	for _, first := range []func(){g.newContext, g.newContext, g.newStream, g.newStream, g.newBuffer, g.newBuffer, g.newBuffer, g.newHost} {
		first()
	}
	for end := 15 + g.r.IntN(45); len(g.lines) < end; {
		g.step()
	}
	g.add("npu.device(0):synchronize()")
	g.add("npu.device(1):synchronize()")
	for _, s := range slices.Concat(g.streams, g.graphs) {
		if s.calls {
			g.lines = append(g.lines, fmt.Sprintf("print(%q, log[%[1]q])", s.name))
		}
	}
	return g.lines
}

// add is a line that prints what code answers.
func (g *npuGenerator) add(format string, args ...any) {
	g.lines = append(g.lines, fmt.Sprintf("step(%d, function() %s end)", len(g.lines), fmt.Sprintf(format, args...)))
}

func (g *npuGenerator) name(kind string) string {
	g.next++
	return fmt.Sprintf("H.%s%d", kind, g.next)
}

func (g *npuGenerator) chance(percent int) bool { return g.r.IntN(100) < percent }

// pick is one of list that fits, or nil; now and then one that is closed.
func (g *npuGenerator) pick(list []*genHandle, fits func(*genHandle) bool) *genHandle {
	closed := g.chance(5)
	var fit []*genHandle
	for _, h := range list {
		if h.closed == closed && (fits == nil || fits(h)) {
			fit = append(fit, h)
		}
	}
	if len(fit) == 0 {
		return nil
	}
	return fit[g.r.IntN(len(fit))]
}

func (g *npuGenerator) newContext() {
	h := &genHandle{name: g.name("c"), device: g.r.IntN(2)}
	g.add("%s = npu.device(%d):create_context() return %s", h.name, h.device, h.name)
	g.withMain(h)
}

// withMain adds a context and its default stream.
func (g *npuGenerator) withMain(c *genHandle) {
	g.contexts = append(g.contexts, c)
	g.streams = append(g.streams, &genHandle{name: c.name + ".default_stream", device: c.device, parent: c, main: true, idle: true})
}

func (g *npuGenerator) newStream() {
	c := g.pick(g.contexts, nil)
	if c == nil {
		return
	}
	h := &genHandle{name: g.name("s"), device: c.device, parent: c, closed: c.closed, idle: true}
	mode := ""
	if g.chance(35) && c.name[0] == 'H' {
		mode = `failure = "stop"`
		c.stops = true
		if slices.ContainsFunc(g.streams, func(s *genHandle) bool { return s.parent == c && s.faulty }) { // whether that stops it is a matter of time
			g.add("%s:synchronize()", c.name)
			g.waited(func(s *genHandle) bool { return s.parent == c })
		}
	} else if g.chance(10) {
		mode = `failure = "continue"`
	}
	g.add("%s = %s:create_stream{%s} return %s", h.name, c.name, mode, h.name)
	g.streams = append(g.streams, h)
}

func (g *npuGenerator) newBuffer() {
	c := g.pick(g.contexts, nil)
	if c == nil {
		return
	}
	h := &genHandle{name: g.name("x"), device: c.device, closed: c.closed}
	g.add("%s = %s:alloc(\"float32\", 8) %s:upload{%s} return %s", h.name, c.name, h.name, g.values(), h.name)
	g.buffers = append(g.buffers, h)
}

func (g *npuGenerator) newHost() {
	h := &genHandle{name: g.name("h")}
	g.add("%s = npu.host(\"float32\", {%s}) return #%s", h.name, g.values(), h.name)
	g.hosts = append(g.hosts, h)
}

func (g *npuGenerator) values() string {
	var v []string
	for range 8 {
		v = append(v, fmt.Sprint(g.r.IntN(100)))
	}
	return strings.Join(v, ", ")
}

// aStream is an open stream, now and then the default stream of a context.
func (g *npuGenerator) aStream() *genHandle {
	main := g.chance(20)
	return g.pick(g.streams, func(s *genHandle) bool { return s.main == main })
}

func (g *npuGenerator) on(device int) func(*genHandle) bool {
	if g.chance(4) {
		return nil // of another device: refused
	}
	return func(h *genHandle) bool { return h.device == device }
}

// work is a command for s; its code is "" where there is nothing that it could work on.
func (g *npuGenerator) work(s *genHandle) genWork {
	x, y := g.pick(g.buffers, g.on(s.device)), g.pick(g.buffers, g.on(s.device))
	if x == y {
		y = g.pick(g.buffers, g.on(s.device))
	}
	h := g.pick(g.hosts, nil)
	if x == nil || y == nil || h == nil {
		return genWork{}
	}
	switch n := g.r.IntN(100); {
	case n < 25:
		return genWork{code: fmt.Sprintf("%s:fill(%s, %d)", s.name, x.name, g.r.IntN(50)), dst: x}
	case n < 40:
		return genWork{code: fmt.Sprintf("%s:copy(%s, %s)", s.name, x.name, y.name), dst: x, from: y}
	case n < 50:
		return genWork{code: fmt.Sprintf("%s:copy(%s, %s)", s.name, x.name, h.name), dst: x, from: h}
	case n < 60:
		return genWork{code: fmt.Sprintf("%s:copy(%s, %s)", s.name, h.name, x.name), dst: h, from: x}
	case n < 85 || s.parent.failing:
		return genWork{code: fmt.Sprintf("%s:launch(bad, 1, %s, %s, %s, 8)", s.name, x.name, y.name, y.name), dst: x, from: y}
	}
	w := genWork{code: fmt.Sprintf("%s:launch(bad, %d, %s, %s, %s, 1000)", s.name, 1+g.r.IntN(2), x.name, y.name, y.name), dst: x, from: y} // beyond the operands
	w.fails = !w.refused(s)
	return w
}

// refused reports whether w cannot be queued on s.
func (w genWork) refused(s *genHandle) bool {
	return s.closed || s.parent.stopped && !s.parent.failing || slices.ContainsFunc(memory(w), func(b *genHandle) bool {
		return b.closed || b.name[2] == 'x' && b.device != s.device
	})
}

// memory are the buffers of commands.
func memory(list ...genWork) (buffers []*genHandle) {
	for _, w := range list {
		for _, b := range []*genHandle{w.dst, w.from} {
			if b != nil && !slices.Contains(buffers, b) {
				buffers = append(buffers, b)
			}
		}
	}
	return buffers
}

// runs notes what commands that s runs do to memory, and waits where need be for others who use it.
func (g *npuGenerator) runs(s *genHandle, list ...genWork) {
	if slices.ContainsFunc(list, func(w genWork) bool { return w.refused(s) }) {
		return
	}
	g.use(s, memory(list...)...)
	for _, w := range list {
		w.dst.unclear = w.dst.unclear || w.fails || w.races || s.parent.failing || w.from != nil && w.from.unclear
		if w.fails && s.parent.stops { // nothing after it runs
			return
		}
	}
}

// use notes that s works on buffers. Where another stream does too, one of the two is waited for, or what they hold is not
// asked for.
func (g *npuGenerator) use(s *genHandle, buffers ...*genHandle) {
	for _, b := range buffers {
		for _, u := range b.users {
			switch {
			case u == s || u.idle || u.parent.failing:
				b.unclear = b.unclear || u.parent.failing
			case g.chance(50):
				g.add("%s:synchronize()", u.name)
				g.waited(func(s *genHandle) bool { return s == u })
			default:
				b.unclear = true
				g.unclear(u) // it may read b before that, or after
			}
		}
		b.users = slices.DeleteFunc(b.users, func(u *genHandle) bool { return u == s || u.idle })
		b.users = append(b.users, s)
	}
}

// unclear notes that what the work of s writes depends on how far other streams come.
func (g *npuGenerator) unclear(s *genHandle) {
	for _, b := range slices.Concat(g.buffers, g.hosts) {
		b.unclear = b.unclear || slices.Contains(b.users, s)
	}
}

// queued notes that s has work.
func (g *npuGenerator) queued(s *genHandle, fails bool) {
	s.idle = false
	s.faulty = s.faulty || fails
	for _, e := range g.events {
		e.late = e.late || e.stream == s
	}
	if !fails || !s.parent.stops || s.parent.failing {
		return
	}
	// When the others of the context learn of it is a matter of time: they are asked once it was waited for.
	s.parent.failing, s.parent.stopped = true, true
	for _, o := range g.streams { // how far they come is a matter of time
		if o != s && o.parent == s.parent && !o.idle {
			g.unclear(o)
		}
	}
	for range g.r.IntN(3) {
		if o := g.pick(g.streams, func(o *genHandle) bool { return o.parent == s.parent }); o != nil {
			if w := g.work(o); w.code != "" {
				g.runs(o, w)
				g.add("%s", w.code)
				g.queued(o, false)
			}
		}
	}
	if e := g.pick(g.events, func(e *genHandle) bool { return e.device == s.device }); e != nil && g.chance(50) {
		g.record(s, e)
		e.behind = !e.closed && !s.closed
	}
	if g.chance(70) {
		g.add("%s:synchronize()", s.name)
		g.commands(s)
	} else {
		g.add("%s:synchronize()", s.parent.name)
	}
	s.parent.failing = false
	g.waited(func(o *genHandle) bool { return o.parent == s.parent })
	for _, e := range g.events {
		if e.stream != nil && e.stream.parent == s.parent && !e.closed && (e.reached || e.behind) && g.chance(60) {
			g.add("%s:synchronize()", e.name)
			g.add("return %s:query()", e.name)
		}
	}
}

// stops is called before s gets a command that stops its context. Which callbacks of other streams still run, and whether
// a failed one is told before the failure or after it, is a matter of time: they are waited for. Now and then an event is
// reached before.
func (g *npuGenerator) stops(s *genHandle, fails bool) {
	if !fails || !s.parent.stops || s.parent.stopped {
		return
	}
	if slices.ContainsFunc(g.streams, func(o *genHandle) bool { return o.parent == s.parent && o.calls && !o.idle }) {
		g.add("%s:synchronize()", s.parent.name)
		g.waited(func(o *genHandle) bool { return o.parent == s.parent })
	}
	if g.chance(50) {
		return
	}
	o := g.pick(g.streams, func(o *genHandle) bool { return o.parent == s.parent })
	e := g.pick(g.events, func(e *genHandle) bool { return e.device == s.device })
	if o == nil || e == nil {
		return
	}
	g.record(o, e)
	g.add("%s:synchronize()", o.name)
	g.waited(func(x *genHandle) bool { return x == o })
}

// waited notes that all work of the streams that fit was waited for.
func (g *npuGenerator) waited(fits func(*genHandle) bool) {
	for _, s := range g.streams {
		if !fits(s) {
			continue
		}
		s.idle, s.faulty = true, false
		for _, e := range g.events {
			e.reached = e.reached || e.stream == s && !e.behind
		}
	}
}

// closeBelow marks what goes with a parent.
func (g *npuGenerator) closeBelow(fits func(*genHandle) bool) {
	for _, list := range [][]*genHandle{g.streams, g.events, g.graphs} {
		for _, h := range list {
			h.closed = h.closed || fits(h)
		}
	}
}

func (g *npuGenerator) step() {
	switch n := g.r.IntN(100); {
	case n < 4:
		g.newContext()
	case n < 10:
		g.newStream()
	case n < 14:
		g.newBuffer()
	case n < 16:
		g.newHost()
	case n < 45:
		if s := g.aStream(); s != nil {
			w := g.work(s)
			if w.code == "" {
				return
			}
			g.stops(s, w.fails)
			g.runs(s, w)
			g.add("%s", w.code)
			g.queued(s, w.fails)
		}
	case n < 55:
		g.wait()
	case n < 61:
		g.eventStep()
	case n < 70:
		g.graphStep()
	case n < 77:
		g.look()
	case n < 80:
		if s := g.aStream(); s != nil {
			g.add(`%s:callback(function() log[%q] = (log[%q] or "") .. %d %s end)`, s.name, s.name, s.name, len(g.lines), []string{"", "", `error("mine")`}[g.r.IntN(3)])
			s.calls, s.faulty = true, true // if only for its own failure, which stops nothing
			g.queued(s, false)
		}
	case n < 85:
		g.current()
	case n < 88:
		g.task()
	case n < 90:
		g.worker()
	case n < 98:
		g.close()
	default:
		g.reset()
	}
}

// wait waits for a stream, a context or a device.
func (g *npuGenerator) wait() {
	switch g.r.IntN(4) {
	case 0:
		if c := g.pick(g.contexts, nil); c != nil {
			g.add("%s:synchronize()", c.name)
			g.waited(func(s *genHandle) bool { return s.parent == c })
		}
	case 1:
		d := g.r.IntN(2)
		g.add("npu.device(%d):synchronize()", d)
		g.waited(func(s *genHandle) bool { return s.device == d })
	default:
		if s := g.aStream(); s != nil {
			g.add("%s:synchronize()", s.name)
			g.waited(func(x *genHandle) bool { return x == s })
			if g.chance(50) {
				g.add("return %s:query()", s.name)
			} else if !s.parent.stopped {
				g.commands(s)
			}
		}
	}
}

func (g *npuGenerator) eventStep() {
	switch g.r.IntN(6) {
	case 0:
		if c := g.pick(g.contexts, nil); c != nil {
			h := &genHandle{name: g.name("e"), device: c.device, parent: c, closed: c.closed}
			g.add("%s = %s:create_event{timing = %v} return %s", h.name, c.name, g.chance(50), h.name)
			g.events = append(g.events, h)
		}
	case 1, 2:
		if s := g.aStream(); s != nil {
			if e := g.pick(g.events, g.on(s.device)); e != nil {
				g.record(s, e)
			}
		}
	case 3:
		if s, e := g.aStream(), g.pick(g.events, nil); s != nil && e != nil && s.device == e.device {
			g.add("%s:wait(%s)", s.name, e.name)
			g.queued(s, false)
		}
	case 4:
		e := g.pick(g.events, func(e *genHandle) bool {
			if e.stream != nil && e.stream.parent.stopped {
				return e.reached || e.behind
			}
			return e.stream == nil || !e.late
		})
		if e == nil {
			return
		}
		g.add("%s:synchronize()", e.name)
		if e.stream != nil {
			e.stream.faulty = false
			e.reached = e.reached || !e.behind
		}
		g.add("return %s:query()", e.name)
	default:
		if a, b := g.pick(g.events, nil), g.pick(g.events, nil); a != nil && b != nil && (a.stream == nil || a.stream.idle) && (b.stream == nil || b.stream.idle) {
			g.add("return npu.elapsed(%s, %s) and \"a time\"", a.name, b.name)
		}
	}
}

// record queues a mark.
func (g *npuGenerator) record(s, e *genHandle) {
	g.add("%s:record(%s)", s.name, e.name)
	if s.parent.stopped && !s.parent.failing || s.closed || e.closed || s.device != e.device { // refused
		return
	}
	g.queued(s, false)
	e.stream, e.late, e.reached, e.behind = s, false, false, false
}

func (g *npuGenerator) graphStep() {
	if g.chance(40) || !slices.ContainsFunc(g.graphs, func(r *genHandle) bool { return !r.closed }) {
		s := g.pick(g.streams, func(s *genHandle) bool { return !s.main })
		if s == nil || g.chance(5) {
			s = g.aStream()
		}
		if s == nil {
			return
		}
		h := &genHandle{name: g.name("g"), device: s.device, parent: s.parent, closed: s.closed || s.main}
		var body []string
		record := func(s *genHandle) {
			for range 1 + g.r.IntN(3) {
				w := g.work(s)
				if w.code == "" {
					continue
				}
				body = append(body, w.code)
				h.work = append(h.work, w)
				h.faulty = h.faulty || w.fails
				h.closed = h.closed || w.refused(s) // then there is no graph
			}
		}
		record(s)
		if t := g.pick(g.streams, func(t *genHandle) bool { return t != s && t.parent == s.parent && !t.main }); t != nil && g.chance(25) {
			body = append(body, fmt.Sprintf("local e = %s:record() %s:wait(e)", s.name, t.name))
			before := len(h.work)
			record(s)
			fork := len(h.work)
			record(t)
			body = append(body, fmt.Sprintf("local e = %s:record() %s:wait(e)", t.name, s.name))
			h.race(before, fork)
		}
		if g.chance(15) {
			body = append(body, fmt.Sprintf("%s:callback(function() log[%q] = (log[%[2]q] or 0) + 1 end)", s.name, h.name))
			h.calls = true
		}
		if g.chance(20) {
			body = append(body, fmt.Sprintf("pcall(%s.synchronize, %s)", s.name, s.name))
		}
		g.add("%s = %s:capture(function() %s end) return #%s", h.name, s.name, strings.Join(body, " "), h.name)
		g.graphs = append(g.graphs, h)
		return
	}
	r := g.pick(g.graphs, nil)
	s := g.aStream()
	if r == nil || s == nil {
		return
	}
	if g.chance(15) {
		g.update(r)
		return
	}
	if own := g.pick(g.streams, func(s *genHandle) bool { return s.parent == r.parent }); own != nil && g.chance(80) {
		s = own
	}
	if s.parent.failing {
		return
	}
	runs := !r.closed && r.parent == s.parent && !slices.ContainsFunc(r.work, func(w genWork) bool { return w.refused(s) })
	if runs {
		g.tellApart(r)
		g.stops(s, r.faulty)
		g.runs(s, r.work...)
	}
	g.add("%s:replay(%s)", r.name, s.name)
	if runs {
		r.stream = s
	}
	s.calls = s.calls || r.calls
	g.queued(s, runs && r.faulty)
}

// race notes which commands of two streams of a graph use what the other one writes: those from before to fork, and the
// others.
func (r *genHandle) race(before, fork int) {
	if r.faulty && r.parent.stops { // any may be skipped
		before, fork = 0, 0
	}
	meet := func(list, others []genWork) {
		for i := range list {
			for _, o := range others {
				uses := slices.Contains(memory(list[i]), o.dst) || slices.Contains(memory(o), list[i].dst)
				list[i].races = list[i].races || uses
			}
		}
	}
	if before == fork {
		for i := range r.work {
			r.work[i].races = true
		}
		return
	}
	meet(r.work[before:fork], r.work[fork:])
	meet(r.work[fork:], r.work[before:fork])
}

// tellApart waits for the replays of other graphs before one of r where one of them fails: over the library it may not be
// known which one did.
func (g *npuGenerator) tellApart(r *genHandle) {
	for _, o := range g.graphs {
		if o != r && o.stream != nil && o.device == r.device && !o.stream.idle && (o.faulty || r.faulty) {
			g.add("%s:synchronize()", o.stream.name)
			g.waited(func(s *genHandle) bool { return s == o.stream })
		}
	}
}

// update changes the first launch of a graph.
func (g *npuGenerator) update(r *genHandle) {
	x, y := g.pick(g.buffers, g.on(r.device)), g.pick(g.buffers, g.on(r.device))
	if x == nil || y == nil {
		return
	}
	w := genWork{fails: g.chance(25), dst: x, from: y}
	n := 8
	if w.fails {
		n = 1000
	}
	g.add(`%s:update("vector_add", {%s, %s, %s, %d})`, r.name, x.name, y.name, y.name, n)
	at := slices.IndexFunc(r.work, func(w genWork) bool { return strings.Contains(w.code, ":launch(") })
	if at < 0 || r.closed || w.refused(&genHandle{device: r.device, parent: r.parent}) {
		return
	}
	w.code = r.work[at].code
	for i := range r.work {
		r.work[i].races = r.work[i].races || r.parent.stops && w.fails
	}
	w.races = true
	r.work[at] = w
	r.faulty = slices.ContainsFunc(r.work, func(w genWork) bool { return w.fails })
}

// look reads memory.
func (g *npuGenerator) look() {
	switch g.r.IntN(4) {
	case 0:
		x, h := g.pick(g.buffers, nil), g.pick(g.hosts, nil)
		if x != nil && h != nil {
			g.add("npu.copy(%s, %s)", x.name, h.name)
			x.unclear = h.unclear
		}
	case 1:
		if x := g.pick(g.buffers, nil); x != nil {
			g.add("%s:upload{%s}", x.name, g.values())
			x.unclear = false
		}
	case 2:
		known := func(h *genHandle) bool {
			return !h.unclear && !slices.ContainsFunc(h.users, func(s *genHandle) bool { return s.calls && !s.idle })
		}
		if h := g.pick(g.hosts, known); h != nil {
			g.add("return %s[%d]", h.name, 1+g.r.IntN(8))
		}
	default:
		x := g.pick(g.buffers, nil)
		if x == nil {
			return
		}
		if x.unclear {
			g.add("%s:download()", x.name)
		} else {
			g.add("return table.concat(%s:download():to_table(), \" \")", x.name)
		}
	}
}

// current changes which context is current, and asks for it.
func (g *npuGenerator) current() {
	c := g.pick(g.contexts, nil)
	if c == nil {
		return
	}
	switch g.r.IntN(4) {
	case 0:
		g.add("%s:set_current()", c.name)
	case 1:
		g.add("return %s:use(function() return npu.current_context(), npu.current_device() end)", c.name)
	case 2:
		g.add("%s:use(function() error(\"mine\", 0) end)", c.name)
	default:
		g.add("return npu.current_context(), npu.current_device()")
	}
}

// commands asks what became of the commands of s, which was waited for.
func (g *npuGenerator) commands(s *genHandle) {
	g.add(`local t = {} for i, c in ipairs(%s:commands()) do t[i] = c.op .. " " .. c.state .. " " .. (c.code or "") end return table.concat(t, ", ")`, s.name)
}

// task does something in a task of its own.
func (g *npuGenerator) task() {
	s := g.aStream()
	if s == nil {
		return
	}
	w := g.work(s)
	if w.code == "" {
		return
	}
	g.stops(s, w.fails)
	g.runs(s, w)
	wait := ""
	if g.chance(50) {
		wait = s.name + ":synchronize()"
	}
	g.add("return npu.spawn(function() local none = pcall(npu.current_context) %s %s return none, npu.device(%d).context end):join()", w.code, wait, g.r.IntN(2))
	g.queued(s, w.fails)
	if wait != "" {
		g.waited(func(x *genHandle) bool { return x == s })
	}
}

// close closes a handle.
func (g *npuGenerator) close() {
	lists := [][]*genHandle{g.contexts, g.streams, g.buffers, g.hosts, g.events, g.graphs}
	list := lists[g.r.IntN(len(lists))]
	h := g.pick(list, nil)
	if h == nil || list[0] == g.contexts[0] && g.chance(50) {
		return
	}
	g.add("%s:close() return %s.closed", h.name, h.name)
	if h.name[0] != 'H' || h.main { // it stays
		return
	}
	h.closed = true
	g.waited(func(s *genHandle) bool { return s == h || s.parent == h })
	g.closeBelow(func(x *genHandle) bool { return x.parent == h })
}

// reset ends a device.
func (g *npuGenerator) reset() {
	d, how := g.r.IntN(2), []string{"reset", "close"}[g.r.IntN(2)]
	if how == "reset" && slices.ContainsFunc(g.streams, func(s *genHandle) bool { return s.device == d && s.calls && !s.idle }) { // how many of them run is a matter of time
		g.add("npu.device(%d):synchronize()", d)
	}
	g.add("npu.device(%d):%s()", d, how)
	g.waited(func(s *genHandle) bool { return s.device == d })
	for _, list := range [][]*genHandle{g.contexts[2:], g.streams, g.buffers, g.events, g.graphs} {
		for _, h := range list {
			h.closed = h.closed || h.device == d && !(h.main && h.parent == g.contexts[d])
		}
	}
	for _, h := range g.hosts { // a copy to it may have been dropped
		h.unclear = true
	}
}

// worker lets a worker have work of its own.
func (g *npuGenerator) worker() {
	n, wait, last := 8, "", "x:download():to_table()"
	if g.chance(25) {
		n = 1000
		last = "{}"
	}
	if g.chance(50) {
		wait = "s:synchronize()"
	}
	mode := []string{"", `failure = "stop"`}[g.r.IntN(2)]
	stream := fmt.Sprintf("c:create_stream{%s}", mode)
	if g.chance(25) {
		stream = "c.default_stream"
	}
	g.add(`return npu.worker(function(d) local c = npu.device(d):create_context() local s = %s local x = c:alloc("float32", 8) x:upload{%s} s:fill(x, %d) s:launch(npu.kernel "vector_add", 1, x, x, x, %d) %s return table.concat(%s, " ") end, %d):join()`,
		stream, g.values(), g.r.IntN(50), n, wait, last, g.r.IntN(2))
}
