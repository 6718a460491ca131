//go:build linux

package tests

import (
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"npulua/npu/acl/standin"
)

// hung is the binary over a stand-in whose work never ends.
func hung(t *testing.T, code string, args ...string) *exec.Cmd {
	cmd := exec.Command(binary, append(append([]string{"--backend=acl"}, args...), "-e", code)...)
	cmd.Env = append(os.Environ(), "LD_LIBRARY_PATH="+standin.Build(t), "ACL_STANDIN=hang=1")
	return cmd
}

const waitsForever = `s = npu.device(0).context:create_stream() s:fill(s.context:alloc("float32", 4), 1) print "waits" io.stdout:flush() `

// A library whose work hangs can be interrupted by all that ends a script, and a wait has its timeout.
func TestHungLibrary(t *testing.T) {
	for _, tt := range []struct {
		name, code, want string
		args             []string
		signal           syscall.Signal
		status           int
	}{
		{"SIGINT", "s:synchronize()", "npulua: interrupted\n  main waits for stream(1, context 0, device 0)", nil, syscall.SIGINT, 130},
		{"SIGTERM", "npu.spawn(function() s:synchronize() end):join()", "npulua: terminated", nil, syscall.SIGTERM, 143},
		{"timeout of the script", "s:synchronize()", "npulua: timeout", []string{"--timeout=0.3"}, 0, 124},
		{"event", "s:record():synchronize()", "npulua: interrupted", nil, syscall.SIGINT, 130},
		{"the end of the script", "", "npulua: interrupted", nil, syscall.SIGINT, 130},
		{"a long end", "", "npulua: the script is over and waits for its queued work", []string{"--timeout=3"}, 0, 124},
		{"os.exit", "os.exit(4)", "npulua: interrupted", nil, syscall.SIGINT, 130},
		{"close of a model", `m = npu.model("../npu/acl/standin/testdata/mlp.om") for i = 1, 40 do m:run(s, s.context:alloc("float32", 6), s.context:alloc("float32", 4)) end m:close()`,
			"npulua: interrupted\n  main waits for stream(1, context 0, device 0)", nil, syscall.SIGINT, 130},
		{"a full stream", "for i = 1, 100000 do s:record() end", "commands may not be over; the first of them: fill", nil, syscall.SIGINT, 130},
		{"timeout of a wait", "print(pcall(s.synchronize, s, 0.05)) s:synchronize()", "507046 ACL_ERROR_RT_STREAM_SYNC_TIMEOUT", []string{"--timeout=0.3"}, 0, 124},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			// Only the process knows when it waits: a signal that comes before says other things.
			for _, before := range []time.Duration{50 * time.Millisecond, time.Second, 5 * time.Second} {
				status, text := interruptedHung(t, waitsForever+tt.code, tt.args, tt.signal, before)
				if status == tt.status && strings.Contains(text, tt.want) {
					return
				}
				if before == 5*time.Second || tt.signal == 0 {
					t.Fatalf("status %d, want %d and %q in\n%s", status, tt.status, tt.want, text)
				}
			}
		})
	}
}

// interruptedHung runs code over the library that hangs, which prints "waits", and sends the signal so long after
// that. It returns the exit status, and all else that was printed.
func interruptedHung(t *testing.T, code string, args []string, signal syscall.Signal, before time.Duration) (int, string) {
	t.Helper()
	cmd := hung(t, code, args...)
	var out strings.Builder
	cmd.Stderr = &out
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	kill := time.AfterFunc(time.Minute, func() { _ = cmd.Process.Kill() })
	defer kill.Stop()
	begun := make([]byte, len("waits\n"))
	if _, err := stdout.Read(begun); err != nil {
		t.Fatal(err)
	}
	if signal != 0 {
		time.Sleep(before)
		if err := cmd.Process.Signal(signal); err != nil {
			t.Fatal(err)
		}
	}
	rest, _ := io.ReadAll(stdout)
	_ = cmd.Wait()
	return cmd.ProcessState.ExitCode(), string(rest) + out.String()
}

// overStandin runs code over the stand-in with those switches, and gives what it prints.
func overStandin(t *testing.T, switches, code string) string {
	t.Helper()
	cmd := exec.Command(binary, "--backend=acl", "--timeout=60", "-e", code)
	cmd.Env = append(os.Environ(), "LD_LIBRARY_PATH="+standin.Build(t), "ACL_STANDIN="+switches)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return string(out)
}

// Other tasks go on while one fills a stream faster than the device empties it.
func TestFullStream(t *testing.T) {
	t.Parallel()
	out := overStandin(t, "slow_us=200", `
		local c = npu.device(0).context
		local s, x = c:create_stream(), c:alloc("float32", 4)
		local ticks, over = 0, false
		local ticker = npu.spawn(function() while not over do npu.sleep(0.001) ticks = ticks + 1 end end)
		for i = 1, 3000 do s:fill(x, i) end
		over = true
		ticker:join() s:synchronize()
		print(ticks > 20, x:download()[1])`)
	if out != "true\t3000\n" {
		t.Errorf("got %q", out)
	}
}

// A library that cannot tell whether work is done has not done it: nothing is read or given back before.
func TestFailingQuery(t *testing.T) {
	t.Parallel()
	for _, function := range []string{"aclrtStreamQuery", "aclrtQueryEventStatus"} {
		out := overStandin(t, "slow_us=50000,fail:"+function+"=507899,nth:"+function+"=1", `
			local c = npu.device(0):create_context()
			local s, x, h = c:create_stream(), c:alloc("int32", 4), npu.host("int32", 4)
			x:upload{1, 1, 1, 1}
			s:fill(x, 7) s:copy(h, x)
			local e = s:record()
			local told, err = pcall(e.synchronize, e)
			local ok, value = pcall(function() return x:download()[1] end)
			local closed = pcall(h.close, h)
			local synced = pcall(s.synchronize, s)
			print(told and ok and closed and synced and "silent" or "told", ok and value or 7)
			s:synchronize()`)
		if out != "told\t7\n" {
			t.Errorf("%s fails: got %q", function, out)
		}
	}
}

// What a task has queued goes on when it is cancelled, and its callbacks run, whichever task called last.
func TestCallbackOfCancelledTask(t *testing.T) {
	t.Parallel()
	out := overStandin(t, "", `
		local ctx = npu.device(0):create_context()
		local s = ctx:create_stream()
		for i = 1, 60 do
			local t = npu.spawn(function() npu.scope(function()
				ctx:set_current()
				local x, h, q = ctx:alloc("int32", 64), npu.host("int32", 64), ctx:create_stream()
				q:fill(x, i) q:copy(h, x)
				local e = q:record()
				s:wait(e) s:copy(x, h) q:callback(function() end)
				local m = i % 3
				if m == 0 then x:close() elseif m == 1 then q:close() else q:synchronize() end
			end) end)
			npu.sleep(0.0005 * (i % 4)) t:cancel() pcall(t.join, t) t = nil collectgarbage()
		end
		print(pcall(ctx.synchronize, ctx))`)
	if out != "true\n" {
		t.Errorf("got %q", out)
	}
}
