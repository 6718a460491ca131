-- leakcheck: create and destroy everything that devices have, and see whether all of it comes back.
local args, check, measure, json = require "args", require "check", require "measure", require "json"
local fleet, npu = require "fleet", require "npu"

local opt = args.parse{
  name = "leakcheck", summary = "create and destroy everything that devices have, and see whether all of it comes back",
  text = [[
For each device and each kind of thing, round after round: contexts, streams, events, device memory and pinned host memory of several sizes, kernels, graphs, models, access to the memory of other devices; and buffers that nobody closes, which the garbage collector must give back. After two rounds, in which the runtime fills its caches, it notes what is free on the device, what handles there are and how large the process is, and compares this after --rounds more.

A test fails where more than --tolerance of the device's memory is missing, or some in every single round; where a handle is left; where the process grows by more than --growth (the median of the last third of the rounds against that of the first); and where a call fails. The more rounds, the smaller the leaks that are found. Other processes that use the device at the same time disturb it.

Exit status: 0 all passed, 3 something failed, 4 something could not run or nothing was checked, 2 wrong options. What each test found is `data.leaks` of the JSON report, by docs/leakcheck.schema.json.]],
  options = {
    {"device", "LIST", "devices to check, such as 0,2-3", type = "devices", default = "all"},
    {"rounds", "N", "rounds of each kind that are compared", type = "integer", default = 20, min = 3},
    {"tolerance", "SIZE", "device memory that may be missing in the end", type = "bytes", default = "1M", min = 0},
    {"growth", "SIZE", "how much the process may grow", type = "bytes", default = "8M", min = 0},
    {"timeout", "TIME", "time that each test may take", type = "seconds", default = 60, min = 0.01},
    check.options,
  },
}

fleet.setup("leakcheck", opt, {timeout = opt.timeout})

local patience = opt.timeout / 2
local WARM_UP = 2
local KB, MB = 1024, 1024 * 1024
local LACKS, NO_FILE, NO_MODEL = 207000, 145002, 145006

local function close_all(list)
  for _, x in ipairs(list) do x:close() end
end

-- Bytes of the process that are in memory; nil where the system does not tell.
local function resident()
  local f = io.open("/proc/self/status")
  if not f then return nil end
  local kilobytes = f:read("*a"):match("VmRSS:%s*(%d+) kB")
  f:close()
  return kilobytes and tonumber(kilobytes) * KB
end

local function memory_free(ctx) return ctx.device:memory().free end

-- Memory that nobody closes comes back when it is collected. What the stack of this script still holds may be missing.
local function collected(t, ctx)
  local before, n, size = memory_free(ctx), 16, 64 * KB
  for _ = 1, n do ctx:alloc("uint8", size) end
  for _ = 1, 200 do
    collectgarbage()
    if before - memory_free(ctx) <= 2 * size then return end
  end
  t:require(false, "of %d buffers of 64 KiB that nobody holds %s are still in use", n, measure.text(before - memory_free(ctx), "B"))
end

local working -- ids of devices that answer

-- One round of each kind: name, function of the test and its context.
local kinds = {
  {"device memory", function(t, ctx)
    local list = {}
    for i, n in ipairs{1, 4 * KB, 64 * KB + 3, MB, 8 * MB} do list[i] = ctx:alloc("uint8", n) end
    for _, x in ipairs(list) do ctx.default_stream:fill(x, 0x5a) end
    ctx.default_stream:synchronize(patience)
    close_all(list)
  end},
  {"pinned host memory", function()
    local list = {}
    for i, n in ipairs{1, 4 * KB, 64 * KB + 3, MB, 4 * MB} do 
      list[i] = npu.host("uint8", n)
      list[i]:fill(1)
    end
    close_all(list)
  end},
  {"streams", function(t, ctx)
    local list = {}
    for i = 1, 8 do list[i] = ctx:create_stream() end
    close_all(list)
  end},
  {"events", function(t, ctx)
    local list = {}
    for i = 1, 16 do
      list[i] = ctx:create_event{timing = i % 2 == 0}
      ctx.default_stream:record(list[i])
    end
    ctx.default_stream:synchronize(patience)
    close_all(list)
  end},
  {"contexts", function(t, ctx)
    local list = {}
    for i = 1, 3 do list[i] = ctx.device:create_context() end
    ctx:set_current()
    close_all(list)
  end},
  {"copies and kernels", function(t, ctx)
    local h, x, s = npu.host("float32", 1000), ctx:alloc("float32", 1000), ctx.default_stream
    s:copy(x, h)
    fleet.operator(t, npu.ops.add, s, x, x, x)
    s:copy(h, x)
    s:synchronize(patience)
    close_all{x, h}
  end},
  {"graphs", function(t, ctx)
    local s, x = ctx:create_stream(), ctx:alloc("uint8", 64 * KB)
    local g = s:capture(function() s:fill(x, 1) end)
    g:replay(s)
    s:synchronize(patience)
    close_all{g, x, s}
  end},
  {"models", function() npu.model("sample:mlp.json"):close() end},
  {"access to other devices", function(t, ctx)
    local dev, peers = ctx.device, 0
    for _, id in ipairs(working) do
      if id ~= dev.id and not fleet.lost[id] and dev:can_access_peer(npu.device(id)) then
        ctx:set_current()
        dev:enable_peer_access(npu.device(id))
        dev:disable_peer_access(npu.device(id))
        peers = peers + 1
      end
    end
    ctx:set_current()
    if peers == 0 then t:skip("no other device whose memory it can reach") end
  end},
  {"memory that is collected", collected},
}

-- Runs a round. What the release of the runtime lacks is skipped; the model is one of the simulator's.
local function run(t, fn, ...)
  local ok, err = pcall(fn, ...)
  if ok then return end
  local code = type(err) == "table" and err.code
  if code == LACKS or (code == NO_FILE or code == NO_MODEL) and not npu.simulated then t:skip("%s", err.message or tostring(err)) end
  error(err, 0)
end

local function state(ctx)
  return {free = memory_free(ctx), live = npu.stats().live, resident = resident()}
end

-- How much the process grew, from the first third of the samples to the last.
local function growth(samples)
  local third = math.max(math.floor(#samples / 3), 1)
  local first, last = {}, {}
  for i = 1, third do first[i], last[i] = samples[i], samples[#samples - third + i] end
  return measure.stats(last).median - measure.stats(first).median
end

local leaks = json.array{}

local function compare(t, kind, ctx, before, states)
  local after, every = states[#states], true
  local previous, sizes = before.free, {}
  for i, s in ipairs(states) do
    every = every and s.free < previous
    previous, sizes[i] = s.free, s.resident
  end
  local lost = before.free - after.free
  local row = {device = ctx.device.id, kind = kind, rounds = #states, memory_lost = lost, handles_left = {}, process_growth = json.null}
  t:metric("memory that is missing", lost, "B", {max = opt.tolerance})
  t:expect(not every or lost > opt.tolerance, "each of %d rounds took some memory of the device, %s in all", #states, measure.text(lost, "B"))
  for name, count in pairs(after.live) do
    local more = count - (before.live[name] or 0)
    if more > 0 then
      row.handles_left[name] = more
      t:fail("handles that are left: %d of kind %q", more, name)
    end
  end
  if #sizes == #states then
    row.process_growth = growth(sizes)
    t:metric("growth of the process", row.process_growth, "B", {max = opt.growth})
  else
    t:log("the size of the process is not known: there is no /proc/self/status")
  end
  leaks[#leaks + 1] = row
  check.data("leaks", leaks)
end

local function rounds(t, kind, fn)
  local ctx = npu.current_context()
  for _ = 1, WARM_UP do run(t, fn, t, ctx) end
  collectgarbage()
  local before, states = state(ctx), {}
  for i = 1, opt.rounds do
    run(t, fn, t, ctx)
    states[i] = state(ctx)
  end
  compare(t, kind, ctx, before, states)
end

working = fleet.answering(opt.device, patience)
for _, id in ipairs(working) do
  fleet.each(id, kinds, function(row)
    local kind, fn = unpack(row)
    return check.test(kind, {device = id}, function(t) t:try(rounds, t, kind, fn) end)
  end)
end
