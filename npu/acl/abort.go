//go:build linux && (amd64 || arm64)

package acl

import (
	"slices"
	"time"

	"npulua/npu/internal/driver"
)

// abortTime is how long a stream may take to be idle after the library has said that it broke its work off.
const abortTime = 5 * time.Second

// AbortStream implements driver.Aborter. The library may make a fault of the command that it ended, for the next wait:
// it is taken here.
func (d *Driver) AbortStream(h driver.Stream) error {
	s, err := d.ownStream(&d.abortStream, h)
	if err != nil {
		return err
	}
	if s.capture != nil { // the manual does not say what becomes of the recording
		return driver.Errorf(driver.CodeStreamCaptured, d.abortStream.name, "the stream records a graph")
	}
	d.deliver() // what failed before
	idle, err := d.QueryStream(h)
	if err != nil {
		return err
	}
	if err := d.call(&d.abortStream, s.raw); err != nil {
		return err
	}
	if err := d.call(&d.syncStreamTimeout, s.raw, milliseconds(abortTime)); err != nil && !isFault(code(err)) {
		return err
	}
	d.exceptions.drop(func(e exception) bool { return e.of(s) })
	s.log.drop(idle)
	s.late = late{}
	return nil
}

// of reports whether e is of a command of s, as far as numbers tell.
func (e exception) of(s *stream) bool {
	return e.stream == s || e.stream == nil && uint32(s.id) == e.stream32 && uint32(s.ctx.device) == e.device
}

// drop forgets what was told.
func (x *exceptions) drop(is func(exception) bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.list = slices.DeleteFunc(x.list, is)
	x.some.Store(len(x.list) > 0)
}

// drop moves what the log has to what is over, done where the stream was idle, else skipped: it is not known how far
// it came. The fault is forgotten.
func (l *log) drop(idle bool) {
	state := driver.CommandSkipped
	if idle {
		state = driver.CommandDone
	}
	for _, e := range l.entries {
		c := e.info(state)
		if e.fault != nil {
			c.State, c.Code, c.Fault = driver.CommandFailed, e.fault.Code, e.fault.Fault
		}
		l.over.add(c)
	}
	l.entries, l.fault, l.told = l.entries[:0], nil, false
}
