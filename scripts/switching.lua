-- switching: change between contexts and devices in one task, and see when that is needed.
--
-- usage: npulua [--sim 910b:2] run switching
-- Every step prints the context that is current after it. Needed is a current context only for what
-- belongs to no handle, such as pinned host memory: streams, events and buffers know their context, so
-- that work on several contexts and devices goes without a switch. No arguments.
local npu = require "npu"

if #arg > 0 then
  io.stderr:write("switching: takes no arguments; usage: npulua [--sim 910b:2] run switching\n")
  os.exit(2)
end

-- Prints what is current; `expected` must be it.
local function step(text, expected)
  assert(npu.current_context() == expected, text)
  assert(npu.current_device() == (expected and expected.device), text)
  print(string.format("%-38s %s", text, tostring(expected)))
end

-- Doubles 1 to n on a stream, whichever context is current, and checks the result.
local n = 256
local scale = npu.kernel "scale"
local function double(s)
  local x, h = s.context:alloc("float32", n), npu.host("float32", n)
  h:set(function(i) return i end)
  s:copy(x, h)
  s:launch(scale, 4, x, x, 2, n)
  s:copy(h, x)
  s:synchronize()
  for i = 1, n do assert(h[i] == 2 * i, "wrong at " .. i) end
  x:close()
end

step("start", nil)
local dev = npu.device(0)
step("npu.device(0)", dev.context)
local a, b = dev:create_context(), dev:create_context()
step("two contexts made, a and b", b)

-- For good.
a:set_current()
step("a:set_current()", a)
b:set_current()
step("b:set_current()", b)

-- For one function; nested; and back again also where it fails, with its error and its results.
a:use(function()
  step("a:use", a)
  b:use(function() step("  b:use inside it", b) end)
  step("  after it", a)
  local ok, err = pcall(b.use, b, error, "oops")
  assert(not ok and err == "oops")
  step("  after an error in b:use", a)
  dev.context:set_current()
  step("  a switch for good inside", dev.context)
end)
step("after a:use", b)
assert(a:use(function(x) return x + 1 end, 1) == 2)

-- A stream of another context works as it is, and changes nothing.
double(a:create_stream())
double(b:create_stream())
step("work on streams of a and b", b)

-- Devices: naming one makes its default context current, as aclrtSetDevice does.
if npu.device_count() > 1 then
  local other = npu.device(1)
  step("npu.device(1)", other.context)
  local c = other:create_context()
  step("a context on it, c", c)
  a:use(function() step("a:use", a) end)
  step("after it, device 1 again", c)
  a:set_current()
  step("a:set_current()", a)
  double(c:create_stream())
  step("work on a stream of c", a)
  npu.device(0)
  step("npu.device(0)", dev.context)
  c:close()
  step("c:close()", dev.context)
else
  dev.context:set_current()
  step("dev.context:set_current()", dev.context)
end

-- A closed context cannot be made current.
a:close()
local ok, err = pcall(a.set_current, a)
assert(not ok and err.code == 107017)
step("a:close(); a:set_current() fails", dev.context)
print("all results right")
