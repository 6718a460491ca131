package npu

import (
	"errors"
	"slices"
)

// scope owns what its thread creates while it is open.
type scope struct {
	outer   *scope
	created []*resource
	final   bool // nothing is kept: it stays until close
	force   bool // closing waits for no work
	closing bool // what is left belongs to close, not to garbage collection; under session.mu
}

// Scope calls fn and then closes, newest first, what t created in it and did not keep, also after
// an error or a panic of fn. It returns the error of fn, or else the errors of closing.
func (t *Thread) Scope(fn func() error) (err error) {
	if t.c.Inside() {
		return insideError()
	}
	sc := &scope{outer: t.scope}
	t.scope = sc
	defer func() {
		t.scope = sc.outer
		if e := sc.close(t); err == nil {
			err = e
		} else {
			t.s.tellLater(e)
		}
	}()
	return fn()
}

func (sc *scope) close(t *Thread) error {
	t.s.mu.Lock()
	sc.closing = true
	if sc.force {
		workLast(sc.created)
	}
	t.s.mu.Unlock()
	var errs []error
	var left []*resource
	for r := sc.pop(t.s); r != nil; r = sc.pop(t.s) { // also what is created meanwhile
		if r.scope == sc {
			errs = append(errs, r.close(t, "scope", sc.force))
		}
		if !r.closed.Load() {
			left = append(left, r)
		}
	}
	slices.Reverse(left)
	sc.created = left
	err := errors.Join(errs...)
	if t.interruptedBy(err) {
		sc.handOn(t)
	}
	return err
}

// pop takes the newest of what was created in sc; nil where nothing is left.
func (sc *scope) pop(s *Session) *resource {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := len(sc.created)
	if n == 0 {
		return nil
	}
	r := sc.created[n-1]
	sc.created = sc.created[:n-1]
	return r
}

// handOn gives what is still open to the scope around sc, or to nobody where there is none.
func (sc *scope) handOn(t *Thread) {
	t.s.mu.Lock()
	defer t.s.mu.Unlock()
	for _, r := range sc.created {
		if r.scope == sc && !r.closed.Load() {
			r.scope = sc.outer
			if sc.outer != nil {
				sc.outer.created = append(sc.outer.created, r)
			}
		}
	}
}

// keep hands r to the scope around the innermost one, or to nobody where there is none.
func (t *Thread) keep(r *resource) {
	sc := t.scope
	if sc == nil || r.scope != sc || sc.final {
		return
	}
	t.s.mu.Lock()
	r.scope = sc.outer
	t.s.mu.Unlock()
	if sc.outer != nil {
		sc.outer.created = append(sc.outer.created, r)
	}
}

// Keep lets a handle out of the innermost scope of t: the scope around it, or nobody, owns it
// then. It reports whether x is a handle that scopes own. A slice stands for its allocation.
func (t *Thread) Keep(x any) bool {
	switch h := x.(type) {
	case *Context:
		t.keep(h.res)
	case *Stream:
		t.keep(h.res)
	case *Event:
		t.keep(h.res)
	case *Buffer:
		t.keep(h.root.res)
	case *Graph:
		t.keep(h.res)
	case *Model:
		t.keep(h.res)
	default:
		return false
	}
	return true
}
