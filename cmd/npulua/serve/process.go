package serve

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"syscall"
	"time"
)

// outputKept bounds what is kept of each output stream of a run.
const outputKept = 16 << 10

// endTime is how long a run may take to end once it has been told to.
const endTime = 5 * time.Second

// Process runs a program, with an empty standard input, until it ends. At the end of ctx it is sent SIGTERM, and SIGKILL endTime
// later; what it has started itself is ended with it.
func Process(ctx context.Context, name string, args []string) Output {
	cmd := exec.CommandContext(ctx, name, args...)
	var stdout, stderr tail
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	cmd.SysProcAttr = groupAttributes()
	cmd.Cancel = func() error { return signalGroup(cmd.Process.Pid, syscall.SIGTERM) }
	cmd.WaitDelay = endTime
	if err := cmd.Start(); err != nil {
		return Output{Status: -1, Problem: err.Error()}
	}
	err := cmd.Wait()
	_ = signalGroup(cmd.Process.Pid, syscall.SIGKILL) // nothing is left of it, usually
	out := Output{Status: cmd.ProcessState.ExitCode(), Stdout: stdout.String(), Stderr: stderr.String()}
	var exit *exec.ExitError
	switch {
	case out.Status < 0:
		out.Problem = cmd.ProcessState.String()
	case err != nil && !errors.As(err, &exit) && ctx.Err() == nil:
		out.Problem = fmt.Sprintf("its output: %v", err)
	}
	return out
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
