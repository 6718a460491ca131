package tests

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// handlers are the ways in which the library may take signals: of which kind its handlers are, and when it
// installs them.
var handlers = []string{
	"signals=1", "signals=2", "signals=3", "signals=2,signals_at=1", "signals=1,signals_at=2", "signals=3,signals_at=2",
}

// withHandlers is the stand-in with handlers: nobody has asked for none.
func withHandlers(t *testing.T, switches string) vendor {
	v := onPath(t, switches)
	v.env = append(v.env, "ASCEND_COREDUMP_SIGNAL=all")
	return v
}

// busy is a script that says when it runs and then does not end; the file is what the test waits for.
const busy = `local dev = npu.device(0)
io.open("ready", "w"):close()
while true do end`

// awaitFile waits until a file is in the folder of cmd.
func awaitFile(t *testing.T, cmd *exec.Cmd, name string) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(time.Millisecond) {
		if _, err := os.Stat(filepath.Join(cmd.Dir, name)); err == nil {
			return
		}
		if time.Now().After(deadline) {
			t.Errorf("no file %s", name)
			return
		}
	}
}

// The signals of the terminal and of Go's runtime stay ours, whatever handlers the library installs.
func TestSignalsStayOurs(t *testing.T) {
	for _, switches := range handlers {
		for _, c := range []struct {
			signal syscall.Signal
			status int
			says   string
		}{
			{syscall.SIGINT, 130, "npulua: interrupted"}, {syscall.SIGTERM, 143, "npulua: terminated"}, {syscall.SIGHUP, 129, "npulua: hangup"},
		} {
			t.Run(fmt.Sprint(switches, "/", c.signal), func(t *testing.T) {
				t.Parallel()
				cmd := withHandlers(t, switches).command(t, "-e", busy)
				o := finishCommand(t, cmd, func() {
					awaitFile(t, cmd, "ready")
					_ = cmd.Process.Signal(c.signal)
				})
				if o.status != c.status || !strings.HasPrefix(o.stderr, c.says) || strings.Contains(o.stderr, "standin:") {
					t.Errorf("%+v", o)
				}
			})
		}
		t.Run(switches+"/timeout", func(t *testing.T) {
			t.Parallel()
			o := withHandlers(t, switches).run(t, "--timeout=0.2", "-e", busy)
			if o.status != 124 || strings.Contains(o.stderr, "standin:") {
				t.Errorf("%+v", o)
			}
		})
	}
}

// So they do where a thread of the library installs handlers long after the calls that started it, and again for each
// device.
func TestSignalsTakenLate(t *testing.T) {
	for kind, sig := range map[int]syscall.Signal{1: syscall.SIGINT, 2: syscall.SIGTERM} {
		t.Run(fmt.Sprint(sig), func(t *testing.T) {
			t.Parallel()
			cmd := withHandlers(t, fmt.Sprintf("signals=%d,signals_at=3,signals_ms=300", kind)).command(t, "-e", "npu.device(1) "+busy)
			o := finishCommand(t, cmd, func() {
				awaitFile(t, cmd, "ready")
				time.Sleep(1500 * time.Millisecond) // they are there, and were taken back
				_ = cmd.Process.Signal(sig)
			})
			if want := map[syscall.Signal]int{syscall.SIGINT: 130, syscall.SIGTERM: 143}[sig]; o.status != want || strings.Contains(o.stderr, "standin:") {
				t.Errorf("%+v", o)
			}
		})
	}
}

// Ctrl-C also ends a script that waits for a device which needs seconds to start, and whose library has taken the
// signal by then.
func TestSignalsDuringStart(t *testing.T) {
	const script = `io.open("ready", "w"):close() npu.device(0) print "not reached"`
	for _, switches := range []string{"setdevice_ms=20000", "setdevice_ms=20000,signals=2,signals_at=2"} {
		t.Run(switches, func(t *testing.T) {
			t.Parallel()
			cmd := withHandlers(t, switches).command(t, "-e", script)
			o := finishCommand(t, cmd, func() {
				awaitFile(t, cmd, "ready")
				time.Sleep(100 * time.Millisecond) // the library is in the call, and its handlers were put back
				_ = cmd.Process.Signal(syscall.SIGINT)
			})
			if o.status != 130 || o.stdout != "" || o.took > 5*time.Second || !strings.HasPrefix(o.stderr, "npulua: ") {
				t.Errorf("%+v", o)
			}
		})
	}
}

// No way out waits for the library's exit handlers.
func TestLoadingNoSlowExit(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector runs the exit handlers of libraries itself")
	}
	const use = `local d = npu.device(0) local x = d.context:alloc("float32", 64) `
	for _, c := range []struct {
		name, script string
		status       int
	}{
		{"end", use, 0}, {"exit", use + `os.exit(3)`, 3}, {"error", use + `error "x"`, 1}, {"worker", use + `npu.worker(function() os.exit(4) end):join()`, 4},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			o := onPath(t, "exit_ms=20000").run(t, "-e", c.script)
			if o.status != c.status || o.took > 10*time.Second {
				t.Errorf("%+v", o)
			}
		})
	}
	t.Run("signal", func(t *testing.T) {
		t.Parallel()
		cmd := onPath(t, "exit_ms=20000").command(t, "-e", busy)
		o := finishCommand(t, cmd, func() {
			awaitFile(t, cmd, "ready")
			_ = cmd.Process.Signal(syscall.SIGINT)
		})
		if o.status != 130 || o.took > 10*time.Second {
			t.Errorf("%+v", o)
		}
	})
}

// Children get the descriptors that npulua was started with, and none that the library opened: the same ones as
// over the simulator.
func TestLoadingDescriptors(t *testing.T) {
	const script = `local list = "ls /proc/self/fd | sort -n | tr '\\n' ' '; echo"
npu.device(0) npu.device(1)
os.execute(list)
io.stdout:write(io.popen(list):read("*a"))
npu.worker(function(list) os.execute(list) end, list):join()`
	for _, inherited := range []int{0, 2} {
		t.Run(fmt.Sprint(inherited), func(t *testing.T) {
			t.Parallel()
			listed := func(v vendor, args ...string) string {
				cmd := v.command(t, append(args, "-e", script)...)
				for range inherited {
					f, err := os.Open(os.DevNull)
					if err != nil {
						t.Fatal(err)
					}
					defer f.Close()
					cmd.ExtraFiles = append(cmd.ExtraFiles, f)
				}
				o := finishCommand(t, cmd, nil)
				if o.status != 0 || strings.Count(o.stdout, "\n") != 3 || inherited > 0 && !strings.HasPrefix(o.stdout, "0 1 2 3 4 ") {
					t.Errorf("%+v", o)
				}
				return o.stdout
			}
			if got, want := listed(onPath(t, "fds=5")), listed(vendor{}, "--sim=910b:2"); got != want {
				t.Errorf("children have\n%swant\n%s", got, want)
			}
		})
	}
}
