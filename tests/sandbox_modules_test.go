package tests

// sandboxModules try to get out through the modules of require.
var sandboxModules = []attempt{
	{name: "require exec", code: `print(try(require, "exec"))`, want: "starts no programs"},
	{name: "require exec through package.preload", code: `print(try(package.preload.exec, "exec")) print(package.loaded.exec)`, want: "starts no programs"},
	{name: "require exec in a worker", code: `print(npu.worker(function() return select(2, pcall(require, "exec")) end):join())`, want: "starts no programs"},
	{name: "require http", code: `print(try(require, "http"))`, want: "has no network"},
	{name: "require http in a task and a worker", code: `print(npu.spawn(function() return select(2, pcall(require, "http")) end):join(), npu.worker(function() return select(2, pcall(package.preload.http, "http")) end):join())`, want: "has no network"},
	{name: "log files outside", code: `local log = require "log" for _, p in ipairs{"OUT/a.log", "../outside/a.log", "link", "new", "folder/a.log", "pipe", "/dev/stderr", "hard.txt"} do local t = try(log.new, {file = p}) assert(t ~= "nothing", p) print(t) end`, want: onlyFilesText},
	{name: "a log file that becomes a link", code: `local log = require("log").new{file = "a.log"} log:info("one") os.rename("a.log", "b.log") os.rename("new", "a.log") print(pcall(log.info, log, "two")) os.rename("a.log", "new") os.rename("pipe", "a.log") print(pcall(log.info, log, "three"))`, want: "false"},
	{name: "log without files", code: `print(try(require("log").new, {file = "a.log"}))`, want: noFilesText, flags: noFiles},
	{name: "log writes no control characters", code: `require("log").info("a\27[31mb\nc")`, want: "a"},
	{name: "csv.rows outside", code: `local csv = require "csv" for _, p in ipairs{"OUT/secret.txt", "link", "folder/secret.txt", "pipe"} do print(try(csv.rows, p)) end`, want: onlyFilesText},
	{name: "csv without end", code: `local csv, t = require "csv", {} for i = 1, 1e9 do t[i] = csv.decode(rep("a,b,c\n", 1e4)) end`, status: statusLimit},
	{name: "time zones that are paths", code: `local time = require "time" for _, z in ipairs{"../../../../OUT/secret.txt", "OUT/secret.txt", "/etc/passwd", "../outside/secret.txt"} do local ok, e = pcall(time.format, 0, "%Z", {zone = z}) assert(not ok) print(e) end`, want: "zone"},
	{name: "time.sleep", code: `local t = require "time" for i = 1, 1e9 do t.sleep(1e-3) end`, status: statusTimeout, want: "timeout", flags: []string{"--sandbox", "--clock=wall", "--timeout=0.2"}},
	{name: "screens", code: `print(pcall(require("screen").open))`, want: "no terminal"},
	{name: "require a module of npulua's scripts", code: `for _, n in ipairs{"../OUT/secret", "../scripts/beside", "....OUT.secret"} do print(try(require, n)) end`, want: "not found"},
	{name: "a module of one's own called exec", code: `package.preload.exec = function() return {run = io.popen} end print(try(require("exec").run, "env"))`, want: "starts no programs"},

	{name: "fs without files", code: `local fs = require "fs" for _, f in ipairs{"read", "list", "stat", "exists", "mkdir", "remove", "absolute"} do print(f, try(fs[f], "own.txt")) end
		print(try(fs.write, "x", "y"), try(fs.append, "x", "y"), try(fs.copy, "a", "b"), try(fs.rename, "a", "b"), try(fs.tempdir))`, want: noFilesText, flags: noFiles},
	{name: "fs.read", code: `local fs = require "fs" for _, p in ipairs{"OUT/secret.txt", "../outside/secret.txt", "link", "abs", "folder/secret.txt", "sub/deep", "process/environ", "/proc/self/environ"} do
		local t = try(fs.read, p) assert(t:find("sandbox grants", 1, true), t) end print("refused")`, want: "refused"},
	{name: "fs.write", code: `local fs = require "fs" for _, p in ipairs{"OUT/new.txt", "../outside/new.txt", "link", "abs", "new", "folder/new.txt"} do for _, how in ipairs{true, false} do
		local t = try(fs.write, p, "x", {atomic = how}) assert(t ~= "nothing", p) end end print(fs.stat("new", {follow = false}).type)`, want: "link"},
	{name: "fs.write with a mode", code: `print(try(require("fs").write, "own.txt", "x", {mode = "4777"}))`, want: "octal permissions"},
	{name: "fs.append", code: `local fs = require "fs" for _, p in ipairs{"OUT/secret.txt", "link", "new", "folder/new.txt"} do local t = try(fs.append, p, "x") assert(t ~= "nothing", p) end print("refused")`, want: "refused"},
	{name: "fs.exists and fs.stat", code: `local fs = require "fs" for _, p in ipairs{"OUT/secret.txt", "../outside", "link", "folder/secret.txt", "process/environ"} do
		assert(try(fs.exists, p):find("sandbox grants", 1, true)) assert(try(fs.stat, p):find("sandbox grants", 1, true)) end print(fs.stat("link", {follow = false}).type)`, want: "link"},
	{name: "fs.list", code: `local fs = require "fs" for _, p in ipairs{"OUT", "..", "folder", "up", "/", "process", "sub/../.."} do print(p, try(fs.list, p)) end`, want: onlyFilesText},
	{name: "fs.glob", code: `local fs = require "fs" for _, p in ipairs{"OUT/*", "../*", "../outside/*", "folder/*", "up/*", "/etc/*", "*/secret.txt", "process/*", "f*/s*", "/proc/self/*"} do print(p, #fs.glob(p) == 0 or "ESC" .. "APED") end`, want: "true"},
	{name: "fs.mkdir", code: `local fs = require "fs" for _, p in ipairs{"OUT/d", "../outside/d", "folder/d", "up/d"} do for _, all in ipairs{true, false} do print(try(fs.mkdir, p, {parents = all})) end end`, want: onlyFilesText},
	{name: "fs.remove", code: `local fs = require "fs" for _, p in ipairs{"OUT/secret.txt", "../outside", "folder/secret.txt", "..", "up/outside"} do for _, all in ipairs{true, false} do
		local t = try(fs.remove, p, {recursive = all, missing_ok = true}) assert(t ~= "nothing", p) end end print("refused")`, want: "refused"},
	{name: "fs.remove follows no link", code: `local fs = require "fs" fs.mkdir("d") os.rename("folder", "d/folder") os.rename("abs", "d/abs") fs.remove("d", {recursive = true}) print(fs.exists("d"))`, want: "false"},
	{name: "fs.remove of the folder itself", code: `local fs = require "fs" print(try(fs.remove, ".", {recursive = true}), try(fs.remove, "DIR", {recursive = true}), try(fs.remove, "sub/..", {recursive = true})) print(fs.exists("own.txt"))`, want: "true"},
	{name: "fs.rename", code: `local fs = require "fs" print(try(fs.rename, "own.txt", "OUT/own.txt")) print(try(fs.rename, "OUT/secret.txt", "got")) print(try(fs.rename, "own.txt", "folder/own.txt"))`, want: onlyFilesText},
	{name: "fs.copy", code: `local fs = require "fs" for _, p in ipairs{"OUT/secret.txt", "link", "abs", "folder/secret.txt"} do print(try(fs.copy, p, "got")) end print(try(fs.copy, "own.txt", "OUT/own.txt")) print(try(fs.copy, "own.txt", "folder/own.txt"))`, want: onlyFilesText},
	{name: "fs.copy of folders", code: `local fs = require "fs" for _, p in ipairs{"OUT", "folder", "up", ".."} do print(try(fs.copy, p, "got", {recursive = true})) end print(try(fs.copy, "sub", "OUT/got", {recursive = true}))`, want: onlyFilesText},
	{name: "fs.copy makes no links", code: `local fs = require "fs" print(try(fs.copy, "sub", "got", {recursive = true})) print(try(fs.stat, "got/deep", {follow = false}))`, want: "makes no links"},
	{name: "fs.copy into itself", code: `local fs = require "fs" fs.mkdir("d/e") for _, p in ipairs{"d/e/f", "DIR/d/f", "sub/../d/f"} do print(try(fs.copy, "d", p, {recursive = true})) end`, want: "inside the original"},
	{name: "fs.tempdir stays inside", code: `local fs = require "fs" local d = fs.tempdir() fs.write(d .. "/a", "in") print(fs.read(d .. "/a"), d:find("^/") or "relative", #fs.glob(".npulua-*"))`, want: "in\trelative\t1"},
	{name: "fs.absolute starts at the folder", code: `print(require("fs").absolute("a/../b") == "DIR/b")`, want: "true"},
	{name: "fs refuses pipes", code: `local fs = require "fs" print(try(fs.read, "pipe"), try(fs.write, "pipe", "x"), try(fs.append, "pipe", "x"), try(fs.copy, "pipe", "x"), try(fs.read, "socket"))`, want: "pipe"},
	{name: "links inside", code: `local fs = require "fs" print(fs.read("inner")) fs.write("inner", "new") print(fs.read("own.txt"), fs.stat("inner", {follow = false}).type)`, want: "own\nnew\tlink"},
	{name: "hard links", code: `print(try(io.open, "hard.txt", "w"), try(io.open, "hard.txt", "a"), try(io.open, "hard.txt", "r+")) local fs = require "fs" print(try(fs.append, "hard.txt", "x"), try(fs.write, "hard.txt", "x", {atomic = false})) print(fs.read("hard.txt"), try(fs.write, "hard.txt", "mine"))`, want: "other names"},
	{name: "links that were moved", code: `local fs = require "fs" os.rename("sub/deep", "deep") print(try(fs.read, "deep")) fs.mkdir("a/b") os.rename("link", "a/b/link") os.rename("up", "a/up") print(try(fs.read, "a/b/link"), try(fs.read, "a/up/../outside/secret.txt"), try(fs.list, "a/up/../.."))`, want: onlyFilesText},
	{name: "a folder that becomes a link meanwhile", code: `local w = npu.worker(function() for i = 1, 2000 do os.rename("sub", "x") os.rename("folder", "sub") os.rename("sub", "folder") os.rename("x", "sub") end end)
		local fs = require "fs" for i = 1, 2000 do local f = io.open("sub/secret.txt") if f then print(f:read("*a")) end pcall(fs.write, "sub/new.txt", "x") end w:join() print("done")`, want: "done", flags: []string{"--sandbox=granted", "--sandbox-output=64M"}},
	{name: "a file that becomes a link meanwhile", code: `local w = npu.worker(function() for i = 1, 2000 do os.rename("own.txt", "x") os.rename("link", "own.txt") os.rename("own.txt", "link") os.rename("x", "own.txt") end end)
		for i = 1, 2000 do local f = io.open("own.txt") if f then local t = f:read("*a") assert(t == "own" or t == "", t) f:close() end f = io.open("own.txt", "a") if f then f:close() end end w:join() print("done")`, want: "done", flags: []string{"--sandbox=granted", "--sandbox-output=64M"}},
	{name: "long paths", code: `local fs = require "fs" local p = rep("a/", 1e6) for _, f in ipairs{fs.mkdir, fs.exists, io.open, os.remove, fs.glob, fs.tempdir and fs.list} do print((try(f, p):sub(-60))) end print(try(fs.glob, rep("*/", 1e6)))`, want: "name is too long"},
	{name: "many files open", code: `local t, why = {} for i = 1, 1e5 do local f, e = io.open("own.txt") if not f then why = e break end t[i] = f end print(why) print(#t < 1024 or "ESC" .. "APED") print(npu.device(0):create_context():create_stream())`, want: "Too many open files"},
	{name: "files that are opened and closed", code: `for i = 1, 2e4 do io.open("own.txt"):close() end print("done")`, want: "done"},
	{name: "a sparse file", code: `local f = io.open("big", "w") f:seek("set", 2^40) f:write("x") f:close() pcall(require("fs").read, "big") print(#io.open("big"):read("*a"))`, status: statusLimit},

	{name: "flood of folders", code: `local fs = require "fs" for i = 1, 1e9 do fs.mkdir("d" .. i) end`, want: outputText, status: statusLimit},
	{name: "flood of deep folders", code: `require("fs").mkdir(rep("a/", 2000))`, want: outputText, status: statusLimit},
	{name: "flood of fs.write", code: `local fs = require "fs" while true do pcall(fs.write, "a", rep("x", 1e5)) end`, want: outputText, status: statusLimit},
	{name: "flood of fs.append", code: `local fs = require "fs" while true do fs.append("a", rep("x", 1e4)) end`, want: outputText, status: statusLimit},
	{name: "flood of fs.copy", code: `local fs = require "fs" fs.write("a", rep("x", 1e5)) for i = 1, 1e9 do fs.copy("a", "b" .. i) end`, want: outputText, status: statusLimit},
	{name: "flood of temporary folders", code: `local fs = require "fs" while true do fs.tempdir() end`, want: outputText, status: statusLimit},
	{name: "flood of logs", code: `local log = require("log").new{file = "a.log"} while true do pcall(log.info, log, rep("x", 1e4)) end`, want: outputText, status: statusLimit},
	{name: "flood of logs on standard error", code: `local log = require "log" while true do pcall(log.info, rep("x", 1e4)) end`, want: outputText, status: statusLimit},
	{name: "flood of progress", code: `local p = require "progress" while true do local b = p.new{total = 10, title = rep("x", 1000)} b:add(10) b:done() end`, status: statusLimit},
	{name: "flood of metrics", code: `local m = require "metrics" m.gauge("a", rep("b", 1e5)):set(1) while true do m.write("a.prom") end`, want: outputText, status: statusLimit},
	{name: "flood of listings", code: `local fs = require "fs" while true do fs.list(".") end`, want: instructionsText, status: statusLimit},
	{name: "memory in fs.read", code: `local fs = require "fs" fs.write("a", rep("x", 9e5)) local t = {} for i = 1, 1e5 do t[i] = fs.read("a") end`, want: memoryText, status: statusLimit},

	{name: "metrics.write", code: `local m = require "metrics" m.gauge("a", "b"):set(1) for _, p in ipairs{"OUT/a.prom", "../outside/a.prom", "link", "new", "folder/a.prom", "pipe", "/dev/null"} do local t = try(m.write, p) assert(t ~= "nothing", p) end
		m.write("a.prom") print(io.open("a.prom"):read("*a"):match("%d\n$"))`, want: "1"},
	{name: "metrics of many labels", code: `local g = require("metrics").gauge("a", "b", {labels = {"x"}}) for i = 1, 1e8 do g:set(1, {x = i .. rep("y", 1000)}) end`, want: memoryText, status: statusLimit},
	{name: "reports outside", code: `local check = require "check" for _, o in ipairs{"junit", "markdown"} do for _, p in ipairs{"OUT/r", "../outside/r", "link", "new", "folder/r", "pipe", "/dev/stdout", "hard.txt"} do
		local t = try(check.setup, {[o] = p}) assert(t ~= "nothing", p) print(t) end end os.exit(5)`, want: onlyFilesText, status: 5},
	{name: "a report that becomes a link", code: `local check = require "check" check.setup{junit = "r.xml", markdown = "sub/r.md", quiet = true} check.test("a", function(t) t:expect(true, "x") end)
		os.rename("r.xml", "x") os.rename("new", "r.xml") os.rename("sub", "x2") os.rename("folder", "sub")`, want: onlyFilesText, status: 4},
	{name: "a report that becomes a pipe", code: `local check = require "check" check.setup{junit = "r.xml"} check.test("a", function(t) t:expect(true, "x") end) os.rename("pipe", "r.xml")`, want: "no devices, pipes", status: 4},
	{name: "reports of options", code: `local check, args = require "check", require "args" print(try(check.setup, {junit = "OUT/r"})) os.exit(5)`, want: onlyFilesText, status: 5},
	{name: "files of --report that become links", code: `local check = require "check" check.test("a", function(t) t:expect(true, "x") end) os.rename("new", "check.json") os.rename("link", "metrics.prom") os.rename("pipe", "timeline.svg")`, flags: []string{"--sandbox=granted", "--report=granted"}},
	{name: "a folder of --report that becomes a link", code: `local check = require "check" check.test("a", function(t) t:expect(true, "x") end) os.rename("sub", "x") os.rename("folder", "sub")`, flags: []string{"--sandbox=granted", "--report=granted/sub"}},
	{name: "tests that outlast the limits", code: `local check = require "check" check.test("a", {timeout = 1e6, retries = 100}, function(t) while true do pcall(function() while true do end end) end end)`, want: instructionsText, status: statusLimit},
	{name: "messages without end", code: `require("check").test("a", function(t) for i = 1, 1e9 do t:expect(false, i .. rep("x", 1e4)) end end)`, want: memoryText, status: statusLimit, abrupt: true},
	{name: "JSON without end", code: `local j = require "json" print(pcall(j.decode, "[" .. rep("[0],", 1e6) .. "0]"))`, status: statusLimit},
	{name: "JSON with metatables", code: `local t = setmetatable({}, {__index = function() while true do end end, __len = function() return 1e9 end, __pairs = error}) print(require("json").encode(t))`, want: "{}"},
	{name: "a giant table", code: `local t = {} for i = 1, 1e5 do t[i] = {i} end t[1] = {rep("x", 1e6)} print(#require("tabulate").format(t))`, want: memoryText, status: statusLimit},
	{name: "a giant table that is narrow", code: `local row = {} for i = 1, 1e4 do row[i] = rep("x", 1000) end print(#require("tabulate").format({row}, {max_width = 1}))`, want: instructionsText, status: statusLimit},
	{name: "giant tables", code: `local t = {} for i = 1, 1e3 do t[i] = {rep("x", 1000)} end local s = {} for i = 1, 1e4 do s[i] = require("tabulate").format(t) end`, status: statusLimit},
	{name: "faults", code: `print(try(npu.sim.fault, {kind = "OUT/secret.txt"})) npu.sim.fault("op=copy,nth=3,code=507054") npu.sim.clear_faults() print(try(npu.sim.fault, "OUT/secret.txt"))`, want: "npu: fault"},
	{name: "a hang that was injected", code: `npu.sim.fault{kind = "hang", op = "fill"} local s = npu.device(0):create_context():create_stream() local x = npu.current_context():alloc("int8", 8) s:fill(x, 0) s:synchronize()`, want: "hang", status: statusError},
	{name: "methods of metrics on other values", code: `local m = require "metrics" local g, c = m.gauge("a", "b"), m.counter("c", "d") for _, v in ipairs{c, io.stdout, {}, 1, "x", npu.channel(1)} do assert(not pcall(g.set, v, 1)) end print(getmetatable(g), try(setmetatable, g, {}))`, want: "gauge"},
	{name: "tables of modules belong to a machine", code: `local fs = require "fs" local open = io.open fs.read = function() return "ours" end print(npu.worker(function() return (select(2, pcall(require("fs").read, "OUT/secret.txt"))) end):join())`, want: onlyFilesText},
}
