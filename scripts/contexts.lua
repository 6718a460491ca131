-- contexts: which context is current, and how to choose it.
--
-- usage: npulua [--sim 910b:2] run contexts
-- Walks through default and explicit contexts, switching, options, a second device and closing,
-- and prints after every step which context is current. No arguments.
local npu = require "npu"

if #arg > 0 then
  io.stderr:write("contexts: takes no arguments; usage: npulua [--sim 910b:2] run contexts\n")
  os.exit(2)
end

local names = {}  -- context to its name here; a context is always the same object

local function row(step, current, device, note)
  print((string.format("%-36s  %-8s  %-6s  %s", step, current, device, note):gsub(" +$", "")))
end

local function show(step, note)
  local ctx = npu.current_context()
  if ctx then
    row(step, names[ctx], ctx.device.id, note or "")
  else
    row(step, "none", "-", note or "")
  end
end

row("step", "current", "device", "result")
show("start")

-- A device brings its default context along and makes it current.
local dev = npu.device(0)
names[dev.context] = "default"
show("dev = npu.device(0)")

-- An explicit context is current from its creation on. One device can have many.
local a = dev:create_context()
names[a] = "a"
show("a = dev:create_context()")
local b = dev:create_context()
names[b] = "b"
show("b = dev:create_context()")

-- Switching: for good, or for one function.
a:set_current()
show("a:set_current()")
b:use(function() show("b:use(fn), inside fn") end)
show("b:use(fn), after it")
local ok, err = pcall(b.use, b, function() error("a failure inside fn", 0) end)
assert(not ok and npu.current_context() == a)
show("b:use(fn), after an error in fn", err)

-- Each context has a default stream. A handle knows its context: nothing has to be switched.
local x = b:alloc("int32", 4)
b.default_stream:fill(x, 7)
b.default_stream:synchronize()
show("b.default_stream:fill(x, 7)", "sum of x is " .. x:download():sum())

-- Options belong to one context, and have no value before they are set.
ok, err = pcall(a.get_option, a, "deterministic")
assert(not ok)
show("a:get_option \"deterministic\"", err.code .. " " .. err.name)
a:set_option("deterministic", true)
show("a:set_option(\"deterministic\", true)")
show("a:get_option \"deterministic\"", a:get_option("deterministic"))

-- A second device: naming it makes its default context current, and a switch leads back.
if npu.device_count() > 1 then
  local other = npu.device(1)
  names[other.context] = "default"
  show("other = npu.device(1)")
  local c = other:create_context()
  names[c] = "c"
  show("c = other:create_context()")
  b:set_current()
  show("b:set_current()")
else
  b:set_current()
  show("b:set_current()", "a second device: npulua --sim 910b:2 run contexts")
end

-- Closing a context that is not current changes nothing; the current one gives way to the one of
-- before. Memory belongs to the device and stays.
a:close()
show("a:close()")
b:close()
show("b:close()", "x is " .. (x.closed and "closed" or "open"))
