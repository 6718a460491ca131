package sim

import (
	"npulua/npu/internal/driver"
)

// context is a default or an explicit context.
type context struct {
	h       driver.Context
	dev     *device
	primary bool
	dead    bool // destroyed, or a default context whose device is not set

	streams []*stream // streams[0] is the default stream
	options map[driver.ContextOption]int64
	mode    driver.FailureMode
	stopped *driver.Error // the fault that stopped everything, in StopOnFailure
	told    bool          // somebody has waited since: what is queued from then on is refused
}

// openContext brings c to life with a new default stream.
func (d *Driver) openContext(c *context) error {
	c.dead = false
	c.options = make(map[driver.ContextOption]int64)
	c.mode, c.stopped, c.told = driver.ContinueOnFailure, nil, false
	if _, err := d.newStream("aclrtCreateContext", c, driver.StreamConfig{}); err != nil {
		c.dead = true
		return err
	}
	d.contexts[c.h] = c
	return nil
}

// closeContext drops the work of c, ends what runs, and destroys its streams.
func (d *Driver) closeContext(c *context) {
	for len(c.streams) > 0 {
		s := c.streams[len(c.streams)-1]
		if s.capture != nil {
			d.dropCapture(s.capture.g)
		}
		d.breakOff(s)
		d.dropStream(s)
	}
	for h, g := range d.graphs {
		if g.ctx == c {
			delete(d.graphs, h)
		}
	}
	d.dropModels(c)
	delete(d.contexts, c.h)
	c.dead = true
}

// CreateContext implements driver.Driver.
func (d *Driver) CreateContext(id int) (driver.Context, error) {
	dev, err := d.device("aclrtCreateContext", id)
	if err != nil {
		return 0, err
	}
	if dev.sets == 0 && dev.explicit == 0 {
		d.host(costOpenDevice)
	}
	d.host(costContext)
	c := &context{h: driver.Context(d.newHandle()), dev: dev}
	if err := d.openContext(c); err != nil {
		return 0, err
	}
	dev.explicit++
	d.thread.ctx = c
	return c.h, nil
}

// DestroyContext implements driver.Driver.
func (d *Driver) DestroyContext(h driver.Context) error {
	const call = "aclrtDestroyContext"
	if h == 0 {
		return driver.Errorf(driver.CodeInvalidParam, call, "context is NULL")
	}
	c := d.contexts[h]
	if c == nil {
		return driver.Errorf(driver.CodeContextNull, call, "%#x is no live context", uintptr(h))
	}
	if c.primary {
		return driver.Errorf(driver.CodeContextNull, call, "a default context lives until its device is reset")
	}
	d.host(costContext)
	d.closeContext(c)
	if d.thread.ctx == c {
		d.thread.ctx = nil
	}
	c.dev.explicit--
	d.closeDevice(c.dev)
	return nil
}

// SetCurrentContext implements driver.Driver.
func (d *Driver) SetCurrentContext(h driver.Context) error {
	const call = "aclrtSetCurrentContext"
	if h == 0 {
		return driver.Errorf(driver.CodeInvalidParam, call, "context is NULL")
	}
	c := d.contexts[h]
	if c == nil {
		return driver.Errorf(driver.CodeRtParamInvalid, call, "%#x is no live context", uintptr(h))
	}
	d.thread.ctx = c
	return nil
}

// CurrentContext implements driver.Driver.
func (d *Driver) CurrentContext() (driver.Context, error) {
	c, err := d.needContext("aclrtGetCurrentContext")
	if err != nil {
		return 0, err
	}
	return c.h, nil
}

// SetContextOption implements driver.Driver.
func (d *Driver) SetContextOption(opt driver.ContextOption, value int64) error {
	c, err := d.optionContext("aclrtCtxSetSysParamOpt", opt)
	if err != nil {
		return err
	}
	c.options[opt] = value
	return nil
}

// ContextOption implements driver.Driver.
func (d *Driver) ContextOption(opt driver.ContextOption) (int64, error) {
	const call = "aclrtCtxGetSysParamOpt"
	c, err := d.optionContext(call, opt)
	if err != nil {
		return 0, err
	}
	v, ok := c.options[opt]
	if !ok {
		return 0, driver.Errorf(driver.CodeOptionNotSet, call, "option %d was never set in this context", opt)
	}
	return v, nil
}

func (d *Driver) optionContext(call string, opt driver.ContextOption) (*context, error) {
	if opt < driver.OptionDeterministic || opt > driver.OptionStrongConsistency {
		return nil, driver.Errorf(driver.CodeInvalidParam, call, "there is no context option %d", opt)
	}
	return d.needContext(call)
}
