package main

import (
	"context"
	"errors"
	"os"
	"syscall"

	"npulua/luabind"
	"npulua/luabind/check"
	"npulua/npu"
)

// Exit statuses. os.exit in a script may give any other.
const (
	exitOK          = 0
	exitError       = 1                 // an error of the script, or a fault found at the end
	exitUsage       = 2                 // the command line cannot be meant
	exitFailed      = check.StatusFail  // a test of the script failed
	exitNotChecked  = check.StatusError // a test could not run, or nothing was checked
	exitInternal    = 70                // a defect of npulua
	exitMemory      = 71                // the memory of the process has ended
	exitTimeout     = 124               // --timeout
	exitLimit       = 125               // a limit of --sandbox
	exitHangup      = 129
	exitInterrupted = 130 // SIGINT
	exitClosedPipe  = 141 // nobody reads standard output any more
	exitTerminated  = 143 // SIGTERM
)

// errTimeout is the cause of a context that --timeout ended.
var errTimeout = errors.New("timeout")

// signalError is the cause of a context that a signal ended.
type signalError struct{ sig os.Signal }

func (e signalError) Error() string {
	if e.sig == os.Interrupt {
		return "interrupted"
	}
	return e.sig.String()
}

// exitStatus is the status for what ended a script: the cause of its context first, since the
// error that the script saw is only its consequence.
func exitStatus(ctx context.Context, err error) int {
	cause := context.Cause(ctx)
	var sig signalError
	var internal *npu.PanicError
	var limit *luabind.LimitError
	switch {
	case errors.As(err, &internal):
		return exitInternal
	case errors.Is(cause, errTimeout):
		return exitTimeout
	case errors.As(cause, &limit):
		return exitLimit
	case errors.As(cause, &sig):
		return exitSignal(sig.sig)
	case err != nil:
		return exitError
	}
	return exitOK
}

// exitSignal is the status of an end by a signal.
func exitSignal(sig os.Signal) int {
	switch sig {
	case os.Interrupt:
		return exitInterrupted
	case syscall.SIGHUP:
		return exitHangup
	}
	return exitTerminated
}
