package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"npulua/luabind"
)

// grace is how long an interrupted script may take to end, teardown included.
const grace = 1300 * time.Millisecond

// lastWords is how long the process may take to say why it ends, and to give what it has.
const lastWords = 400 * time.Millisecond

// limitGrace is the same after a limit of a sandbox: the time of a script that takes too much is not over.
const limitGrace = 5 * time.Second

// graceOf is how long an end with a status may take.
func graceOf(status int) time.Duration {
	if status == exitLimit {
		return limitGrace
	}
	return grace
}

// interrupt ends the script; where it does not end in time, the process.
func (p *program) interrupt(cancel context.CancelCauseFunc, cause error, status int) {
	p.watcher.Tell(status)
	cancel(cause)
	time.AfterFunc(graceOf(status), func() {
		p.display.End()
		time.AfterFunc(lastWords, func() { os.Exit(status) }) // nobody may take output any more
		if salvage := p.salvage.Load(); salvage != nil {
			(*salvage)(cause, status)
		}
		why := "the script does not stop"
		if _, ok := cause.(*luabind.LimitError); ok {
			why = cause.Error()
		} else if errors.Is(cause, errTimeout) {
			why = "timeout: " + why
		}
		fmt.Fprintf(p.stderr, "npulua: %s, ending the process without teardown%s\n", why, p.stuck())
		os.Exit(status)
	})
}

// stuck says what holds the script up, where that is a call of the vendor's library.
func (p *program) stuck() string {
	if s := p.session.Load(); s != nil {
		if text := s.Stuck(); text != "" {
			return ": " + text
		}
	}
	return ""
}

// watchSignals turns SIGINT, SIGTERM and SIGHUP into the end of the script; a second one ends the
// process at once.
func (p *program) watchSignals(ctx context.Context, cancel context.CancelCauseFunc) (stop func()) {
	ch := make(chan os.Signal, 8)
	done := make(chan struct{})
	signal.Notify(ch, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	p.fence.open(ch)
	pipes := make(chan os.Signal, 1)
	signal.Notify(pipes, syscall.SIGPIPE) // so that a closed pipe is an error of write, not the end
	go func() {
		own, told := make(map[os.Signal]int), make(map[os.Signal]int)
		for n := 0; ; {
			var sig os.Signal
			select {
			case sig = <-ch:
				if p.fence.is(sig) {
					continue
				}
				if own[sig]++; own[sig] <= told[sig] {
					continue
				}
			case sig = <-p.watcher.Signals(): // those of a terminal come to both
				if told[sig]++; told[sig] <= own[sig] {
					continue
				}
			case <-done:
				return
			}
			cause, status := signalError{sig}, exitSignal(sig)
			if n > 0 {
				p.display.End()
				os.Exit(status)
			}
			n++
			p.interrupt(cancel, cause, status)
		}
	}()
	return func() {
		p.fence.close()
		signal.Stop(ch)
		signal.Stop(pipes)
		close(done)
	}
}
