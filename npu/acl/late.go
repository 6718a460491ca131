//go:build linux && (amd64 || arm64)

package acl

import (
	"time"

	"npulua/npu/internal/driver"
)

// The library finds a failed command when somebody waits for its stream: until then the stream does not look ready, nor
// an event behind the command complete, for ever. The executor waits by asking. What is not ready for long is
// therefore waited for, for a moment, now and then.

// late is what is known of something that is not ready.
type late struct {
	since, next time.Time     // asked for first; to be waited for again
	told        bool          // the library has told of a failed command since
	found       *driver.Error // what such a wait has returned, for the next one
}

const (
	lateFirst  = 50 * time.Millisecond // before the first of these waits
	lateLast   = time.Second           // between two of them at most: each that is too early leaves a line in the library's log
	lateMoment = time.Millisecond
)

// due reports whether it is time for such a wait. failed says that a command before it has failed, as the library has
// told: then that is at once.
func (l *late) due(failed bool) bool {
	now := time.Now()
	if l.since.IsZero() {
		l.since, l.next = now, now.Add(lateFirst)
	}
	if failed && !l.told {
		l.told, l.since, l.next = true, now, now
	}
	if now.Before(l.next) {
		return false
	}
	l.next = now.Add(min(max(now.Sub(l.since), 2*lateMoment), lateLast))
	return true
}

// over waits for a moment where that is due, and reports whether the wait came to its end. The error is of a wait that
// was refused.
func (d *Driver) over(s *stream, l *late, expired driver.Code, wait func() error) (bool, error) {
	d.deliver()
	if !l.due(s != nil && (s.log.fault != nil || s.ctx.stopped != nil)) {
		return false, nil
	}
	err := wait()
	e, _ := err.(*driver.Error)
	switch {
	case err == nil:
	case code(err) == expired:
		return false, nil
	case !isFault(code(err)):
		return false, err
	case l.found == nil:
		l.found = e
	}
	return true, nil
}
