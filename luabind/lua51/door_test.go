package lua51

import (
	"runtime"
	"strings"
	"syscall"
	"testing"

	lua "github.com/yuin/gopher-lua"
)

// openMachine makes a machine as the program does, as far as it runs Lua.
func openMachine(t *testing.T) (L *lua.LState, run func(code string) []lua.LValue) {
	t.Helper()
	L = lua.NewState(lua.Options{CallStackSize: 16000, RegistrySize: 4096, RegistryMaxSize: 1 << 20, RegistryGrowStep: 4096, MinimizeStackMemory: true})
	t.Cleanup(L.Close)
	threads := OpenThreads(L, NewEnding(t.Context()))
	linker := NewLinker(L)
	OpenBase(L, nil, nil)
	OpenString(L)
	OpenTable(L)
	return L, func(code string) []lua.LValue {
		t.Helper()
		proto, err := Compile([]byte(code), "test")
		if err != nil {
			t.Fatal(err)
		}
		linker.Link(proto)
		results, err := threads.Call(L, L.NewFunctionFromProto(proto))
		if err != nil {
			t.Fatal(err)
		}
		return results
	}
}

// Calls from Go into Lua nest as deep as in PUC Lua 5.1, whose answers these are, and end in an error.
func TestNesting(t *testing.T) {
	_, run := openMachine(t)
	for code, want := range map[string]string{
		`local function f() d = d + 1 local ok, e = pcall(f) if not ok then error(e, 0) end end return pcall(f)`:                           "C stack overflow",
		`local function f() d = d + 1 table.sort({1, 2, 3}, function() f() end) end return pcall(f)`:                                       "C stack overflow",
		`local t = setmetatable({}, {__index = function(t, k) d = d + 1 return t[k] end}) return pcall(function() return t.x end)`:         "test:1: C stack overflow",
		`local t t = setmetatable({}, {__tostring = function() d = d + 1 return tostring(t) end}) return pcall(tostring, t)`:               "C stack overflow",
		`local function f() d = d + 1 for x in f do return x end end return pcall(f)`:                                                      "test:1: C stack overflow",
		`local t t = setmetatable({}, {__concat = function() d = d + 1 return t .. "x" end}) return pcall(function() return t .. "x" end)`: "test:1: C stack overflow",
		`local function f() d = d + 1 return (string.gsub("a", "a", f)) end return pcall(f)`:                                               "C stack overflow",
	} {
		results := run(`d = 0 local function run(...) return d, ... end return run((function() ` + code + ` end)())`)
		if n := lua.LVAsNumber(results[0]); n < 196 || n > 197 || results[1] != lua.LFalse || results[2] != lua.LString(want) {
			t.Errorf("%s: %v, want 197 calls and %q", code, results, want)
		}
	}
}

// A message handler runs also where the stack is full, of frames or of calls from Go.
func TestHandlerOnFullStack(t *testing.T) {
	_, run := openMachine(t)
	for _, code := range []string{
		`local function f() return 1 + f() end return xpcall(f, h)`,
		`local t = setmetatable({}, {}) getmetatable(t).__index = function(t, k) return t[k] end return xpcall(function() return t.x end, h)`,
		`return coroutine.wrap(function() local function f() return 1 + f() end return xpcall(f, h) end)()`,
	} {
		results := run(`local function h(e) return (string.gsub(e, ".*stack overflow", "handled")) end ` + code)
		if len(results) != 2 || results[0] != lua.LFalse || results[1] != lua.LString("handled") {
			t.Errorf("%s: %v", code, results)
		}
	}
}

// What an error costs grows with the depth in which it is raised, not with its square, and what it takes of memory does
// not grow with the tail calls before it.
func TestCostOfErrors(t *testing.T) {
	_, run := openMachine(t)
	used := func() int64 {
		var u syscall.Rusage
		_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u)
		return u.Utime.Nano() + u.Stime.Nano()
	}
	run(`function f(n) if n == 0 then error("x") end return 1 + f(n - 1) end
		function g(n) if n == 0 then error("x") end return g(n - 1) end
		h = setmetatable({}, {__index = function(_, n) f(n) end})`)
	for _, code := range []string{
		`pcall(f, n)`, `xpcall(function() f(n) end, function(e) return e end)`, `coroutine.wrap(function() pcall(f, n) end)()`,
		`coroutine.resume(coroutine.create(f), n)`, `pcall(function() return h[n] end)`,
	} {
		cost := func(n string) int64 {
			best := int64(1) << 62
			for range 3 {
				before := used()
				run(`local n = ` + n + ` for i = 1, 3 do ` + code + ` end`)
				best = min(best, used()-before)
			}
			return best
		}
		cost("1000") // grows what is kept
		if low, high := cost("1000"), cost("15000"); high > 60*low+int64(60e6) {
			t.Errorf("%s: %d us at a depth of 1,000, %d us at 15,000", code, low/1000, high/1000)
		}
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	run(`pcall(g, 1e5) coroutine.resume(coroutine.create(g), 1e5)`)
	runtime.ReadMemStats(&after)
	if n := after.TotalAlloc - before.TotalAlloc; n > 8<<20 { // the numbers in the loop take 24 bytes a call
		t.Errorf("%d bytes for errors after 100,000 tail calls", n)
	}
}

// A traceback is bounded, whatever there is to show.
func TestTraceback(t *testing.T) {
	L, run := openMachine(t)
	L.SetGlobal("trace", L.NewFunction(func(L *lua.LState) int {
		L.Push(lua.LString(Traceback(L, 1)))
		return 1
	}))
	for code, want := range map[string]int{
		`return (trace())`: 3,
		`local function f(n) if n == 0 then return (trace()) end local s = f(n - 1) return s end return f(15000)`: 16,
		`local function f(n) if n == 0 then local s = trace() return s end return f(n - 1) end return f(1e6)`:     16,
		`local function f(n) if n == 0 then local s = trace() return s end return f(n - 1) end return (f(5))`:     9,
	} {
		text := run(code)[0].String()
		if n := strings.Count(text, "\n") + 1; n != want {
			t.Errorf("%s: %d lines, want %d\n%s", code, n, want, text)
		}
	}
}
