package main

import (
	"fmt"
	"os"
	"syscall"

	"npulua/cmd/npulua/supervise"
	"npulua/luabind"
)

// supervise runs the same command line in a child that is watched, where its script is in a sandbox or the system limits
// its memory: what the child cannot promise the watcher keeps, and it says what happened where the Go runtime of the
// child has ended it. ok is false where nothing is to be watched, this process is the child, or there can be none.
func (p *program) supervise(o *options) (status int, ok bool) {
	stdin, ok1 := p.stdin.(*os.File)
	stdout, ok2 := p.stdout.(*os.File)
	stderr, ok3 := p.errors.(*os.File)
	limit := findSpaceLimit()
	if p.watcher != nil || !ok1 || !ok2 || !ok3 || !o.sandbox.on && limit == nil {
		return 0, false
	}
	config := supervise.Config{Stdin: stdin, Stdout: stdout, Stderr: stderr, Status: exitSignal, Grace: graceOf}
	if o.timeout > 0 {
		config.Limit = o.timeout + grace
	}
	if o.sandbox.on {
		config.LastWords = lastWords
	}
	end, err := supervise.Run(config)
	switch {
	case err == nil && o.sandbox.on:
		return p.sandboxEnd(o, end), true
	case err == nil:
		return p.limitedEnd(o, end, limit), true
	case o.sandbox.on:
		fmt.Fprintf(stderr, "npulua: --sandbox: no process of its own for the script (%v): its limits may be exceeded for a moment\n", err)
	}
	return 0, false
}

// abrupt is how a process ends that cannot do so itself.
const abrupt = "ending the process without teardown"

// limitedEnd reports how the child ended, where it cannot have done so itself, and returns the exit status.
func (p *program) limitedEnd(o *options, end supervise.End, limit *memoryLimit) int {
	if end.NoMemory {
		fmt.Fprintf(p.stderr, "npulua: %v\n", limit)
		return exitMemory
	}
	if end.Signal == syscall.SIGKILL { // who ended it has said why, or will
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
	}
	return p.watchedEnd(o, end)
}

// sandboxEnd is limitedEnd for a child in a sandbox.
func (p *program) sandboxEnd(o *options, end supervise.End) int {
	p.stderr = messages{&cut{p.errors, mostMessages}}
	if end.NoMemory {
		limit := &luabind.LimitError{Kind: "memory", Limit: o.sandbox.limits.Memory}
		fmt.Fprintf(p.stderr, "npulua: %v, %s\n%s\n", limit, abrupt, limitHint(limit))
		return exitLimit
	}
	return p.watchedEnd(o, end)
}

// watchedEnd reports what every child may come to.
func (p *program) watchedEnd(o *options, end supervise.End) int {
	switch {
	case end.Again:
	case end.Words != nil:
		fmt.Fprintf(p.stderr, "npulua: a defect of npulua:\n%s", end.Words)
		return exitInternal
	case end.Late && end.Status == 0:
		fmt.Fprintf(p.stderr, "npulua: timeout: the script ran longer than %v and does not stop, %s\n", o.timeout, abrupt)
		return exitTimeout
	case end.Late:
		fmt.Fprintf(p.stderr, "npulua: the script does not stop, %s\n", abrupt)
	case end.Signal == syscall.SIGINT || end.Signal == syscall.SIGTERM || end.Signal == syscall.SIGHUP:
		return exitSignal(end.Signal)
	case end.Signal != 0:
		fmt.Fprintf(p.stderr, "npulua: the process of the script was ended from outside: %v\n", end.Signal)
		return 128 + int(end.Signal)
	}
	return end.Status
}
