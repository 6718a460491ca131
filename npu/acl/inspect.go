//go:build linux && (amd64 || arm64)

package acl

import "npulua/npu/internal/driver"

// The library does not tell which command of a stream the device is at, so what was queued since the last wait for
// the stream counts as pending until all of it is done.

// over keeps what became of commands that are over.
type over struct {
	total uint64
	last  []driver.CommandInfo // at most driver.MaxCommandsOver
}

func (o *over) add(c driver.CommandInfo) {
	o.total++
	if len(o.last) == driver.MaxCommandsOver {
		o.last = o.last[:copy(o.last, o.last[1:])]
	}
	o.last = append(o.last, c)
}

// neverQueued notes a command that was refused with err, or skipped.
func (d *Driver) neverQueued(s *stream, c *driver.Command, state driver.CommandState, err error) {
	e := entry{op: c.Op, site: c.Site, way: c.Kind, kernel: d.kernels[c.Kernel], model: d.models[c.Model]}
	info := e.info(state)
	if state == driver.CommandFailed {
		info.Code = code(err)
	}
	if len(s.log.entries) == 0 {
		s.log.over.add(info)
		return
	}
	s.log.add(entry{task: noTask, never: &info})
}

// info is an entry as others see it.
func (e entry) info(state driver.CommandState) driver.CommandInfo {
	if e.never != nil {
		return *e.never
	}
	c := driver.CommandInfo{Op: e.op, Site: e.site, Copy: e.way, State: state}
	if e.kernel != nil {
		c.Name = e.kernel.name
	}
	if e.model != nil {
		c.Name = e.model.info.Name
	}
	return c
}

// close moves what the log has to what is over. What came behind the fault that stopped the context never ran.
func (l *log) close(stopped *driver.Error) {
	skipped := false
	for _, e := range l.entries {
		c := e.info(driver.CommandDone)
		switch {
		case e.never != nil:
		case e.fault != nil:
			c.State, c.Code, c.Fault = driver.CommandFailed, e.fault.Code, e.fault.Fault
			skipped = skipped || e.fault == stopped
		case skipped:
			c.State = driver.CommandSkipped
		}
		l.over.add(c)
	}
	l.entries = l.entries[:0]
}

// pending is the state of what the log has.
func (d *Driver) pending(s *stream) (driver.CommandState, error) {
	if len(s.log.entries) == 0 {
		return driver.CommandDone, nil
	}
	done, err := d.QueryStream(s.h)
	if err != nil && code(err) != driver.CodeStreamCaptured {
		return driver.CommandPending, err
	}
	if done {
		return driver.CommandDone, nil
	}
	return driver.CommandPending, nil
}

// Commands implements driver.Inspector.
func (d *Driver) Commands(h driver.Stream) ([]driver.CommandInfo, error) {
	s, err := d.ownStream(&d.queryStream, h)
	if err != nil {
		return nil, err
	}
	state, err := d.pending(s)
	list := append([]driver.CommandInfo(nil), s.log.over.last...)
	for _, e := range s.log.entries {
		list = append(list, e.info(state))
	}
	return list, err
}

// Progress implements driver.Inspector.
func (d *Driver) Progress(h driver.Stream) (driver.Progress, error) {
	s, err := d.ownStream(&d.queryStream, h)
	if err != nil {
		return driver.Progress{}, err
	}
	state, err := d.pending(s)
	l := &s.log
	p := driver.Progress{Over: l.over.total}
	if n := len(l.over.last); n > 0 {
		p.Last = l.over.last[n-1]
	}
	if n := len(l.entries); n > 0 {
		if state == driver.CommandDone {
			p.Over, p.Last = p.Over+uint64(n), l.entries[n-1].info(state)
		} else {
			p.Pending, p.Head = n, l.entries[0].info(state)
		}
	}
	return p, err
}
