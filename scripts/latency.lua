-- latency: measure what launches, copies, synchronization and events cost the host.
local args, check, json, measure, tabulate = require "args", require "check", require "json", require "measure", require "tabulate"
local time = require "time"
local fleet, npu = require "fleet", require "npu"

local patience -- seconds that a wait may take

-- Each kind is prepared by a function of the test and its context that returns what is timed, what is done after that
-- besides (or nil), and what verifies the results once.

local function launching(queued)
  return function(t, ctx)
    local s, n = ctx:create_stream(), 1024
    local a, b, y, want = ctx:alloc("float32", n), ctx:alloc("float32", n), ctx:alloc("float32", n), npu.host("float32", n)
    for factor, x in pairs{a, b} do
      want:set(function(i) return i * factor end)
      s:copy(x, want)
      s:synchronize(patience)
    end
    s:fill(y, 0)
    want:set(function(i) return i * 3 end)
    local function launch() npu.ops.add(s, y, a, b) end
    local function wait() s:synchronize(patience) end
    local function verify()
      local got = npu.host("float32", n)
      s:copy(got, y)
      wait()
      local same, at = got:close_to(want)
      t:expect(same, "element %d of a sum is wrong: %s", at or 0, at and ("%g instead of %g"):format(got[at], want[at]) or "")
    end
    if queued then return launch, wait, verify end
    return function() launch() wait() end, nil, verify
  end
end

local function copying(to_device, n, blocking)
  return function(t, ctx)
    local s, host, result, x = ctx:create_stream(), npu.host("uint8", n), npu.host("uint8", n), ctx:alloc("uint8", n)
    measure.pattern(host, n)
    if to_device then s:fill(x, 0) else s:copy(x, host) end
    s:synchronize(patience)
    local dst, src = x, host
    if not to_device then dst, src = result, x end
    local function verify()
      if to_device then
        s:copy(result, x)
        s:synchronize(patience)
      end
      local same, how = measure.compare(result, n)
      t:expect(same, "what was copied: %s", how or "")
    end
    if blocking then return function() npu.copy(dst, src) end, nil, verify end
    return function() s:copy(dst, src) s:synchronize(patience) end, nil, verify
  end
end

local function idle_stream(t, ctx)
  local s = ctx:create_stream()
  return function() s:synchronize(patience) end, nil, function() t:expect(s:query(), "an idle stream has work") end
end

local function event(t, ctx)
  local s, e = ctx:create_stream(), ctx:create_event()
  return function() s:record(e) e:synchronize(patience) end, nil, function() t:expect(e.recorded and e:query(), "the event is not done") end
end

-- Streams of two contexts in turn: each record is in the other one than the record before.
local function switching(t, ctx)
  local other = ctx.device:create_context()
  local s, e = {ctx:create_stream(), other:create_stream()}, {ctx:create_event(), other:create_event()}
  ctx:set_current()
  local turn, asked, before = 1, 0, npu.stats().context_switches
  return function()
    turn, asked = 3 - turn, asked + 1
    s[turn]:record(e[turn])
    e[turn]:synchronize(patience)
  end, nil, function()
    local switches = npu.stats().context_switches - before
    t:expect(switches >= asked, "%d commands for one context and another in turn took %d switches only", asked, switches)
  end
end

local function host_function(t, ctx)
  local s, asked, ran = ctx:create_stream(), 0, 0
  local function fn() ran = ran + 1 end
  return function() asked = asked + 1 s:callback(fn) s:synchronize(patience) end, nil, function()
    t:expect(ran == asked, "%d of %d host functions ran", ran, asked)
  end
end

local kinds = { -- name, title, preparation
  {"launch_queue", "queue a kernel, without waiting", launching(true)},
  {"launch", "launch a kernel and wait for its end", launching(false)},
  {"h2d_4B", "queue a copy of 4 B to the device and wait", copying(true, 4)},
  {"h2d_4KiB", "queue a copy of 4 KiB to the device and wait", copying(true, 4096)},
  {"d2h_4B", "queue a copy of 4 B from the device and wait", copying(false, 4)},
  {"d2h_4KiB", "queue a copy of 4 KiB from the device and wait", copying(false, 4096)},
  {"h2d_blocking", "blocking copy of 4 KiB to the device", copying(true, 4096, true)},
  {"d2h_blocking", "blocking copy of 4 KiB from the device", copying(false, 4096, true)},
  {"event", "record an event and wait for it", event},
  {"switch", "the same, in another context each time", switching},
  {"idle", "synchronize an idle stream", idle_stream},
  {"callback", "queue a function of the host and wait", host_function},
}
local names, known, list = {}, {}, {}
for i, kind in ipairs(kinds) do
  names[i], known[kind[1]], list[i] = kind[1], true, ("  %-13s %s"):format(kind[1], kind[2])
end

local opt = args.parse{
  name = "latency", summary = "measure what launches, copies, synchronization and events cost the host",
  text = [[
Measures on each device, by the clock of the host, how long these take:

]] .. table.concat(list, "\n") .. [[


Shown are median, percentiles and maximum of --count samples after a warm-up; host memory is pinned. Times include what the script itself costs, well below a microsecond a call, and next to nothing on the simulator. What kernels, copies and functions did is verified, of the first one and of the last one.

A device fails that does not answer or hangs, that brings wrong results, whose median is above --max, or above four times the median of the other devices of its kind. What the release of the runtime cannot do is skipped; operators that are not installed keep a test from running, unless --allow-skip has them.

With --json the member "data" of the report has "rows", a list of figures in seconds; docs/latency.schema.json describes the document.

Exit status: 0 all is well, 3 something failed, 4 something could not run or no device is there, 2 wrong options.]],
  options = {
    {"device", "LIST", "devices to measure, such as 0,2-3", type = "devices", default = "all"},
    {"timeout", "TIME", "time that each test may take: one kind of a device", type = "seconds", default = 60, min = 0.01},
    {"only", "NAME", "measure this alone", choices = names, many = true},
    {"count", "N", "samples of each", type = "integer", min = 1, default = 200},
    {"warmup", "N", "rounds before them that are not timed", type = "integer", min = 0, default = 20},
    {"max", "NAME=TIME", "the largest median that is good, such as launch=50us", many = true},
    check.report_options,
  },
}
patience = opt.timeout / 2 -- so that a device that hangs fails the test, instead of ending it

local wanted = {}
for _, name in ipairs(#opt.only > 0 and opt.only or names) do wanted[name] = true end

local most = {}
for _, word in ipairs(opt.max) do
  local name, text = word:match("^([%w_]+)=(.+)$")
  local ok, limit = pcall(time.duration, text and text:match("^%d+%.?%d*$") and text .. "s" or text)
  if not known[name] or not ok or limit < 0 then
    fleet.usage("latency", "--max wants NAME=TIME such as launch=50us, NAME one of %s, got %q", table.concat(names, ", "), word)
  end
  if not wanted[name] then fleet.usage("latency", "--max %s: it is not measured", name) end
  most[name] = limit
end

fleet.setup("latency", opt, {timeout = opt.timeout, brief = true})

local rows, figures = {}, {}

local function sample(t, id, name, prepare)
  local timed, after, verify = prepare(t, npu.current_context())
  timed() -- loads what is needed
  verify()
  local samples = {}
  for i = 1 - opt.warmup, opt.count do
    local start = npu.time()
    timed()
    local took = npu.time() - start
    if after then after() end
    if i > 0 then samples[i] = took end
  end
  verify()
  local s = measure.stats(samples)
  rows[#rows + 1] = {name = name, device = id, samples = s.count, min = s.min, median = s.median, p90 = s.p90, p99 = s.p99, max = s.max}
  t:metric("median", s.median, "s", {max = most[name]})
  figures[name] = figures[name] or {}
  table.insert(figures[name], {device = id, kind = fleet.names[id], value = s.median})
end

-- What the release of the runtime lacks skips the test; operators it should have.
local function attempt(t, id, name, prepare)
  local ok, err = pcall(sample, t, id, name, prepare)
  if ok then return end
  if type(err) == "table" and err.code == 207000 then
    if name:find("^launch") then fleet.missing(t, "operators", err) end
    t:skip("%s", err.message or tostring(err))
  end
  error(err, 0)
end

local function show(id)
  local lines = {}
  for _, kind in ipairs(kinds) do
    local line
    for _, row in ipairs(rows) do
      if row.device == id and row.name == kind[1] then line = row end
    end
    if wanted[kind[1]] then
      local cells = {kind[1]}
      for _, of in ipairs{"median", "p90", "p99", "max"} do cells[#cells + 1] = line and measure.text(line[of], "s") or "-" end
      cells[#cells + 1] = kind[2]
      lines[#lines + 1] = cells
    end
  end
  print(("Device %d, %s\n%s\n"):format(id, fleet.names[id], tabulate.format(lines, {
    headers = {"", "median", "p90", "p99", "max", ""}, align = {"left", "right", "right", "right", "right", "left"},
  })))
end

for _, id in ipairs(fleet.answering(opt.device, patience)) do
  fleet.each(id, kinds, function(kind)
    local name, _, prepare = unpack(kind)
    if wanted[name] then return check.test(name, {device = id}, function(t) t:try(attempt, t, id, name, prepare) end) end
  end)
  if not opt.json and opt.markdown ~= "-" then show(id) end
end
for _, name in ipairs(names) do fleet.alike(name, "time", figures[name] or {}) end
check.data("rows", json.array(rows))
