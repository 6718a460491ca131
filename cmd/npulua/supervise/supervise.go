// Package supervise runs the program again, in a child that it watches. Signals go to the child, wherever they arrive;
// it is ended where it is late, and the last words of its Go runtime are kept from standard error.
//
// The child finds its watcher with Find, tells it when it begins to end, and takes signals through it.
package supervise

import (
	"os"
	"syscall"
	"time"
)

// Config says how the child is run.
type Config struct {
	Stdin, Stdout, Stderr *os.File
	// Limit is how long the child may run, with its end; 0: no limit.
	Limit time.Duration
	// Status is the exit status of an end by a signal.
	Status func(os.Signal) int
	// Grace is how long an end with a status may take.
	Grace func(status int) time.Duration
	// LastWords is how long the Go runtime of a child may take to end it; 0: as long as it needs, where memory is left.
	LastWords time.Duration
}

// End is how the child ended.
type End struct {
	Status int            // exit status; where it is late, the one that it was to have: 0 after Limit
	Signal syscall.Signal // ended it from outside; 0: none
	Late   bool           // it was ended, since it did not end in time
	Again  bool           // so it was after a second signal
	// Words are the last ones of its Go runtime, which has ended it; nil: it has not.
	Words    []byte
	NoMemory bool // they are for want of memory
}
