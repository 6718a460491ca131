-- threads_own_context: several tasks, each with a context and a stream of its own.
--
-- usage: npulua [--sim 910b:2] run threads_own_context [--tasks N] [--devices N]
-- A task starts without a current context, as a thread does in AscendCL; what needs one says so. Each
-- task makes its own, computes k * i for its number k, and checks the results. Tasks take the devices in
-- turn; they end in any order, and are joined in the order of their numbers.
--   --tasks N     tasks to spawn, 1 to 100 (default: 4)
--   --devices N   devices to use (default: all)
local npu = require "npu"

local function usage(message)
  io.stderr:write("threads_own_context: ", message,
    "; usage: npulua [--sim 910b:2] run threads_own_context [--tasks N] [--devices N]\n")
  os.exit(2)
end

local options = {["--tasks"] = 4, ["--devices"] = npu.device_count()}
local most = {["--tasks"] = 100, ["--devices"] = npu.device_count()}
for i = 1, #arg, 2 do
  local name, value = arg[i], tonumber(arg[i + 1])
  if not options[name] then usage("unknown option " .. name) end
  if not value or value < 1 or value > most[name] or value ~= math.floor(value) then
    usage(name .. " wants a whole number from 1 to " .. most[name])
  end
  options[name] = value
end
local tasks, devices = options["--tasks"], options["--devices"]

local n = 4096
local scale = npu.kernel "scale"

-- What task k does. All that it makes is closed at its end, because it runs inside npu.scope.
local function work(k)
  assert(npu.current_context() == nil)  -- that of the script is not inherited
  local ok, err = pcall(npu.host, "float32", n)
  assert(not ok and err.code == 107002)

  local dev = npu.device((k - 1) % devices)
  local ctx = dev:create_context()  -- and makes it current, for this task
  local s = ctx:create_stream()
  local input, output = npu.host("float32", n), npu.host("float32", n)
  local x, y = ctx:alloc("float32", n), ctx:alloc("float32", n)
  input:set(function(i) return i end)

  s:copy(x, input)
  s:launch(scale, 8, y, x, k, n)
  s:copy(output, y)
  s:synchronize()  -- suspends this task; others go on

  for i = 1, n do assert(output[i] == k * i, "wrong at " .. i) end
  assert(npu.current_context() == ctx)  -- whatever others have made current meanwhile
  return {device = dev.id, context = ctx.id, last = output[n], error = err}
end

for id = 0, devices - 1 do npu.device(id) end
local mine = npu.device(0):create_context()

local running = {}
for k = 1, tasks do running[k] = npu.spawn(npu.scope, work, k) end
local results = {npu.join(running)}

print("a task before it has a context: " .. results[1].error.code .. " " .. results[1].error.name)
for k, r in ipairs(results) do
  print(string.format("task %2d: device %d, context %d, y[%d] = %g", k, r.device, r.context, n, r.last))
end
assert(npu.current_context() == mine)  -- the tasks have not changed that of the script
mine:close()
print(string.format("%d task(s) on %d device(s), all results right", tasks, devices))
