//go:build linux && (amd64 || arm64)

package acl

import (
	"npulua/npu/internal/driver"
	"npulua/npu/internal/loader"
)

// ctx is a live context.
type ctx struct {
	h         driver.Context
	raw       uintptr
	device    int
	isDefault bool
	main      *stream            // its default stream
	binaries  map[string]uintptr // loaded in it, by file
	stopped   *driver.Error
	told      bool // somebody has waited since: what is queued from then on is refused
	stops     bool // the failure mode is StopOnFailure
	unaware   bool // the library does not know that it has stopped
}

// over is the failure that has stopped c, once somebody has waited.
func (c *ctx) over() error {
	if c.told {
		return c.stopped
	}
	return nil
}

// newContext notes a context of the library, which is current.
func (d *Driver) newContext(raw uintptr, device int) *ctx {
	c := &ctx{h: driver.Context(d.handle()), raw: raw, device: device, binaries: make(map[string]uintptr)}
	c.main = &stream{ctx: c, id: -1}
	d.contexts[c.h] = c
	return c
}

// CreateContext implements driver.Driver.
func (d *Driver) CreateContext(device int) (driver.Context, error) {
	err := loader.GuardSignals(func() error { return d.call(&d.createContext, d.out.at(0), uintptr(int32(device))) })
	if err != nil {
		return 0, err
	}
	d.current = d.newContext(uintptr(d.out[0]), device)
	return d.current.h, nil
}

// DestroyContext implements driver.Driver.
func (d *Driver) DestroyContext(h driver.Context) error {
	c := d.contexts[h]
	switch {
	case h == 0:
		return driver.Errorf(driver.CodeInvalidParam, d.destroyContext.name, "the context is NULL")
	case c == nil:
		return driver.Errorf(driver.CodeContextNull, d.destroyContext.name, "the context is not live")
	case c.isDefault:
		return driver.Errorf(driver.CodeContextNull, d.destroyContext.name, "a default context goes with its device: ResetDevice")
	}
	d.abandon(c, false)
	err := d.call(&d.destroyContext, c.raw)
	d.forget(c)
	d.dropMemory(c.device)
	return err
}

// abandon destroys what must go before c: its events, what is loaded in it, and its default stream.
func (d *Driver) abandon(c *ctx, force bool) {
	d.abandonModels(c, force)
	for _, e := range d.events {
		if e.ctx == c && !e.gone {
			d.destroyRaw(e)
		}
	}
	for _, k := range d.kernels {
		delete(k.functions, c)
	}
	d.unloadBinaries(c)
	if c.main.raw != 0 { // with what is queued on it, as all work of c
		_ = d.within(c, func() error { return d.call(&d.destroyStreamForce, c.main.raw) }) // it goes with the context else
	}
}

// unloadBinaries gives back the code of c. Where launches may be left it stays: the device may run it.
func (d *Driver) unloadBinaries(c *ctx) {
	if len(c.binaries) == 0 {
		return
	}
	_ = d.within(c, func() error {
		for _, s := range d.streamsOf(c) {
			if done, err := d.QueryStream(s.h); err != nil || !done {
				return nil
			}
		}
		for path, raw := range c.binaries {
			_ = d.call(&d.unloadBinary, raw) // it goes with the context else
			delete(c.binaries, path)
		}
		return nil
	})
}

// streamsOf are the streams of c, its default stream included.
func (d *Driver) streamsOf(c *ctx) []*stream {
	list := []*stream{c.main}
	for _, s := range d.streams {
		if s.ctx == c {
			list = append(list, s)
		}
	}
	return list
}

// forget drops c and what is gone with it.
func (d *Driver) forget(c *ctx) {
	d.deliver() // faults of its streams are told while these are known
	delete(d.contexts, c.h)
	d.lastStream = nil
	ended := d.streamsOf(c)
	for _, s := range ended {
		delete(d.streams, s.h) // of the default stream there is none
	}
	if d.inUse(c.device) {
		for _, s := range ended {
			d.dropWorkspaces(&s.workspaces)
		}
	} else { // its memory is gone
		for _, g := range d.graphs {
			g.forgetWorkspaces(c.device)
		}
	}
	if d.current == c {
		d.current = nil
	}
}

// SetCurrentContext implements driver.Driver.
func (d *Driver) SetCurrentContext(h driver.Context) error {
	c := d.contexts[h]
	switch {
	case h == 0:
		return driver.Errorf(driver.CodeInvalidParam, d.setContext.name, "the context is NULL")
	case c == nil:
		return driver.Errorf(driver.CodeRtParamInvalid, d.setContext.name, "the context is not live")
	}
	if err := d.call(&d.setContext, c.raw); err != nil {
		return err
	}
	d.current = c
	return nil
}

// CurrentContext implements driver.Driver.
func (d *Driver) CurrentContext() (driver.Context, error) {
	if d.current == nil {
		return 0, d.noContext(&d.getContext)
	}
	return d.current.h, nil
}

// noContext is the error of a call that needs a context. The library gets no such call: what it takes for its
// context may be gone.
func (d *Driver) noContext(f *function) error {
	return &driver.Error{Code: driver.CodeContextNull, Call: f.name}
}

// SetContextOption implements driver.Driver.
func (d *Driver) SetContextOption(opt driver.ContextOption, value int64) error {
	if d.current == nil {
		return d.noContext(&d.setOption)
	}
	return d.call(&d.setOption, uintptr(int32(opt)), uintptr(value))
}

// ContextOption implements driver.Driver.
func (d *Driver) ContextOption(opt driver.ContextOption) (int64, error) {
	if d.current == nil {
		return 0, d.noContext(&d.getOption)
	}
	err := d.call(&d.getOption, uintptr(int32(opt)), d.out.at(0))
	return int64(d.out[0]), err
}
