package driver

import (
	"fmt"
	"time"
)

// Rehearser is implemented by a driver whose work can be made to go wrong. What goes wrong, and when, is decided
// by whoever calls it; without a call everything works.
type Rehearser interface {
	// Arm has the next Enqueue, Memcpy or Memset go wrong as m says, which takes it, whatever comes of the call. A
	// command that a graph records keeps it for every replay. The driver does not change *m.
	Arm(m *Mishap)
	// Pass takes d of the host's time.
	Pass(d time.Duration)
	// Route is the devices in whose memory the two ends of a copy lie; -1 stands for the host.
	Route(dst, src Ptr) (to, from int)
	// LoseDevice has all queued work of device end now, and what is queued later end at once, each command with
	// a copy of fault. Nil ends that. Calls go on as before. device must be one that there is.
	LoseDevice(device int, fault *Error)
	// Hangs reports whether a command runs that will never end by itself.
	Hangs() bool
}

// Mishap is what goes wrong with a command or a blocking copy. The zero value is nothing.
type Mishap struct {
	Refuse *Error        // Enqueue returns it and queues nothing; it spoils a recording
	Fault  *Error        // the command fails with a copy of it when it would be done, having changed nothing
	Hang   bool          // the command never ends; destroying its stream drops it
	Delay  time.Duration // it takes that much longer
	Rate   float64       // of a copy: the share of the usual bandwidth that it has; 0: all
	Wrong  int64         // that many bytes of what it writes are changed when it is done
}

// Injected makes the error of a fault that was asked for: what says by which rule.
func Injected(code Code, call, what string) *Error {
	return &Error{Code: code, Call: call, Injected: true, Detail: code.sentence() + ": an injected fault",
		Hint: fmt.Sprintf("nothing is broken: the rule %q asks for it", what)}
}
