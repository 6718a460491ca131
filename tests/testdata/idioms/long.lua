-- Levels in a chunk of many statements.
local lines = {"local L = {...} local here = {}"}
for i = 1, 1500 do lines[#lines+1] = "g" .. i .. " = " .. i end
lines[#lines+1] = "probe()"
for i = 1, 1500 do lines[#lines+1] = "h" .. i .. " = " .. i end
function probe() for i = 0, 4 do local d = debug.getinfo(i) if d then print(i, d.what, d.currentline) end end print(pcall(error, "x", 3)) end
loadstring(table.concat(lines, "\n"), "=big")()
