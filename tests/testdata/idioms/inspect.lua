-- A small printer of values, as they are written: it asks for hooks, metatables, upvalues and locals.
local function key(k) return type(k) == "string" and k:match("^[%a_][%w_]*$") or "[" .. tostring(k) .. "]" end
local function inspect(v, depth, seen)
	depth, seen = depth or 0, seen or {}
	if type(v) == "string" then return ("%q"):format(v) end
	if type(v) == "function" then
		local d = debug.getinfo(v, "Su")
		if d.what == "C" then return "<C function>" end
		local ups = {}
		for i = 1, d.nups do ups[i] = (debug.getupvalue(v, i)) end
		return "<function " .. d.short_src:match("[^/]*$") .. ":" .. d.linedefined .. " (" .. table.concat(ups, ", ") .. ")>"
	end
	if type(v) ~= "table" then return tostring(v) end
	if seen[v] then return "<again>" end
	seen[v] = true
	local keys = {}
	for k in pairs(v) do keys[#keys + 1] = k end
	table.sort(keys, function(a, b) return tostring(a) < tostring(b) end)
	local parts = {}
	for i, k in ipairs(keys) do parts[i] = key(k) .. " = " .. inspect(v[k], depth + 1, seen) end
	local mt = debug.getmetatable(v)
	if mt then parts[#parts + 1] = "<metatable> = " .. inspect(mt, depth + 1, seen) end
	return "{" .. table.concat(parts, ", ") .. "}"
end
local shared = {1, 2}
print(inspect{a = 1, b = "x\n", c = {shared, shared}, d = print, e = inspect, f = setmetatable({}, {__index = shared, __metatable = "hidden"})})
print(debug.gethook())
local lines, counts = {}, 0
debug.sethook(function(event, line) lines[#lines + 1] = line debug.sethook() end, "l") local x = 1
x = 2
print(#lines, lines[1] and lines[1] > 0)
debug.sethook(function(event) if event == "count" then counts = counts + 1 end end, "", 100)
for i = 1, 10000 do x = i end
local hook, mask, count = debug.gethook()
debug.sethook()
print(counts > 50, type(hook), mask, count, debug.gethook())
for _, n in ipairs{0, -1} do
	debug.sethook(print, "", n)
	hook, mask, count = debug.gethook()
	print(hook == print, mask, count)
end
debug.sethook()
print(debug.gethook())
print(pcall(function() debug.sethook(function() debug.sethook() error("stop", 0) end, "", 10) while true do end end))
local co = coroutine.create(function(a) local b = a * 2 coroutine.yield(b) end)
coroutine.resume(co, 21)
local names = {}
for i = 1, 10 do local n, v = debug.getlocal(co, 1, i) if not n then break end names[i] = n .. "=" .. tostring(v) end
print(table.concat(names, " "))
print(type(debug.getregistry()), debug.getregistry()._LOADED == package.loaded, debug.getupvalue(print, 1), pcall(debug.setupvalue, print, 1, 2))
lines = {}
local tab, key = {}, 1
local function change() key = key + 1 return key end
debug.sethook(function(_, line) lines[#lines + 1] = line end, "l")
tab[key] =
	change()
tab[key], tab.x =
	change(),
	change()
debug.sethook()
for i = 2, #lines do lines[i] = lines[i] - lines[1] end
lines[1] = 0
print(table.concat(lines, " "), tab[1], tab[2], tab[3], tab[4], tab.x)
