-- A strict mode asks debug.getinfo who assigns; levels and tracebacks go on across protected calls and metamethods.
local getinfo, error, rawset, rawget = debug.getinfo, error, rawset, rawget
local mt = getmetatable(_G) or {} setmetatable(_G, mt)
mt.__declared = {}
local function what() local d = getinfo(3, "S") return d and d.what or "C" end
mt.__newindex = function(t, n, v)
  if not mt.__declared[n] then
    local w = what()
    if w ~= "main" and w ~= "C" then error("assign to undeclared variable '" .. n .. "'", 2) end
    mt.__declared[n] = true
  end
  rawset(t, n, v)
end
mt.__index = function(t, n)
  if not mt.__declared[n] and what() ~= "C" then error("variable '" .. n .. "' is not declared", 2) end
  return rawget(t, n)
end
a1 = 1
print(pcall(function() b1 = 2 end))
print(pcall(function() return c1 end))
local co = coroutine.create(function() d1 = 2 end)
print(coroutine.resume(co))
loadstring("g1 = 5")()
print(g1)
pcall(loadstring"h1=6") print(h1)
print(pcall(function() pcall(function() error("deep", 3) end) end))
print(select(2, pcall(function() local function f() error("lvl", 2) end f() end)))
local function lvl(n) error("L" .. n, n) end
for i = 1, 6 do print(select(2, pcall(function() return (pcall(lvl, i)) , lvl(i) end))) end
local function deep() print(debug.traceback("tb")) for i = 0, 9 do local d = debug.getinfo(i) if d then print(i, d.what, d.name, d.namewhat, d.currentline, d.short_src) end end return 1 end
local t = {m = deep}
function t:n() local x = deep() return x end
pcall(pcall, t.m)
t:n()
coroutine.wrap(function() pcall(t.n, t) local x = t.m() end)()
print(xpcall(function() local z = nil; z() end, debug.traceback))
for w in (function() deep() return nil end) do end
setmetatable({}, {__index = function() deep() end}).x = 1
local _ = setmetatable({}, {__index = function() deep() end}).x
local _ = setmetatable({}, {__concat = function() deep() end}) .. "x"
local _ = setmetatable({}, {__add = function() deep() end}) + 1
table.sort({2,1}, function(a, b) deep() return a < b end)
string.gsub("x", "x", function() deep() end)
t[1] = deep t[1]()
