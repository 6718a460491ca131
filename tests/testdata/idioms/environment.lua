-- Environments of functions, threads and levels.
local P, L, S, G = print, loadstring, setfenv, getfenv
local env = {print = print, tostring=tostring}
print(pcall(setfenv, 0, 5), pcall(setfenv, "x", {}))
local g = _G
setfenv(0, env)
P(L("x = 1")(), env.x, g.x)
P(G(0) == env, G(1) == g, G(P) == env)
P(pcall(L"return x"))
local co = g.coroutine.create(function() return G(0) == env, L("return x")(), G(1) == g end)
P(g.coroutine.resume(co))
P(g.pcall(function() return G(0) == env, L"return x"() end))
P(g.pcall(function() S(0, g) end), G(0) == g)
S(0, env)
local co2 = g.coroutine.create(function() S(0, {print=1}) g.coroutine.yield() return G(0).print end)
g.coroutine.resume(co2) P(G(0) == env, g.debug.getfenv(co2).print) P(g.coroutine.resume(co2))
S(0, g)
print(pcall(setfenv, 50, {})) print(pcall(getfenv, 50)) print(pcall(setfenv, -1, {})) print(pcall(getfenv, -2))
print(pcall(setfenv, print, {})) print(getfenv(print) == _G) print(getfenv("1") == _G) print(pcall(getfenv, {})) print(pcall(getfenv, nil)) print(pcall(setfenv, nil, {}))
print(pcall(setfenv, pcall, {})) print(pcall(setfenv, coroutine.yield, {}))
print(pcall(getfenv, 1.9))
local function tail() return getfenv(2) end
local function t2() return tail() end
print(pcall(t2))
print(pcall(function() local x = t2() end))
print(pcall(function() return (setfenv(2, {})) end))
local function lev() setfenv(2, {marker = 1, pcall=pcall, setfenv=setfenv, getfenv = getfenv, print = print}) end
;(function() lev() print(marker, getfenv().marker, getfenv(1).marker) end)()
;(function() pcall(function() setfenv(3, {print = print, ok = "across"}) end) print(ok) end)()
print(debug.getfenv(coroutine.create(function() end)) == _G)
print(debug.getfenv(io.stdout) ~= nil, debug.getfenv(1), debug.getfenv({}))
local e = {}
print(debug.setfenv(print, e) == print, debug.getfenv(print) == e, pcall(debug.setfenv, {}, {}), pcall(debug.setfenv, print))
debug.setfenv(print, _G)
local u = newproxy() print(debug.setfenv(u, e) == u, debug.getfenv(u) == e)
setfenv(1, setmetatable({}, {__index = _G}))
q = 1 print(_G.q, rawget(getfenv(), "q"), loadstring("return q")())
local h = function() return q end print(h(), getfenv(h) == getfenv(1))
