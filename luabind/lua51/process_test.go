//go:build linux

package lua51

import (
	"context"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"npulua/internal/proc"
)

// limit is how long after the end of its context a blocked call may go on: 50 ms are what the package promises, the
// rest is for a busy machine. The calls would block for 30 s and more.
const limit = 4 * time.Second

// children are the processes below this one, dead ones too.
func children() (pids []int) {
	all := proc.List()
	for pid := range all {
		for up := all[pid].Parent; up > 1; up = all[up].Parent {
			if up == os.Getpid() {
				pids = append(pids, pid)
				break
			}
		}
	}
	return pids
}

// expectNoChildren allows for a signal's way.
func expectNoChildren(t *testing.T) {
	t.Helper()
	deadline := time.Now().Add(time.Second)
	for len(children()) > 0 {
		if time.Now().After(deadline) {
			t.Errorf("children left: %v", children())
			return
		}
		time.Sleep(time.Millisecond)
	}
}

// interrupt runs source, and ends its context once the file ready is there.
func interrupt(t *testing.T, s *script, cancel context.CancelFunc, source string) {
	t.Helper()
	done := make(chan error, 1)
	go func() { done <- s.L.DoString(source) }()
	for deadline := time.Now().Add(5 * time.Second); ; time.Sleep(time.Millisecond) {
		if _, err := os.Stat("ready"); err == nil {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("the script did not get ready")
		}
	}
	start := time.Now()
	cancel()
	select {
	case err := <-done:
		if took := time.Since(start); took > limit {
			t.Errorf("%s: took %v", source, took)
		}
		if err == nil || !strings.Contains(err.Error(), context.Canceled.Error()) {
			t.Errorf("%s: error %v", source, err)
		}
	case <-time.After(5 * time.Second):
		t.Fatalf("%s: still blocked", source)
	}
}

const ready = `local function ready() io.open("ready", "w"):close() end
`

var blockingSources = map[string]string{
	"execute":          `os.execute("touch ready; sleep 30")`,
	"execute children": `os.execute("(sleep 30; true) & (sleep 30; true) & touch ready; wait")`,
	"execute session":  `os.execute("setsid -w sh -c 'touch ready; sleep 30'")`,
	"popen session":    `io.popen("setsid -w sh -c 'touch ready; sleep 30'"):read()`,
	"popen read":       `io.popen("touch ready; sleep 30"):read()`,
	"popen lines":      `for l in io.popen("touch ready; sleep 30"):lines() do end`,
	"popen close":      `io.popen("touch ready; sleep 30"):close()`,
	"popen orphan":     `io.popen("sleep 30 & touch ready"):read("*a")`,
	"popen write":      `local f = io.popen("touch ready; sleep 30", "w") while true do f:write(("x"):rep(1000)) end`,
	"popen unused":     `local f = io.popen("touch ready; sleep 30") while true do end`,
	"popen coroutine":  `local f coroutine.wrap(function() f = io.popen("touch ready; sleep 30") end)() f:read()`,
	"fifo open":        `ready() io.open("fifo")`,
	"fifo read":        `local f = io.open("fifo", "r+") ready() f:read()`,
	"fifo write":       `local f = io.open("fifo", "r+") ready() while true do f:write(("x"):rep(1000)) end`,
	"stdout":           `ready() while true do io.write(("x"):rep(1000)) end`,
	"fifo lines":       `local f = io.open("fifo", "r+") ready() io.input(f) for l in io.lines() do end`,
	"endless":          `local f = io.open("/dev/zero") ready() f:read("*l")`,
	"stdin":            `ready() io.read("*n")`,
}

func TestInterruption(t *testing.T) {
	for name, source := range blockingSources {
		for _, terminal := range []bool{false, true} {
			t.Run(name+"/"+strconv.FormatBool(terminal), func(t *testing.T) {
				t.Chdir(t.TempDir())
				if err := syscall.Mkfifo("fifo", 0o600); err != nil {
					t.Fatal(err)
				}
				r, w, err := os.Pipe()
				if err != nil {
					t.Fatal(err)
				}
				defer r.Close()
				defer w.Close()
				unread, out, err := os.Pipe()
				if err != nil {
					t.Fatal(err)
				}
				defer unread.Close()
				defer out.Close()
				ctx, cancel := context.WithCancel(context.Background())
				defer cancel()
				s := newScript(t, ctx, "")
				stdout := NewOutput(out, BlockBuffered)
				streams := &Streams{Stdin: r, Stdout: stdout, Stderr: stdout, StdinTerminal: terminal}
				s.io = OpenIO(s.L, streams)
				OpenOS(s.L, streams)
				interrupt(t, s, cancel, ready+source)
				if name != "popen orphan" || !terminal {
					expectNoChildren(t)
				}
				start := time.Now()
				s.io.Close()
				if took := time.Since(start); took > limit {
					t.Errorf("Close took %v", took)
				}
				expectNoOrphan(t)
			})
		}
	}
}

// expectNoOrphan looks for processes in the current directory, which is the test's own.
func expectNoOrphan(t *testing.T) {
	t.Helper()
	here, _ := filepath.EvalSymlinks(".")
	here, _ = filepath.Abs(here)
	deadline := time.Now().Add(time.Second)
	for {
		var left []int
		for pid := range proc.List() {
			if dir, err := os.Readlink("/proc/" + strconv.Itoa(pid) + "/cwd"); err == nil && dir == here && pid != os.Getpid() {
				left = append(left, pid)
			}
		}
		if len(left) == 0 {
			return
		}
		if time.Now().After(deadline) {
			for _, pid := range left {
				syscall.Kill(pid, syscall.SIGKILL)
			}
			if strings.HasSuffix(t.Name(), "popen_orphan/true") {
				return // out of reach, as killTree says
			}
			t.Errorf("processes left: %v", left)
			return
		}
		time.Sleep(time.Millisecond)
	}
}

func TestCloseKillsChildren(t *testing.T) {
	s := newScript(t, nil, "")
	s.run(t, `a, b = io.popen("sleep 30"), io.popen("sleep 30", "w")`)
	start := time.Now()
	s.io.Close()
	if took := time.Since(start); took > limit {
		t.Errorf("took %v", took)
	}
	expectNoChildren(t)
}

func TestFinishWaitsForChildren(t *testing.T) {
	t.Chdir(t.TempDir())
	s := newScript(t, nil, "")
	s.run(t, `f = io.popen("cat > copy", "w") f:write("data")`)
	s.io.Finish(context.Background())
	if got, _ := os.ReadFile("copy"); string(got) != "data" {
		t.Errorf("got %q", got)
	}
	expectNoChildren(t)
}

func TestChildGroup(t *testing.T) {
	const source = `p(io.popen("ps -o pgid= -p $$ || cut -d' ' -f5 /proc/$$/stat"):read("*n"))`
	for _, terminal := range []bool{false, true} {
		s := newScript(t, nil, "")
		s.io.streams.StdinTerminal = terminal
		got := strings.TrimSpace(s.run(t, source))
		if own := got == strconv.Itoa(syscall.Getpgrp()); own != terminal {
			t.Errorf("terminal %v: group %s, ours is %d", terminal, got, syscall.Getpgrp())
		}
	}
}

func TestDataAfterInterruptedReadIsKept(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	in := newInput(r)
	ctx, cancel := context.WithTimeout(context.Background(), time.Millisecond)
	defer cancel()
	if _, err := in.during(ctx).ReadByte(); !isInterruption(err) {
		t.Fatal(err)
	}
	w.WriteString("line\n")
	if line, err := in.during(context.Background()).ReadString('\n'); line != "line\n" || err != nil {
		t.Errorf("got %q, %v", line, err)
	}
}
