package executor

import (
	"fmt"
	"runtime/debug"
)

// PanicError is a Go panic on the executor's thread: a defect of npulua or of a driver.
type PanicError struct {
	Value any
	Stack []byte
}

func (p *PanicError) Error() string { return fmt.Sprintf("internal error: %v", p.Value) }

func panicError(r any) error { return &PanicError{Value: r, Stack: debug.Stack()} }

func recoverTo(err *error) {
	if r := recover(); r != nil {
		*err = panicError(r)
	}
}
