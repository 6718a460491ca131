package tests

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// The promise of --sandbox, which docs/sandbox.md words: whatever a script does, the process has at most promisedSlack
// more memory than --sandbox-memory says, and ends within promisedEnd of --timeout.
const (
	hostileMemory = 48 << 20
	promisedSlack = 256 << 20
	hostileTime   = 2 * time.Second
	promisedEnd   = 2 * time.Second
	// busyMargin is how much later the end may come on a machine that is busy with other things. What the script can have
	// done until its promised end is measured as time of the processors besides, which does not depend on them.
	busyMargin = 40 * time.Second
)

// hostile is a script that takes what it can get.
type hostile struct {
	name, code string
	flags      []string
	statuses   []int // beside those that every script may end with
}

// hostileValues are expressions that make something, of i; they are kept for ever.
var hostileValues = []struct{ name, value string }{
	{"strings", `rep("x", 1000) .. i`},
	{"long strings", `rep("x", 1e6) .. i`},
	{"formatted texts", `string.format("%099d%s", i, rep("y", 5000))`},
	{"replaced texts", `(rep("a", 1e4):gsub("a", "bc")) .. i`},
	{"upper case", `(rep("a", 1e5) .. i):upper()`},
	{"joined texts", `table.concat({rep("a", 1e5), i, rep("b", 1e5)})`},
	{"tables", `{i}`},
	{"tables of tables", `{{}, {}, {i}, a = {}, b = {{}}}`},
	{"tables with a large index", `(function() local t = {} t[4194302] = i return t end)()`},
	{"tables filled by rawset", `(function() local t = {} rawset(t, 4194302, i) return t end)()`},
	{"tables with many names", `(function() local t = {} for j = 1, 1000 do t["k" .. j] = i end return t end)()`},
	{"tables through __newindex", `(function() local t = {} setmetatable({}, {__newindex = t})[4194302] = i return t end)()`},
	{"objects", `setmetatable({}, {__index = function() return i end})`},
	{"closures", `(function() local a, b, c = {}, {}, {} return function() return a, b, c, i end end)()`},
	{"coroutines", `(function() local c = coroutine.create(function() coroutine.yield(i) end) coroutine.resume(c) return c end)()`},
	{"deep coroutines", `(function() local c = coroutine.wrap(function() local function f(n) if n == 0 then coroutine.yield() end return f(n - 1), n end f(1000) end) c() return c end)()`},
	{"functions", `loadstring("return function() local a = " .. i .. " return {a, a, a, a, a, a} end")()`},
	{"host buffers", `npu.host("int8", 1e5, {pinned = false})`},
	{"large host buffers", `npu.host("float64", 1e6, {pinned = false})`},
	{"pinned buffers", `npu.device(0) and npu.host("int8", 1e6)`},
	{"device buffers", `npu.device(0).context:alloc("int8", 1e6)`},
	{"small device buffers", `npu.device(0).context:alloc("int8", 16)`},
	{"slices", `npu.host("int8", 1000, {pinned = false}):slice(1, 500)`},
	{"channels", `npu.channel(1000)`},
	{"full channels", `(function() local c = npu.channel(100) for j = 1, 100 do c:send(rep("x", 100) .. j) end return c end)()`},
	{"tasks", `npu.spawn(function() npu.sleep(1e6) end)`},
	{"kernels", `npu.kernel{name = "k" .. i, signature = "int32 n", sim = function() end}`},
	{"error objects", `select(2, pcall(npu.device, 1e6 + i))`},
	{"tracebacks", `debug.traceback(rep("x", 1000) .. i)`},
	{"JSON texts", `require("json").encode({i, rep("x", 1000), {a = 1}})`},
	{"JSON values", `require("json").decode("[" .. rep("{},", 100) .. i .. "]")`},
	{"CSV rows", `require("csv").decode(rep("a,b,c\n", 100))`},
	{"arrays of buffers", `npu.host("float32", 1e4, {pinned = false}):to_table()`},
	{"texts of buffers", `npu.host("float32", 1e4, {pinned = false}):to_string() .. i`},
}

// hostilePlaces are where a script does it. BODY is the loop.
var hostilePlaces = []struct{ name, code string }{
	{"main", `BODY`},
	{"pcall", `while true do pcall(function() BODY end) end`},
	{"coroutine", `while true do coroutine.wrap(function() BODY end)() end`},
	{"task", `for i = 1, 4 do npu.spawn(function() BODY end) end`},
	{"worker", `npu.worker(function() BODY end):join()`},
	{"workers", `local w = {} for i = 1, 8 do w[i] = npu.worker(function() BODY end) end for i = 1, 8 do pcall(w[i].join, w[i]) end`},
	{"workers in workers", `npu.worker(function() npu.worker(function() BODY end) npu.worker(function() BODY end) BODY end):join()`},
	{"callback", `local s = npu.device(0).context:create_stream() s:callback(function() BODY end) s:synchronize()`},
}

// hostileSinks are how the loop keeps what it makes. VALUE is the expression.
var hostileSinks = []string{
	`local t = {} for i = 1, 1e9 do t[i] = VALUE end`,
	`local t = {} for i = 1, 1e9 do table.insert(t, VALUE) end`,
	`local t = {} for i = 1, 1e9 do t["k" .. i] = VALUE end`,
	`local t for i = 1, 1e9 do t = {t, VALUE} end`,
}

// hostileLoops do one thing without an end.
var hostileLoops = []struct{ name, code string }{
	{"nothing", ``},
	{"sums", `local a = 0 for i = 1, 1e9 do a = a + i end`},
	{"large indexes", `local t = {} t[4194302] = 1`},
	{"large indexes again", `local t = {} t[4194302] = 1 t[4194302] = nil local n = #t`},
	{"doubling", `local s = "x" for i = 1, 40 do s = s .. s end`},
	{"repeating", `local s = rep("x", 2^29)`},
	{"replacing", `local s = rep("x", 1e5):gsub("x", rep("y", 1e4))`},
	{"formatting", `local s = rep("x", 1e7) s = string.format("%s%s%s%s%s%s%s%s", s, s, s, s, s, s, s, s)`},
	{"joining", `local s, t = rep("x", 1e6), {} for i = 1, 200 do t[i] = s end s = table.concat(t)`},
	{"comparing", `local s = rep("x", 1e7) local a, b = s .. "a", s .. "b" for i = 1, 1e9 do local c = a < b end`},
	{"searching", `local s = rep("x", 1e7) for i = 1, 1e9 do s:find("y", 1, true) end`},
	{"backtracking", `rep("a", 40):find(rep("a?", 40) .. rep("a", 40))`},
	{"sets", `rep("b", 1e5):find("[" .. rep("a", 1e5) .. "]")`},
	{"numerals", `local s = rep("0", 1e7) local n = s + 1`},
	{"unpacking", `local t = {} for i = 1, 7000 do t[i] = i end for i = 1, 1e9 do select("#", unpack(t)) end`},
	{"sorting", `local t = {} for i = 1, 1e5 do t[i] = -i end table.sort(t) table.sort(t, function() return true end)`},
	{"errors", `pcall(error, rep("x", 1e6))`},
	{"recursion", `local function f() return 1 + f() end pcall(f)`},
	{"compiling", `loadstring(rep("x = {} ", 1e5))`},
	{"host buffers", `npu.host("int8", 2^25, {pinned = false}):fill(1)`},
	{"queued work", `local c = npu.device(0).context local s, x = c:create_stream(), c:alloc("float32", 1e6) for i = 1, 1e9 do s:fill(x, i % 100) end`},
	{"products", `local c = npu.device(0).context local s, x = c:create_stream(), c:alloc("float32", 1e6) npu.ops.matmul(s, c:alloc("float32", 1e6), x, x, 1000, 1000, 1000) s:synchronize()`},
	{"garbage", `for i = 1, 1e9 do local t = {{}, {}, {}} end`},
	{"collections", `collectgarbage()`},
}

// hostileScripts are one of a kind.
var hostileScripts = []hostile{
	{name: "a hundred workers with large tables", code: `for i = 1, 100 do npu.worker(function() while true do local t = {} t[4194302] = 1 end end) end`},
	{name: "a hundred workers with large tables in the default sandbox", code: `for i = 1, 100 do npu.worker(function() while true do local t = {} t[4194302] = 1 end end) end`, flags: []string{"--sandbox-memory=512M", "--sandbox-instructions=1e9"}},
	{name: "a hundred workers with long strings", code: `for i = 1, 100 do npu.worker(function() while true do local s = ("x"):rep(4e7) end end) end`},
	{name: "workers without end", code: `while true do pcall(npu.worker, function() while true do end end) end`},
	{name: "workers that start workers", code: `local function f() while true do pcall(npu.worker, loadstring("while true do end")) end end npu.worker(f) f()`},
	{name: "tasks without end", code: `while true do npu.spawn(npu.sleep, 1) end`},
	{name: "tasks that start tasks", code: `local function f() npu.spawn(f) npu.spawn(f) end f()`},
	{name: "tasks that join tasks", code: `local function f() local t = npu.spawn(f) return t:join() end print(pcall(f))`},
	{name: "coroutines in coroutines", code: `local function f() return coroutine.wrap(f)() end while true do pcall(f) end`},
	{name: "protected calls in protected calls", code: `local function f() return pcall(f) end while true do f() end`},
	{name: "errors in message handlers", code: `local function h() error("x") end while true do xpcall(error, h) end`},
	{name: "message handlers that recurse", code: `local function h(e) return xpcall(error, h) end while true do xpcall(error, h) end`},
	{name: "errors while errors are shown", code: `error(setmetatable({}, {__tostring = function() error(setmetatable({}, {__tostring = function() while true do end end})) end}))`},
	{name: "tostring that recurses", code: `local t = setmetatable({}, {__tostring = tostring}) while true do pcall(tostring, t) end`},
	{name: "metatables in a circle", code: `local t = setmetatable({}, {}) getmetatable(t).__index = t while true do pcall(function() return t.x end) end`},
	{name: "comparisons that never agree", code: `local t = {} for i = 1, 1e5 do t[i] = i end while true do pcall(table.sort, t, function() return math.random() < 0.5 end) end`},
	{name: "varargs that grow", code: `local function f(...) return f(1, 2, 3, ...) end while true do pcall(f) end`},
	{name: "string keys", code: `local t = {} for i = 1, 1e9 do t[rep("k", 1000) .. i] = true end`},
	{name: "string keys that go", code: `local t = {} for i = 1, 1e9 do local k = rep("k", 1000) .. i t[k] = true t[k] = nil end`},
	{name: "deep parentheses", code: `while true do loadstring(rep("(", 1e5)) end`},
	{name: "deep tables", code: `while true do loadstring("return " .. rep("{", 1e5) .. rep("}", 1e5)) end`},
	{name: "deep functions", code: `while true do loadstring(rep("function f() ", 5e4) .. rep("end ", 5e4)) end`},
	{name: "deep blocks", code: `while true do loadstring(rep("do ", 1e5) .. rep("end ", 1e5)) end`},
	{name: "long chains", code: `while true do loadstring("return 1" .. rep(" + 1", 9000)) loadstring("return a" .. rep(".a", 9000)) end`},
	{name: "many names", code: `local t = {} for i = 1, 1e5 do t[i] = "x" .. i .. " = 1 " end local s = table.concat(t) while true do loadstring(s) end`},
	{name: "long literals", code: `while true do loadstring("return [==[" .. rep("x", 1e6) .. "]==]") end`},
	{name: "chunks in pieces", code: `while true do load(function() return rep("x = 1 ", 1000) end) end`},
	{name: "streams to exhaustion", code: `local t, c = {}, npu.device(0).context while true do pcall(function() t[#t + 1] = c:create_stream() end) end`},
	{name: "events to exhaustion", code: `local t, c = {}, npu.device(0).context while true do pcall(function() t[#t + 1] = c:create_event() end) end`},
	{name: "contexts to exhaustion", code: `local t = {} while true do pcall(function() t[#t + 1] = npu.device(0):create_context() end) end`},
	{name: "graphs", code: `local t, c = {}, npu.device(0).context local s, x = c:create_stream(), c:alloc("int8", 8) while true do t[#t + 1] = s:capture(function() for i = 1, 100 do s:fill(x, 0) end end) end`},
	{name: "replays", code: `local c = npu.device(0).context local s, x = c:create_stream(), c:alloc("int8", 1e6) local g = s:capture(function() for i = 1, 1000 do s:fill(x, 0) end end) while true do g:replay(s) end`},
	{name: "callbacks", code: `local s = npu.device(0).context:create_stream() while true do s:callback(function() end) end`},
	{name: "kernels in Lua", code: `local c = npu.device(0).context local s, k = c:create_stream(), npu.kernel{name = "k", signature = "int32 n", sim = function() local t = {} for i = 1, 1e6 do t[i] = {} end end} while true do s:launch(k, 65535, 1) end`},
	{name: "timers", code: `while true do npu.sleep(1e-9) end`},
	{name: "a long sleep", code: `npu.sleep(1e9)`, flags: []string{"--clock=wall"}},
	{name: "a long rest", code: `npu.busy(1e9)`, flags: []string{"--clock=wall"}},
	{name: "a channel that nobody empties", code: `local c = npu.channel(1e7) for i = 1, 1e9 do c:send(rep("x", 100) .. i) end`},
	{name: "a channel between workers", code: `local c = npu.channel(1e6) for i = 1, 4 do npu.worker(function() while true do c:send({rep("x", 1e5), {}}) end end) end`},
	{name: "a select of many", code: `local t = {} for i = 1, 1e4 do t[i] = npu.channel(0) end while true do npu.try_select(t) end`},
	{name: "faults", code: `for i = 1, 1e9 do npu.sim.fault{op = "copy", nth = i, code = 507054} end`},
	{name: "a flood of output", code: `while true do print(rep("x", 1000)) end`},
	{name: "a flood of empty lines", code: `while true do print() end`},
	{name: "a flood of messages", code: `while true do io.stderr:write(rep("x", 1000)) end`},
	{name: "a flood of workers", code: `for i = 1, 8 do npu.worker(function() while true do print(i, ("x"):rep(1000)) end end) end`},
	{name: "a long line", code: `while true do io.write(rep("x", 1e5)) end`},
	{name: "a large file", code: `local f = io.open("big", "w") while true do f:write(rep("x", 1e5)) end`},
	{name: "many files", code: `for i = 1, 1e9 do io.open("f" .. i, "w"):close() end`},
	{name: "many open files", code: `local t = {} for i = 1, 1e9 do t[i] = io.open("f" .. i, "w") end`},
	{name: "a file with a hole", code: `local f = io.open("hole", "w") f:seek("set", 2^40) f:write("x") f:close() while true do pcall(function() return #io.open("hole"):read("*a") end) end`},
	{name: "lines of a file with a hole", code: `local f = io.open("hole", "w") f:seek("set", 2^40) f:write("x") f:close() for l in io.lines("hole") do end`},
	{name: "fs.read of a file with a hole", code: `local f = io.open("hole", "w") f:seek("set", 2^29) f:write("x") f:close() while true do pcall(require("fs").read, "hole") end`},
	{name: "an array with a hole", code: `local f = io.open("s.npy", "wb") local h = "{'descr': '<f4', 'fortran_order': False, 'shape': (100000000,), }\n" f:write("\147NUMPY\1\0" .. string.char(#h, 0) .. h) f:seek("cur", 4e8 - 1) f:write("x") f:close() while true do print(pcall(npu.load_npy, "s.npy", {pinned = false})) end`},
	{name: "folders", code: `local fs = require "fs" for i = 1, 1e9 do fs.mkdir("d" .. i) end`},
	{name: "lists of folders", code: `local fs = require "fs" for i = 1, 200 do io.open("f" .. i, "w"):close() end while true do fs.list(".") end`},
	{name: "temporary files", code: `while true do io.tmpfile() end`},
	{name: "arrays in files", code: `local h = npu.host("int8", 1e5, {pinned = false}) while true do h:save_npy("a.npy") npu.load_npy("a.npy", {pinned = false}) end`},
	{name: "a log", code: `local log = require "log" for i = 1, 1e9 do log.error(rep("x", 100), {a = i}) end`},
	{name: "metrics", code: `local g = require("metrics").gauge("a", "b", {labels = {"x"}}) for i = 1, 1e9 do g:set(1, {x = i .. rep("y", 100)}) end`},
	{name: "tests", code: `local check = require "check" for i = 1, 1e9 do check.test("t" .. i, function(t) t:expect(false, rep("x", 1000)) end) end`},
	{name: "a wide table", code: `local row = {} for i = 1, 1e4 do row[i] = rep("x", 1000) end while true do pcall(require("tabulate").format, {row}, {max_width = 80}) end`},
	{name: "deep JSON", code: `local json = require "json" while true do pcall(json.decode, rep("[", 1e6)) end`},
	{name: "wide JSON", code: `local json, s = require "json", "[" .. rep("[],", 1e5) .. "[]]" local t = {} for i = 1, 1e9 do t[i] = json.decode(s) end`},
	{name: "bars", code: `local bar = require("progress") while true do pcall(bar.new, {total = 1e9}) pcall(bar.bar, 1e9) end`},
	{name: "programs", code: `while true do pcall(os.execute, "sleep 100") pcall(io.popen, "sleep 100") pcall(require, "exec") pcall(require, "http") end`},
	{name: "ends that race", code: `for i = 1, 8 do npu.worker(function() os.exit(3) end) end while true do os.exit(3) end`, statuses: []int{3}},
	{name: "an end in a callback", code: `local s = npu.device(0).context:create_stream() s:callback(function() os.exit(3) end) s:synchronize() while true do end`, statuses: []int{3}},
	{name: "an end while others take memory", code: `for i = 1, 8 do npu.worker(function() local t = {} while true do t[#t + 1] = {} end end) end npu.sleep(1) os.exit(3)`, statuses: []int{3}},
	{name: "a scope that does not end", code: `npu.scope(function() while true do npu.host("int8", 1e4, {pinned = false}) end end)`},
	{name: "environments", code: `local f = function() end for i = 1, 1e9 do setfenv(f, {rep("x", 1000) .. i, getfenv(f)}) end`},
	{name: "modules", code: `for i = 1, 1e9 do package.preload["m" .. i] = function() return rep("x", 1000) .. i end require("m" .. i) end`},
	{name: "dates", code: `local s = rep("%c", 1e5) while true do os.date(s) end`},
	{name: "removals from the front", code: `local t = {} for i = 1, 1e6 do t[i] = i end while true do table.remove(t, 1) table.insert(t, 1, 1) end`},
	{name: "holes", code: `local t = {} for i = 1, 1e5 do t["k" .. i] = 1 end for i = 1, 1e5 do t["k" .. i] = nil end while true do next(t) end`},
	{name: "a giant message", code: `error(rep("x", 4e7))`},
	{name: "a giant object as an error", code: `local t = {} for i = 1, 1e5 do t[i] = {} end error(t)`},
}

// hostileAll is every script: values in places, loops in places, and those of a kind of their own.
func hostileAll() []hostile {
	list := slices.Clone(hostileScripts)
	for i, v := range hostileValues {
		for j := range 3 { // each value in three of the places, and in three ways to keep it
			place, sink := hostilePlaces[(i+3*j)%len(hostilePlaces)], hostileSinks[(i+j)%len(hostileSinks)]
			body := strings.ReplaceAll(sink, "VALUE", v.value)
			list = append(list, hostile{name: fmt.Sprintf("%s in %s %d", v.name, place.name, j), code: strings.ReplaceAll(place.code, "BODY", body)})
		}
	}
	for i, l := range hostileLoops {
		for j := range 2 {
			place := hostilePlaces[(i+5*j)%len(hostilePlaces)]
			list = append(list, hostile{name: fmt.Sprintf("endless %s in %s", l.name, place.name), code: strings.ReplaceAll(place.code, "BODY", "while true do "+l.code+" end")})
		}
	}
	return list
}

// run runs a hostile script, and checks what --sandbox promises.
func (h hostile) run(t *testing.T) {
	dir := t.TempDir()
	script := filepath.Join(dir, "hostile.lua")
	if err := os.WriteFile(script, []byte("local loadstring, rep = loadstring, string.rep\n"+h.code), 0o644); err != nil {
		t.Fatal(err)
	}
	granted := filepath.Join(dir, "granted")
	if err := os.Mkdir(granted, 0o755); err != nil {
		t.Fatal(err)
	}
	memory := int64(hostileMemory)
	args := []string{"--backend=sim", "--sandbox=" + granted, fmt.Sprint("--sandbox-memory=", memory), "--sandbox-instructions=1e7", "--sandbox-output=1M", fmt.Sprint("--timeout=", hostileTime.Seconds())}
	for _, flag := range h.flags {
		if flag == "--sandbox-memory=512M" {
			memory = 512 << 20
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), hostileTime+promisedEnd+busyMargin)
	defer cancel()
	cmd := exec.CommandContext(ctx, binary, append(append(args, h.flags...), script)...)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err := cmd.Run()
	text := out.String()
	if len(text) > 3000 {
		text = text[:1500] + " ... " + text[len(text)-1500:]
	}
	if ctx.Err() != nil {
		t.Fatalf("it did not end\n%s", text)
	}
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	status := cmd.ProcessState.ExitCode()
	if !slices.Contains(append([]int{statusOK, statusError, statusTimeout, statusLimit, 4}, h.statuses...), status) {
		t.Errorf("exit status %d\n%s", status, text)
	}
	for _, bad := range []string{"panic:", "fatal error", "goroutine ", "runtime error", "internal error", "a defect"} {
		if strings.Contains(out.String(), bad) {
			t.Errorf("%q is in the output:\n%s", bad, text)
		}
	}
	if all := out.String(); status == statusTimeout && !strings.Contains(all, "timeout") || status == statusLimit && !strings.Contains(all, "sandbox") {
		t.Errorf("status %d, and the output does not say why:\n%s", status, text)
	}
	if used := cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime(); used > time.Duration(runtime.NumCPU())*(hostileTime+promisedEnd) {
		t.Errorf("it took %v of the processors' time\n%s", used, text)
	}
	if runtime.GOOS == "linux" {
		if most := cmd.ProcessState.SysUsage().(*syscall.Rusage).Maxrss << 10; most > memory+promisedSlack {
			t.Errorf("it had %d MiB of memory, at most %d are promised\n%s", most>>20, (memory+promisedSlack)>>20, text)
		}
	}
}

// TestSandboxHostile runs more than 200 scripts that take memory and time in every way that there is.
func TestSandboxHostile(t *testing.T) {
	if raceEnabled {
		t.Skip("memory is measured without the race detector, which takes some of its own")
	}
	all := hostileAll()
	if len(all) < 200 {
		t.Errorf("%d scripts: some are missing", len(all))
	}
	names := make(map[string]bool)
	for _, h := range all {
		if names[h.name] {
			t.Errorf("two scripts are called %q", h.name)
		}
		names[h.name] = true
		t.Run(h.name, func(t *testing.T) {
			t.Parallel()
			h.run(t)
		})
	}
}
