package serve

import (
	"context"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"npulua/internal/proc"
)

// outputKept bounds what is kept of each output stream of a run.
const outputKept = 16 << 10

// endTime is how long a run may take to end once it has been told to.
const endTime = 5 * time.Second

// drainTime is how long the output of a run is read on once all its processes have ended, as far as they can be found.
const drainTime = time.Second

// Process runs a program, with an empty standard input, until it ends. At the end of ctx it is sent SIGTERM, and
// SIGKILL endTime later. What it has started itself ends with it, in whatever group or session that is; its output does
// not wait for those.
func Process(ctx context.Context, name string, args []string) Output {
	adopted := proc.Adopt() == nil // else only its group is in reach
	rest := proc.Before()
	cmd := exec.CommandContext(ctx, name, args...)
	var stdout, stderr stream
	for s, to := range map[*stream]*io.Writer{&stdout: &cmd.Stdout, &stderr: &cmd.Stderr} {
		w, err := s.open()
		if err != nil {
			return Output{Status: -1, Problem: err.Error()}
		}
		defer s.close(drainTime)
		defer w.Close()
		*to = w
	}
	cmd.SysProcAttr = groupAttributes()
	cmd.Cancel = func() error { return signalGroup(cmd.Process.Pid, syscall.SIGTERM) }
	cmd.WaitDelay = endTime
	if err := cmd.Start(); err != nil {
		return Output{Status: -1, Problem: err.Error()}
	}
	_ = cmd.Wait() // ProcessState has its status
	out := Output{Status: cmd.ProcessState.ExitCode()}
	if out.Status < 0 {
		out.Problem = cmd.ProcessState.String()
	}
	if adopted {
		out.Left = rest.End(endTime)
	} else {
		_ = signalGroup(cmd.Process.Pid, syscall.SIGKILL)
	}
	for _, w := range []io.Writer{cmd.Stdout, cmd.Stderr} {
		_ = w.(*os.File).Close() // so that the streams end with the last of the processes
	}
	out.Stdout, out.Stderr = stdout.close(drainTime), stderr.close(drainTime)
	return out
}

// EndRuns ends all processes that runs of this server have started, before the server ends without waiting for them.
func EndRuns() { proc.Rest{}.End(endTime) }

// stream reads what a program writes, through a pipe that others may hold, too.
type stream struct {
	r    *os.File
	text tail
	done chan struct{}
}

// open returns the end that is written to.
func (s *stream) open() (*os.File, error) {
	r, w, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	s.r, s.done = r, make(chan struct{})
	go func() {
		defer close(s.done)
		_, _ = io.Copy(&s.text, r) // to its end
	}()
	return w, nil
}

// close waits for the end of the stream, for limit at most, and returns what was kept of it.
func (s *stream) close(limit time.Duration) string {
	_ = s.r.SetReadDeadline(time.Now().Add(limit))
	<-s.done
	_ = s.r.Close()
	return s.text.String()
}

// tail keeps the end of what is written to it.
type tail struct {
	data []byte
	cut  bool
}

// Write implements io.Writer.
func (t *tail) Write(p []byte) (int, error) {
	t.data = append(t.data, p...)
	if over := len(t.data) - outputKept; over > 0 {
		t.cut = true
		if len(t.data) > 2*outputKept {
			t.data = append(t.data[:0], t.data[over:]...)
		}
	}
	return len(p), nil
}

// String is what was kept, from the beginning of a line on.
func (t *tail) String() string {
	data := t.data
	if over := len(data) - outputKept; over > 0 {
		data = data[over:]
	}
	text := strings.ToValidUTF8(string(data), "?")
	if t.cut {
		if _, rest, ok := strings.Cut(text, "\n"); ok {
			text = rest
		}
		return "...\n" + text
	}
	return text
}
