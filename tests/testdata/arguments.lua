-- Calls every function of the libraries with arguments of every kind in every place, and writes what comes of it: one
-- line a call. arg[1] is the file that it writes to.
local out = assert(io.open(arg[1], "w"))
local pcall, select, type, tostring, loadstring, unpack, ipairs, pairs = pcall, select, type, tostring, loadstring, unpack, ipairs, pairs
local format, gsub, concat, find = string.format, string.gsub, table.concat, string.find
local open, create, resume, close = io.open, coroutine.create, coroutine.resume, out.close
local setmetatable_of, getmetatable_of, setfenv_of = debug.setmetatable, debug.getmetatable, debug.setfenv
local globals, locale, randomseed, input, output = _G, os.setlocale, math.randomseed, io.input, io.output
local stdin, stdout, proxy, type_of_file = io.stdin, io.stdout, newproxy, io.type
local string_meta = getmetatable("")
local string_library = string

-- The values, by their names. Those in angle brackets are made anew for each call.
local values = {
	{"nil"}, {"true", true}, {"false", false}, {"0", 0}, {"3", 3}, {"-2", -2}, {"2.7", 2.7}, {"-0.5", -0.5}, {"1e300", 1e300}, {"nan", 0 / 0},
	{"'10'", "10"}, {"' 0x1F '", " 0x1F "}, {"'1e1'", "1e1"}, {"'1_0'", "1_0"}, {"'abc'", "abc"}, {"''", ""}, {"'a\\0b'", "a\0b"},
	{"<table>", function() return {} end}, {"<list>", function() return {"x", 2, 3} end}, {"<callable>", function() return setmetatable({}, {__call = function() return 1 end}) end},
	{"<function>", function() return function(...) return ... end end}, {"print", print}, {"<thread>", function() return create(function() end) end},
	{"<userdata>", function() return proxy() end}, {"<file>", function() return open("data", "r") end},
}

-- The calls, with arguments that are right: text is read as Lua, FILE is an open file.
local calls = {
	"assert(true, 'm')", "assert(false, 'm')", "collectgarbage('stop', 1)", "error('m', 1)", "error('m', 2)", "getfenv(1)", "getmetatable({})", "ipairs({1})", "load(function() end, 'n')",
	"loadstring('return 1', 'n')", "loadfile('chunk.lua')", "dofile('chunk.lua')", "next({1}, 1)", "pairs({1})", "pcall(print)", "rawequal(1, 1)", "rawget({1}, 1)", "rawset({}, 1, 2)",
	"select(1, 2, 3)", "select('#', 2, 3)", "setfenv(1, {})", "setmetatable({}, nil)", "tonumber('10', 10)", "tonumber('10', 16)", "tostring(1)", "type(1)", "unpack({1, 2}, 1, 2)", "xpcall(print, print)",
	"newproxy(true)", "gcinfo(1)", "module('m', function() end)", "require('string')", "print(1)",
	"coroutine.create(function() end)", "coroutine.resume(coroutine.create(function() end), 1)", "coroutine.status(coroutine.create(function() end))", "coroutine.wrap(function() end)", "coroutine.running(1)",
	"string.byte('abc', 1, 2)", "string.char(65, 66)", "string.find('abc', 'b', 1, true)", "string.format('%s', 'x')", "string.format('%d', 1)", "string.format('%5.1f', 1)", "string.format('%q', 'x')", "string.format('%c', 65)",
	"string.format('%x', 255)", "string.gmatch('abc', 'b')", "string.gsub('abc', 'b', 'x', 1)", "string.gsub('abc', 'b', {})", "string.len('abc')", "string.lower('ABC')", "string.match('abc', 'b', 1)", "string.rep('ab', 2)",
	"string.reverse('abc')", "string.sub('abc', 1, 2)", "string.upper('abc')", "string.gfind('abc', 'b')", "('abc'):rep(2)", "('abc'):sub(1, 2)", "('abc'):find('b', 1, true)",
	"table.concat({1, 2}, ',', 1, 2)", "table.foreach({1}, print)", "table.foreachi({1}, print)", "table.getn({1})", "table.insert({1}, 2)", "table.insert({1}, 1, 2)", "table.maxn({1})", "table.remove({1, 2}, 1)",
	"table.sort({2, 1}, function(a, b) return a < b end)", "table.setn({}, 1)",
	"math.abs(1)", "math.acos(1)", "math.asin(1)", "math.atan(1)", "math.atan2(1, 2)", "math.ceil(1)", "math.cos(1)", "math.cosh(1)", "math.deg(1)", "math.exp(1)", "math.floor(1)", "math.fmod(5, 3)", "math.frexp(1)",
	"math.ldexp(1, 2)", "math.log(1)", "math.log10(1)", "math.max(1, 2)", "math.min(1, 2)", "math.modf(1)", "math.pow(1, 2)", "math.rad(1)", "math.random(1, 10)", "math.randomseed(1)", "math.sin(1)", "math.sinh(1)", "math.sqrt(1)",
	"math.tan(1)", "math.tanh(1)", "math.mod(5, 3)",
	"os.date('%Y', 0)", "os.date('!*t', 0)", "os.difftime(2, 1)", "os.getenv('NOBODY')", "os.remove('nothing')", "os.rename('nothing', 'nowhere')", "os.setlocale('C', 'all')", "os.time({year = 2000, month = 1, day = 1, hour = 12})",
	"io.close(FILE)", "io.flush(1)", "io.input('data')", "io.lines('data')", "io.open('data', 'r')", "io.output('written')", "io.read('*l', 3)", "io.type(FILE)", "io.write('x', 1)",
	"FILE:close(1)", "FILE:flush(1)", "FILE:lines(1)", "FILE:read('*l', 3)", "FILE:read('*n')", "FILE:seek('set', 1)", "FILE:setvbuf('full', 100)", "FILE:write('x', 1)", "io.stdout.close(FILE)", "io.stdout.read(FILE, 1)",
	"debug.getfenv(print)", "debug.gethook(1)", "debug.getinfo(1, 'l')", "debug.getinfo(print, 'S')", "debug.getlocal(1, 1)", "debug.getmetatable({})", "debug.getregistry(1)", "debug.getupvalue(function() return out end, 1)",
	"debug.setfenv(function() end, {})", "debug.sethook(nil, '', 1)", "debug.sethook(function() end, '', 1000000)", "debug.setlocal(1, 1, 2)", "debug.setmetatable({}, {})", "debug.setupvalue(function() end, 1, 2)", "debug.traceback('m', 1)",
	"debug.traceback(coroutine.create(function() end), 'm', 1)",
	"package.loadlib('a', 'b')", "package.seeall({})",
}

-- What is left out: a place of a call, and a value that would take too long there or leave the program.
local too_long = {["table.insert({1}, 1, 2)/2/1e300"] = true, ["table.insert({1}, 1, 2)/2/nan"] = true}

local function show(v)
	if type(v) == "number" then return v ~= v and "nan" or format("%.12g", v) end
	if type(v) == "string" then
		v = gsub(gsub(v, "0x%x+", "0x"), "\n.*", "...")
		return '"' .. gsub(v, "[%c\128-\255]", "?") .. '"'
	end
	if v == nil or type(v) == "boolean" then return tostring(v) end
	return type(v)
end

local function results(ok, ...)
	local parts = {ok and "ok" or "error"}
	for i = 1, select("#", ...) do parts[i + 1] = show((select(i, ...))) end
	return concat(parts, " ")
end

-- arguments reads the arguments of a call: a list of texts.
local function arguments(text)
	local list, depth, start, quote = {}, 0, 1, false
	for i = 1, #text do
		local c = text:sub(i, i)
		if c == "'" then quote = not quote end
		if not quote and find(c, "[({]") then depth = depth + 1 end
		if not quote and find(c, "[)}]") then depth = depth - 1 end
		if not quote and depth == 0 and c == "," and not find(text:sub(start, i), "function%(%a*$") then
			list[#list + 1] = text:sub(start, i - 1):match("^%s*(.*)$")
			start = i + 1
		end
	end
	if #text > 0 then list[#list + 1] = text:sub(start):match("^%s*(.*)$") end
	return list
end

local function prepare(name, text)
	local f = open(name, "w")
	f:write(text)
	f:close()
end

local count, exit = 0, os.exit
local function run(label, code, value)
	local uses_file = find(code, "FILE", 1, true)
	if uses_file or find(code .. label, "data", 1, true) or find(label, "<file>", 1, true) then prepare("data", "10 20\nsecond\n") end
	local file = uses_file and open("data", "r+")
	if find(code, "chunk.lua", 1, true) then prepare("chunk.lua", "return 1\n") end
	randomseed(7)
	if type(value) == "function" and find(label, "<", 1, true) then value = value() end
	local chunk = assert(loadstring("local _value, out, FILE = ... " .. code, "=call"))
	-- The function under it can be given another environment, and the coroutine too.
	local co = create(function() return results(pcall(chunk, value, out, file)) end)
	local ok, text = resume(co)
	for _, v in ipairs{nil, true, 0, print, co} do setmetatable_of(v, nil) end
	setmetatable_of(nil, nil)
	setmetatable_of("", string_meta)
	string_meta.__index = string_library
	setfenv_of(print, globals)
	locale("C")
	input(stdin)
	output(stdout)
	for _, f in ipairs{file, value} do -- else what it holds back is written when it is collected, into a later call's file
		if type_of_file(f) == "file" and f ~= stdin and f ~= stdout and f ~= out then pcall(close, f) end
	end
	count = count + 1
	out:write(label, " -> ", ok and text or "failed " .. show(text), "\n")
end

for _, call in ipairs(calls) do
	local head, body = call:match("^(.-[%w_]+)%((.*)%)$")
	if find(call, "^%('abc'%)") then head, body = call:match("^(%('abc'%):%w+)%((.*)%)$") end
	local list = arguments(body)
	run(call, "return " .. call)
	run(call .. " + 1", "return " .. head .. "(" .. concat(list, ", ") .. (#list > 0 and ", " or "") .. "1)")
	for n = 0, #list - 1 do run(call .. "/" .. n .. " only", "return " .. head .. "(" .. concat(list, ", ", 1, n) .. ")") end
	for i = 1, #list do
		local old = list[i]
		list[i] = "_value"
		local code = "return " .. head .. "(" .. concat(list, ", ") .. ")"
		for _, v in ipairs(values) do
			local label = call .. "/" .. i .. "/" .. v[1]
			if not too_long[label] then run(label, code, v[2]) end
		end
		list[i] = old
	end
end
out:write(count, " calls\n")
out:close()
exit(0) -- the metatables of some types are not as they were
