package tests

// sandboxLua try to get at what lies behind Lua: other functions, metatables, compiled code, the host.
var sandboxLua = []attempt{
	{name: "debug is traceback and getinfo", code: `local n = {} for k in pairs(debug) do n[#n + 1] = k end table.sort(n) print(table.concat(n, " "))`, want: "getinfo traceback"},
	{name: "debug.getregistry", code: `print(debug.getregistry, debug.getupvalue, debug.setupvalue, debug.sethook, debug.setmetatable, debug.getlocal)`, want: "nil\tnil\tnil\tnil\tnil\tnil"},
	{name: "debug through package.loaded", code: `print(package.loaded.debug.getmetatable, package.loaded.debug == debug)`, want: "nil\ttrue"},
	{name: "debug in a worker", code: `print(npu.worker(function() return tostring(debug.getupvalue) .. tostring(debug.setfenv) end):join())`, want: "nilnil"},
	{name: "debug.getinfo gives no function", code: `print(debug.getinfo(1).func, debug.getinfo(print, "f").func, debug.getinfo(1, "l").currentline)`, want: "nil\tnil\t"},
	{name: "debug.getinfo with bad levels", code: `for _, l in ipairs{-1, 0, 1e9, 0/0, 1/0, -1/0, 2^31} do pcall(debug.getinfo, l) pcall(debug.traceback, "x", l) end
		for _, w in ipairs{">", ">>f", "\0", "zzz", rep("f", 1e5)} do pcall(debug.getinfo, 1, w) pcall(debug.getinfo, print, w) end print("on")`, want: "on"},
	{name: "debug.traceback of odd values", code: `pcall(debug.traceback, io.stdout) pcall(debug.traceback, coroutine.create(function() end), {}, {}) pcall(debug.traceback, nil, nil, 1e308) print("on")`, want: "on"},
	{name: "metatable of strings", code: `print(getmetatable(""), try(setmetatable, "", {}))`, want: "string\t"},
	{name: "metatable of strings cannot be indexed", code: `print(try(function() getmetatable("").__index = nil end))`, want: "string"},
	{name: "poisoned string functions", code: `for k in pairs(string) do string[k] = function() return "poison" end end table.concat = nil tostring = nil error({})`, want: "error object is a table value", status: statusError},
	{name: "poisoned globals", code: `for k in pairs(_G) do if k ~= "_G" then _G[k] = nil end end local x = nil + 1`, want: "arithmetic", status: statusError},
	{name: "globals with a metatable", code: `setmetatable(_G, {__index = function() while true do end end}) print(pcall(require, "beside")) nothing()`, status: statusLimit},
	{name: "metatable of files", code: `print(getmetatable(io.stdout), try(function() return io.stdout.__index end))`, want: "FILE*\tnothing"},
	{name: "methods of files on other values", code: `for _, v in ipairs{newproxy(true), pcall(newproxy, io.stdout), {}, 1, "x", print} do for _, m in ipairs{"write", "read", "close", "lines", "seek", "setvbuf", "flush"} do
		local ok, e = pcall(io.stdout[m], v) assert(not ok, m) end end print("refused")`, want: "refused"},
	{name: "metatables of handles", code: `local c = npu.device(0).context for _, h in ipairs{npu.device(0), c, c:create_stream(), c:create_event(), c:alloc("int8", 1), npu.kernel "cast", npu.channel(1)} do
		assert(type(getmetatable(h)) == "string") assert(not pcall(setmetatable, h, {})) assert(not pcall(rawset, h, 1, 1)) end print("protected")`, want: "protected"},
	{name: "methods of handles on other values", code: `local c = npu.device(0).context local s, b = c:create_stream(), c:alloc("int8", 1)
		for _, v in ipairs{newproxy(true), pcall(newproxy, s), pcall(newproxy, b), b, {}, 1, "x", io.stdout} do for _, m in ipairs{"synchronize", "copy", "launch", "close", "fill"} do assert(not pcall(s[m], v, v, v)) end end print("refused")`, want: "refused"},
	{name: "metatable of errors", code: `local _, e = pcall(npu.device, 99) print(getmetatable(e), try(setmetatable, e, {}))`, want: "npu.error"},
	{name: "bent error objects", code: `local _, e = pcall(npu.device, 99) for k in pairs(e) do e[k] = {} end print(pcall(tostring, e)) error(e)`, status: statusError},
	{name: "error objects with cycles", code: `local _, e = pcall(npu.device, 99) e.cause, e.also, e.report, e.affected = e, {e}, {e}, {e, 1, print} pcall(tostring, e) error(e)`, status: statusError},
	{name: "error with a __tostring that never ends", code: `error(setmetatable({}, {__tostring = function() while true do end end}))`, status: statusLimit},
	{name: "error with a __tostring that fails", code: `error(setmetatable({}, {__tostring = function(t) error(t) end}))`, status: statusError},
	{name: "string.dump", code: `print(try(string.dump, function() end), try(string.dump, print))`, want: "unable to dump"},
	{name: "load a precompiled chunk", code: `print(loadstring("\27Lua\81\0\1\4\8\4\8\0" .. rep("\255", 100), "=chunk"))`, want: "precompiled chunks cannot be loaded"},
	{name: "load a precompiled chunk in pieces", code: `local p = {"\27", "Lua", "Q\0\1"} print(load(function() return table.remove(p, 1) end, "=chunk"))`, want: "precompiled chunks cannot be loaded"},
	{name: "load a precompiled chunk behind a comment", code: `print(loadstring("#\n\27LuaQ"), loadstring("\239\187\191\27LuaQ"))`, want: "nil"},
	{name: "loaded code is in the sandbox", code: `print(loadstring("return (select(2, io.open('OUT/secret.txt')))")())`, want: onlyFilesText},
	{name: "loaded code has the same limits", code: `loadstring("while true do end")()`, status: statusLimit},
	{name: "names of rewritten code", code: `local n = 0 for k in pairs(_G) do if tostring(k):find("%z") then n = n + 1 end end print(n, loadstring("return \0concat")) print(pcall(loadstring("return " .. rep("(", 300))))`, want: "0\t"},
	{name: "getfenv of library functions", code: `print(getfenv(print) == _G, getfenv(pcall) == _G, getfenv(coroutine.yield) == _G, getfenv(0) == _G, pcall(getfenv, 50))`, want: "true\ttrue\ttrue\ttrue\tfalse"},
	{name: "setfenv of library functions", code: `print(try(setfenv, print, {}), try(setfenv, io.open, {})) pcall(setfenv, pcall, {}) print(pcall(error, "still"))`, want: "still"},
	{name: "setfenv of the thread", code: `setfenv(0, {}) local t = coroutine.wrap(function() return 1 end) print(t()) print(pcall(require, "beside")) print(npu.device_count())`, want: "1"},
	{name: "setfenv of callers", code: `local pcall, setfenv = pcall, setfenv for l = 1, 20 do pcall(setfenv, l, {}) end`},
	{name: "module and package.seeall", code: `module("m", package.seeall) print(io.open("OUT/secret.txt"))`, want: onlyFilesText},
	{name: "package removed", code: `package = nil local ok, e = pcall(require, "x") print(e)`, want: "not found"},
	{name: "package.loaded removed", code: `package.loaded = nil print(pcall(require, "x"))`, want: "false"},
	{name: "package.loaders that are none", code: `package.loaders = {1, {}, io.stdout} print(pcall(require, "x"))`, want: "false"},
	{name: "newproxy has no finalizer", code: `local p = newproxy(true) getmetatable(p).__gc = function() print("ESC" .. "APED") end p = nil collectgarbage() print("on")`, want: "on"},
	{name: "collectgarbage options", code: `for _, o in ipairs{"stop", "restart", "setpause", "setstepmul", "step", "count", "generational"} do pcall(collectgarbage, o, 2^31) end print("on")`, want: "on"},
	{name: "the binary's own channels", code: `print(channel, _printregs, package.loaded.channel)`, want: "nil\tnil\tnil"},
	{name: "hidden chunks", code: `print(pcall(loadstring("return npu.device(0)", "=[protect]"))) print(pcall(loadstring("npu.device(99)", "=[protect]")))`, want: "false\t"},
	{name: "coroutines share the sandbox", code: `print(coroutine.wrap(function() return select(2, io.open("OUT/secret.txt")) end)())`, want: onlyFilesText},
	{name: "yield from everywhere", code: `local y = coroutine.yield
		for _, f in ipairs{function() table.sort({1, 2, 3}, y) end, function() ("x"):gsub(".", y) end, function() npu.scope(y) end, function() require("beside", y()) end,
			function() for _ in y do end end, function() return setmetatable({}, {__index = y}).x end, function() return tostring(setmetatable({}, {__tostring = y})) end} do
			local co = coroutine.create(f) for _ = 1, 4 do coroutine.resume(co, 1) end end print("on")`, want: "on"},
	{name: "threads of others", code: `local main = coroutine.running() local co co = coroutine.create(function() return coroutine.resume(co) end) print(coroutine.resume(co)) print(coroutine.status(co))`, want: "dead"},
	{name: "channels carry no functions out", code: `local c, x = npu.channel(1), 1 local w = npu.worker(function() c:send(function() return x end) end) print(pcall(w.join, w))`, want: "false"},
	{name: "a worker's built-ins are confined", code: `print(npu.worker(function(f) return select(2, f("OUT/secret.txt")) end, io.open):join())`, want: onlyFilesText},
	{name: "kernels in Lua are confined", code: `local s = npu.device(0).context:create_stream() s:launch(npu.kernel{name = "k", signature = "int32 n", sim = function() print(io.open("OUT/secret.txt")) end}, 1, 1) s:synchronize()`, want: onlyFilesText},
	{name: "exception handlers are confined", code: `npu.on_exception(function() print(io.popen("env")) end) local s = npu.device(0).context:create_stream()
		s:launch(npu.kernel{name = "k", signature = "int32 n", sim = function() error("x") end}, 1, 1) print(pcall(s.synchronize, s))`, want: "starts no programs"},
	{name: "control characters stay in a pipe", code: `print("a\27[31mb")`, want: "a\x1b[31mb"},
}
