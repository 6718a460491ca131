-- bandwidth: measure and verify copies between host and devices, inside devices and between them.
local args, check, json, measure, tabulate = require "args", require "check", require "json", require "measure", require "tabulate"
local fleet, npu = require "fleet", require "npu"

-- Each path has legs, which run at once on streams of their own: from where to where. Those from or to pageable memory are
-- blocking copies.
local paths = {
  {name = "h2d", title = "host to device", legs = {{"pinned", "device"}}},
  {name = "h2d_pageable", title = "host to device, pageable", legs = {{"pageable", "device"}}},
  {name = "d2h", title = "device to host", legs = {{"device", "pinned"}}},
  {name = "d2h_pageable", title = "device to host, pageable", legs = {{"device", "pageable"}}},
  {name = "d2d", title = "inside the device", legs = {{"device", "device"}}},
  {name = "both", title = "host and device, both directions at once", legs = {{"pinned", "device"}, {"device", "pinned"}}},
  {name = "p2p", title = "to other devices", legs = {{"device", "peer"}}},
}
local by_name, names = {}, {}
for _, path in ipairs(paths) do
  names[#names + 1], by_name[path.name] = path.name, path
end

local opt = args.parse{
  name = "bandwidth", summary = "measure and verify copies between host and devices, inside devices and between them",
  text = [[
Measures, for each size, the bytes a second of these paths; GB/s are 10^9 of them:

  h2d           pinned host memory to the device, queued
  h2d_pageable  pageable host memory to the device, blocking
  d2h           device to pinned host memory, queued
  d2h_pageable  device to pageable host memory, blocking
  d2d           inside the device, queued
  both          h2d and d2h at once, on two streams; both counted
  p2p           to every other device, of the largest size alone

A figure is the median of some samples after a warm-up. A sample is one copy, and of less than 1 MiB as many as make that, 16 at most, one after the other; queued ones are timed by events of the device, blocking ones by the host. Before that, and again after it, every byte is compared; what the copies go to was cleared.

A device fails whose copies bring wrong bytes, that does not answer or hangs, that has less than --min, or less than half of what the best of the other devices of its kind has, in the best size of a path. Between devices, less than half of what the way through host memory gives fails, too (where h2d and d2h are measured). Sizes that do not fit into free memory are left out, with a warning. Devices that cannot reach each other's memory are no fault.

With --json the member "data" of the report has "rows", a list of figures, and "unreachable", pairs of devices; docs/bandwidth.schema.json describes the document.
Exit status: 0 all is well, 3 something failed, 4 something could not run or no device is there, 2 wrong options.]],
  options = {
    {"device", "LIST", "devices to measure, such as 0,2-3", type = "devices", default = "all"},
    {"timeout", "TIME", "time that each test may take: a path of a device", type = "seconds", default = 60, min = 0.01},
    {"path", "PATH", "measure this path alone", choices = names, many = true},
    {"min-size", "SIZE", "the smallest size", type = "bytes", min = 1, default = "4K"},
    {"max-size", "SIZE", "no size is larger", type = "bytes", min = 1, default = "64M"},
    {"step", "N", "each size is N times the one before", type = "integer", min = 2, default = 4},
    {"size", "SIZE", "measure this size instead", type = "bytes", min = 1, many = true},
    {"repeat", "N", "samples of each figure", type = "integer", min = 1, default = 5},
    {"warmup", "N", "copies before them that are not timed", type = "integer", min = 0, default = 1},
    {"min", "PATH=GB/S", "the least that the best size of a path must have", many = true},
    check.report_options,
  },
}

local least = {}
for _, word in ipairs(opt.min) do
  local name, value = word:match("^([%w_]+)=(%d+%.?%d*)$")
  if not by_name[name] then
    fleet.usage("bandwidth", "--min wants PATH=GB/S such as h2d=20, PATH one of %s, got %q", table.concat(names, ", "), word)
  end
  least[name] = tonumber(value) * 1e9
end

local wanted = {}
for _, name in ipairs(#opt.path > 0 and opt.path or names) do wanted[name] = true end
for name in pairs(least) do
  if not wanted[name] then fleet.usage("bandwidth", "--min %s: the path is not measured", name) end
end

local sizes = opt.size
if #sizes == 0 then
  local n = opt.min_size
  while n <= opt.max_size do
    sizes[#sizes + 1] = n
    n = n * opt.step
  end
  if #sizes == 0 then fleet.usage("bandwidth", "--min-size is larger than --max-size") end
end
table.sort(sizes)
for i = #sizes, 2, -1 do
  if sizes[i] == sizes[i - 1] then table.remove(sizes, i) end
end

fleet.setup("bandwidth", opt, {timeout = opt.timeout, brief = true})

-- A wait has half of a test's time, so that a device that hangs fails the test, instead of ending it.
local patience = opt.timeout / 2
local RESERVE = 64 * 1024 * 1024 -- device memory that is left to the runtime

local make = {
  pinned = function(n) return npu.host("uint8", n) end,
  pageable = function(n) return npu.host("uint8", n, {pinned = false}) end,
  device = function(n, ctx) return ctx:alloc("uint8", n) end,
  peer = function(n, _, there) return there.context:alloc("uint8", n) end,
}

-- The legs of a path with buffers of n bytes: from, to, and streams on the devices of the two. staging is host memory
-- to fill and read device memory with.
local function open_legs(path, n, ctx, there)
  local legs = {staging = make.pinned(n), begin = ctx:create_event{timing = true}, done = ctx:create_event{timing = true}}
  for i, ends in ipairs(path.legs) do
    legs[i] = {
      source = make[ends[1]](n, ctx, there), target = make[ends[2]](n, ctx, there),
      stream = ctx:create_stream(), back = (there and there.context or ctx):create_stream(),
      blocking = ends[1] == "pageable" or ends[2] == "pageable", seed = i,
    }
  end
  for _, leg in ipairs(legs) do
    if leg.source.space == "device" then
      leg.stream:copy(leg.source, measure.pattern(legs.staging, leg.seed))
      leg.stream:synchronize(patience)
    else
      measure.pattern(leg.source, leg.seed)
    end
  end
  return legs
end

-- The first n bytes of the buffers.
local function cut(legs, n)
  local part = {staging = legs.staging:slice(1, n), begin = legs.begin, done = legs.done}
  for i, leg in ipairs(legs) do
    part[i] = {source = leg.source:slice(1, n), target = leg.target:slice(1, n)}
    setmetatable(part[i], {__index = leg})
  end
  return part
end

local function clear(legs)
  for _, leg in ipairs(legs) do
    if leg.target.space == "device" then
      leg.back:fill(leg.target, 0)
      leg.back:synchronize(patience)
    else
      leg.target:fill(0)
    end
  end
end

local function verify(t, legs, what)
  for _, leg in ipairs(legs) do
    local host = leg.target
    if host.space == "device" then
      host = legs.staging
      leg.back:copy(host, leg.target)
      leg.back:synchronize(patience)
    end
    local same, how = measure.compare(host, leg.seed)
    t:expect(same, "%s: %s", what, how or "")
  end
end

-- Copies each leg so many times, and returns how long that took.
local function copy(legs, copies)
  local main = legs[1].stream
  if legs[1].blocking then
    local start = npu.time()
    for _ = 1, copies do npu.copy(legs[1].target, legs[1].source) end
    return npu.time() - start
  end
  main:record(legs.begin)
  for i = 2, #legs do legs[i].stream:wait(legs.begin) end
  for _ = 1, copies do
    for _, leg in ipairs(legs) do leg.stream:copy(leg.target, leg.source) end
  end
  for i = 2, #legs do main:wait(legs[i].stream:record()) end
  main:record(legs.done)
  main:synchronize(patience)
  return npu.elapsed(legs.begin, legs.done)
end

local rows, unreachable = {}, {}
local best = {} -- by path, lists for fleet.alike of the largest median of all sizes

-- Measures a path, from here to there: sizes that fit, in ascending order.
local function measure_path(t, path, list, here, there)
  local uses = {[here] = 0}
  if there then uses[there] = 0 end
  for _, ends in ipairs(path.legs) do
    for _, kind in ipairs(ends) do
      local dev = kind == "device" and here or kind == "peer" and there
      if dev then uses[dev] = uses[dev] + 1 end
    end
  end
  local fits = math.huge
  for dev, count in pairs(uses) do fits = math.min(fits, (dev:memory().free - RESERVE) / count) end
  local top
  for _, n in ipairs(list) do top = n <= fits and n or top end
  if not top then t:error("no size fits into the memory that is free") end
  if top < list[#list] then t:warn("sizes above %s do not fit into the memory that is free", measure.text(top, "B")) end
  local all, what = open_legs(path, top, npu.current_context(), there), path.title
  if there then what = ("device %d to device %d"):format(here.id, there.id) end
  local peak
  for _, n in ipairs(list) do
    if n > top then break end
    local legs, text = cut(all, n), what .. ", " .. measure.text(n, "B")
    local copies = math.max(1, math.min(16, math.floor(1024 * 1024 / n)))
    clear(legs)
    copy(legs, 1)
    verify(t, legs, text)
    clear(legs)
    if opt.warmup > 0 then copy(legs, opt.warmup) end
    local samples = {}
    for i = 1, opt["repeat"] do
      local took = copy(legs, copies)
      t:require(took > 0, "%s: %d copies took %g s", text, copies, took)
      samples[i] = #legs * copies * n / took
    end
    verify(t, legs, text .. ", after the samples")
    local s = measure.stats(samples)
    rows[#rows + 1] = {
      path = path.name, device = here.id, peer = there and there.id or json.null, bytes = n, copies = copies,
      samples = s.count, median = s.median, min = s.min, max = s.max,
    }
    peak = math.max(peak or 0, s.median)
  end
  if not there then
    t:metric("best size", peak, "B/s", {min = least[path.name]})
    best[path.name] = best[path.name] or {}
    table.insert(best[path.name], {device = here.id, kind = here.name, value = peak})
  end
  return peak
end

-- The rate of copies between two devices, which should not be half of that by way of host memory.
local function peer_rate(t, here, there)
  local rate = measure_path(t, by_name.p2p, {sizes[#sizes]}, here, there)
  local function of(name, id)
    for _, f in ipairs(best[name] or {}) do
      if f.device == id then return f.value end
    end
  end
  local out, back = of("d2h", here.id), of("h2d", there.id)
  if out and back then
    local way = 1 / (1 / out + 1 / back)
    t:expect(rate >= way / 2, "%s is less than half of %s, the way through host memory", measure.text(rate, "B/s"), measure.text(way, "B/s"))
  end
  return rate
end

-- A rate in GB/s; those of a few bytes need more digits.
local function rate_text(v) return (v < 1e7 and "%.6f" or "%.2f"):format(v / 1e9) end

-- What a device did by size and path.
local function show_device(id)
  local columns, lines, by_size, how = {"size"}, {}, {}, {align = {"right"}}
  for _, path in ipairs(paths) do
    if wanted[path.name] and path.name ~= "p2p" then columns[#columns + 1] = path.name end
  end
  if #columns == 1 then return end
  for _, n in ipairs(sizes) do
    local line = {size = measure.text(n, "B")}
    for i = 2, #columns do
      line[columns[i]], how.align[i] = "-", "right"
    end
    lines[#lines + 1], by_size[n] = line, line
  end
  for _, row in ipairs(rows) do
    if row.device == id and row.peer == json.null then by_size[row.bytes][row.path] = rate_text(row.median) end
  end
  how.columns = columns
  print(("Device %d, %s: median GB/s\n%s\n"):format(id, fleet.names[id], tabulate.format(lines, how)))
end

-- From each device (rows) to each device (columns).
local function show_peers(working, links)
  local lines, headers = {}, {"from \\ to"}
  for i, from in ipairs(working) do
    headers[i + 1] = tostring(from)
    lines[i] = {tostring(from)}
    for k, to in ipairs(working) do lines[i][k + 1] = from == to and "-" or "failed" end
    for k, to in ipairs(working) do
      for _, l in ipairs(links) do
        if l.from == from and l.to == to then lines[i][k + 1] = l.absent and "no access" or l.value and rate_text(l.value) or l.unmeasured and "not measured" or "failed" end
      end
    end
  end
  local align = {}
  for i = 1, #headers do align[i] = "right" end
  print(("Between devices, %s: median GB/s\n%s\n"):format(measure.text(sizes[#sizes], "B"), tabulate.format(lines, {headers = headers, align = align})))
end

local people = not opt.json and opt.markdown ~= "-"
local working = fleet.answering(opt.device, patience)
for _, id in ipairs(working) do
  fleet.each(id, paths, function(path)
    if not wanted[path.name] or path.name == "p2p" then return end
    return check.test(path.title, {device = id}, function(t) t:try(measure_path, t, path, sizes, t.device) end)
  end)
  if people then show_device(id) end
end
if wanted.p2p and #working < 2 and #opt.path > 0 then
  check.test(by_name.p2p.title, function(t) t:skip("it takes two devices that answer") end)
elseif wanted.p2p and #working > 1 then
  local links = fleet.links(by_name.p2p.title, working, {least = least.p2p, measure = peer_rate})
  for _, l in ipairs(links) do
    if l.absent then unreachable[#unreachable + 1] = {device = l.from, peer = l.to} end
  end
  if people then show_peers(working, links) end
end
for _, path in ipairs(paths) do
  if best[path.name] then fleet.alike(path.title, "rate", best[path.name]) end
end
check.data("rows", json.array(rows))
check.data("unreachable", json.array(unreachable))
