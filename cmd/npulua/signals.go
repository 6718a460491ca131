package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"
)

// grace is how long an interrupted script may take to end, teardown included.
const grace = 2 * time.Second

// lastWords is how long the process may take to say why it ends, and to give what it has.
const lastWords = time.Second

// interrupt ends the script; where it does not end in time, the process.
func (p *program) interrupt(cancel context.CancelCauseFunc, cause error, status int) {
	cancel(cause)
	time.AfterFunc(grace, func() {
		p.display.End()
		time.AfterFunc(lastWords, func() { os.Exit(status) }) // nobody may take output any more
		if salvage := p.salvage.Load(); salvage != nil {
			(*salvage)(cause, status)
		}
		fmt.Fprintf(p.stderr, "npulua: the script does not stop, ending the process without teardown%s\n", p.stuck())
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
	ch := make(chan os.Signal, 2)
	done := make(chan struct{})
	signal.Notify(ch, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	pipes := make(chan os.Signal, 1)
	signal.Notify(pipes, syscall.SIGPIPE) // so that a closed pipe is an error of write, not the end
	go func() {
		for n := 0; ; n++ {
			select {
			case sig := <-ch:
				cause := signalError{sig}
				first, end := context.WithCancelCause(context.Background())
				end(cause)
				status := exitStatus(first, nil)
				if n > 0 {
					p.display.End()
					os.Exit(status)
				}
				p.interrupt(cancel, cause, status)
			case <-done:
				return
			}
		}
	}()
	return func() {
		signal.Stop(ch)
		signal.Stop(pipes)
		close(done)
	}
}
