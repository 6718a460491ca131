-- What debug.getinfo, getlocal and traceback give, option by option.
local function show(t) if type(t) ~= "table" then return tostring(t) end local k = {} for n, v in pairs(t) do k[#k+1] = n .. "=" .. (type(v) == "function" and "fn" or type(v)=="table" and "tab" or tostring(v)) end table.sort(k) return table.concat(k, " ") end
for _, o in ipairs{"S", "l", "u", "n", "f", "L", "SlnufL", "", "Sx", "nS", "ll"} do print(o, show(select(2, pcall(debug.getinfo, 1, o)))) print(o, show(select(2, pcall(debug.getinfo, print, o)))) print(show(select(2, pcall(debug.getinfo, show, o)))) end
for _, c in ipairs{"return 1", "return 1\nx", "", "\n", ("x=1;"):rep(30), "@abc", "=abc", "@" .. ("p"):rep(100), "=" .. ("q"):rep(100), "a\rb"} do
  local f = loadstring("return function() return debug.getinfo(1, 'S'), debug.getinfo(1,'l').currentline end", c)
  local d, l = f()() print(d.source, d.short_src, d.what, d.linedefined, d.lastlinedefined, l)
  print(select(2, pcall(loadstring("error('x')", c))))
  print(loadstring("x = ", c))
end
print(show(debug.getinfo(loadstring"\n\nlocal x = 1\n\n")))
print(show(debug.getinfo(loadfile(arg[0]), "S")))
print(pcall(debug.getinfo, 1, 5)) print(pcall(debug.getinfo, 1, {})) print(show(debug.getinfo("1"))) print(show(debug.getinfo(1.7))) print(show(debug.getinfo("0x1", "l")))
local co = coroutine.create(function(a, b) local c = 3 coroutine.yield(a) local d = 4 error "oops" end)
print(debug.getinfo(co, 0), debug.traceback(co), debug.traceback(co, nil), debug.traceback(co, "m"))
coroutine.resume(co, 1, 2)
print(show(debug.getinfo(co, 0)), show(debug.getinfo(co, 1)), show(debug.getinfo(co, 2)))
print(debug.traceback(co), debug.traceback(co, "hi"), debug.traceback(co, "hi", 1), debug.traceback(co, nil, 1), debug.traceback(co, {}, 1))
print(debug.getlocal(co, 1, 1), debug.getlocal(co, 1, 2), debug.getlocal(co, 1, 3), debug.getlocal(co, 1, 4))
print(debug.setlocal(co, 1, 3, 33), debug.getlocal(co, 1, 3))
local function locals(l) local i = 1 local out = {} while true do local n, v = debug.getlocal(l + 1, i) if not n then break end out[#out + 1] = n .. "=" .. tostring(type(v) == "table" and "tab" or type(v) == "function" and "fn" or v) i = i + 1 end return table.concat(out, " ") end
local function f1(a, b, ...)
  local x = 1
  do local y = 2 print(locals(1)) end
  for i = 1, 1 do local z = i print(locals(1)) end
  for k, v in pairs{5} do print(locals(1)) end
  while true do local w = 1
    if w then
      local q = 9 print(locals(1))
    else
      local nn = 1
    end
    print(locals(1))
    break end
  local x = 3
  repeat local u = 7 until print(locals(1)) == nil
  a = x b, x = 5, 6
  pcall(function() local inner = 1 print(locals(1)) print((locals(3):gsub("%(%*temporary%)=%S* ?", ""))) end)
  local t = {n = 1} t.n, x = x, t.n
  local s = a .. b .. x
end
f1(1, 2, 3, 4)
print(debug.setlocal(1, 1, show), debug.setlocal(1, 999, 1))
do local function s() local v = 1 pcall(function() print(debug.setlocal(3, 1, 42)) end) return v end print(s()) end
