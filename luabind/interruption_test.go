package luabind

import (
	"context"
	"fmt"
	"testing"

	lua "github.com/yuin/gopher-lua"
)

// visited are scripts that call seen from everywhere, which is what can be noticed of them.
var visited = map[string]string{
	"statements":     `for i = 1, 3 do seen() end seen() local x = seen() and 1 seen(seen())`,
	"pcall":          `for i = 1, 3 do pcall(seen) pcall(function() seen() error "x" end) seen(pcall(pcall, seen)) end`,
	"xpcall":         `xpcall(seen, seen) xpcall(error, seen) xpcall(function() seen() error "x" end, function() seen() error "y" end) seen()`,
	"coroutines":     `local f = coroutine.wrap(function() for i = 1, 3 do seen() coroutine.yield() seen() end end) for i = 1, 3 do f() seen() end coroutine.resume(coroutine.create(function() pcall(seen) seen() end)) seen()`,
	"yield in pcall": `local f = coroutine.wrap(function() pcall(function() seen() coroutine.yield() seen() end) seen() end) f() seen() f() seen()`,
	"metamethods": `local mt = {} for _, e in ipairs{"__index", "__newindex", "__add", "__concat", "__eq", "__lt", "__le", "__unm", "__call", "__tostring", "__len", "__pow"} do mt[e] = function() seen() return 1 end end
		local a, b = setmetatable({}, mt), setmetatable({}, mt) local x = a.x, a + 1, a .. "x", a == b, a < b, a <= b, -a, a(), tostring(a), a ^ 2 a.y = 1 seen()`,
	"metamethods of Go": `local mt = {} for _, e in ipairs{"__index", "__newindex", "__add", "__concat", "__eq", "__lt", "__unm", "__call"} do mt[e] = seen end
		local a, b = setmetatable({}, mt), setmetatable({}, mt) pcall(function() local x = a.x, a + 1, a .. "x", a == b, a < b, -a, a() a.y = 1 end) seen()`,
	"libraries": `table.sort({3, 1, 2, 5, 4}, function(a, b) seen() return a < b end) table.sort({3, 1, 2}, seen) string.gsub("abc", ".", seen) string.gsub("abc", ".", function() pcall(seen) end)
		for x in seen do seen() end load(seen) table.foreach({1, 2}, seen) pcall(require, seen()) package.preload.m = seen require "m" seen()`,
	"tasks": `local function f(n) seen() if n > 0 then npu.spawn(f, n - 1):join() end pcall(npu.sleep, 0.1) seen() end
		npu.spawn(f, 2) local t = npu.spawn(seen) pcall(t.join, t) seen() npu.sleep(1) seen()`,
	"channels":  `local c = npu.channel(1) npu.spawn(function() for i = 1, 3 do seen() c:send(i) seen() end c:close() end) for v in c do seen() end seen()`,
	"blocks":    `local d = npu.device(0) local x, s = d.context, d.context:create_stream() npu.scope(function() seen() end) npu.scope(seen) x:use(seen) pcall(s.capture, s, function() seen() end) pcall(npu.host("int8", 4, {pinned = false}).set, npu.host("int8", 4, {pinned = false}), seen) seen()`,
	"callbacks": `local s = npu.device(0).context:create_stream() s:callback(function() pcall(seen) seen() end) s:callback(seen) pcall(s.synchronize, s) seen() s:callback(seen, {blocking = false}) pcall(s.synchronize, s) seen()`,
	"kernels": `local c = npu.device(0).context local s, x = c:create_stream(), c:alloc("float32", 1)
		s:launch(npu.kernel{name = "k", signature = "out float32* x", sim = function() seen() pcall(seen) seen() end}, 3, x) pcall(s.synchronize, s) seen()`,
	"exceptions": `local c = npu.device(0).context local s, x = c:create_stream(), c:alloc("float32", 1)
		npu.on_exception(function() seen() pcall(seen) end) for i = 1, 2 do s:launch(npu.kernel "relu", 1, x, x, 1000) pcall(s.synchronize, s) seen() end npu.on_exception(nil)`,
	"tests":   `local check = require "check" for i = 1, 2 do check.test("x" .. i, function(t) seen() t:try(seen) t:try(function() seen() npu.sleep(1) end) seen() end) seen() end`,
	"workers": `for i = 1, 2 do local w = npu.worker(function() seen() pcall(seen) seen() npu.sleep(1) seen() end) pcall(w.join, w) seen() end`,
}

// visit runs a script that ends from outside in the call of seen with the number at, and returns how often seen was
// called.
func visit(t *testing.T, code string, at int) (calls int) {
	ctx, interrupt := context.WithCancel(t.Context())
	defer interrupt()
	in := openSim(t, ctx)
	defer func() { _ = in.Close(true) }()
	prepare := func(m *Interp) {
		m.L.SetGlobal("seen", m.L.NewFunction(func(L *lua.LState) int {
			if calls++; calls == at {
				interrupt()
				<-in.ctx.Done() // as what is interrupted by the end
			}
			return 0
		}))
	}
	prepare(in)
	in.open = func(m *Interp) {
		m.openMachine()
		prepare(m)
	}
	err := in.RunString(code, "test")
	if err == nil {
		err = in.Finish()
	}
	in.Abandon()
	if at > 0 && err == nil && calls > at {
		t.Error("the script ended well")
	}
	if at == 0 && err != nil {
		t.Error(err)
	}
	return calls
}

// Wherever an interruption strikes, no other instruction of the script runs.
func TestNothingRunsAfterAnInterruption(t *testing.T) {
	for name, code := range visited {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			total := visit(t, code, 0)
			if total < 3 {
				t.Fatalf("%d calls in all", total)
			}
			for at := 1; at <= total; at++ {
				if calls := visit(t, code, at); calls != at {
					t.Errorf("interrupted in call %d of %d, and %s", at, total, fmt.Sprintf("%d more came", calls-at))
				}
			}
		})
	}
}
