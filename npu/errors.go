package npu

import (
	"errors"

	"npulua/npu/internal/driver"
	"npulua/npu/internal/executor"
)

// Code is a return code with the vendor's number; it is an error itself, so that
// errors.Is(err, npu.ErrContextNull) works.
type Code = driver.Code

// Error is what every failing call returns: a code and what is known about it.
type Error = driver.Error

// Site stands for a place in a script. Only bindings make sites; see Options.Where.
type Site = driver.Site

// PanicError is a Go panic on the executor's thread or in a host function: a defect of this module.
type PanicError = executor.PanicError

// The codes that calls of this package return most.
const (
	ErrInvalidParam     = driver.CodeInvalidParam     // an argument that cannot be meant
	ErrParamInvalid     = driver.CodeRtParamInvalid   // an argument out of range
	ErrInvalidFile      = driver.CodeInvalidFile      // a file missing or not readable
	ErrWriteFile        = driver.CodeWriteFile        // a file that cannot be written
	ErrParseFile        = driver.CodeParseFile        // a file with bad content
	ErrInvalidDevice    = driver.CodeInvalidDevice    // no such device
	ErrContextNull      = driver.CodeContextNull      // the thread has no current context
	ErrStreamContext    = driver.CodeStreamContext    // operands of another device than the stream
	ErrInvalidHandle    = driver.CodeInvalidHandle    // a closed handle
	ErrEventNotComplete = driver.CodeEventNotComplete // elapsed time of an event still pending
	ErrNotSupported     = driver.CodeNotSupported     // the backend cannot do it
	ErrMemoryAllocation = driver.CodeMemoryAllocation // out of memory: of the host where Error.Host says so
	ErrResource         = driver.CodeResourceStream   // too many streams, or tasks
	ErrModelPath        = driver.CodeModelPath        // a model's file missing or not readable
	ErrModelData        = driver.CodeModelData        // a file that is no model
	ErrModelContext     = driver.CodeModelContext     // a stream of another context than the model's
	ErrModelInput       = driver.CodeModelInput       // inputs that do not fit the model
	ErrModelOutput      = driver.CodeModelOutput      // outputs that do not fit it
	ErrBatchSize        = driver.CodeBatchSize        // a batch that is none of the model's
	ErrStreamTimeout    = driver.CodeStreamSyncTimeout
	ErrEventTimeout     = driver.CodeEventSyncTimeout
	ErrTaskAbort        = driver.CodeTaskAbort // the task was cancelled
	ErrInternal         = driver.CodeInternal
)

// MaxAffected bounds Error.Affected.
const MaxAffected = driver.MaxAffected

// Codes lists every code that has a name.
func Codes() []Code { return driver.Codes() }

// errorf makes an error of this package's own checks.
func errorf(code Code, format string, args ...any) *Error {
	return driver.Errorf(code, "", format, args...)
}

// hinted adds a hint.
func hinted(e *Error, hint string) *Error {
	e.Hint = hint
	return e
}

// own turns any error into an *Error that the caller may change; panics and the errors of a
// cancelled context stay what they are.
func own(err error) error {
	if err == nil {
		return nil
	}
	var p *PanicError
	if errors.As(err, &p) {
		return err
	}
	if _, one := err.(*Error); !one {
		if j, ok := err.(interface{ Unwrap() []error }); ok {
			var all []error
			for _, e := range j.Unwrap() {
				all = append(all, own(e))
			}
			return errors.Join(all...)
		}
	}
	var e *Error
	if errors.As(err, &e) {
		c := *e
		return &c
	}
	var code Code
	if errors.As(err, &code) {
		return &Error{Code: code}
	}
	return err
}
