-- current: what is current, over random nestings of what changes it and of what must not. Each task has a model of its
-- own: the contexts that were made current, of which the last open one is. Arguments: first seed, number of seeds.
local first, many = tonumber(arg[1]), tonumber(arg[2])
local COUNT, DEPTH, STEPS = npu.device_count(), 4, 5

local random -- of the seed: function of n, 1 to n
local function generator(seed)
  local state = seed * 7919 % 2147483647 + 1
  return function(n)
    state = state * 16807 % 2147483647
    return state % n + 1
  end
end

local trail -- what was done, for the message of a failure
local function note(...) trail[#trail + 1] = string.format(...) end

local function now(model)
  for i = #model, 1, -1 do
    if not model[i].closed then return model[i] end
  end
end

local function verify(model)
  local want, got = now(model), npu.current_context()
  local device = npu.current_device()
  if got ~= want or device ~= (want and want.device) then
    error(("seed %s: current are %s and %s instead of %s, after\n  %s"):format(
      trail.seed, tostring(got), tostring(device), tostring(want), table.concat(trail, "\n  ")), 0)
  end
end

-- Where objects without an owner of their own go: to the current device.
local function verify_place(model)
  local ctx = now(model)
  if not ctx then
    local ok, err = pcall(npu.host, "uint8", 4)
    assert(not ok and err.code == 107002, "pinned memory without a current context")
  elseif npu.backend ~= "null" then
    local before, x = ctx.device:memory().free, npu.current_context():alloc("uint8", 4 * 1024 * 1024)
    assert(ctx.device:memory().free < before, "memory went to another device")
    x:close()
    npu.host("uint8", 4):close()
  end
end

local contexts -- all explicit ones that were made
local function any_context(model)
  if #contexts > 0 and random(3) > 1 then return contexts[random(#contexts)] end
  return now(model)
end

local function make_current(model, ctx) model[#model + 1] = ctx end

local body -- forward: random steps in a function of the model and the depth

-- Calls fn(inner), where inner is the model inside; afterwards what was current before is.
local function use(model, depth)
  local ctx = any_context(model)
  if not ctx then return end
  note("%s:use", tostring(ctx))
  local before = {}
  for i, c in ipairs(model) do before[i] = c end
  local closed = ctx.closed
  local ok, err = pcall(ctx.use, ctx, function()
    make_current(model, ctx)
    verify(model)
    body(model, depth + 1)
  end)
  note("%s:use ends: %s", tostring(ctx), tostring(ok))
  if closed then
    assert(not ok and err.code == 107017, "use of a closed context")
  elseif not ok and err ~= "asked for" then
    error(err, 0)
  end
  for i = #model, 1, -1 do model[i] = before[i] end
end

local function guarded(model, depth, call)
  local ok, err = pcall(call, function() body(model, depth + 1) end)
  if not ok and err ~= "asked for" then error(err, 0) end
end

local steps = {
  function(model)
    local dev = npu.device(random(COUNT) - 1)
    note("%s", tostring(dev))
    make_current(model, dev.context)
  end,
  function(model)
    local ctx = npu.device(random(COUNT) - 1):create_context()
    note("create %s", tostring(ctx))
    make_current(model, ctx.device.context)
    make_current(model, ctx)
    contexts[#contexts + 1] = ctx
  end,
  function(model)
    local ctx = any_context(model)
    if not ctx then return end
    local ok, err = pcall(ctx.set_current, ctx)
    note("%s:set_current", tostring(ctx))
    if not ctx.closed then make_current(model, ctx) else assert(not ok and err.code == 107017) end
  end,
  use, use, use,
  function(model)
    if #contexts == 0 then return end
    local ctx = contexts[random(#contexts)]
    ctx:close()
    note("close %s", tostring(ctx))
  end,
  function(model)
    local ctx = now(model)
    if not ctx or random(4) > 1 then return end
    if random(2) == 1 then ctx.device:reset() else ctx.device:close() end
    note("closed %s", tostring(ctx.device))
  end,
  function(model, depth)
    note("pcall")
    guarded(model, depth, function(fn) fn() if random(2) == 1 then error("asked for", 0) end end)
  end,
  function(model, depth)
    note("xpcall")
    guarded(model, depth, function(fn) local ok, err = xpcall(fn, function(e) return e end) if not ok then error(err, 0) end end)
  end,
  function(model, depth)
    note("scope")
    guarded(model, depth, function(fn) npu.scope(fn) end)
  end,
  function(model, depth)
    note("coroutine")
    guarded(model, depth, function(fn)
      local co = coroutine.create(function() coroutine.yield() fn() coroutine.yield() end)
      for _ = 1, 3 do
        local ok, err = coroutine.resume(co)
        if not ok then error(err, 0) end
      end
    end)
  end,
  function(model, depth)
    note("yield out of use is refused")
    local ctx = now(model)
    if not ctx then return end
    local ok = coroutine.resume(coroutine.create(function() ctx:use(coroutine.yield) end))
    assert(not ok, "a yield left use")
  end,
  function(model, depth)
    note("task")
    local t = npu.spawn(function()
      local own = {}
      verify(own)
      body(own, depth + 1)
      npu.sleep(random(3) / 1000)
      body(own, depth + 1)
    end)
    if random(2) == 1 then
      npu.sleep(random(3) / 1000)
      verify(model)
    end
    local ok, err = pcall(t.join, t)
    if not ok and err ~= "asked for" then error(err, 0) end
  end,
  function() npu.sleep(random(2) / 1000) end,
  function(model)
    local ctx = now(model)
    if not ctx or not npu.sim then return end
    note("an allocation and a context that fail")
    local dev = ctx.device
    local f = npu.sim.fault{op = "create_context", device = dev.id, code = 507899}
    assert(not pcall(dev.create_context, dev))
    f:close()
    assert(not pcall(npu.device, COUNT))
  end,
  function(model)
    local ctx = now(model)
    if not ctx or npu.backend == "null" then return end
    note("callback, capture")
    local s, inside = ctx:create_stream(), nil
    s:callback(function() inside = pcall(ctx.use, ctx, function() end) end)
    s:synchronize()
    assert(inside == false, "use in a host function")
    local x = ctx:alloc("uint8", 4)
    s:capture(function()
      s:fill(x, 1)
      ctx:use(function() verify{ctx} end)
    end):close()
    x:close()
    s:close()
  end,
  verify_place,
  function() collectgarbage() end,
  function() if random(3) == 1 then error("asked for", 0) end end,
}

function body(model, depth)
  if depth > DEPTH then return end
  for _ = 1, random(STEPS) do
    steps[random(#steps)](model, depth)
    verify(model)
  end
end

for seed = first, first + many - 1 do
  random, trail, contexts = generator(seed), {seed = seed}, {}
  local model = {now{npu.current_context()}} -- earlier seeds left it
  local ok, err = pcall(function() for _ = 1, 6 do body(model, 1) end end)
  if not ok and err ~= "asked for" then error(err, 0) end
  for id = 0, COUNT - 1 do npu.device(id):close() end
  assert(npu.current_context() == nil)
end

-- A worker has a current context of its own.
local ctx = npu.device(0):create_context()
local inside = npu.worker(function()
  local was, other = tostring(npu.current_context()), npu.device(0).context
  local own = npu.device(npu.device_count() - 1):create_context()
  other:use(function() end)
  return was, npu.current_context() == own
end)
local was, own = inside:join()
assert(was == "nil" and own, "the worker")
assert(npu.current_context() == ctx, "a worker changed what is current")
print("ok")
