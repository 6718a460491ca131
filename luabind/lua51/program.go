package lua51

import (
	"context"
	"os/exec"
	"strings"
	"time"
)

// Program is a program to run without a shell.
type Program struct {
	Path    string        // of its file
	Args    []string      // after its name
	Dir     string        // where it runs; "": where we do
	Env     []string      // "name=value"
	Stdin   string        // what it reads
	Timeout time.Duration // 0: none
	Limit   int           // bytes of its output, and of its standard error, that are kept
}

// ProgramEnd is what became of a Program.
type ProgramEnd struct {
	Status         int    // what it gave to exit
	Signal         string // that ended it, "SIGKILL"; "": it ended by itself
	TimedOut       bool   // it was killed because its time was over
	Stdout, Stderr []byte
	Tail           []byte // the last of the standard error, also where Stderr was cut
	Cut            bool   // there was more output than Limit
	Duration       time.Duration
}

// killPatience is how long a program that was killed may take to end: one that hangs in a driver does not.
const killPatience = 2 * time.Second

// UnkillableError says that a program goes on although it was killed.
type UnkillableError struct{}

func (UnkillableError) Error() string {
	return "it was killed and has not ended, as a program that hangs in the system or in a driver; it is left behind"
}

// RunProgram runs p to its end in a process group of its own, which is killed when its time is over or ctx ends:
// then the error is the cause of that. What it leaves running in the background goes on, without the output. It
// inherits what children of s do, and no terminal to read from.
func (s *Streams) RunProgram(ctx context.Context, p Program) (ProgramEnd, error) {
	stdout, stderr := &caught{limit: p.Limit}, &caught{limit: p.Limit}
	cmd := &exec.Cmd{Path: p.Path, Args: append([]string{p.Path}, p.Args...), Dir: p.Dir, Env: p.Env, Stdout: stdout, Stderr: stderr}
	if p.Stdin != "" {
		cmd.Stdin = strings.NewReader(p.Stdin)
	}
	begin := time.Now()
	child, err := s.startProcess(cmd, false)
	if err != nil {
		return ProgramEnd{}, err
	}
	var expired <-chan time.Time
	if p.Timeout > 0 {
		timer := time.NewTimer(p.Timeout)
		defer timer.Stop()
		expired = timer.C
	}
	var end ProgramEnd
	select {
	case <-child.exited:
	case <-expired:
		end.TimedOut = true
	case <-ctx.Done():
		err = context.Cause(ctx)
	}
	if end.TimedOut || err != nil {
		if !child.killWithin(killPatience) {
			return end, UnkillableError{}
		}
	}
	child.take()
	end.Duration = time.Since(begin)
	end.Status, end.Signal = exitOf(child.status())
	end.Stdout, end.Stderr, end.Tail, end.Cut = stdout.data, stderr.data, stderr.tail, stdout.cut || stderr.cut
	return end, err
}

// killWithin kills the child; false where it has not ended after d. It is collected when it does.
func (p *process) killWithin(d time.Duration) bool {
	p.kill()
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-p.exited:
		return true
	case <-timer.C:
		go func() {
			<-p.exited
			p.take()
		}()
		return false
	}
}

// tailSize is how much of the end of an output is kept.
const tailSize = 4 << 10

// caught keeps the first bytes that are written to it, and the last.
type caught struct {
	limit int
	data  []byte
	tail  []byte
	cut   bool
}

// Write implements io.Writer; it takes everything.
func (c *caught) Write(p []byte) (int, error) {
	n := min(len(p), c.limit-len(c.data))
	c.data = append(c.data, p[:n]...)
	c.cut = c.cut || n < len(p)
	c.tail = append(c.tail, p[max(0, len(p)-tailSize):]...)
	if over := len(c.tail) - tailSize; over > 0 {
		c.tail = append(c.tail[:0], c.tail[over:]...)
	}
	return len(p), nil
}
