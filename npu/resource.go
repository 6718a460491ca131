package npu

import (
	"cmp"
	"errors"
	"maps"
	"slices"
	"sync/atomic"

	"npulua/npu/internal/driver"
)

// resource is what the driver holds for a handle. The handle that a program sees points to its
// resource and keeps its parent's handle alive; the resource points to no handle, so that the
// garbage collector can find handles that nobody uses.
type resource struct {
	kind     string // "stream", as messages and --leaks say it
	detail   string // "float32 x 1024", for --leaks
	session  *Session
	parent   *resource
	children []*resource // in order of creation; under session.mu, as all below
	created  Site
	closed   atomic.Bool
	ending   atomic.Bool    // closed, or being closed: nothing new begins with it or below it
	closers  int            // calls of close under way, on it or above it
	closedAt Site           // or where it is being closed
	closedBy string         // "": close; else the parent that took it along, "context"
	scope    *scope         // the scope that will close it
	stream   *streamState   // of a stream, or the default stream of a context
	orphans  []*streamState // streams below it that garbage collection took
	explicit bool           // made by a call of the program, not along with something else

	// destroy gives the driver's object back. It runs on the executor's thread with ctx current
	// where that is not zero. nil: nothing to give back.
	ctx     driver.Context
	destroy func(d driver.Driver, force bool) error
	// drop ends what needs no driver, once r is closed. nil: nothing.
	drop func()
	// before runs on the closing thread first: it waits for work that uses the object.
	before func(t *Thread) error
	// idle reports whether no queued work uses the object any more; on the executor's thread, for
	// handles that the garbage collector found. nil: always.
	idle func(d driver.Driver) bool
}

// create has build make what r stands for on the executor's thread, with ctx current, and adopts r in the same step, so
// that whatever closes r's parent either comes before and is told, or finds r among the children. When build returns,
// r has all that closing it needs.
func (t *Thread) create(ctx driver.Context, r *resource, build func(d driver.Driver) error) error {
	r.session = t.s
	parent := r.parent
	if parent == nil {
		parent = t.s.root
	}
	from := t.origin()
	err := t.retry(parent.usable, ctx, func(d driver.Driver) error {
		if err := build(d); err != nil {
			return err
		}
		err := t.s.adopt(r, from)
		if err != nil && r.destroy != nil {
			_ = r.destroy(d, true)
		}
		return err
	})
	return goneOr(err, parent.usable)
}

// origin is where a resource is made. It is taken before the executor makes it: callbacks that run on the thread's
// goroutine meanwhile have places and scopes of their own.
type origin struct {
	site  Site
	scope *scope // nil: none is open
}

func (t *Thread) origin() origin { return origin{t.Site, t.scope} }

// adopt registers r under its parent, and in the scope that it comes from. It fails where the parent is being closed.
func (s *Session) adopt(r *resource, from origin) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	r.session = s
	r.created = from.site
	if r.parent == nil {
		r.parent = s.root
	}
	if r.parent.ending.Load() {
		return r.parent.gone()
	}
	r.parent.children = append(r.parent.children, r)
	s.live[r.kind]++
	if r.explicit && from.scope != nil {
		r.scope = from.scope
		from.scope.created = append(from.scope.created, r)
	}
	return nil
}

// each calls fn for r and all below it, parents first; under session.mu.
func (r *resource) each(fn func(*resource)) {
	fn(r)
	for _, c := range r.children {
		c.each(fn)
	}
}

// workLast has what runs commands closed before what they use, where nobody waits for them: the last of list is closed
// first.
func workLast(list []*resource) {
	work := func(r *resource) int {
		if r.stream != nil || r.kind == "device" {
			return 1
		}
		return 0
	}
	slices.SortStableFunc(list, func(a, b *resource) int { return cmp.Compare(work(a), work(b)) })
}

// recording reports whether a stream below r records a graph.
func (r *resource) recording() bool {
	found := false
	r.each(func(x *resource) { found = found || x.stream != nil && x.stream.recording.Load() != nil })
	return found
}

// check fails for a resource that was closed.
func (r *resource) check() error {
	if !r.closed.Load() {
		return nil
	}
	return r.closedError()
}

// usable fails for a resource that was closed, or is being closed: whatever begins something new with it asks.
func (r *resource) usable() error {
	if !r.ending.Load() {
		return nil
	}
	return r.closedError()
}

func (r *resource) closedError() *Error {
	r.session.mu.Lock()
	defer r.session.mu.Unlock()
	return r.gone()
}

// gone is why r is not usable; under session.mu.
func (r *resource) gone() *Error {
	where := "was closed"
	if !r.closed.Load() {
		where = "is being closed"
	}
	if r.closedBy != "" {
		where += " with its " + r.closedBy
	}
	if at := r.session.Where(r.closedAt); at != "" {
		where += " at " + at
	}
	return hinted(errorf(ErrInvalidHandle, "%s %s", r.name(), where), "create a new one, or close it later")
}

// name is the kind as messages say it.
func (r *resource) name() string {
	switch r.kind {
	case "device memory", "pinned memory", "host memory", "kernel argument":
		return "buffer"
	}
	return r.kind
}

// beginClose lets nothing new begin with r and below it, until endClose; under session.mu.
func (r *resource) beginClose(at Site) {
	r.each(func(x *resource) {
		if x.closers++; x.closers > 1 {
			return
		}
		x.closedAt, x.closedBy = at, ""
		if x != r {
			x.closedBy = r.kind
		}
		x.ending.Store(true)
	})
	r.session.closings.Add(1)
}

// endClose lets r, which may not have been closed, be used again.
func (r *resource) endClose() {
	r.session.mu.Lock()
	defer r.session.mu.Unlock()
	r.each(func(x *resource) {
		if x.closers--; x.closers == 0 && !x.closed.Load() {
			x.ending.Store(false)
		}
	})
}

// close destroys r after its children, newest first. It goes on after an error and joins all.
func (r *resource) close(t *Thread, by string, force bool) error {
	s := r.session
	s.mu.Lock()
	if r.closed.Load() {
		s.mu.Unlock()
		return nil
	}
	if r.recording() {
		s.mu.Unlock()
		return recordingError()
	}
	if t.c.Inside() {
		s.mu.Unlock()
		return insideError()
	}
	children := slices.Clone(r.children)
	at := t.Site     // read here: while the executor is at the closing, callbacks that run on this goroutine set their own
	r.beginClose(at) // from now on they get no more
	s.mu.Unlock()
	defer r.endClose()
	if len(children) > 0 && s.threads.Load() > 1 { // what others have claimed a place for is on its way after this
		if err := t.call(0, func(driver.Driver) error { return nil }); err != nil {
			return err
		}
	}
	if t.task != nil { // what is being given back is given back
		t.task.shield++
		defer func() { t.task.shield-- }()
	}
	// What closes along with something else takes no time of its own: how much is left of it depends on when garbage was
	// collected.
	along := by != ""
	withParent := along && by != "scope" && by != "session"
	force = force || t.group.abandoned()
	var errs []error
	if !force && r.before != nil {
		err := r.before(t)
		if errors.Is(err, driver.CodeStreamCaptured) || errors.Is(err, driver.CodeEventCaptured) {
			return err // a recording needs it
		}
		errs = append(errs, err)
	}
	if !force && !withParent && (r.stream != nil || len(children) > 0) {
		why := toClose
		if along {
			why = toCloseAlong
		}
		err := s.synchronizeAll(t, r, -1, why)
		if t.c.Err() == nil { // else it says only that t was ended
			errs = append(errs, err)
		}
	}
	force = force || t.c.Err() != nil || t.group.abandoned() // nobody waits for what is left, and the driver must not either
	if force {
		workLast(children)
	}
	for _, c := range slices.Backward(children) {
		errs = append(errs, c.close(t, r.kind, force))
	}
	if err := errors.Join(errs...); t.interruptedBy(err) {
		return err // queued work uses it, and nobody waits for that any more: it stays open
	}
	first := false // to close it: another task may have done that meanwhile
	switch {
	case r.destroy == nil:
	case r.stuck(t):
		errs = append(errs, hinted(errorf(ErrNotSupported, "the work of its default stream goes on, so that context stays"), "it ends with the process"))
	default:
		err := t.callWhere(r.check, r.ctx, func(d driver.Driver) error { // at once, for whoever looks whether it is closed before a call
			if first = s.forget(r, at, by); !first {
				return nil
			}
			s.keepHistory(d, r.stream)
			if along {
				return s.exec.Untimed(func() error { return r.destroy(d, force) })
			}
			return r.destroy(d, force)
		})
		if !r.closed.Load() || first {
			errs = append(errs, err)
		}
	}
	if first = s.forget(r, at, by) || first; !first {
		return errors.Join(errs...)
	}
	if r.drop != nil {
		r.drop()
	}
	if st := r.stream; st != nil {
		st.known(st.queued) // the driver has nothing of it any more
		if force {
			_ = t.call(0, func(driver.Driver) error {
				s.exec.Deferred(st.ctx, st.h) // a default context comes again under the same name
				return nil
			})
		}
	}
	return errors.Join(errs...)
}

// stuck reports whether r is a context whose destruction might never return: nobody waits for its work, which the
// driver cannot break off and would wait for.
func (r *resource) stuck(t *Thread) bool {
	if r.stream == nil || r.kind != "context" {
		return false
	}
	r.session.mu.Lock()
	abandoned := t.group.abandoned() || r.scope != nil && r.scope.force
	r.session.mu.Unlock()
	if !abandoned {
		return false
	}
	idle := false
	err := t.callWhere(r.check, r.stream.ctx, func(d driver.Driver) error {
		idle = r.stream.idle(d)
		return nil
	})
	return err == nil && !idle
}

// tellLater keeps a fault for the session's Close, because the call that found it returns another
// error.
func (s *Session) tellLater(err error) {
	if err == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.untold = append(s.untold, err)
}

// forget marks r closed and takes it off its parent. It reports false where that was done before.
func (s *Session) forget(r *resource, at Site, by string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r.closed.Load() {
		return false
	}
	r.closedAt, r.closedBy = at, by
	r.ending.Store(true)
	r.closed.Store(true)
	s.closings.Add(1)
	s.live[r.kind]--
	if p := r.parent; p != nil {
		for i := len(p.children) - 1; i >= 0; i-- { // mostly the newest
			if p.children[i] == r {
				p.children = slices.Delete(p.children, i, i+1)
				break
			}
		}
	}
	return true
}

// collect is called by the garbage collector's cleanup for a handle that nobody can reach: the
// executor gives the object back once no queued work uses it.
func (r *resource) collect() {
	s := r.session
	s.mu.Lock()
	if r.closed.Load() || s.closing || r.givenBack() {
		s.mu.Unlock()
		return
	}
	if r.explicit && (r.scope == nil || !r.scope.final) {
		s.leaked[leakOf(r)]++
	}
	children := slices.Clone(r.children)
	s.mu.Unlock()
	for _, c := range slices.Backward(children) {
		c.collect()
	}
	s.exec.Release(func(d driver.Driver) bool {
		if r.stream != nil && r.stream.pins.Load() > 0 || r.idle != nil && !r.idle(d) {
			return false
		}
		s.mu.Lock()
		gone := r.closed.Load() || r.givenBack()
		s.mu.Unlock()
		if gone || !s.forget(r, 0, "") {
			return true
		}
		if r.drop != nil {
			r.drop()
		}
		if r.ctx != 0 && d.SetCurrentContext(r.ctx) != nil {
			return true // its context went first and took it along
		}
		if st := r.stream; st != nil && r.parent != nil {
			fault := own(s.exec.Fault(st.ctx, st.h))
			s.mu.Lock()
			st.fault = fault
			r.parent.orphans = append(append(r.parent.orphans, r.orphans...), st)
			r.orphans = nil
			s.mu.Unlock()
		}
		s.keepHistory(d, r.stream)
		if r.destroy != nil {
			_ = r.destroy(d, false) // nobody is left to tell
		}
		return true
	})
}

// givenBack reports whether a scope that is being closed closes r: it waits for others before, and while
// it does nobody else may hold r. Under session.mu.
func (r *resource) givenBack() bool { return r.scope != nil && r.scope.closing }

// Leak is a handle that was never closed.
type Leak struct {
	Kind   string // "stream", "device memory"
	Detail string // "float32 x 1024 (4096 B)"
	Site   Site   // where it was created
	Count  int    // how many of them
}

func leakOf(r *resource) Leak { return Leak{Kind: r.kind, Detail: r.detail, Site: r.created} }

// Leaks lists the handles that the program made and never closed, those that garbage collection
// found included, by place. Devices do not count: they are reset at the end.
func (s *Session) Leaks() []Leak {
	s.mu.Lock()
	defer s.mu.Unlock()
	found := maps.Clone(s.leaked)
	s.root.each(func(r *resource) {
		if r.explicit {
			found[leakOf(r)]++
		}
	})
	var out []Leak
	for l, n := range found {
		l.Count = n
		out = append(out, l)
	}
	slices.SortFunc(out, func(a, b Leak) int {
		return cmp.Or(cmp.Compare(a.Site, b.Site), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Detail, b.Detail))
	})
	return out
}
