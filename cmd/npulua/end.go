package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"

	"npulua/luabind"
	"npulua/npu"
)

// leave ends an interactive session: without waiting, after a signal or where work is left that may take
// long.
func (p *program) leave(ctx context.Context, cancel context.CancelCauseFunc, in *luabind.Interp, o *options, status int) int {
	pending := p.pending(in)
	if status < exitHangup && len(pending) == 0 {
		defer p.watchSignals(ctx, cancel)()
		if got := p.finish(ctx, in, o, nil, status); got != exitError { // a fault that the end found is told, and no more
			return got
		}
		return status
	}
	defer time.AfterFunc(grace, func() {
		p.display.End()
		time.AfterFunc(lastWords, func() { os.Exit(status) }) // the terminal may take no output any more
		fmt.Fprintf(p.stderr, "npulua: ending the process without teardown%s\n", p.stuck())
		os.Exit(status)
	}).Stop()
	for _, line := range pending {
		fmt.Fprintf(p.stderr, "npulua: dropped: %s\n", line)
	}
	_ = in.Close(true)
	return status
}

// pending says what work is left, a line for each stream. A host function that does not end holds up the answer.
func (p *program) pending(in *luabind.Interp) []string {
	answer := make(chan []string, 1)
	go func() { answer <- in.Session().Pending() }()
	select {
	case lines := <-answer:
		return lines
	case <-time.After(100 * time.Millisecond):
		return []string{"work of which the runtime tells nothing while a host function, or a call of its own, has not ended"}
	}
}

// finish reports what went wrong, tears the session down and returns the exit status: status, or
// exitError where that is 0 and the teardown found a fault that nobody had been told.
func (p *program) finish(ctx context.Context, in *luabind.Interp, o *options, err error, status int) int {
	p.display.End()
	var pending []string
	if ctx.Err() == nil {
		pending = p.pending(in) // before the session closes
	}
	slow := time.AfterFunc(endNotice, func() { p.tellEnd(pending) })
	defer slow.Stop()
	status = p.endChecks(ctx, in, err, status)
	if !p.endReport(o, in) {
		status = cmp.Or(status, exitError)
	}
	if flushErr := in.Flush(); flushErr != nil && !errors.Is(context.Cause(ctx), luabind.ErrClosedPipe) {
		return p.cannotWrite(in, flushErr)
	}
	if errors.Is(context.Cause(ctx), luabind.ErrClosedPipe) {
		_ = in.Close(true) // nobody reads any more, so nobody is told
		return exitClosedPipe
	}
	interrupted := ctx.Err() != nil
	code, exits := in.WorkerExit()
	if exits && !interrupted {
		if o.leaks {
			p.reportLeaks(in)
		}
		_ = in.Close(true) // what queued work is left was dropped when the worker ended the script
		return cmp.Or(code, status)
	}
	var internal *npu.PanicError
	switch {
	case interrupted && !errors.As(err, &internal):
		p.reportInterrupt(ctx, o)
		if bySignal(ctx) && o.operates {
			break // where somebody stops looking is of no interest
		}
		in.AwaitWorkers(grace / 2) // for what they say of their waits
		for _, line := range in.HangReport() {
			fmt.Fprintf(p.stderr, "  %s\n", line)
		}
		if trace := in.Traceback(err); trace != "" { // what it says is only that it was interrupted
			fmt.Fprintln(p.stderr, trace)
		}
	case err != nil:
		fmt.Fprintf(p.stderr, "npulua: %s\n", in.FormatError(err))
	}
	if o.leaks {
		p.reportLeaks(in)
	}
	closeErr := in.Close(interrupted)
	slow.Stop()
	switch {
	case interrupted:
	case ctx.Err() != nil: // while the end waited for queued work
		p.reportInterrupt(ctx, o)
		status = exitStatus(ctx, nil)
	case closeErr != nil:
		fmt.Fprintf(p.stderr, "npulua: at exit: %s\n", in.FormatError(closeErr))
		if s := exitStatus(ctx, closeErr); status == exitOK || s == exitInternal {
			status = s
		}
	}
	if code, ok := in.ExitStatus(); ok && !interrupted {
		return cmp.Or(code, status)
	}
	return status
}

// endChecks writes the report of a script that has tests, and returns the exit status that goes with it.
func (p *program) endChecks(ctx context.Context, in *luabind.Interp, err error, status int) int {
	code, exits := in.ExitStatus()
	if err == nil && !exits && ctx.Err() == nil {
		if err = in.SettleChecks(); err != nil {
			fmt.Fprintf(p.stderr, "npulua: at exit: %s\n", in.FormatError(err))
			status = cmp.Or(status, exitError)
		}
	}
	end := luabind.ChecksEnd{Err: err, Status: status}
	var internal *npu.PanicError
	switch {
	case errors.As(err, &internal):
		end.Forced = "a defect of npulua"
	case ctx.Err() != nil:
		end.Forced, end.Status = context.Cause(ctx).Error(), exitStatus(ctx, nil)
	case exits:
		end = luabind.ChecksEnd{Status: code, Exit: true}
	}
	status, writeErr := in.EndChecks(end)
	if writeErr != nil {
		fmt.Fprintf(p.stderr, "npulua: %v\n", writeErr)
	}
	return status
}

// endNotice is how long the end may wait for queued work before people are told.
const endNotice = 2 * time.Second

// tellEnd says what the end of a script waits for.
func (p *program) tellEnd(pending []string) {
	for _, line := range pending {
		fmt.Fprintf(p.stderr, "npulua: the script is over and waits for its queued work (Ctrl-C drops it): %s\n", line)
	}
}

// cannotWrite ends a program whose standard output cannot be written: to a closed pipe quietly, as
// others end by a signal then.
func (p *program) cannotWrite(in *luabind.Interp, err error) int {
	_ = in.Close(true) // its work cannot be reported
	if errors.Is(err, syscall.EPIPE) {
		return exitClosedPipe
	}
	fmt.Fprintf(p.stderr, "npulua: standard output: %v\n", err)
	return exitError
}

// reportInterrupt says what ended the script from outside.
func (p *program) reportInterrupt(ctx context.Context, o *options) {
	cause := context.Cause(ctx)
	if errors.Is(cause, errTimeout) {
		fmt.Fprintf(p.stderr, "npulua: timeout: the script ran longer than %v\n", o.timeout)
		return
	}
	fmt.Fprintf(p.stderr, "npulua: %v\n", cause)
	var limit *luabind.LimitError
	if errors.As(cause, &limit) {
		fmt.Fprintln(p.stderr, limitHint(limit))
	}
}

func (p *program) reportLeaks(in *luabind.Interp) {
	leaks := in.Session().Leaks()
	total := 0
	for _, l := range leaks {
		total += l.Count
	}
	fmt.Fprintf(p.stderr, "npulua: %d handle(s) never closed\n", total)
	for _, l := range leaks {
		where, detail := in.Place(l.Site), l.Detail
		if where == "" {
			where = "?"
		}
		if detail != "" {
			detail = ", " + detail
		}
		if l.Count > 1 {
			detail += fmt.Sprintf(", %d times", l.Count)
		}
		fmt.Fprintf(p.stderr, "  %s: %s%s\n", where, l.Kind, detail)
	}
}

// bySignal reports whether a signal ended the script.
func bySignal(ctx context.Context) bool {
	var sig signalError
	return errors.As(context.Cause(ctx), &sig)
}
