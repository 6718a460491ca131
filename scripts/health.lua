-- health: check that the devices of this server do their work.
local args, check, measure = require "args", require "check", require "measure"
local fleet, npu = require "fleet", require "npu"

local opt = args.parse{
  name = "health", summary = "check that the devices of this server do their work",
  text = [[
Level 1 takes seconds: every device answers, its sensors show nothing wrong, memory holds data, copies of every kind bring the right bytes, streams and events keep their order, kernels compute what they should, and launches do not lag.

Level 2 takes longer: copies between host and device and inside the device are measured, compared with the least that such a part does and with the other devices, every pair of devices copies, and a matrix product is checked.

Level 3 tests memory: most of what is free, with several patterns (--memory and --all-memory say how much), and sensors after work.

What the server should have and has not, CANN's operators or the library of sensors, keeps tests from running, unless --allow-skip has it.

Exit status: 0 all passed, 3 something failed, 4 something could not run or nothing was checked, 2 wrong options.

With --scenario the checks are rehearsed on the simulator instead: they run in a process of their own for each scenario of faults, which must find what goes wrong there.

With --json the report is as docs/health.schema.json says; with --scenario its member "data" has what each script noticed.]],
  options = {
    {"device", "LIST", "devices to check, such as 0,2-3", type = "devices", default = "all"},
    {"timeout", "TIME", "time that each test may take", type = "seconds", default = 60, min = 0.01},
    {"memory", "SIZE", "memory that level 3 tests on each device", type = "bytes", default = "1G", min = 1024 * 1024},
    {"all-memory", "level 3 tests all memory that is free"},
    {"min-copy", "GB/S", "least bandwidth between host and device, instead of what is known of the part", type = "number", min = 0},
    {"max-temperature", "C", "temperature of the chip that is too hot, in degrees Celsius", type = "number", default = 90},
    {"scenario", "NAME", "rehearse a scenario of faults, or all, on the simulator", many = true},
    check.options,
  },
}

if #opt.scenario > 0 then return require("rehearse").run("health", opt, #opt.device ~= npu.device_count()) end

fleet.setup("health", opt, {timeout = opt.timeout})

-- A wait has half of a test's time, so that a device that hangs fails the test, instead of ending it.
local patience = opt.timeout / 2

-- Least bandwidths in GB/s by family, about a quarter of what the slot or the memory of such a part has: lower is broken, not slow.
local floors = {
  ["310P"] = {host = 6, device = 25, peer = 5},
  ["910"] = {host = 6, device = 200, peer = 5},
  ["910B"] = {host = 12, device = 200, peer = 8},
  ["910_93"] = {host = 12, device = 200, peer = 8},
  ["950"] = {host = 12, device = 200, peer = 8},
}

local KB, MB, GB = 1024, 1024 * 1024, 1024 * 1024 * 1024

-- What the tests of all devices measured: lists by name, for fleet.alike.
local figures = {}
local function figure(name, id, value)
  figures[name] = figures[name] or {}
  table.insert(figures[name], {device = id, kind = fleet.names[id], value = value})
end

local function expect_pattern(t, host, seed, what)
  local same, how = measure.compare(host, seed)
  return t:expect(same, "%s: %s", what, how or "")
end

-- Copies n bytes of a pattern through the steps that path(buffers, stream) queues, and compares what comes back.
local function round_trip(t, n, seed, what, pinned, path)
  local ctx = npu.current_context()
  local s = ctx:create_stream()
  local source = measure.pattern(npu.host("uint8", n, {pinned = pinned}), seed)
  local result = npu.host("uint8", n, {pinned = pinned})
  local x, y = ctx:alloc("uint8", n), ctx:alloc("uint8", n)
  path(s, x, y, source, result)
  s:synchronize(patience)
  expect_pattern(t, result, seed, what)
  for _, b in ipairs{x, y, source, result, s} do b:close() end
end

-- A fill writes all bytes and no others.
local function filled(t)
  local ctx, n = npu.current_context(), 1 * MB
  local s, x, result = ctx:create_stream(), ctx:alloc("uint8", n), npu.host("uint8", n)
  local expected = npu.host("uint8", n, {pinned = false})
  expected:fill(0xa5)
  expected:slice(n / 4 + 1, n / 2):fill(0x5a)
  s:fill(x, 0xa5)
  s:fill(x:slice(n / 4 + 1, n / 2), 0x5a)
  s:copy(result, x)
  s:synchronize(patience)
  local same, at = result:close_to(expected)
  t:expect(same, "byte %d of memory that was filled is wrong", at or 0)
end

local function sensors(t, id)
  local r = npu.device(id):sensors()
  if not r.available then
    t:expect(not r.no_answer, "%s", r.reason)
    fleet.missing(t, "sensors", r.reason)
  end
  if (r.absent.health or ""):find("does not exist", 1, true) then
    t:fail("the health is unknown: %s", r.absent.health)
  elseif r.health ~= "unknown" then
    t:expect(r.health == "ok" or r.health == "warning", "the device reports the health %q", r.health)
    if r.health == "warning" then t:warn("the device reports the health \"warning\"") end
  else
    t:warn("the health is unknown: %s", r.absent.health or "the driver does not tell")
  end
  for _, f in ipairs(r.faults or {}) do t:warn("the device reports the fault %s %s", f.hex, f.text or "") end
  if r.temperature then t:metric("temperature", r.temperature, "°C", {max = opt.max_temperature}) end
  if r.hbm_temperature then t:metric("HBM temperature", r.hbm_temperature, "°C", {max = opt.max_temperature + 10}) end
  if r.power then t:metric("power", r.power, "W") end
  if r.ecc.double_bit then t:metric("memory errors not corrected", r.ecc.double_bit, "", {max = 0}) end
  if r.ecc.isolated_pages and r.ecc.isolated_pages > 0 then t:warn("%d memory pages are taken out of use", r.ecc.isolated_pages) end
  if r.ecc.single_bit then
    t:metric("memory errors corrected", r.ecc.single_bit, "")
    if r.ecc.single_bit > 0 then t:warn("%d memory errors were corrected since the start of the system", r.ecc.single_bit) end
  end
end

local function streams_and_events(t)
  local ctx = npu.current_context()
  local first, second = ctx:create_stream(), ctx:create_stream()
  local begin, done = ctx:create_event{timing = true}, ctx:create_event{timing = true}
  local n = 64 * KB
  local source, result = measure.pattern(npu.host("uint8", n), 11), npu.host("uint8", n)
  local x, y = ctx:alloc("uint8", n), ctx:alloc("uint8", n)
  first:record(begin)
  first:copy(x, source)
  first:copy(y, x)
  first:record(done)
  second:wait(done)
  second:copy(result, y)
  second:synchronize(patience)
  expect_pattern(t, result, 11, "a copy that waits for another stream")
  t:expect(done:query() and first:query() and second:query(), "work that was waited for is not done")
  local took = npu.elapsed(begin, done)
  t:expect(took > 0, "two events with copies between them are %g s apart", took)
end

local function vector_kernel(t)
  local ctx = npu.current_context()
  local s, n = ctx:create_stream(), 100003
  local a, b, y = ctx:alloc("float32", n), ctx:alloc("float32", n), ctx:alloc("float32", n)
  local ha, hb, hy = npu.host("float32", n), npu.host("float32", n), npu.host("float32", n)
  ha:set(function(i) return i % 1021 end)
  hb:set(function(i) return i % 509 * 0.5 end)
  s:copy(a, ha)
  s:copy(b, hb)
  fleet.operator(t, function() npu.ops.add(s, y, a, b) end)
  s:copy(hy, y)
  s:synchronize(patience)
  ha:set(function(i) return i % 1021 + i % 509 * 0.5 end)
  local same, at = hy:close_to(ha)
  t:expect(same, "element %d of a sum of vectors is wrong: %s", at or 0, at and ("%g instead of %g"):format(hy[at], ha[at]) or "")
end

-- Small whole numbers, whose products and sums are exact in every type.
local function matrix_kernel(t)
  local ctx = npu.current_context()
  local s, m, n, k = ctx:create_stream(), 96, 80, 64
  local ha, hb, hc = npu.host("float16", m * k), npu.host("float16", k * n), npu.host("float16", m * n)
  ha:set(function(i) return (i * 7) % 5 - 2 end)
  hb:set(function(i) return (i * 11) % 7 - 3 end)
  local a, b, c = ctx:alloc("float16", m * k), ctx:alloc("float16", k * n), ctx:alloc("float16", m * n)
  s:copy(a, ha)
  s:copy(b, hb)
  fleet.operator(t, function() npu.ops.matmul(s, c, a, b, m, n, k) end)
  s:copy(hc, c)
  s:synchronize(patience)
  local ta, tb, wrong, first = ha:to_table(), hb:to_table(), 0, nil
  for row = 0, m - 1 do
    for column = 1, n do
      local sum = 0
      for i = 1, k do sum = sum + ta[row * k + i] * tb[(i - 1) * n + column] end
      if hc[row * n + column] ~= sum then
        wrong = wrong + 1
        first = first or ("%g instead of %g in row %d, column %d"):format(hc[row * n + column], sum, row + 1, column)
      end
    end
  end
  t:expect(wrong == 0, "%d of %d elements of a matrix product are wrong: %s", wrong, m * n, first or "")
end

-- Median of the time from a launch to its end, as the host sees it. The first launches load what is needed.
local function launch_latency(t, id)
  local ctx = npu.current_context()
  local n = 1024
  local s, x, y = ctx:create_stream(), ctx:alloc("float32", n), ctx:alloc("float32", n)
  local ones, result = npu.host("float32", n), npu.host("float32", n)
  ones:fill(1)
  s:copy(x, ones)
  s:fill(y, 0)
  local samples = {}
  for i = 1, 22 do
    local start = npu.time()
    fleet.operator(t, function() npu.ops.add(s, y, y, x) end)
    s:synchronize(patience)
    if i > 2 then samples[#samples + 1] = npu.time() - start end
  end
  s:copy(result, y)
  s:synchronize(patience)
  ones:fill(22) -- each launch has added one
  local same, at = result:close_to(ones)
  t:expect(same, "element %d is %g after 22 launches that each add 1", at or 0, at and result[at] or 0)
  local median = measure.stats(samples).median
  figure("launches", id, median)
  t:metric("launch, median", median, "s", {max = 1e-3})
end

-- Bytes a second of copies that are queued one after the other, between two events; the best of three.
local function rate(s, begin, done, dst, src)
  local best = 0
  for _ = 1, 3 do
    s:record(begin)
    for _ = 1, 4 do s:copy(dst, src) end
    s:record(done)
    s:synchronize(patience)
    best = math.max(best, 4 * dst.bytes / npu.elapsed(begin, done))
  end
  return best
end

local function speed(t, id)
  local ctx = npu.current_context()
  local s, n = ctx:create_stream(), 32 * MB
  local begin, done = ctx:create_event{timing = true}, ctx:create_event{timing = true}
  local x, y = ctx:alloc("uint8", n), ctx:alloc("uint8", n)
  local source, result = measure.pattern(npu.host("uint8", n), id), npu.host("uint8", n)
  local floor = floors[ctx.device.info.family] or {}
  local host = opt.min_copy or floor.host
  for _, way in ipairs{
    {"host to device", x, source, host}, {"inside the device", y, x, floor.device}, {"device to host", result, y, host},
  } do
    local name, dst, src, least = unpack(way)
    local r = rate(s, begin, done, dst, src)
    figure(name, id, r)
    t:metric(name, r, "B/s", {min = least and least * 1e9})
  end
  expect_pattern(t, result, id, "what came back")
end

-- Memory in pieces, each with patterns that differ and with all bits set and clear.
local function memory(t, id)
  local dev, ctx = npu.device(id), npu.current_context()
  local free = dev:memory().free
  local want = opt.all_memory and free or opt.memory
  if want > free then t:warn("only %s are free, not %s", measure.text(free, "B"), measure.text(want, "B")) end
  want = math.min(want, free - 64 * MB) -- what the runtime needs
  local piece = 32 * MB
  local host, back, s = npu.host("uint8", piece), npu.host("uint8", piece), ctx:create_stream()
  local pieces = {}
  for i = 1, math.max(math.floor(want / piece), 1) do pieces[i] = ctx:alloc("uint8", piece) end
  t:log("%s tested, %s free", measure.text(#pieces * piece, "B"), measure.text(free, "B"))
  for i, p in ipairs(pieces) do -- all of them, before any is read: an address that stands for two shows
    measure.pattern(host, i)
    s:copy(p, host)
    s:synchronize(patience)
  end
  local bad = 0
  for i, p in ipairs(pieces) do
    s:copy(back, p)
    s:synchronize(patience)
    if not expect_pattern(t, back, i, ("piece %d of %d"):format(i, #pieces)) then bad = bad + 1 end
    if bad == 8 then t:fail("further pieces were not read") break end
  end
  for _, value in ipairs{0, 255, 0x55, 0xaa} do
    host:fill(value)
    for _, p in ipairs(pieces) do s:fill(p, value) end
    for i, p in ipairs(pieces) do
      s:copy(back, p)
      s:synchronize(patience)
      local same, at = back:close_to(host)
      if not t:expect(same, "piece %d of %d: byte %d is not 0x%02x", i, #pieces, at or 0, value) then return end
    end
  end
end

-- Bytes a second of copies from one device to another; how what came back differs is said to t.
local function peer_copy(t, here, there)
  local n, seed = 8 * MB, 1000 * here.id + there.id
  local s, back = here.context:create_stream(), there.context:create_stream()
  local begin, done = here.context:create_event{timing = true}, here.context:create_event{timing = true}
  local x, target = here.context:alloc("uint8", n), there.context:alloc("uint8", n)
  local source, result = measure.pattern(npu.host("uint8", n), seed), npu.host("uint8", n)
  s:copy(x, source)
  local r = rate(s, begin, done, target, x)
  back:copy(result, target)
  back:synchronize(patience)
  expect_pattern(t, result, seed, "what came back")
  return r
end

-- Each test: name, level, function of the test and the device's id.
local tests = {
  {"sensors", 1, sensors},
  {"memory holds data", 1, function(t)
    round_trip(t, 4 * MB, 1, "memory", true, function(s, x, y, source, result)
      s:copy(x, source)
      s:fill(y, 0x5a)
      s:copy(result, x)
    end)
    filled(t)
  end},
  {"copies", 1, function(t)
    for seed, n in ipairs{1, 4 * KB, 1 * MB + 3} do
      round_trip(t, n, seed, measure.text(n, "B") .. ", pinned", true, function(s, x, y, source, result)
        s:copy(x, source)
        s:copy(y, x)
        s:copy(result, y)
      end)
    end
    round_trip(t, 1 * MB, 9, "1 MiB, pageable", false, function(s, x, y, source, result)
      npu.copy(x, source)
      s:copy(y, x)
      s:synchronize(patience)
      npu.copy(result, y)
    end)
  end},
  {"streams and events", 1, streams_and_events},
  {"vector kernel", 1, vector_kernel},
  {"launch latency", 1, launch_latency},
  {"copy speed", 2, speed},
  {"matrix kernel", 2, matrix_kernel},
  {"memory test", 3, memory},
  {"sensors after work", 3, sensors},
}

local working = fleet.answering(opt.device, patience)
for _, id in ipairs(working) do
  fleet.each(id, tests, function(row)
    local name, level, fn = unpack(row)
    return check.test(name, {device = id, level = level}, function(t) t:try(fn, t, id) end)
  end)
end

if #working > 1 then
  local least = floors[npu.device(working[1]).info.family]
  fleet.links("copies to other devices", working, {level = 2, least = least and least.peer * 1e9, measure = peer_copy})
  -- A device that is much slower than the others is suspicious, whatever the limits say.
  for _, row in ipairs{{"launches", "time", 1}, {"host to device", "rate", 2}, {"inside the device", "rate", 2}, {"device to host", "rate", 2}} do
    fleet.alike(row[1], row[2], figures[row[1]] or {}, row[3])
  end
end
