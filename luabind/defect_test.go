package luabind

import (
	"errors"
	"strings"
	"testing"

	lua "github.com/yuin/gopher-lua"

	"npulua/npu"
)

// broken is a function of ours with a defect.
func broken(*lua.LState) int {
	var c *call
	return c.nret
}

// waysToDefect are scripts that have broken called in every way in which Lua comes to a function of ours, and would
// go on if they could.
var waysToDefect = map[string]string{
	"call":                          `broken()`,
	"tail call":                     `do return broken() end`,
	"pcall":                         `pcall(broken)`,
	"pcall of a function":           `pcall(function() broken() end)`,
	"pcall in pcall":                `pcall(pcall, pcall, broken)`,
	"xpcall":                        `xpcall(broken, went)`,
	"xpcall of a function":          `xpcall(function() broken() end, went)`,
	"message handler":               `xpcall(error, broken)`,
	"coroutine.resume":              `coroutine.resume(coroutine.create(function() broken() end))`,
	"coroutine.wrap":                `pcall(coroutine.wrap(function() broken() end))`,
	"after a yield":                 `local f = coroutine.wrap(function() coroutine.yield() broken() end) f() pcall(f)`,
	"pcall in a coroutine":          `local f = coroutine.wrap(function() pcall(function() coroutine.yield() broken() end) went() end) f() f()`,
	"__index":                       `pcall(function() return setmetatable({}, {__index = broken}).x end)`,
	"__newindex":                    `pcall(function() setmetatable({}, {__newindex = broken}).x = 1 end)`,
	"__call":                        `pcall(setmetatable({}, {__call = broken}))`,
	"__call of the virtual machine": `pcall(function() setmetatable({}, {__call = broken})() end)`,
	"__add":                         `pcall(function() return setmetatable({}, {__add = broken}) + 1 end)`,
	"__add of the second":           `pcall(function() return nil + setmetatable({}, {__add = broken}) end)`,
	"__mod":                         `pcall(function() return setmetatable({}, {__mod = broken}) % 1 end)`,
	"__pow":                         `pcall(function() return 2 ^ setmetatable({}, {__pow = broken}) end)`,
	"__unm":                         `pcall(function() return -setmetatable({}, {__unm = broken}) end)`,
	"__concat":                      `pcall(function() return setmetatable({}, {__concat = broken}) .. "x" end)`,
	"__len":                         `pcall(function() return #setmetatable(newproxy and newproxy(true) or {}, {__len = broken}) end) broken()`,
	"__eq":                          `local mt = {__eq = broken} pcall(function() return setmetatable({}, mt) == setmetatable({}, mt) end)`,
	"__lt":                          `local mt = {__lt = broken} pcall(function() return setmetatable({}, mt) < setmetatable({}, mt) end)`,
	"__le":                          `local mt = {__le = broken} pcall(function() return setmetatable({}, mt) <= setmetatable({}, mt) end)`,
	"__tostring":                    `pcall(tostring, setmetatable({}, {__tostring = broken}))`,
	"__tostring in print":           `pcall(print, setmetatable({}, {__tostring = broken}))`,
	"__tostring of an error":        `error(setmetatable({}, {__tostring = broken}))`,
	"iterator":                      `pcall(function() for x in broken do went() end end)`,
	"table.sort":                    `pcall(table.sort, {3, 2, 1}, broken)`,
	"string.gsub":                   `pcall(string.gsub, "abc", ".", broken)`,
	"string.gsub with a table":      `pcall(string.gsub, "abc", ".", setmetatable({}, {__index = broken}))`,
	"string.gmatch":                 `pcall(function() for c in ("abc"):gmatch(".") do broken() end end)`,
	"table.foreach":                 `pcall(table.foreach, {1}, broken)`,
	"load":                          `pcall(load, broken)`,
	"loadstring":                    `pcall(loadstring "broken()")`,
	"require":                       `package.preload.x = broken pcall(require, "x")`,
	"loader of require":             `table.insert(package.loaders, 1, broken) pcall(require, "x")`,
	"setfenv":                       `pcall(setfenv(function() x() end, {x = broken}))`,
	"task":                          `local t = npu.spawn(broken) pcall(t.join, t)`,
	"task of a function":            `npu.spawn(function() pcall(broken) went() end) npu.sleep(1)`,
	"task that nobody joins":        `npu.spawn(broken) npu.sleep(1)`,
	"npu.join":                      `pcall(npu.join, {npu.spawn(broken)})`,
	"npu.scope":                     `pcall(npu.scope, broken)`,
	"ctx:use":                       `local x = npu.device(0).context pcall(x.use, x, broken)`,
	"stream:capture":                `local s = npu.device(0).context:create_stream() pcall(s.capture, s, broken)`,
	"stream:callback":               `local s = npu.device(0).context:create_stream() s:callback(broken) pcall(s.synchronize, s)`,
	"stream:callback, not blocking": `local s = npu.device(0).context:create_stream() s:callback(broken, {blocking = false}) pcall(s.synchronize, s)`,
	"callback of a function":        `local s = npu.device(0).context:create_stream() s:callback(function() pcall(broken) went() end) pcall(s.synchronize, s)`,
	"kernel": `local c = npu.device(0).context local s, x = c:create_stream(), c:alloc("float32", 1)
		s:launch(npu.kernel{name = "k", signature = "out float32* x", sim = broken}, 1, x) pcall(s.synchronize, s)`,
	"kernel with pcall": `local c = npu.device(0).context local s, x = c:create_stream(), c:alloc("float32", 1)
		s:launch(npu.kernel{name = "k", signature = "out float32* x", sim = function() pcall(broken) went() end}, 1, x) pcall(s.synchronize, s)`,
	"buffer:set": `local h = npu.host("float32", 4, {pinned = false}) pcall(h.set, h, broken)`,
	"npu.on_exception": `local c = npu.device(0).context local s, x = c:create_stream(), c:alloc("float32", 1)
		npu.on_exception(broken) s:launch(npu.kernel "relu", 1, x, x, 1000) pcall(s.synchronize, s)`,
	"check.test":               `local check = require "check" check.test("x", broken)`,
	"test with pcall":          `local check = require "check" check.test("x", function(t) pcall(broken) went() end)`,
	"trial:try":                `local check = require "check" check.test("x", function(t) t:try(broken) went() end)`,
	"tabulate":                 `pcall(require "tabulate".format, {{x = setmetatable({}, {__tostring = broken})}}) broken()`,
	"worker":                   `local w = npu.worker(function() broken() end) pcall(w.join, w)`,
	"pcall in a worker":        `local w = npu.worker(function() pcall(broken) went() end) pcall(w.join, w)`,
	"worker that nobody joins": `npu.worker(function() pcall(broken) went() end) npu.sleep(1) while true do end`,
	"task in a worker":         `local w = npu.worker(function() local t = npu.spawn(broken) pcall(t.join, t) went() end) pcall(w.join, w)`,
	"debug.sethook":            `pcall(debug.getinfo, broken) broken()`,
}

// A defect of ours ends the script however it is reached, and nothing of the script runs after it.
func TestDefectsEndTheScript(t *testing.T) {
	for name, code := range waysToDefect {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			in := openSim(t, t.Context())
			went := false
			prepare := func(m *Interp) {
				m.L.SetGlobal("broken", m.L.NewFunction(broken))
				m.L.SetGlobal("went", m.L.NewFunction(func(*lua.LState) int { went = true; return 0 }))
			}
			prepare(in)
			in.open = func(m *Interp) { // of workers
				m.openMachine()
				prepare(m)
			}
			err := in.RunString(code+" went()", "test")
			if err == nil {
				err = in.Finish()
			}
			text := ""
			if err != nil {
				text = in.FormatError(err)
			}
			err = errors.Join(err, in.Close(false))
			var p *npu.PanicError
			if !errors.As(err, &p) || !strings.Contains(string(p.Stack), "luabind.broken") {
				t.Errorf("got %v\n%s", err, text)
			}
			if went {
				t.Error("the script went on")
			}
		})
	}
}
