package lua51

import (
	"bytes"
	"context"
	"errors"
	"os"
	"strings"
	"syscall"
	"testing"
)

func TestOutputBuffering(t *testing.T) {
	for _, c := range []struct {
		mode   Buffering
		writes []string
		want   string // before a flush
	}{
		{Unbuffered, []string{"a", "b"}, "ab"},
		{LineBuffered, []string{"a", "b\n", "c"}, "ab\n"},
		{BlockBuffered, []string{"a\n", "b\n"}, ""},
		{BlockBuffered, []string{strings.Repeat("x", blockSize), "y"}, strings.Repeat("x", blockSize)},
	} {
		var dst bytes.Buffer
		o := NewOutput(&dst, c.mode)
		for _, w := range c.writes {
			if n, err := o.Write([]byte(w)); n != len(w) || err != nil {
				t.Fatal(n, err)
			}
		}
		if dst.String() != c.want {
			t.Errorf("mode %d: %d bytes written, want %d", c.mode, dst.Len(), len(c.want))
		}
		o.Flush(context.Background())
		if all := strings.Join(c.writes, ""); dst.String() != all {
			t.Errorf("mode %d: %d bytes flushed, want %d", c.mode, dst.Len(), len(all))
		}
	}
}

func TestStderrComesAfterStdout(t *testing.T) {
	s := newScript(t, nil, "")
	if got := s.run(t, `io.write("1 ") io.stderr:write("2 ") io.write("3")`); got != "1 2 3" {
		t.Errorf("got %q", got)
	}
}

func TestClosedPipe(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	r.Close()
	defer w.Close()
	ctx, cancel := context.WithCancelCause(context.Background())
	s := newScript(t, ctx, "")
	out := NewOutput(w, BlockBuffered)
	calls := 0
	out.OnBroken(func(err error) { calls++; cancel(err) })
	s.io = OpenIO(s.L, &Streams{Stdin: strings.NewReader(""), Stdout: out, Stderr: NewOutput(&s.out, Unbuffered)})
	if err := s.L.DoString(`while true do io.write("xxxxxxxxxxxxxxxx") end`); err == nil {
		t.Error("the script did not end")
	}
	if !errors.Is(out.Err(), syscall.EPIPE) || !errors.Is(context.Cause(ctx), syscall.EPIPE) || calls != 1 {
		t.Errorf("error %v, cause %v, %d calls", out.Err(), context.Cause(ctx), calls)
	}
}

func TestFullDisk(t *testing.T) {
	if _, err := os.Stat("/dev/full"); err != nil {
		t.Skip(err)
	}
	source := `local f = io.open("/dev/full", "w") p(f:write("x")) p(f:flush()) p(f:flush()) p(f:write("y")) p(f:close())
f = io.open("/dev/full", "w") f:setvbuf("no") p(f:write("x")) p(f:close())`
	want := "true\nnil|No space left on device|28\ntrue\ntrue\nnil|No space left on device|28\nnil|No space left on device|28\ntrue\n"
	for name, ctx := range map[string]context.Context{"no context": nil, "context": t.Context()} {
		if got := newScript(t, ctx, "").run(t, source); got != want {
			t.Errorf("%s: got %q", name, got)
		}
	}
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer full.Close()
	o := NewOutput(full, BlockBuffered)
	o.Write([]byte("x"))
	if err := o.Flush(context.Background()); !errors.Is(err, syscall.ENOSPC) || !errors.Is(o.Err(), syscall.ENOSPC) {
		t.Errorf("error %v, first %v", err, o.Err())
	}
}

// stalled is a destination that takes nothing until it is released.
type stalled struct {
	release chan struct{}
	got     bytes.Buffer
}

func (s *stalled) Write(p []byte) (int, error) {
	<-s.release
	return s.got.Write(p)
}

func TestInterruptedWriteKeepsOrder(t *testing.T) {
	dst := &stalled{release: make(chan struct{})}
	o := NewOutput(dst, Unbuffered)
	ctx, cancel := context.WithCancel(context.Background())
	cancelled := make(chan error)
	go func() { cancelled <- o.WriteContext(ctx, "one ") }()
	cancel()
	if err := <-cancelled; !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	if err := o.Flush(ctx); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	close(dst.release)
	if _, err := o.Write([]byte("two")); err != nil {
		t.Fatal(err)
	}
	if got := dst.got.String(); got != "one two" {
		t.Errorf("got %q", got)
	}
}
