//go:build linux && (amd64 || arm64)

package acl

import (
	"slices"
	"sync"
	"sync/atomic"

	"github.com/ebitengine/purego"

	"npulua/npu/internal/driver"
)

// The library tells of a failed command by numbers of a stream and a task, on a thread of its own, and again as
// the code of the next wait for the stream, which names no command. What was queued where is therefore noted, so
// that a fault can say which line of a script it comes from.

// log is what was queued on a stream and may not be over.
type log struct {
	entries []entry
	fault   *driver.Error // the first one that was not returned yet
	failed  int           // index of its command, where fault is not nil; -1: not known
	over    over
}

type entry struct {
	task   uint32
	op     driver.Op
	site   driver.Site
	way    driver.CopyKind // of a copy
	kernel *kernel         // of a launch
	graph  *graph          // of a replay
	model  *model          // of a run
}

// maxEntries bounds a log that nobody waits for: the older half is dropped then.
const maxEntries = 1 << 14

// noteCommand notes a command that the library has queued.
func (d *Driver) noteCommand(s *stream, c *driver.Command) {
	e := entry{op: c.Op, site: c.Site}
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
	if len(l.entries) == maxEntries {
		l.over.total += maxEntries / 2
		l.failed -= maxEntries / 2
		l.entries = l.entries[:copy(l.entries, l.entries[maxEntries/2:])]
	}
	l.entries = append(l.entries, e)
	if l.fault != nil {
		l.fault.Affect(e.site)
	}
}

// lastTaskOf is the library's number of the command that was queued on s last, 0 where it does not tell.
func (d *Driver) lastTaskOf(s *stream) uint32 {
	if d.lastTask.address == 0 || s.h == 0 { // it counts those of streams that a program made
		return 0
	}
	purego.SyscallN(d.lastTask.address, d.out.at(0))
	return uint32(d.out[0])
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
		s, at := e.stream, -1
		if s == nil {
			if s, at = d.find(e); s == nil {
				continue // of no stream of ours; the code of the wait tells
			}
		} else {
			at = s.log.indexOf(func(x entry) bool { return x.op == driver.OpHostFunc && x.site == e.site })
		}
		d.fail(s, at, e.fault())
	}
}

// fault is the error for e, without its place.
func (e exception) fault() *driver.Error {
	if e.host != nil {
		return &driver.Error{Code: driver.CodeInternal, Call: driver.OpHostFunc.Call(), Op: driver.OpHostFunc.String(), Site: e.site,
			Detail: "the host function failed: " + e.host.Error(), Hint: "the commands after it still ran", Cause: e.host}
	}
	return &driver.Error{Code: e.code}
}

// find is the stream of an exception, and the index of its command in the log, -1 where that is not known.
func (d *Driver) find(e exception) (*stream, int) {
	for _, s := range d.streams {
		if uint32(s.id) == e.stream32 && uint32(s.ctx.device) == e.device {
			at := s.log.indexOf(func(x entry) bool { return x.task == e.task && x.task != 0 })
			if at < 0 && d.lastTask.address != 0 { // no launch or fill, whose numbers are known
				if at = s.log.suspect(driver.OpReplay, driver.OpModel); at < 0 {
					at = s.log.between(e.task)
				}
			}
			return s, at
		}
	}
	for _, c := range d.contexts { // the default streams, whose numbers are not asked for
		if uint32(c.device) == e.device {
			if i := c.main.log.indexOf(func(x entry) bool { return x.task == e.task && x.task != 0 }); i >= 0 {
				return c.main, i
			}
		}
	}
	return nil, -1
}

// unknown is the index of a command that nothing tells.
const unknown = -2

// between is the index of a copy by its number: numbers go up, and those of launches and fills are known. It is
// unknown where copies of several lines may be meant.
func (l *log) between(task uint32) int {
	found, several := unknown, false
	for i, e := range l.entries {
		if e.task > task {
			break
		}
		switch {
		case e.task != 0: // all before it have smaller numbers
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

// fail makes f a fault of s, of the command at index at of the log; -1: of the only one that can be meant, where
// there is one; unknown: of none.
func (d *Driver) fail(s *stream, at int, f *driver.Error) {
	l := &s.log
	if at == -1 {
		at = l.suspect(driver.OpLaunch, driver.OpReplay, driver.OpModel)
	}
	if at >= 0 {
		e := l.entries[at]
		f.Op, f.Call, f.Site = e.op.String(), e.op.Call(), e.site
		if e.graph != nil {
			if site, op := e.graph.suspect(); site != 0 {
				f.Site, f.Op, f.Call = site, op.String(), op.Call()
			}
		}
		for _, later := range l.entries[at+1:] {
			f.Affect(later.site)
		}
	}
	d.faults++
	f.Fault = d.faults
	if l.fault == nil {
		l.fault, l.failed = f, at
	}
	if s.ctx.stops && s.ctx.stopped == nil && f.Cause == nil {
		s.ctx.stopped = f
	}
	if d.exceptions.fn != nil {
		d.exceptions.fn(driver.Exception{Context: s.ctx.h, Stream: s.h, Fault: f})
	}
}

// suspect is the index of the only command of those kinds, or the first of several of one line; -1 where there are
// more, or none.
func (l *log) suspect(ops ...driver.Op) int {
	found := -1
	for i, e := range l.entries {
		if !slices.Contains(ops, e.op) {
			continue
		}
		if found >= 0 && l.entries[found].site != e.site {
			return -1
		}
		if found < 0 {
			found = i
		}
	}
	return found
}

// settled is called with what a wait for s has returned: all that was queued on it before is over, unless the wait
// itself was refused or has timed out. It returns the first fault, once.
func (d *Driver) settled(s *stream, err error) error {
	if err != nil && !isFault(code(err)) {
		return err
	}
	d.deliver()
	fault := s.log.fault
	if fault == nil && err != nil {
		e, ok := err.(*driver.Error)
		if stopped := s.ctx.stopped; stopped != nil && ok && stopped.Code == e.Code {
			s.log.close(-1, nil, false)
			return stopped
		}
		if ok {
			d.fail(s, -1, e)
			fault = s.log.fault
		}
	}
	failed := -1
	if fault != nil {
		failed = s.log.failed
	}
	s.log.close(failed, fault, s.ctx.stopped != nil)
	s.log.fault = nil
	if fault != nil {
		return fault
	}
	if err == nil && s.ctx.refusing {
		return s.ctx.stopped
	}
	return err
}

// isFault tells the codes of work that failed on the device from those of a refused or unfinished wait.
func isFault(c driver.Code) bool {
	const firstDevice = 200000
	return c >= firstDevice && c != driver.CodeStreamSyncTimeout && c != driver.CodeEventSyncTimeout && c != driver.CodeNotSupported
}
