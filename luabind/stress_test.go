package luabind_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"
	"time"

	"npulua/luabind"
	"npulua/npu"
)

// stress is a script of 200 tasks that use everything at once, by dice of a seed.
const stress = `
local seed, tasks, contexts = ...
local state = seed
local function dice(n) state = (state * 16807) % 2147483647 return state % n + 1 end
local function chance(percent) return dice(100) <= percent end

local ctxs, chans, live, counts = {}, {}, {}, {}
for i = 1, contexts do ctxs[i] = npu.device((i - 1) % npu.device_count()):create_context() end
for i = 1, 8 do chans[i] = npu.channel(i % 4) end
local function count(what) counts[what] = (counts[what] or 0) + 1 end
local function log(...) print(("%.9f"):format(npu.time()), ...) end

-- failed notes an error: its code, or the text of one of ours.
local function failed(what, e)
	count(what .. " " .. tostring(type(e) == "table" and e.code or e))
end
local spin, add = npu.kernel "spin", npu.kernel "vector_add"

local function work(id)
	npu.scope(function()
		local ctx = ctxs[dice(#ctxs)]
		ctx:set_current()
		if chance(20) then ctx = npu.device(ctx.device.id):create_context() end
		local s, t, e = ctx:create_stream(), ctx:create_stream(), ctx:create_event()
		local x, h = ctx:alloc("float32", 64), npu.host("float32", 64)
		for round = 1, dice(4) do
			s:fill(x, dice(9))
			s:launch(spin, 1, dice(50) / 10000)
			s:record(e)
			t:wait(e)
			t:launch(add, 1, x, x, x, 64)
			t:copy(h, x)
			if chance(20) then t:callback(function() count "callback" chans[1]:try_send(id) end) end
			if chance(10) then s:launch(add, 1, x, x, x, 65) end -- faults
			if chance(30) then s:synchronize(dice(100) / 10000) end
			if chance(50) then t:synchronize() elseif chance(50) then e:synchronize(dice(10) / 1000) end
			if chance(5) then error("boom " .. id, 0) end
		end
		if chance(30) then npu.spawn(function() npu.sleep(dice(10) / 1000) count "nested" end) end
		t:synchronize()
		count(("sum %g"):format(h:sum() / 64))
	end)
end

local acts = {
	function(id) npu.sleep(dice(30) / 1000) end,
	function(id) chans[dice(#chans)]:send(id, dice(20) / 1000) end,
	function(id) count(type(chans[dice(#chans)]:receive(dice(20) / 1000))) end,
	function(id) chans[dice(#chans)]:try_send(id) end,
	function(id) local v, ok = chans[dice(#chans)]:try_receive() count(tostring(ok)) end,
	function(id)
		local i = npu.select({chans[dice(#chans)], {send = chans[dice(#chans)], value = id}, live[dice(#live)]}, dice(20) / 1000)
		count("select " .. i)
	end,
	function(id) count("try_select " .. tostring((npu.try_select{chans[dice(#chans)], {send = chans[dice(#chans)], value = id}}))) end,
	function(id) if chance(30) then live[dice(#live)]:cancel() end end,
	function(id) local t = live[dice(#live)] if t.id < id then t:join(dice(20) / 1000) end end,
	function(id) for i = 1, dice(3000) do local _ = {i} end end,
	function(id) coroutine.wrap(function() npu.sleep(dice(5) / 1000) coroutine.yield() end)() end,
	function(id) if chance(5) then chans[dice(#chans)]:close() end end,
	work, work, work,
}

for id = 1, tasks do
	live[id] = npu.spawn(function()
		for _ = 1, dice(8) do
			local ok, e = pcall(acts[dice(#acts)], id)
			if not ok then failed("task", e) end
		end
		if chance(10) then error("end of " .. id, 0) end
		return id
	end)
end
if stop then stop() end
for id, t in ipairs(live) do
	local ok, e = pcall(t.join, t)
	count(t.status)
	if not ok then failed("join", e) elseif e ~= id then error("wrong result " .. tostring(e)) end
end
npu.sleep(1) -- the nested ones end
for _, c in ipairs(ctxs) do
	local ok, e = pcall(c.close, c)
	if not ok then failed("close", e) end
end
local keys = {}
for k in pairs(counts) do keys[#keys + 1] = k end
table.sort(keys)
for _, k in ipairs(keys) do print(k, counts[k]) end
local st = npu.stats()
for _, kind in ipairs{"context", "stream", "event", "device memory"} do print(kind, st.live[kind]) end
log("commands", st.commands, "waits", st.waits)
`

// outcome is what a run of a script left.
type outcome struct {
	out   string
	err   error
	close error
	leaks []npu.Leak
}

// run runs code on eight devices and closes.
func run(t *testing.T, ctx context.Context, code string, force bool) outcome {
	t.Helper()
	var out bytes.Buffer
	o := luabind.Options{Session: npu.Options{Backend: "sim", Sim: "910b:8"}, Stdout: &out, Stderr: io.Discard}
	in, err := luabind.Open(ctx, o)
	if err != nil {
		t.Fatal(err)
	}
	var res outcome
	done := make(chan struct{})
	go func() {
		defer close(done)
		res.err = in.RunString(code, "=stress")
		if res.err == nil {
			res.err = in.Finish()
		}
		res.leaks = in.Session().Leaks()
		_ = in.Flush()
		res.close = in.Close(force)
	}()
	select {
	case <-done:
	case <-time.After(60 * time.Second):
		buf := make([]byte, 1<<20)
		t.Fatalf("the script hangs\n%s", buf[:runtime.Stack(buf, true)])
	}
	res.out = out.String()
	return res
}

// noTasks fails where the goroutine of a task or an executor is left, after those that end have ended.
func noTasks(t *testing.T) {
	t.Helper()
	buf := make([]byte, 1<<20)
	for end := time.Now().Add(10 * time.Second); ; runtime.Gosched() {
		stacks := string(buf[:runtime.Stack(buf, true)])
		left := strings.Contains(stacks, "npu.(*Task).run") || strings.Contains(stacks, "executor.(*Executor).run") || strings.Contains(stacks, "iter.Pull")
		if !left {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("goroutines are left:\n%s", stacks)
		}
	}
}

func stressed(seed, tasks int) string {
	return fmt.Sprintf("local function stress(...) %s end stress(%d, %d, 20)", stress, seed, tasks)
}

// Two runs of a seed print the same; nothing is left of them.
func TestTasksUnderStress(t *testing.T) {
	for seed := 1; seed <= 6; seed++ {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			var first outcome
			for i := range 2 {
				got := run(t, t.Context(), stressed(seed*7919, 200), false)
				if got.err != nil {
					t.Fatal(got.err)
				}
				if len(got.leaks) != 0 {
					t.Errorf("left: %v", got.leaks)
				}
				if i == 0 {
					first = got
				} else if got.out != first.out {
					t.Errorf("another output:\n%s\nthan before:\n%s", got.out, first.out)
				}
				noTasks(t)
			}
			if testing.Verbose() {
				t.Log("\n" + first.out)
			}
		})
	}
}

// An interrupt in the middle ends all tasks.
func TestStressIsInterrupted(t *testing.T) {
	for _, after := range []time.Duration{0, time.Millisecond, 5 * time.Millisecond, 20 * time.Millisecond, 60 * time.Millisecond} {
		t.Run(fmt.Sprint("after ", after), func(t *testing.T) {
			why := errors.New("interrupted")
			ctx, cancel := context.WithCancelCause(t.Context())
			time.AfterFunc(after, func() { cancel(why) })
			got := run(t, ctx, stressed(4711, 200), true)
			if got.err == nil {
				t.Log("the script was faster")
			}
			noTasks(t)
		})
	}
}

// many is a script of n tasks that each have a context, a stream and buffers of their own.
const many = `
local n = ...
local add = npu.kernel "vector_add"
local tasks = {}
for i = 1, n do
	tasks[i] = npu.spawn(function()
		return npu.scope(function()
			local ctx = npu.device(i % npu.device_count()):create_context()
			local s = ctx:create_stream()
			local x, h = ctx:alloc("float32", 256), npu.host("float32", 256)
			s:fill(x, i)
			for _ = 1, 5 do
				s:launch(add, 1, x, x, x, 256)
				s:synchronize()
			end
			s:copy(h, x)
			s:synchronize()
			return h:sum()
		end)
	end)
end
for i, sum in ipairs{npu.join(tasks)} do
	if sum ~= 256 * 32 * i then error(("task %d: %g"):format(i, sum)) end
end
local st = npu.stats()
print(n, st.live.context, st.live.stream, st.live["device memory"])
`

func manyTasks(n int) string {
	return fmt.Sprintf("local function many(...) %s end many(%d)", many, n)
}

// A thousand tasks have a context, a stream and buffers each.
func TestThousandTasks(t *testing.T) {
	got := run(t, t.Context(), manyTasks(1000), false)
	if want := "1000\tnil\tnil\tnil\n"; got.err != nil || got.close != nil || got.out != want || len(got.leaks) != 0 {
		t.Errorf("%q, errors %v, %v, left %v, want %q", got.out, got.err, got.close, got.leaks, want)
	}
	noTasks(t)
}

func BenchmarkThousandTasks(b *testing.B) {
	for b.Loop() {
		in, err := luabind.Open(b.Context(), luabind.Options{Session: npu.Options{Backend: "sim", Sim: "910b:8"}, Stdout: io.Discard})
		if err != nil {
			b.Fatal(err)
		}
		if err := errors.Join(in.RunString(manyTasks(1000), "=many"), in.Close(false)); err != nil {
			b.Fatal(err)
		}
	}
}
