//go:build linux && (amd64 || arm64)

package acl

import (
	"cmp"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/ebitengine/purego"

	"npulua/npu/internal/driver"
)

// The library tells of a failed command by numbers of a stream and a task, on a thread of its own, and again as
// the code of the next wait for the stream, which names no command. What was queued where is therefore noted, so
// that a fault can say which line of a script it comes from. Tasks count from 0 in each stream. A command of a graph
// has the number of a stream that the program never saw, and the wait has a code of its own for its replay.

// log is what was queued on a stream and may not be over.
type log struct {
	entries []entry
	fault   *driver.Error // the first one that was not returned yet
	failed  int           // index of its command, where fault is not nil; -1: not known
	told    bool          // a wait for an event has returned a fault, which the next one for the stream finds again
	over    over
}

type entry struct {
	task   int64 // number; noTask: not known
	op     driver.Op
	site   driver.Site
	way    driver.CopyKind // of a copy
	kernel *kernel         // of a launch
	graph  *graph          // of a replay
	model  *model          // of a run
	fault  *driver.Error   // nil: none is known

	never *driver.CommandInfo // of a command that never was in the queue: all there is to know of it
}

// noTask is the number of a task that nobody knows.
const noTask int64 = -1

// maxEntries bounds a log that nobody waits for: the older half is dropped then.
const maxEntries = 1 << 14

// noteCommand notes a command that the library has queued.
func (d *Driver) noteCommand(s *stream, c *driver.Command) {
	e := entry{task: noTask, op: c.Op, site: c.Site}
	switch c.Op {
	case driver.OpCopy:
		e.way = c.Kind // its number is not asked for, which costs as much as the copy: see between
	case driver.OpFill:
		e.task = d.lastTaskOf(s)
	case driver.OpLaunch:
		e.kernel, e.task = d.kernels[c.Kernel], d.lastTaskOf(s)
	case driver.OpReplay:
		e.graph = d.graphs[c.Graph]
	case driver.OpModel:
		e.model = d.models[c.Model]
		e.task = e.model.task
	}
	s.log.note(e)
}

// note adds a command.
func (l *log) note(e entry) {
	l.add(e)
	if l.fault != nil {
		l.fault.Affect(e.site)
	}
}

// add adds what may be no command that runs.
func (l *log) add(e entry) {
	if len(l.entries) == maxEntries {
		l.over.total += maxEntries / 2
		l.failed -= maxEntries / 2
		l.entries = l.entries[:copy(l.entries, l.entries[maxEntries/2:])]
	}
	l.entries = append(l.entries, e)
}

// lastTaskOf is the library's number of the command that was queued on s last, noTask where it does not tell.
func (d *Driver) lastTaskOf(s *stream) int64 {
	if d.lastTask.address == 0 {
		return noTask
	}
	if r, _, _ := purego.SyscallN(d.lastTask.address, d.out.at(0)); int32(r) != 0 {
		return noTask
	}
	return int64(uint32(d.out[0]))
}

// exception is a failed command that was not told yet.
type exception struct {
	device, stream32, task uint32 // the library's numbers
	code                   driver.Code

	stream *stream // set: a host function of the program, which returned host
	site   driver.Site
	host   error
}

type exceptions struct {
	some atomic.Bool
	mu   sync.Mutex
	list []exception
	fn   func(driver.Exception)
}

func (x *exceptions) add(e exception) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.list = append(x.list, e)
	x.some.Store(true)
}

// watch has the library tell of failed commands.
func (d *Driver) watch() {
	openCallbacks()
	callbacks.mu.Lock()
	callbacks.told = func(info uintptr) {
		ask := func(f *function) uint32 {
			r, _, _ := purego.SyscallN(f.address, info)
			return uint32(r)
		}
		d.exceptions.add(exception{device: ask(&d.excDevice), stream32: ask(&d.excStream), task: ask(&d.excTask), code: driver.Code(int32(ask(&d.excCode)))})
	}
	callbacks.mu.Unlock()
	_ = d.call(&d.onException, callbacks.exception) // without it faults have no places
}

// OnException implements driver.Watcher. What failed is told when a stream is waited for.
func (d *Driver) OnException(fn func(driver.Exception)) { d.exceptions.fn = fn }

// deliver makes faults of what the library has told since the last time.
func (d *Driver) deliver() {
	x := &d.exceptions
	if !x.some.Load() {
		return
	}
	x.mu.Lock()
	list := x.list
	x.list = nil
	x.some.Store(false)
	x.mu.Unlock()
	for _, e := range list {
		s, at := e.stream, unknown
		if s != nil {
			at = s.log.indexOf(func(x entry) bool { return x.op == driver.OpHostFunc && x.site == e.site && x.fault == nil })
		} else if s, at = d.find(e); s != nil && len(s.log.entries) == 0 {
			continue // of a stream that was destroyed, whose number this one has now
		} else if s == nil {
			if len(d.strange) < maxStrange {
				d.strange = append(d.strange, e) // of a graph, most likely: see claim
			}
			continue
		}
		d.fail(s, at, e.fault())
	}
}

// maxStrange bounds the failed commands of streams that nobody made.
const maxStrange = 64

// fault is the error for e, without its place.
func (e exception) fault() *driver.Error {
	if e.host != nil {
		return &driver.Error{Code: driver.CodeInternal, Call: driver.OpHostFunc.Call(), Op: driver.OpHostFunc.String(), Site: e.site,
			Detail: "the host function failed: " + e.host.Error(), Hint: "the commands after it still ran", Cause: e.host}
	}
	return &driver.Error{Code: e.code}
}

// find is the stream of an exception, and the index of its command in the log.
func (d *Driver) find(e exception) (*stream, int) {
	for _, c := range d.contexts {
		for _, s := range d.streamsOf(c) {
			if e.of(s) {
				return s, s.log.of(int64(e.task), d.lastTask.address != 0)
			}
		}
	}
	return nil, unknown
}

// unknown is the index of a command that nothing tells.
const unknown = -1

// of is the index of the command with a task's number; numbered says that the library tells the numbers of launches
// and fills.
func (l *log) of(task int64, numbered bool) int {
	if at := l.indexOf(func(x entry) bool { return x.task == task }); at >= 0 {
		return at
	}
	if !numbered || !slices.ContainsFunc(l.entries, func(x entry) bool { return x.task != noTask }) {
		return l.suspect(canFault...)
	}
	if at := l.suspect(driver.OpReplay, driver.OpModel); at >= 0 { // it is no launch or fill, whose numbers are known
		return at
	}
	return l.between(task)
}

// canFault are the commands that fail when they run, rather than when they are queued.
var canFault = []driver.Op{driver.OpLaunch, driver.OpReplay, driver.OpModel}

// between is the index of a copy by its number: numbers go up, and those of launches and fills are known. It is
// unknown where copies of several lines may be meant.
func (l *log) between(task int64) int {
	found, several := unknown, false
	for i, e := range l.entries {
		if e.task > task {
			break
		}
		switch {
		case e.task != noTask: // all before it have smaller numbers
			found, several = unknown, false
		case e.op != driver.OpCopy:
		case found == unknown:
			found = i
		default:
			several = several || l.entries[found].site != e.site
		}
	}
	if several {
		return unknown
	}
	return found
}

func (l *log) indexOf(is func(entry) bool) int {
	for i, e := range l.entries {
		if is(e) {
			return i
		}
	}
	return -1
}

// fail makes f a fault of s, of the command at index at of the log.
func (d *Driver) fail(s *stream, at int, f *driver.Error) {
	l := &s.log
	if at >= 0 {
		e := l.entries[at]
		f.Op, f.Call, f.Site = e.op.String(), e.op.Call(), e.site
		if e.graph != nil {
			if site, op := e.graph.suspect(); site != 0 {
				f.Site, f.Op, f.Call = site, op.String(), op.Call()
			}
		}
	}
	d.failAt(s, at, f)
}

// failAt is fail for an error that has its place already.
func (d *Driver) failAt(s *stream, at int, f *driver.Error) {
	l := &s.log
	if at >= 0 {
		l.entries[at].fault = f
		for _, later := range l.entries[at+1:] {
			if later.never == nil {
				f.Affect(later.site)
			}
		}
	}
	d.faults++
	f.Fault = d.faults
	if l.fault == nil || at >= 0 && at < l.failed { // the library may tell of them in another order
		l.fault, l.failed = f, at
	}
	if s.ctx.stops && s.ctx.stopped == nil && f.Cause == nil {
		s.ctx.stopped = f
	}
	if d.exceptions.fn != nil {
		d.exceptions.fn(driver.Exception{Context: s.ctx.h, Stream: s.h, Fault: f})
	}
}

// suspect is the index of the only command of those kinds, or the first of several of one line; unknown where there are
// more, or none.
func (l *log) suspect(ops ...driver.Op) int {
	found := unknown
	for i, e := range l.entries {
		if !slices.Contains(ops, e.op) {
			continue
		}
		if found >= 0 && l.entries[found].site != e.site {
			return unknown
		}
		if found < 0 {
			found = i
		}
	}
	return found
}

// untold makes a fault of what a wait for s returned, where the library has not told which command failed: the only one
// that can be meant, where there is one. In a context that stops on a failure that may be on any stream of it.
func (d *Driver) untold(s *stream, e *driver.Error) {
	if !s.ctx.stops {
		d.fail(s, s.log.suspect(canFault...), e)
		return
	}
	found, at := s, unknown
	for _, x := range d.streamsOf(s.ctx) {
		for i, c := range x.log.entries {
			switch {
			case !slices.Contains(canFault, c.op):
			case at == unknown:
				found, at = x, i
			case found.log.entries[at].site != c.site: // several lines
				d.fail(s, unknown, e)
				return
			}
		}
	}
	d.fail(found, at, e)
}

// claim makes faults of s of what the library has told as failed commands of streams that nobody made, which are those of
// replays: with the code of the command, and a word on that of the replay, which a wait for s may have returned as e.
func (d *Driver) claim(s *stream, e *driver.Error) {
	if len(d.strange) == 0 || !s.log.replays() {
		return
	}
	ofReplay := e != nil && e.Code == driver.CodeGraphFailed
	others := d.replayersBeside(s)
	if !ofReplay && len(others) > 0 { // it may be of them
		return
	}
	taken := make(map[replayed]bool)
	d.strange = slices.DeleteFunc(d.strange, func(x exception) bool {
		if x.device != uint32(s.ctx.device) {
			return false
		}
		at, node := s.log.recorded(int64(x.task), taken)
		if at == unknown || node == nil && slices.ContainsFunc(others, func(o *stream) bool { return o.log.numbers(int64(x.task)) }) {
			return false
		}
		taken[replayed{at, node}] = true
		f := x.fault()
		f.Detail = "a command of the graph failed"
		if ofReplay {
			f.Detail = cmp.Or(e.Detail, f.Detail) + ", and its replay with " + e.Code.Error()
		}
		if node == nil {
			d.fail(s, at, f)
			return true
		}
		f.Op, f.Call, f.Site = node.op.String(), node.op.Call(), node.site
		d.failAt(s, at, f)
		return true
	})
}

// replayersBeside are the other streams of the device of s that have replays.
func (d *Driver) replayersBeside(s *stream) (list []*stream) {
	for _, c := range d.contexts {
		for _, x := range d.streamsOf(c) {
			if x != s && c.device == s.ctx.device && x.log.replays() {
				list = append(list, x)
			}
		}
	}
	return list
}

// replays reports whether a replay is in l.
func (l *log) replays() bool {
	return slices.ContainsFunc(l.entries, func(e entry) bool { return e.graph != nil })
}

// numbers reports whether a launch of a replay has a task's number.
func (l *log) numbers(task int64) bool {
	return slices.ContainsFunc(l.entries, func(e entry) bool {
		return e.graph != nil && slices.ContainsFunc(e.graph.nodes, func(n node) bool { return n.op == driver.OpLaunch && n.task == task })
	})
}

// replayed is a launch of a replay, by the index of the replay in a log; nil: whichever launch.
type replayed struct {
	at   int
	node *node
}

// recorded is the index of the first replay whose graph has a launch with a task's number, and that launch, but for what is
// taken. Where no number fits, or several launches have it, it is that of the only replay, without a launch.
func (l *log) recorded(task int64, taken map[replayed]bool) (at int, found *node) {
	at = unknown
	several, fits := false, false
	for i, e := range l.entries {
		if e.graph == nil {
			continue
		}
		for j := range e.graph.nodes {
			n := &e.graph.nodes[j]
			if n.op != driver.OpLaunch || n.task != task {
				continue
			}
			fits = true
			switch {
			case taken[replayed{i, n}]:
			case found == nil:
				at, found = i, n
			default:
				several = several || found.site != n.site
			}
		}
	}
	if found != nil && !several || found == nil && fits {
		return at, found
	}
	if at = l.suspect(driver.OpReplay); at == unknown || taken[replayed{at, nil}] {
		return unknown, nil
	}
	return at, nil
}

// found makes faults of all that is known when a wait for s has returned err.
func (d *Driver) found(s *stream, err error) {
	d.deliver()
	e, _ := err.(*driver.Error)
	of := []*stream{s}
	if s.ctx.stops { // it may be of any of them
		of = d.streamsOf(s.ctx)
	}
	for _, x := range of {
		d.claim(x, e)
	}
	if e != nil && s.log.fault == nil && s.ctx.stopped == nil && !s.log.told {
		d.untold(s, e)
	}
}

// settled is called with what a wait for s has returned: all that was queued on it before is over, unless the wait
// itself was refused or has timed out. It returns the first fault, once; in a context that has stopped, always.
func (d *Driver) settled(s *stream, err error) error {
	if err != nil && !isFault(code(err)) {
		return err
	}
	if s.late.found != nil {
		err = s.late.found
	}
	s.late = late{}
	d.found(s, err)
	if s.ctx.stopped == nil {
		s.reach(s.records)
	} else {
		s.ctx.told = true
	}
	s.log.close(s.ctx.stopped)
	fault, told := s.log.fault, s.log.told
	s.log.fault, s.log.told = nil, false
	switch {
	case fault != nil:
		return fault
	case s.ctx.stopped != nil && (err != nil || s.ctx.unaware):
		return s.ctx.stopped
	case told:
		return nil
	}
	return err
}

// isFault tells the codes of work that failed on the device from those of a refused or unfinished wait.
func isFault(c driver.Code) bool {
	const firstDevice = 200000
	return c >= firstDevice && c != driver.CodeStreamSyncTimeout && c != driver.CodeEventSyncTimeout && c != driver.CodeNotSupported
}
