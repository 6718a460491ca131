-- A small test framework, as they are written: it finds tests by their names, takes the place off messages, and cuts
-- its own part of tracebacks by short_src.
local M = {passed = 0, failed = 0}
local own = debug.getinfo(1, "S").short_src
local function place(level)
	local d = debug.getinfo(level + 1, "Sl")
	return d.short_src:match("[^/]*$") .. ":" .. d.currentline
end
local function stripped(trace)
	local lines = {}
	for line in trace:gmatch("[^\n]+") do
		if line:find("[C]", 1, true) then break end
		lines[#lines + 1] = line:gsub("^%s+", "")
	end
	return table.concat(lines, " | ")
end
function M.equal(a, b)
	if a ~= b then error({at = place(2), text = tostring(a) .. " is not " .. tostring(b)}, 0) end
end
function M.fails(fn, pattern, ...)
	local ok, e = pcall(fn, ...)
	if ok then error("no error at " .. place(2), 2) end
	local text = tostring(e):gsub("^.-:%d+: ", "")
	if not text:find(pattern) then error("other error: " .. text, 2) end
end
function M.run(tests)
	local names = {}
	for name, fn in pairs(tests) do if type(name) == "string" and name:find("^test") and type(fn) == "function" then names[#names + 1] = name end end
	table.sort(names, function(a, b) return debug.getinfo(tests[a], "S").linedefined < debug.getinfo(tests[b], "S").linedefined end)
	for _, name in ipairs(names) do
		if tests.setUp then tests:setUp() end
		local d = debug.getinfo(tests[name], "S")
		local ok, e = xpcall(function() tests[name](tests) end, function(e)
			if type(e) == "table" then return e.at .. " " .. e.text end
			return e .. " [" .. stripped(debug.traceback("", 2)) .. "]"
		end)
		if ok then M.passed = M.passed + 1 else M.failed = M.failed + 1 end
		print(name, ok and "ok" or "FAILED: " .. e, d.what, d.linedefined, d.lastlinedefined, d.source == "@" .. arg[0], d.short_src == own)
	end
	print(M.passed, M.failed)
end
local T = {}
function T:setUp() self.n = (self.n or 0) + 1 end
function T:testOne() M.equal(1 + 1, 2) end
function T:testTwo() M.equal("a", "b") end
function T:testThree() M.fails(function() error("boom") end, "^boom$") end
function T:testFour() M.fails(function() end, "x") end
function T:testFive() local t = nil; return t.x end
function T:testSix() M.equal(self.n, 6) M.fails(string.rep, "bad argument #1") end
T.helper = function() end
M.run(T)
