package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"strconv"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"npulua/internal/proc"
	"npulua/luabind"
)

// A script in a sandbox runs in a child of npulua, which limits itself as it can. What the child cannot promise the
// parent keeps: it ends the child where that is late, and says what happened where the Go runtime of the child has ended
// it for want of memory.

const (
	// childMark is set in the environment of the child.
	childMark = "NPULUA_SANDBOX_CHILD"
	// The child writes to childErrors for standard error: the real one is a pipe to the parent for the last words
	// of the Go runtime. Through childControl, a socket, a byte goes to the child for each signal, and one to the
	// parent, the exit status, when the child begins to end.
	childErrors, childControl = 3, 4
	// late is how much longer than the child the parent waits for its end.
	late = lastWords + 100*time.Millisecond
	// childStack is how much of its address space a thread of the child takes.
	childStack = 2 << 20
	// mostArguments is how much of arguments and environment the system takes with a stack of that size.
	mostArguments = childStack / 8
	// mostCrash bounds the last words of the child that are kept, in bytes.
	mostCrash = 256 << 10
)

// supervise runs the same command line in a child. ok is false where this process is the child, or where there can be
// none.
func (p *program) supervise(o *options) (status int, ok bool) {
	stdin, ok1 := p.stdin.(*os.File)
	stdout, ok2 := p.stdout.(*os.File)
	stderr, ok3 := p.errors.(*os.File)
	if p.parent != nil || !ok1 || !ok2 || !ok3 {
		return 0, false
	}
	runtime.LockOSThread() // the child ends with the thread that started it
	defer runtime.UnlockOSThread()
	c := &child{p: p, o: o, told: make(chan int, 8), broken: make(chan struct{}, 1), ended: make(chan struct{})}
	signals := make(chan os.Signal, 8)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer signal.Stop(signals)
	if err := c.start(stdin, stdout, stderr); err != nil {
		fmt.Fprintf(stderr, "npulua: --sandbox: no process of its own for the script (%v): its limits may be exceeded for a moment\n", err)
		return 0, false
	}
	return c.watch(signals), true
}

// child is the process that runs the script.
type child struct {
	p       *program
	o       *options
	cmd     *exec.Cmd
	control *os.File
	crash   crashText
	reading sync.WaitGroup
	told    chan int      // statuses with which the child begins to end
	broken  chan struct{} // the Go runtime of the child has begun to end it
	ended   chan struct{} // closed when the child is gone and all is read
	full    bool          // it had no memory left when it was broken
	killed  error         // what it was ended for; nil: it was not
}

func (c *child) start(stdin, stdout, stderr *os.File) error {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	c.control = os.NewFile(uintptr(pair[0]), "control")
	theirs := os.NewFile(uintptr(pair[1]), "control")
	defer theirs.Close()
	words, wordsEnd, err := os.Pipe()
	if err != nil {
		return err
	}
	defer wordsEnd.Close()
	c.cmd = &exec.Cmd{
		Path: "/proc/self/exe", Args: os.Args, Env: append(os.Environ(), childMark+"=1", "MALLOC_ARENA_MAX=1"), // C reserves less then
		Stdin: stdin, Stdout: stdout, Stderr: wordsEnd, ExtraFiles: []*os.File{stderr, theirs},
		SysProcAttr: &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL},
	}
	restore := smallStacks(c.cmd)
	err = c.cmd.Start()
	restore()
	if err != nil {
		words.Close()
		return err
	}
	c.crash = crashText{w: stderr, broken: c.broken}
	c.reading.Go(func() { _, _ = io.Copy(&c.crash, words); words.Close() })
	go func() { // the child closes its end when it is gone
		b := make([]byte, 1)
		for {
			if n, err := c.control.Read(b); n == 0 || err != nil {
				return
			}
			c.told <- int(b[0])
		}
	}()
	go func() {
		_ = c.cmd.Wait() // its state tells
		c.reading.Wait()
		close(c.ended)
	}()
	return nil
}

// smallStacks lets the threads of a process that is started now have small stacks, where its command line fits.
func smallStacks(cmd *exec.Cmd) (restore func()) {
	size := 0
	for _, s := range append(cmd.Args, cmd.Env...) {
		size += len(s) + 16
	}
	var old, small syscall.Rlimit
	if syscall.Getrlimit(syscall.RLIMIT_STACK, &old) != nil || size > mostArguments || old.Cur <= childStack {
		return func() {}
	}
	small = old
	small.Cur = childStack
	_ = syscall.Setrlimit(syscall.RLIMIT_STACK, &small)
	return func() { _ = syscall.Setrlimit(syscall.RLIMIT_STACK, &old) }
}

// watch passes signals on until the child is gone, ends it where it is late, and returns the exit status.
func (c *child) watch(signals <-chan os.Signal) int {
	var stuck, over <-chan time.Time
	if c.o.timeout > 0 {
		over = time.After(c.o.timeout + grace + late)
	}
	status, count := exitLimit, 0
	end := func(cause error) {
		if c.killed == nil {
			c.killed = cause
			_ = c.cmd.Process.Kill()
		}
	}
	for {
		select {
		case <-c.ended:
			return c.result(status)
		case s := <-signals:
			status = exitSignal(s)
			if count++; count > 1 {
				end(signalError{s})
			}
			_, _ = c.control.Write([]byte{byte(s.(syscall.Signal))})
			stuck = time.After(graceOf(status) + late)
		case status = <-c.told:
			stuck = time.After(graceOf(status) + late)
		case <-c.broken:
			c.full = nearLimits(c.cmd.Process.Pid)
			stuck = time.After(lastWords) // what it says may be long
		case <-over:
			status = exitTimeout
			end(errTimeout)
		case <-stuck:
			end(errors.New("it does not stop"))
		}
	}
}

// result reports how the child ended, where it cannot have done so itself.
func (c *child) result(status int) int {
	state := c.cmd.ProcessState.Sys().(syscall.WaitStatus)
	const abrupt = "ending the process without teardown"
	text := c.crash.text
	stderr := &cut{c.p.stderr, mostMessages}
	switch {
	case c.killed != nil && isSignal(c.killed):
		return status
	case len(text) > 0 && (c.full || outOfMemory(text)):
		limit := &luabind.LimitError{Kind: "memory", Limit: c.o.sandbox.limits.Memory}
		fmt.Fprintf(stderr, "npulua: %v, %s\n%s\n", limit, abrupt, limitHint(limit))
		return exitLimit
	case len(text) > 0:
		fmt.Fprintf(stderr, "npulua: a defect of npulua:\n%s", text)
		return exitInternal
	case c.killed != nil && status == exitTimeout:
		fmt.Fprintf(stderr, "npulua: timeout: the script ran longer than %v and does not stop, %s\n", c.o.timeout, abrupt)
		return status
	case c.killed != nil:
		fmt.Fprintf(stderr, "npulua: the script does not stop, %s\n", abrupt)
		return status
	case state.Signaled():
		switch s := state.Signal(); s {
		case syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP:
			return exitSignal(s)
		default:
			fmt.Fprintf(stderr, "npulua: the process of the script was ended from outside: %v\n", s)
			return 128 + int(s)
		}
	}
	return state.ExitStatus()
}

func isSignal(err error) bool {
	var s signalError
	return errors.As(err, &s)
}

// outOfMemory reports whether the Go runtime ended a process for want of memory, which a thread needs, too.
func outOfMemory(text []byte) bool {
	for _, s := range []string{"out of memory", "cannot allocate memory", "pthread_create failed", "failed to create new OS thread", "Resource temporarily unavailable"} {
		if bytes.Contains(text, []byte(s)) {
			return true
		}
	}
	return false
}

// crashText passes on what a child writes to standard error, but keeps the last words of its Go runtime.
type crashText struct {
	w      io.Writer
	line   []byte // has not ended
	text   []byte // from the first line of the last words on
	broken chan<- struct{}
}

// crashes are the beginnings of last words.
var crashes = []string{"fatal error: ", "runtime: ", "runtime/cgo: ", "panic: ", "fakecgo: ", "SIG", "unexpected fault address "}

func (t *crashText) Write(p []byte) (int, error) {
	if t.text != nil {
		t.text = append(t.text, p[:min(len(p), max(mostCrash-len(t.text), 0))]...)
		return len(p), nil
	}
	t.line = append(t.line, p...)
	for {
		for _, begin := range crashes {
			if bytes.HasPrefix(t.line, []byte(begin)) {
				t.text = append(make([]byte, 0, mostCrash), t.line[:min(len(t.line), mostCrash)]...)
				t.broken <- struct{}{}
				return len(p), nil
			}
		}
		end := bytes.IndexByte(t.line, '\n')
		if end < 0 && len(t.line) < 4096 {
			return len(p), nil
		}
		if end < 0 {
			end = len(t.line) - 1
		}
		_, _ = t.w.Write(t.line[:end+1]) // nobody may read it any more
		t.line = t.line[end+1:]
	}
}

// parent is the process that watches this one.
type parent struct {
	control *os.File
	signals chan os.Signal // that it passes on
}

// findParent finds it, and standard error as the parent has it; nil where there is none.
func findParent() (*parent, *os.File) {
	if os.Getenv(childMark) == "" {
		return nil, os.Stderr
	}
	_ = os.Unsetenv(childMark)
	if kind, err := unix.GetsockoptInt(childControl, unix.SOL_SOCKET, unix.SO_TYPE); err != nil || kind != unix.SOCK_STREAM {
		return nil, os.Stderr
	}
	unix.CloseOnExec(childErrors)
	unix.CloseOnExec(childControl)
	r := &parent{control: os.NewFile(childControl, "control"), signals: make(chan os.Signal, 8)}
	signal.Ignore(os.Interrupt, syscall.SIGTERM, syscall.SIGHUP) // a terminal sends them to both
	go func() {
		b := make([]byte, 1)
		for {
			if n, err := r.control.Read(b); n == 0 || err != nil {
				os.Exit(exitError) // nobody watches
			}
			r.signals <- syscall.Signal(b[0])
		}
	}()
	return r, os.NewFile(childErrors, "/dev/stderr")
}

// tell tells the parent that this process begins to end, with a status.
func (r *parent) tell(status int) {
	if r != nil {
		_, _ = r.control.Write([]byte{byte(status)}) // it may be gone
	}
}

// hardSlack is how much more than the limit the system grants, in private memory: for garbage that is not collected
// in time, and what the limit does not count. With what is shared with other processes it stays below slack of package
// luabind.
const hardSlack = 160 << 20

// arena is the unit in which the Go runtime reserves address space.
const arena = 64 << 20

// hardLimits are what the system counts: private memory that can be written, and address space, which also bounds what is
// taken at once.
var hardLimits = []struct {
	resource int
	field    string // of /proc/self/status
	slack    int64
}{{unix.RLIMIT_DATA, "VmData", hardSlack}, {unix.RLIMIT_AS, "VmSize", hardSlack + arena}}

// limitMemory has the system refuse memory beyond the limit of the sandbox, whatever takes it.
func limitMemory(memory int64) {
	if raceDetector {
		return
	}
	for _, h := range hardLimits {
		now, err := proc.Memory("self", h.field)
		var limit syscall.Rlimit
		if err == nil && memory > 0 && syscall.Getrlimit(h.resource, &limit) == nil {
			limit.Cur = min(limit.Cur, uint64(now+memory+h.slack))
			_ = syscall.Setrlimit(h.resource, &limit) // lowering is always allowed
		}
	}
}

// nearLimits reports whether a process has so much memory that the next piece may have been refused.
func nearLimits(pid int) bool {
	for _, h := range hardLimits {
		var limit unix.Rlimit
		now, err := proc.Memory(strconv.Itoa(pid), h.field)
		if err == nil && unix.Prlimit(pid, h.resource, nil, &limit) == nil && uint64(now)+arena > limit.Cur {
			return true
		}
	}
	return false
}
