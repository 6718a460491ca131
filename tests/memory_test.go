//go:build linux

package tests

import (
	"context"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// limited runs npulua with arguments where its address space is limited to so many KiB; redirect, as in a shell, changes
// its streams.
func limited(t *testing.T, space int, redirect string, args ...string) (status int, stdout, stderr string) {
	t.Helper()
	shell := `exec "$0" --sim=910b "$@" ` + redirect
	if space > 0 {
		shell = "ulimit -v " + strconv.Itoa(space) + " && " + shell
	}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "sh", append([]string{"-c", shell, binary}, args...)...)
	var out, errors strings.Builder
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // scripts send signals to their group
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader("line\nrest"), &out, &errors
	err := cmd.Run()
	if cmd.ProcessState == nil {
		t.Fatal(err)
	}
	if status = cmd.ProcessState.ExitCode(); status < 0 {
		status = 128 + int(cmd.ProcessState.Sys().(syscall.WaitStatus).Signal())
	}
	return status, out.String(), errors.String()
}

// eats are bodies that take memory until there is none.
var eats = []struct{ name, body string }{
	{"strings", `local s = "x" while true do s = s .. s end`},
	{"channels", `local c = npu.channel(1e6) for i = 1, 1e6 do c:send(("x"):rep(1e7) .. i) end`},
	{"constructors", `local t, s = {}, "return {" .. ("{1,2,3},"):rep(1e4) .. "}" for i = 1, 1e6 do t[i] = assert(loadstring(s)) end`},
	{"tasks", `local function f(n) if n == 0 then local t = {} for i = 1, 1e9 do t[i] = {i} end end return npu.spawn(f, n - 1):join() end f(3)`},
	{"tables with a large index", `local t = {} for i = 1, 1e3 do t[i] = {} t[i][4194302] = 1 end`},
	{"host buffers", `local t = {} for i = 1, 1e6 do t[i] = npu.host("uint8", 1e7, {pinned = false}) end`},
	{"deep coroutines", `local t = {} for i = 1, 1e6 do t[i] = coroutine.create(function() local function f(n) if n == 0 then coroutine.yield() end return 1 + f(n - 1) end f(20000) end) coroutine.resume(t[i]) end`},
}

// Where the memory of the process is limited from outside scripts get an error before it ends, and those that take on all
// the same end with one line.
func TestLimitedMemory(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector takes address space of its own")
	}
	long(t, "scripts take memory until there is none")
	check := func(t *testing.T, stdout string, space int, code string) {
		status, out, errors := limited(t, space, "", "-e", code)
		if strings.HasSuffix(out, stdout) && status == 0 {
			return
		}
		if status == 1 && strings.HasPrefix(errors, "npulua: not enough memory\n") && !strings.Contains(errors, "goroutine ") {
			return // the main script was the first that was refused some
		}
		line, rest, _ := strings.Cut(errors, "\n")
		if status != 71 || rest != "" || !strings.HasPrefix(line, "npulua: not enough memory: ") || !strings.Contains(line, "(ulimit -v "+strconv.Itoa(space)+")") {
			t.Errorf("status %d, standard output %.200q, standard error %.2000q, want %q or status 71 and a line", status, out, errors, stdout)
		}
	}
	const space = 3_000_000
	t.Run("strings", func(t *testing.T) {
		check(t, "not enough memory\non\n", space, `print(pcall(function() local t = {} for i = 1, 1e9 do t[i] = ("x"):rep(1e6) .. i end end)) print "on"`)
	})
	t.Run("tasks in tasks", func(t *testing.T) {
		check(t, "207005\non\n", space, `local function n() return npu.spawn(n):join() end print(select(2, pcall(n)).code) print "on"`)
	})
	t.Run("a worker", func(t *testing.T) {
		check(t, "false\tnot enough memory\ntrue\n", 2_000_000, `local function eat() local t = {} for i = 1, 1e3 do t[i] = {} t[i][4194302] = 1 end end
local w = npu.worker(eat) print(pcall(w.join, w)) print(npu.worker(function() return true end):join())`)
	})
	t.Run("host buffers", func(t *testing.T) {
		check(t, "207001\n207001\n", 2_000_000, `npu.device(0).context:create_stream() for _, pinned in ipairs{true, false} do
	local t = {} print(select(2, pcall(function() for i = 1, 1e6 do t[i] = npu.host("uint8", 1e7, {pinned = pinned}) end end)).code)
end`)
	})
	for _, e := range eats {
		t.Run(e.name+" in many workers", func(t *testing.T) {
			check(t, "on\n", 2_000_000, `local w = {}
for i = 1, 300 do w[i] = npu.worker(function() `+e.body+` end) end
for i = 1, 300 do pcall(w[i].join, w[i]) end
print "on"`)
		})
	}
}

// A process whose memory is limited is watched by another one. Nobody can tell but by what it says of its end.
func TestLimitedMemoryUnseen(t *testing.T) {
	const space = 8_000_000 // less than any machine has that runs this
	for _, c := range []struct{ name, redirect, code string }{
		{"streams", "", `print(io.read(), io.read("*a")) io.stderr:write("said") io.open("/dev/stderr", "a"):write("more")`},
		{"a pipe that nobody reads", "| true", `for i = 1, 1e6 do print(i) end`},
		{"closed output", ">&-", `print(1) io.stderr:write("said")`},
		{"closed input", "<&-", `print(io.read())`},
		{"closed errors", "2>&-", `print(1) io.stderr:write("said") error "x"`},
		{"all closed", "<&- >&- 2>&-", `print(1) error "x"`},
		{"descriptors", "3</dev/null 4</dev/zero 9</dev/null", `os.execute "ls -l /proc/self/fd | sed 's/.* \\([0-9]* ->\\)/\\1/; s/:.*//; /proc/d'"`},
		{"programs", "", `os.execute "ulimit -s; env | grep -c 'NPULUA\\|MALLOC'; echo err >&2; read x; echo $x"`},
		{"a status", "", `os.exit(7)`},
		{"what looks like the end", "", `io.stderr:write("fatal error: none\n") io.open("/dev/stderr", "a"):write("panic: none\n") os.exit(3)`},
		{"an error", "", `error "x"`},
		{"an end in a worker", "", `npu.worker(function() os.exit(9) end):join()`},
		{"SIGINT", "", `os.execute "kill -INT $PPID" while true do end`},
		{"SIGTERM", "", `os.execute "kill -TERM $PPID" while true do end`},
		{"SIGHUP", "", `os.execute "kill -HUP $PPID" while true do end`},
		{"SIGKILL", "", `os.execute "kill -KILL $PPID" while true do end`},
	} {
		t.Run(c.name, func(t *testing.T) {
			args := []string{"-e", c.code}
			status, stdout, stderr := limited(t, 0, c.redirect, args...)
			s, o, e := limited(t, space, c.redirect, args...)
			e, _, _ = strings.Cut(e, "\nstack") // where it was when a signal came
			if stderr, _, _ = strings.Cut(stderr, "\nstack"); s != status || o != stdout || e != stderr {
				t.Errorf("limited: status %d, %q, %q, want %d, %q, %q", s, o, e, status, stdout, stderr)
			}
		})
	}
}

// Signals come to the process that watches; it ends with the script, and says what ended that.
func TestLimitedMemorySignals(t *testing.T) {
	for _, c := range []struct {
		name   string
		signal syscall.Signal // to the process itself
		group  bool           // to its group instead, as a terminal does
		code   string
		status int
		stderr string // which it contains
	}{
		{"SIGINT", syscall.SIGINT, false, ``, 130, "npulua: interrupted\n"},
		{"SIGTERM", syscall.SIGTERM, false, ``, 143, "npulua: terminated\n"},
		{"SIGHUP", syscall.SIGHUP, false, ``, 129, "npulua: hangup\n"},
		{"SIGQUIT", syscall.SIGQUIT, false, ``, 2, "SIGQUIT: quit\n"},
		{"Ctrl-C", syscall.SIGINT, true, ``, 130, "npulua: interrupted\n"},
		{"a defect", 0, false, `os.execute "kill -SEGV $PPID"`, 70, "npulua: a defect of npulua:\nSIGSEGV: "},
	} {
		t.Run(c.name, func(t *testing.T) {
			cmd := exec.Command("sh", "-c", `ulimit -v 8000000 && exec "$0" --sim=910b -e "$1"`, binary, `print "on" io.flush() `+c.code+` while true do end`)
			cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
			var stderr strings.Builder
			cmd.Stderr = &stderr
			out, err := cmd.StdoutPipe()
			if err == nil {
				err = cmd.Start()
			}
			if err != nil {
				t.Fatal(err)
			}
			defer time.AfterFunc(time.Minute, func() { _ = cmd.Process.Kill() }).Stop()
			if _, err := out.Read(make([]byte, 3)); err != nil {
				t.Error(err)
			}
			if c.signal != 0 {
				to := cmd.Process.Pid
				if c.group {
					to = -to
				}
				_ = syscall.Kill(to, c.signal)
			}
			_ = cmd.Wait()
			if status := cmd.ProcessState.ExitCode(); status != c.status || !strings.Contains(stderr.String(), c.stderr) {
				t.Errorf("status %d, standard error %.300q, want %d, %q", status, stderr.String(), c.status, c.stderr)
			}
		})
	}
}
