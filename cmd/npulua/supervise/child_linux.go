package supervise

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"npulua/internal/proc"
)

const (
	// mark is set in the environment of the child: the descriptors of standard error and of the socket, and the size of
	// stacks that programs of the child get. The child writes to that descriptor for standard error: the real one is a
	// pipe for the last words of the Go runtime. Through the socket a byte goes to the child for each signal, and one
	// to the watcher, the exit status, when the child begins to end.
	mark = "NPULUA_WATCHED"
	// arenas has the C library reserve less address space.
	arenas = "MALLOC_ARENA_MAX"
	// firstDescriptor is the lowest that the child gets besides those of this process, whose numbers stay.
	firstDescriptor = 10
	// late is how much longer than the child the watcher waits for its end.
	late = 500 * time.Millisecond
)

// Run runs the same command line in a child, until that ends. It fails where there can be none.
func Run(config Config) (End, error) {
	runtime.LockOSThread() // the child ends with the thread that started it
	defer runtime.UnlockOSThread()
	c := &child{Config: config, told: make(chan int, 8), broken: make(chan struct{}, 1), ended: make(chan struct{})}
	signals := make(chan os.Signal, 8)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT)
	defer signal.Stop(signals)
	pipes := make(chan os.Signal, 1)
	signal.Notify(pipes, syscall.SIGPIPE) // nobody may read standard error any more
	defer signal.Stop(pipes)
	err := c.start()
	defer c.control.Close()
	if err != nil {
		return End{}, err
	}
	return c.watch(signals), nil
}

// child is the process that is watched.
type child struct {
	Config
	cmd     *exec.Cmd
	control *os.File
	words   lastWords
	told    chan int      // statuses with which the child begins to end
	broken  chan struct{} // the Go runtime of the child has begun to end it
	ended   chan struct{} // closed when the child is gone and all is read
	full    bool          // it had no memory left when it was broken; set before broken
}

func (c *child) start() error {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	c.control = os.NewFile(uintptr(pair[0]), "control")
	defer unix.Close(pair[1])
	words, wordsEnd, err := os.Pipe()
	if err != nil {
		return err
	}
	defer wordsEnd.Close()
	_, _ = unix.FcntlInt(wordsEnd.Fd(), unix.F_SETPIPE_SZ, 1) // a page: who says more is there until it was read
	given := [2]int{}
	for i, fd := range []uintptr{c.Stderr.Fd(), uintptr(pair[1])} {
		if given[i], err = unix.FcntlInt(fd, unix.F_DUPFD, firstDescriptor); err != nil {
			words.Close()
			return err
		}
		defer unix.Close(given[i])
	}
	c.cmd = &exec.Cmd{
		Path: "/proc/self/exe", Args: os.Args, Env: os.Environ(),
		Stdin: c.Stdin, Stdout: c.Stdout, Stderr: wordsEnd,
		SysProcAttr: &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL},
	}
	ours := 0
	if _, set := os.LookupEnv(arenas); !set {
		ours, c.cmd.Env = 1, append(c.cmd.Env, arenas+"=1")
	}
	stack, restore := smallStacks(c.cmd.Args, c.cmd.Env)
	c.cmd.Env = append(c.cmd.Env, fmt.Sprintf("%s=%d,%d,%d,%d", mark, given[0], given[1], ours, stack))
	err = c.cmd.Start()
	restore()
	if err != nil {
		words.Close()
		return err
	}
	c.words.w = c.Stderr
	c.words.found = func() {
		c.full = nearLimits(c.cmd.Process.Pid)
		c.broken <- struct{}{}
	}
	var reading sync.WaitGroup
	reading.Go(func() { _, _ = io.Copy(&c.words, words); words.Close() })
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
		_ = c.cmd.Wait()                                // its state tells
		_ = words.SetReadDeadline(time.Now().Add(late)) // others may hold the pipe
		reading.Wait()
		close(c.ended)
	}()
	return nil
}

// watch passes signals on until the child is gone, and ends it where it is late.
func (c *child) watch(signals <-chan os.Signal) End {
	var end End
	var stuck, over <-chan time.Time
	if c.Limit > 0 {
		over = time.After(c.Limit + late)
	}
	kill := func() {
		end.Late = true
		_ = c.cmd.Process.Kill()
	}
	for count := 0; ; {
		select {
		case <-c.ended:
			return c.result(end)
		case s := <-signals:
			if s == syscall.SIGQUIT {
				c.words.asked.Store(true)
				_ = c.cmd.Process.Signal(s)
				continue
			}
			_, _ = c.control.Write([]byte{byte(s.(syscall.Signal))})
			end.Status = c.Status(s)
			stuck = time.After(c.Grace(end.Status) + late)
			if count++; count > 1 {
				end.Again = true
				stuck = time.After(late)
			}
		case end.Status = <-c.told:
			stuck = time.After(c.Grace(end.Status) + late)
		case <-c.broken:
			switch { // what it says may be long
			case c.LastWords > 0:
				stuck = time.After(c.LastWords)
			case c.full:
				stuck = time.After(fullTime)
			}
		case <-over:
			end.Status = 0
			kill()
		case <-stuck:
			kill()
		}
	}
}

// fullTime is how long the Go runtime of a child that has no memory may take to end it.
const fullTime = 5 * time.Second

// goStatus is the exit status that the Go runtime gives.
const goStatus = 2

// result is how the child ended; so far end says what the watcher did.
func (c *child) result(end End) End {
	state := c.cmd.ProcessState.Sys().(syscall.WaitStatus)
	if !end.Late && state.Signaled() {
		end.Signal = state.Signal()
	}
	if !end.Late {
		end.Status = state.ExitStatus()
	}
	c.words.flush()
	switch text := c.words.text; {
	case text == nil:
	case end.Late || state.Signaled() || state.ExitStatus() == goStatus:
		end.Words, end.NoMemory = text, c.full || outOfMemory(text)
	default: // they were none
		_, _ = c.Stderr.Write(text)
	}
	return end
}

// arena is the unit in which the Go runtime reserves address space.
const arena = 64 << 20

// nearLimits reports whether a process has so much memory that the next piece may have been refused.
func nearLimits(pid int) bool {
	for _, s := range proc.Spaces() {
		limit, limited := s.Limit(pid)
		now, err := s.Used(pid)
		if limited && err == nil && now+arena > limit {
			return true
		}
	}
	return false
}
