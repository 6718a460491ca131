package tests

// sandboxSystem try to reach programs, the environment, the network and libraries.
var sandboxSystem = []attempt{
	{name: "os.execute", code: `print(try(os.execute, "cat OUT/secret.txt"))`, want: "starts no programs"},
	{name: "os.execute asks for a shell", code: `print(os.execute())`, want: "0"},
	{name: "io.popen", code: `print(try(io.popen, "cat OUT/secret.txt"))`, want: "starts no programs"},
	{name: "io.popen to write", code: `print(try(io.popen, "cat > OUT/new.txt", "w"))`, want: "starts no programs"},
	{name: "io.popen in a worker", code: `print(npu.worker(function() return select(2, io.popen("env")) end):join())`, want: "starts no programs"},
	{name: "os.execute in a task", code: `print(npu.spawn(function() return select(2, pcall(os.execute, "env")) end):join())`, want: "starts no programs"},
	{name: "os.execute through package.loaded", code: `print(try(package.loaded.os.execute, "env"))`, want: "starts no programs"},
	{name: "io.popen through _G", code: `print(try(_G._G["io"]["pop" .. "en"], "env"))`, want: "starts no programs"},
	{name: "os.execute in a callback", code: `local s = npu.device(0).context:create_stream() s:callback(function() print(pcall(os.execute, "env")) end) s:synchronize()`, want: "starts no programs"},
	{name: "os.getenv", code: `print(os.getenv("SANDBOX_CANARY"), os.getenv("HOME"), os.getenv("PATH"))`, want: "nil\tnil\tnil"},
	{name: "os.getenv in a worker", code: `print(npu.worker(function() return tostring(os.getenv("SANDBOX_CANARY")) end):join())`, want: "nil"},
	{name: "package.path says nothing", code: `print(package.path, package.cpath)`, want: "?.lua"},
	{name: "package.loadlib", code: `print(try(package.loadlib, "/lib/x86_64-linux-gnu/libc.so.6", "system"))`, want: "loads no libraries"},
	{name: "os.setenv", code: `print(os.setenv)`, want: "nil"},
	{name: "os.setlocale", code: `print(os.setlocale("de_DE"))`, want: "nil"},
	{name: "os.exit tells its status", code: `os.exit(7)`, status: 7},
	{name: "os.exit in a worker", code: `npu.worker(function() os.exit(9) end):join()`, status: 9},
	{name: "vendor's functions", code: `print(npu.backend, npu.simulated)`, want: "sim\ttrue", flags: []string{"--sandbox"}},
	{name: "http", code: `print(try(require, "http"))`, want: "the sandbox has no network"},
	{name: "http in a worker", code: `print(npu.worker(function() return select(2, pcall(require, "http")) end):join())`, want: "the sandbox has no network"},
	{name: "http through package", code: `print(package.loaded.http, try(package.preload.http, "http"), try(package.loaders[1]("http")))`, want: "the sandbox has no network"},
	{name: "NPULUA_LOG", code: `local log = require("log") print(log.enabled("debug"), log.new().level)`, want: "false\tinfo"},
	{name: "time zones are no files", code: `local iso = require("time").iso for _, zone in ipairs{"OUT/secret.txt", "../../../OUT/secret.txt", "/etc/passwd", ""} do print(try(iso, 0, {zone = zone})) end`, want: "not known"},
}
