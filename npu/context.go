package npu

import (
	"errors"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strconv"
	"time"
	"weak"

	"npulua/npu/internal/driver"
)

// Context owns streams and events on one device. Device memory belongs to the device.
type Context struct {
	// Bound is free for bindings: what stands for the handle there.
	Bound any

	h     driver.Context
	dev   *Device
	res   *resource
	deflt *Stream
	stop  *stopping

	id      int // in its device, from 0: the default context
	streams int // made so far, the default one not counted
	events  int // made so far
}

// newContext makes the handle of context id of dev.
func newContext(dev *Device, id int, h driver.Context, res *resource) *Context {
	c := &Context{h: h, dev: dev, res: res, id: id}
	st := &streamState{name: streamName{device: dev.id, context: id}, ctx: h, stop: new(stopping), closed: &res.closed}
	c.stop = st.stop
	c.deflt = &Stream{ctx: c, res: &resource{kind: "default stream", session: res.session, parent: res}, state: st}
	st.handle = weak.Make(c.deflt)
	res.session.mu.Lock()
	res.stream = st // reports and exceptions look for it from now on
	res.session.mu.Unlock()
	return c
}

// CreateContext makes an explicit context on dev, with its own default stream, and makes it
// current.
func (dev *Device) CreateContext(t *Thread) (*Context, error) {
	var c *Context
	h := new(driver.Context)
	res := &resource{kind: "context", parent: dev.res, explicit: true, destroy: func(d driver.Driver, _ bool) error {
		return d.DestroyContext(*h)
	}}
	res.idle = func(d driver.Driver) bool {
		dev.s.mu.Lock()
		defer dev.s.mu.Unlock()
		return len(res.children) == 0 && res.stream.idle(d)
	}
	err := t.create(0, res, func(d driver.Driver) (err error) {
		if *h, err = d.CreateContext(dev.id); err != nil {
			return err
		}
		dev.s.mu.Lock()
		dev.contexts++
		id := dev.contexts
		dev.s.mu.Unlock()
		c = newContext(dev, id, *h, res)
		return nil
	})
	if err != nil {
		return nil, err
	}
	runtime.AddCleanup(c, (*resource).collect, res)
	t.setCurrent(c)
	return c, nil
}

// ID is the number of the context in its device: 0 for the default one, then counting from 1.
func (c *Context) ID() int { return c.id }

// String is "context(1, device 0)"; a default context is "context(default, ...".
func (c *Context) String() string {
	name, mark := strconv.Itoa(c.id), ""
	if c.IsDefault() {
		name = "default"
	}
	if c.Closed() {
		mark = ", closed"
	}
	return fmt.Sprintf("context(%s, device %d%s)", name, c.dev.id, mark)
}

// Device is the owner of c.
func (c *Context) Device() *Device { return c.dev }

// IsDefault reports whether c is the default context of its device.
func (c *Context) IsDefault() bool { return c == c.dev.deflt }

// Closed reports whether c was closed, by itself or with its device.
func (c *Context) Closed() bool { return c.res.closed.Load() }

// DefaultStream is the stream that the context has without being asked. It does not synchronize
// with other streams, and closes with the context.
func (c *Context) DefaultStream() *Stream { return c.deflt }

// DefaultStreamFor is DefaultStream for the tasks of t's scheduler, which is the only one that can
// have it while it lives: ErrStreamContext for others, since a stream belongs to one goroutine at a time.
func (c *Context) DefaultStreamFor(t *Thread) (*Stream, error) {
	sch, mine := &c.deflt.state.sch, t.scheduler()
	owner := sch.Load()
	if owner != mine && (owner != nil && !owner.ended.Load() || !sch.CompareAndSwap(owner, mine)) {
		return nil, hinted(errorf(ErrStreamContext, "the default stream is used by another worker"), "make a stream with create_stream")
	}
	return c.deflt, nil
}

// SetCurrent makes c the current context of t.
func (c *Context) SetCurrent(t *Thread) error {
	if err := c.res.check(); err != nil {
		return err
	}
	if t.c.Inside() {
		return insideError()
	}
	t.setCurrent(c)
	return nil
}

// Synchronize waits for the work of all streams of c. timeout: see Stream.Synchronize.
func (c *Context) Synchronize(t *Thread, timeout time.Duration) error {
	if err := c.res.check(); err != nil {
		return err
	}
	return goneOr(t.s.synchronizeAll(t, c.res, timeout, toSynchronize), c.res.check)
}

// contextOptions names the options of a context, with the vendor's numbers.
var contextOptions = map[string]driver.ContextOption{
	"deterministic":      driver.OptionDeterministic,
	"debug_kernel":       driver.OptionDebugKernel,
	"strong_consistency": driver.OptionStrongConsistency,
}

// ContextOptions lists the names that SetOption takes.
func ContextOptions() []string {
	return slices.Sorted(maps.Keys(contextOptions))
}

func contextOption(name string) (driver.ContextOption, error) {
	opt, ok := contextOptions[name]
	if !ok {
		return 0, errorf(ErrInvalidParam, "unknown option %q%s", name, Suggest(name, ContextOptions()))
	}
	return opt, nil
}

// SetOption sets an option of c: "deterministic" (2 is strong consistency in newer releases),
// "debug_kernel", "strong_consistency".
func (c *Context) SetOption(t *Thread, name string, value int64) error {
	if err := c.res.check(); err != nil {
		return err
	}
	opt, err := contextOption(name)
	if err != nil {
		return err
	}
	return t.callOn(c.h, func(d driver.Driver) error { return d.SetContextOption(opt, value) }, c.res.check)
}

// Option reads an option; 107021 where it was never set.
func (c *Context) Option(t *Thread, name string) (int64, error) {
	if err := c.res.check(); err != nil {
		return 0, err
	}
	opt, err := contextOption(name)
	if err != nil {
		return 0, err
	}
	var v int64
	err = t.callOn(c.h, func(d driver.Driver) (err error) {
		v, err = d.ContextOption(opt)
		return err
	}, c.res.check)
	var e *Error
	if errors.As(err, &e) && e.Code == driver.CodeOptionNotSet {
		e.Detail = fmt.Sprintf("option %q was never set in this context", name)
		e.Hint = "set it first with ctx:set_option"
	}
	return v, err
}

// Close waits for the work of c, which the runtime would drop, and destroys it with its streams and events. Where it was current,
// the context that was current before is again. A default context cannot be closed.
func (c *Context) Close(t *Thread) error {
	if c.IsDefault() && !c.res.closed.Load() {
		return hinted(errorf(ErrContextNull, "a default context lives until its device is closed"), "close the device")
	}
	return c.res.close(t, "", false)
}
