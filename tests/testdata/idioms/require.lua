-- What require and module leave in package.loaded.
package.preload.m = function(...) print("load", ...) n = (n or 0) + 1 return false end
print(require "m") print(require "m") print(package.loaded.m)
package.preload.n = function(name) return nil end
print(require "n", package.loaded.n)
package.preload.o = function(name) package.loaded[name] = "own" end
print(require "o", package.loaded.o)
package.preload.p = function(name) package.loaded[name] = "own" return "ret" end
print(require "p", package.loaded.p)
package.preload.q = function(name) require "q" end
print(pcall(require, "q")) print(pcall(require, "q"))
package.preload.r = function(name) error "boom" end
print(pcall(require, "r")) print(pcall(require, "r"))
package.loaded.r = nil
print(pcall(require, "r"))
local l = package.loaders
package.loaders = nil
package.loaders = setmetatable({}, {__index = function() return nil end})
package.loaders = {function(n) return "A" .. n end, function() return 12 end, function() return {} end}
package.loaders = {function(n) return "\n\tx" end, 5}
package.loaders = l
package.preload = nil
package.preload = {}
local pp = package.path
package.path = pp
local p = package
package = nil
print(pcall(require, "string")) print(require "string" == string)
package = p
print(pcall(require)) print(pcall(require, nil)) print(pcall(require, {}))
local f = io.open("mm_a.lua", "w") f:write("module('mm_a', package.seeall) x = 1 function g() return x, print ~= nil, _NAME, _PACKAGE, _M == package.loaded.mm_a end return 7") f:close()
print(require "mm_a") print(mm_a) print(package.loaded.mm_a)
local f = io.open("mm_b.lua", "w") f:write("local a = ... module(..., function(m) m.opt = 1 end) y = 2") f:close()
print(type(require "mm_b"), mm_b.opt, mm_b.y, mm_b._NAME, mm_b.print)
module("aa.bb.cc", package.seeall)
print(_NAME, _PACKAGE, _M == aa.bb.cc, package.loaded["aa.bb.cc"] == _M)
setfenv(1, _G)
xx = 5
print(pcall(module, "xx")) print(pcall(module, "xx.yy")) print(pcall(module)) print(pcall(module, "aa.bb.cc.print"))
print(pcall(function() module("string") end), string._NAME)
print(pcall(package.seeall), pcall(package.seeall, 1))
print((function() return select("#", (function() return module("kk") end)()) end)())
local f = io.open("mm_d.lua", "w") f:write("local n = ... error({n})") f:close()
print(pcall(require, "mm_d"))
for k, v in pairs(package.loaded) do if type(v) == "table" and type(k) == "string" and v == _G[k] then io.write("") end end
print(package.loaded._G == _G, package.loaded.string == string, package.loaded.package == package, package.loaded.coroutine == coroutine, package.loaded.debug == debug, package.loaded.io == io)
