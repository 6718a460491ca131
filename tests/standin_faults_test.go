package tests

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"npulua/npu/acl/standin"
)

// faultsOver runs a script over the stand-in with those switches, with kernels from binaries.
func faultsOver(t *testing.T, switches, script string, args ...string) (stdout, stderr string, err error) {
	t.Helper()
	kernels := t.TempDir()
	text := []byte("standin kernels\nvector_add_float32\n")
	if err := os.WriteFile(filepath.Join(kernels, "vector_add.o"), text, 0o600); err != nil {
		t.Fatal(err)
	}
	env := []string{"LD_LIBRARY_PATH=" + standin.Build(t), "NPULUA_KERNELS=" + kernels, "ACL_STANDIN=" + switches}
	_, out, errs, err := npulua(t, env, append(args, "--backend=acl", "-e", script)...)
	return string(out), string(errs), err
}

// The lines of every fault of a context that stops are those of the launch, whichever stream is waited for; memory can be
// copied and closed; and the end has nothing to add.
func TestStandinStopMode(t *testing.T) {
	t.Parallel()
	const script = `local c = npu.device(0):create_context()
local s, other = c:create_stream{failure = "stop"}, c:create_stream()
local x, y, h = c:alloc("float32", 8), c:alloc("float32", 8), npu.host("float32", 8)
other:copy(y, h)
s:launch(npu.kernel "vector_add", 1, x, x, x, 1000)
s:copy(x, h)
repeat npu.sleep(0.001) until not pcall(other.synchronize, other)
for _, wait in ipairs {other.synchronize, s.synchronize, s.query, other.query} do
	local ok, err = pcall(wait, wait == s.query and s or other)
	print(ok, err.code, err.where, err.message:find("[", 1, true))
end
npu.copy(x, h) x:upload{1, 2, 3, 4, 5, 6, 7, 8} print(x:download()[8]) x:close()
c:create_stream():close()
`
	for _, switches := range []string{"", "told_late=1"} {
		out, stderr, err := faultsOver(t, switches, script)
		const line = "false\t507035\t(command line):5\tnil\n"
		if want := strings.Repeat(line, 4) + "8\n"; out != want || stderr != "" || err != nil {
			t.Errorf("%q: %v\n%s%s\nwant\n%s", switches, err, out, stderr, want)
		}
	}
}

// A fault on a default stream has its line, also where several lines launch.
func TestStandinDefaultStream(t *testing.T) {
	t.Parallel()
	const script = `local bad, dev = npu.kernel "vector_add", npu.device(0)
for _, ctx in ipairs{dev.context, dev:create_context()} do
	local s, x = ctx.default_stream, ctx:alloc("float32", 8)
	s:launch(bad, 1, x, x, x, 8)
	s:launch(bad, 1, x, x, x, 1000)
	s:fill(x, 0)
	print(select(2, pcall(s.synchronize, s)).where, s:query())
	s:launch(bad, 1, x, x, x, 1000)
	s:launch(bad, 1, x, x, x, 8)
	print(select(2, pcall(ctx.synchronize, ctx)).where)
end
`
	for _, switches := range []string{"", "told_late=1", "late_us=3000"} {
		out, stderr, err := faultsOver(t, switches, script)
		if want := strings.Repeat("(command line):5\ttrue\n(command line):8\n", 2); out != want || stderr != "" || err != nil {
			t.Errorf("%q: %v\n%s%s\nwant\n%s", switches, err, out, stderr, want)
		}
	}
}

// A fault of a replay is that of the graph which has a launch of its number, whichever of several replays is waited for
// first.
func TestStandinReplays(t *testing.T) {
	t.Parallel()
	const script = `local bad, dev = npu.kernel "vector_add", npu.device(0)
local a, b = dev.context, dev:create_context()
local s, o = a:create_stream(), b:create_stream()
local x = a:alloc("float32", 8)
o:fill(x, 0) o:synchronize()
s:launch(bad, 1, x, x, x, 8) s:launch(bad, 1, x, x, x, 8) s:synchronize()
local g = s:capture(function()
	s:launch(bad, 1, x, x, x, 1000)
	s:launch(bad, 1, x, x, x, 1000)
end)
local h = o:capture(function() o:launch(bad, 1, x, x, x, 1000) end)
local ran = 0
g:replay(s) s:callback(function() ran = ran + 1 end)
h:replay(o) o:callback(function() ran = ran + 1 end)
repeat npu.sleep(0.001) until ran == 2
print(select(2, pcall(s.synchronize, s)).where)
o:launch(bad, 1, x, x, x, 1000)
print(select(2, pcall(o.synchronize, o)).where)
`
	for _, switches := range []string{"", "told_late=1", "late_us=3000"} {
		out, stderr, err := faultsOver(t, switches, script)
		if want := "(command line):8\n(command line):11\n"; out != want || stderr != "" || err != nil {
			t.Errorf("%q: %v\n%s%s\nwant\n%s", switches, err, out, stderr, want)
		}
	}
}

// A reset does not wait for work that can never end.
func TestStandinReset(t *testing.T) {
	t.Parallel()
	out, stderr, err := faultsOver(t, "stuck=1", `local dev = npu.device(0)
local a, b = dev:create_context(), dev:create_context()
local s, t = a:create_stream{failure = "stop"}, b:create_stream()
local x, e = a:alloc("float32", 8), a:create_event()
s:launch(npu.kernel "vector_add", 1, x, x, x, 1000)
s:record(e) t:wait(e) t:fill(x, 1)
print(pcall(s.synchronize, s) == false)
dev:reset()
print(t.closed, npu.device(0).context:alloc("float32", 8):close())`)
	if out != "true\ntrue\n" || stderr != "" || err != nil {
		t.Errorf("%v\n%s%s", err, out, stderr)
	}
}

// What ends the process says which call of the library did not return.
func TestStandinNamesStuckCall(t *testing.T) {
	t.Parallel()
	_, stderr, _ := faultsOver(t, "setdevice_ms=20000", "print(1)\nnpu.device(0)", "--timeout=0.3")
	if !strings.Contains(stderr, "without teardown: aclrtSetDevice did not return (called at (command line):2)") {
		t.Errorf("got %s", stderr)
	}
}

// Texts of the library are sentences, with their code.
func TestStandinTexts(t *testing.T) {
	t.Parallel()
	out, _, _ := faultsOver(t, "fail:aclrtMalloc=207001", `print(pcall(function() npu.device(0).context:alloc("float32", 8) end))`)
	if strings.Contains(out, "[PID") || strings.Contains(out, "[FUNC") || !strings.Contains(out, "aclrtMalloc returns 207001: failure that was asked for (EE7001) [207001 ") {
		t.Errorf("got %s", out)
	}
}

// An event with a time is complete where a wait for another stream has shown that its record is done.
func TestStandinLateTime(t *testing.T) {
	t.Parallel()
	out, stderr, err := faultsOver(t, "late_us=20000", `local c = npu.device(0).context
local s, t, e, f = c:create_stream(), c:create_stream(), c:create_event{timing = true}, c:create_event{timing = true}
s:record(e) t:wait(e) t:record(f) t:synchronize()
print(e:query(), f:query(), npu.elapsed(e, f) ~= nil)`)
	if out != "true\ttrue\ttrue\n" || err != nil {
		t.Errorf("%v\n%s%s", err, out, stderr)
	}
}
