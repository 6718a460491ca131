package driver

import "time"

// Inspector is implemented by a driver that tells what became of the commands of a stream. Its calls
// take no time, never wait, and change nothing.
//
// A replay of a graph is one command; what it is made of does not count, nor do commands that a capture
// records. A command that the driver finds nothing to do for, such as a wait for an event whose record
// is done, is over at once.
type Inspector interface {
	// Commands lists the last commands of s that are over, at most MaxCommandsOver, then all that are
	// pending; each part in order of submission. s is of the current context, zero is its default
	// stream. CodeInvalidHandle for a stream that is not live, CodeStreamContext for one of another
	// context. Needs a context. The result is the caller's.
	Commands(s Stream) ([]CommandInfo, error)
	// Progress is Commands in short, without making the list.
	Progress(s Stream) (Progress, error)
}

// MaxCommandsOver bounds the commands that are over in what Inspector.Commands lists.
const MaxCommandsOver = 128

// CommandState is what became of a command.
type CommandState uint8

// The states. Done, failed and skipped are those of a command that is over.
const (
	CommandQueued  CommandState = iota // it has not started
	CommandRunning                     // the device is at it
	CommandDone
	CommandFailed  // it ran and failed, or was refused when it was submitted
	CommandSkipped // it never ran: its context had stopped after a failure, or it was dropped by force

	CommandPending // it may be queued, running or done: the driver knows only of all commands of the stream together
)

var stateNames = [...]string{"queued", "running", "done", "failed", "skipped", "pending"}

// String is the state as scripts see it.
func (s CommandState) String() string { return stateNames[s] }

// CommandInfo is one command of a stream.
type CommandInfo struct {
	Op    Op
	Site  Site
	Name  string // of the kernel of a launch, or ""
	State CommandState
	Code  Code     // of a failed command
	Fault uint64   // number of the fault of a failed command; 0 where it was refused
	Hold  Hold     // of the first pending command, where it has not started
	Copy  CopyKind // of a copy: which way it goes
	Hangs bool     // it runs, and was made never to end (Mishap.Hang), or holds a command that was
	// Start is when the device began with the command, by the driver's clock, and End when that was over. Both
	// are zero of one that never ran, End of one that is pending. What needed no device begins and ends at once.
	Start, End time.Duration
}

// Progress sums up a stream.
type Progress struct {
	Over    uint64      // commands that are over, since the stream was made
	Pending int         // commands that are not
	Last    CommandInfo // the last one that came to its end; OpNone: none did
	Head    CommandInfo // the first that is pending; OpNone: none is
}

// HoldKind says what holds a command back.
type HoldKind uint8

// The kinds, with the fields of Hold that they use.
const (
	HoldNone     HoldKind = iota
	HoldRecord            // Context, Stream, Site: a record that is not done
	HoldEngine            // Name; Context, Stream, Site: the command that the engine is at
	HoldCores             // Name, Want, Free: fewer cores are free than it takes
	HoldCallback          // the function of the program has not run
)

// Hold is what the first command of a stream waits for.
type Hold struct {
	Kind       HoldKind
	Name       string  // what kind of engine or cores: "copies to the device", "vector"
	Context    Context // owner of Stream
	Stream     Stream  // zero: the default stream of Context
	Site       Site
	Want, Free int // cores
}
