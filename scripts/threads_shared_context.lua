-- threads_shared_context: several tasks that share a context, with a stream each, in an order set by events.
--
-- usage: npulua run threads_shared_context [--tasks N] [--unordered]
-- All tasks work on the same vector: task k makes 2 * x + k of it, which comes out right only in the order
-- 1, 2, 3 and so on. Each records an event in its stream, and the next one has its own stream wait for it:
-- the order is kept on the device, and no task waits for work of another one.
--   --tasks N     tasks to spawn, 1 to 20 (default: 4)
--   --unordered   leave the events out, to see that they matter
local npu = require "npu"

local function usage(message)
  io.stderr:write("threads_shared_context: ", message,
    "; usage: npulua run threads_shared_context [--tasks N] [--unordered]\n")
  os.exit(2)
end

local tasks, ordered = 4, true
local i = 1
while arg[i] do
  if arg[i] == "--unordered" then
    ordered = false
  elseif arg[i] == "--tasks" then
    i = i + 1
    tasks = tonumber(arg[i])
    if not tasks or tasks < 1 or tasks > 20 or tasks ~= math.floor(tasks) then
      usage("--tasks wants a whole number from 1 to 20")
    end
  else
    usage("unknown option " .. arg[i])
  end
  i = i + 1
end

local n = 1024
local ctx = npu.device(0):create_context()
local spin, scale, add = npu.kernel "spin", npu.kernel "scale", npu.kernel "vector_add"

local x = ctx:alloc("float32", n)
x:upload(npu.host("float32", n))  -- zeros

-- Task k. `before` hands it the event of the task before, `after` takes its own to the next one.
local function work(k, before, after)
  ctx:set_current()  -- a task has no current context of its own accord; pinned memory wants one
  local s = ctx:create_stream()
  local number, constant = npu.host("float32", n), ctx:alloc("float32", n)
  number:fill(k)
  s:copy(constant, number)

  local event = before:receive()
  if event and ordered then s:wait(event) end
  local start = s:record()
  s:launch(spin, 1, (tasks - k + 1) * 1e-4)  -- the first task is the slowest
  s:launch(scale, 8, x, x, 2, n)
  s:launch(add, 8, x, x, constant, n)
  local done = s:record()
  after:send(done)  -- only recorded: the work itself may not even have begun

  done:synchronize()
  return {start = start, done = done}
end

local channels, running = {}, {}
for k = 0, tasks do channels[k] = npu.channel(1) end
channels[0]:close()  -- nothing comes before the first task
for k = 1, tasks do running[k] = npu.spawn(work, k, channels[k - 1], channels[k]) end
local results = {npu.join(running)}

for k, r in ipairs(results) do
  print(string.format("task %2d: from %7.1f to %7.1f us", k,
    npu.elapsed(results[1].start, r.start) * 1e6, npu.elapsed(results[1].start, r.done) * 1e6))
  assert(not ordered or k == 1 or npu.elapsed(results[k - 1].done, r.start) >= 0)
end
local want = 0
for k = 1, tasks do want = 2 * want + k end
local h = x:download()
if ordered then
  assert(h:min() == want and h:max() == want, "wrong result")
  print(string.format("%d task(s) in order: x is %d everywhere, as it must be", tasks, want))
else
  print(string.format("%d task(s) without order: x is %d, in order it is %d", tasks, h[1], want))
end
