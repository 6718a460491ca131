package lua51

import (
	"context"
	"os"
	"os/exec"
	"runtime"
	"sync"
	"time"
)

// A child's copies of streams that are no files may be held open by processes that it leaves behind;
// they are waited for this long once it has ended by itself, and when it was killed.
const (
	copyDelay   = time.Second
	killedDelay = 20 * time.Millisecond
)

// keyDelay is how long the end of a child by the interrupt key waits for the key to end the script too: the
// terminal sends it to both.
const keyDelay = time.Second

// process is a running child of os.execute or io.popen. Its process id stays its own until wait
// takes it, so a signal can never reach somebody else.
type process struct {
	cmd     *exec.Cmd
	inGroup bool          // it shares our process group
	exited  chan struct{} // closed when the child has ended
	noted   func() func() // notes that the child is waited for, until what it returns is called; nil: nobody asks

	once   sync.Once // guards the taking
	mu     sync.Mutex
	killed bool
	taken  bool
	unhook func() bool // nil: no context is watched
}

// command makes a shell command with the streams beneath s.
func (s *Streams) command(text string) *exec.Cmd {
	shell := shellArgs(text)
	cmd := exec.Command(shell[0], shell[1:]...)
	if in, ok := s.Stdin.(*os.File); ok {
		cmd.Stdin = in
	}
	stdout := s.Stdout.Diverted()
	cmd.Stdout, cmd.Stderr = stdout, s.Stderr
	if out := stdout.file(); out != nil {
		cmd.Stdout = out
	}
	if out := s.Stderr.file(); out != nil {
		cmd.Stderr = out
	}
	return cmd
}

// file is the file that o writes to, also behind a writer that has one; nil: it is none.
func (o *Output) file() *os.File {
	switch dst := o.dst.(type) {
	case *os.File:
		return dst
	case interface{ File() *os.File }:
		return dst.File()
	}
	return nil
}

// startProcess starts cmd in a process group of its own, so that all it starts can be killed
// together. A group that is not the terminal's cannot read from the terminal, be it as its standard
// input or as /dev/tty: inGroup keeps the child in ours, where the interrupt key reaches it too.
func (s *Streams) startProcess(cmd *exec.Cmd, inGroup bool) (*process, error) {
	s.Inherited.Withhold()
	p := &process{cmd: cmd, inGroup: inGroup, exited: make(chan struct{})}
	setAttributes(cmd, !inGroup)
	started := make(chan error)
	go func() {
		// The system kills the child when the thread that started it ends.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		started <- err
		if err == nil {
			awaitExit(cmd)
			close(p.exited)
		}
	}()
	if err := <-started; err != nil {
		return nil, err
	}
	return p, nil
}

// kill ends the child and, as far as they can be found, its descendants.
func (p *process) kill() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.taken {
		return
	}
	p.killed = true
	killTree(p.cmd.Process) // also those in groups of their own
	if !p.inGroup {
		killGroup(p.cmd.Process) // also those whose parent has ended
	}
}

// killAfter kills the child when ctx ends, and takes it, if wait has not taken it by then.
func (p *process) killAfter(ctx context.Context) {
	unhook := context.AfterFunc(ctx, func() {
		p.kill()
		<-p.exited
		p.take()
	})
	p.mu.Lock()
	p.unhook = unhook
	p.mu.Unlock()
}

// wait waits for the child to end; when ctx ends first it kills it and returns an interruption.
func (p *process) wait(ctx context.Context) error {
	if p.noted != nil {
		defer p.noted()()
	}
	var err error
	select {
	case <-p.exited:
	case <-ctx.Done():
		err = interruption{ctx.Err()}
		p.kill()
		<-p.exited
	}
	p.mu.Lock()
	unhook := p.unhook
	p.mu.Unlock()
	if unhook != nil {
		unhook()
	}
	p.take()
	if err == nil && p.inGroup && interruptedByKey(p.status()) {
		select {
		case <-ctx.Done():
			err = interruption{ctx.Err()}
		case <-time.After(keyDelay):
		}
	}
	return err
}

// take collects a child that has ended.
func (p *process) take() {
	p.once.Do(func() {
		p.mu.Lock()
		p.taken = true
		p.cmd.WaitDelay = copyDelay
		if p.killed {
			p.cmd.WaitDelay = killedDelay
		}
		p.mu.Unlock()
		p.cmd.Wait() // its error repeats the status
	})
}

// status is the child's status as wait(2) gives it; wait must have returned.
func (p *process) status() int { return waitStatus(p.cmd.ProcessState) }

// interruptedByKey reports whether a status is that of a program which the interrupt key ended, or of a shell
// that ran one.
func interruptedByKey(status int) bool { return status&0x7f == 2 || status == 130<<8 }
