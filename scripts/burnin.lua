-- burnin: keep all devices busy and verify everything that they compute and copy.
local args, check, measure, tabulate, json = require "args", require "check", require "measure", require "tabulate", require "json"
local fleet, npu = require "fleet", require "npu"
local progress = require "progress"

local opt = args.parse{
  name = "burnin", summary = "keep all devices busy and verify everything that they compute and copy",
  text = [[
All devices work at the same time, for --duration. A round of a device is a batch of matrix products, whose results are known exactly and compared on the device, the last one on the host, too; beside them a pattern is copied from the host through memory of the device and back, and compared byte by byte.
Errors are counted by kind, and the burn goes on: wrong products, wrong copies, and NPU errors by code. A device is given up when it is lost, when work does not end (half of --timeout), or when ten rounds in a row fail; the others go on. More errors than --max-errors fail the device, fewer are a warning; a temperature above --max-temperature fails it, too. TFLOPS are those while products were computed; where they fall by a fifth there is a warning. A device with less than half the rate of another one like it fails. New memory errors are a warning where they were corrected, else a failure.
The simulator computes for real, at a small share of a device's speed, while its time is virtual: there a device has --rounds 10 and matrices of 256 where nothing else is said, and idles in between.

Exit status: 0 all passed, 3 something failed, 4 something could not run or nothing was checked, 2 wrong options. Ctrl-C ends it early, with status 130; the report says what was done until then. What each device did is `data.devices` of the JSON report, by docs/burnin.schema.json.]],
  options = {
    {"device", "LIST", "devices to burn, such as 0,2-3", type = "devices", default = "all"},
    {"duration", "TIME", "how long to burn", type = "seconds", default = 60, min = 0.001},
    {"rounds", "N", "this many rounds for each device, spread over the duration, instead of one after the other", type = "integer", min = 1},
    {"size", "N", "rows and columns of the matrices; 4096 where left out", type = "integer", choices = {64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384}},
    {"memory", "SIZE", "memory of each device that copies go through, at most half of what is free", type = "bytes", default = "1G", min = 65536},
    {"max-temperature", "C", "temperature of the chip that is too hot, in degrees Celsius", type = "number", default = 90},
    {"max-errors", "N", "errors that a device may have", type = "integer", min = 0, default = 0},
    {"timeout", "TIME", "time that setting up, and each round, may take", type = "seconds", default = 60, min = 0.01},
    check.options,
  },
}

fleet.setup("burnin", opt, {timeout = opt.duration + 2 * opt.timeout})

local patience = opt.timeout / 2
local MB = 1024 * 1024
local size = opt.size or npu.simulated and 256 or 4096
local rounds = opt.rounds or npu.simulated and 10 or nil
local batch = npu.simulated and 4 or 128 -- products of a round, each four times as many launches besides
local piece = math.min(npu.simulated and 4 * MB or 32 * MB, math.floor(opt.memory / 2))
local HUNG, LOST, LACKS = 507046, 507010, 207000
local GIVE_UP = 10 -- rounds in a row that fail

-- Matrices of float16 whose product is known without computing it: period 16 both ways, and signs that look random, so
-- that a block at a wrong place shows. Elements of the product are at most 32 times size/16, a power of 2: exact.
local function matrices(n)
  local P = 16
  local function sign(i) return i * 40503 % 65536 < 32768 and 1 or -1 end
  local function left(i, k) return (i * 7 + k * 3) % 5 - 2 end
  local function right(k, j) return (k * 5 + j * 11) % 3 - 1 end
  local function product(i, j)
    local sum = 0
    for k = 0, P - 1 do sum = sum + left(i, k) * right(k, j) end
    return sum * (n / P)
  end
  local function build(value, by_row, by_column)
    local known, lines = {}, {}
    for i = 0, n - 1 do
      local s = by_row and sign(i) or 1
      local key = i % P * s + (s < 0 and -P or 0)
      if not known[key] then
        local period, line = {}, {}
        for j = 0, P - 1 do period[j] = s * value(i % P, j) end
        for j = 0, n - 1 do line[j + 1] = period[j % P] * (by_column and sign(j) or 1) end
        local h = npu.host("float16", line, {pinned = false})
        known[key] = h:to_string()
        h:close()
      end
      lines[i + 1] = known[key]
    end
    return table.concat(lines)
  end
  return {a = build(left, true, false), b = build(right, false, true), c = build(product, true, true)}
end

local given = matrices(size)

-- What a device works with. Streams are made anew after an error.
local function prepare(id, r)
  local ctx, n = npu.current_context(), size * size
  local w = {ctx = ctx, host = npu.host("float16", n), result = npu.host("float16", n)}
  for _, name in ipairs{"a", "b", "c", "d", "known"} do w[name] = ctx:alloc("float16", n) end
  local s = ctx:create_stream()
  for _, row in ipairs{{"a", given.a}, {"b", given.b}, {"known", given.c}} do -- that of the product stays in w.host
    local name, text = unpack(row)
    w.host:set(text)
    for _ = 1, 2 do -- a copy that goes wrong once is an error, and not of the products
      s:copy(w[name], w.host)
      s:copy(w.result, w[name])
      s:synchronize(patience)
      local same, at = w.result:close_to(w.host)
      if same then break end
      r.error("wrong copy", ("wrong copy: element %d of a matrix is %g instead of %g"):format(at, w.result[at], w.host[at]))
    end
  end
  s:close()
  w.differ, w.differences = ctx:alloc("float16", 2 * batch), npu.host("float16", 2 * batch)
  w.slots = {}
  for i = 1, 2 * batch do w.slots[i] = w.differ:slice(i, 1) end
  w.source, w.back = npu.host("uint8", piece), npu.host("uint8", piece)
  w.pieces = {}
  local free = npu.device(id):memory().free
  for i = 1, math.max(math.floor(math.min(opt.memory, free / 2) / piece), 2) do w.pieces[i] = ctx:alloc("uint8", piece) end
  w.events = {}
  for i = 1, 2 * batch do w.events[i] = ctx:create_event{timing = true} end
  return w
end

-- Queues products, and of each the largest element of its differences to what is known, both ways: 0 and 0.
local function multiply(w, s)
  local ops = npu.ops
  for i = 1, batch do
    s:record(w.events[2 * i - 1])
    ops.matmul(s, w.c, w.a, w.b, size, size, size)
    s:record(w.events[2 * i])
    ops.sub(s, w.d, w.c, w.known)
    ops.max(s, w.slots[2 * i - 1], w.d)
    ops.sub(s, w.d, w.known, w.c)
    ops.max(s, w.slots[2 * i], w.d)
  end
end

-- One round; r counts what it did.
local function round(w, r, sample)
  w.compute = w.compute or w.ctx:create_stream()
  w.copies = w.copies or w.ctx:create_stream()
  local s, c, wrong = w.compute, w.copies, 0
  if w.products then multiply(w, s) end
  local i = r.rounds % #w.pieces + 1
  local x, y = w.pieces[i], w.pieces[i % #w.pieces + 1]
  measure.pattern(w.source, r.rounds)
  w.back:fill(0)
  for _, step in ipairs{{x, w.source}, {y, x}, {w.back, y}} do c:copy(step[1], step[2]) end
  sample()
  c:synchronize(patience)
  r.bytes_copied = r.bytes_copied + 3 * piece
  local same, how = measure.compare(w.back, r.rounds)
  if not same then r.error("wrong copy", "wrong copy: " .. how) end
  if not w.products then return end
  s:copy(w.differences, w.differ)
  s:copy(w.result, w.c)
  s:synchronize(patience)
  r.products = r.products + batch
  local times = {} -- the median: the host may have queued a product later than the event before it
  for k = 1, 2 * batch, 2 do
    times[#times + 1] = npu.elapsed(w.events[k], w.events[k + 1])
    if w.differences[k] ~= 0 or w.differences[k + 1] ~= 0 then wrong = wrong + 1 end
  end
  r.work(2 * size ^ 3 * batch, batch * measure.stats(times).median)
  local exact, at = w.result:close_to(w.host)
  if not exact and wrong == 0 then wrong = 1 end
  local what = not exact and ("wrong product: element %d is %g instead of %g"):format(at, w.result[at], w.host[at]) or "wrong product, found by comparing on the device"
  for _ = 1, wrong do r.error("wrong product", what) end
end

local results, start = {}, nil
local bar = {note = function() end, done = function() end}

-- What a device has done, with functions that count it. The table for programs is kept current, for Ctrl-C.
local function record(t, id)
  local row = {device = id, rounds = 0, products = 0, flops = json.null, bytes_copied = 0, errors = 0, errors_by_kind = {}, temperature_max = json.null, power_mean = json.null, seconds = 0, gave_up = json.null}
  local r = {row = row, rounds = 0, products = 0, bytes_copied = 0, powers = 0, power = 0, flop = 0, busy = 0, tenths = {}}
  results[#results + 1] = row
  function r.error(kind, text) -- the first of a kind is told at once
    row.errors = row.errors + 1
    local seen = row.errors_by_kind[kind]
    row.errors_by_kind[kind] = (seen or 0) + 1
    local too_many = row.errors > opt.max_errors
    if not seen then (too_many and t.fail or t.warn)(t, "after %s: %s", measure.text(npu.time() - start, "s"), text) end
    if opt.max_errors > 0 and row.errors == opt.max_errors + 1 then t:fail("more than %d errors", opt.max_errors) end
  end
  function r.npu_error(err)
    r.error(("%s %d"):format(err.name or "code", err.code), tostring(err):match("[^\n]*"))
  end
  function r.work(flop, seconds)
    r.flop, r.busy = r.flop + flop, r.busy + seconds
    local tenth = math.min(math.floor((npu.time() - start) / opt.duration * 10) + 1, 10)
    local x = r.tenths[tenth] or {flop = 0, busy = 0}
    x.flop, x.busy = x.flop + flop, x.busy + seconds
    r.tenths[tenth] = x
  end
  function r.sample(always)
    local now = npu.time()
    if r.sampled and not always and now - r.sampled < opt.duration / 20 then return end
    r.sampled = now
    local readings = npu.device(id):sensors()
    local temperature, power = readings.temperature, readings.power
    if temperature then row.temperature_max = row.temperature_max == json.null and temperature or math.max(row.temperature_max, temperature) end
    for _, bits in ipairs{"single_bit", "double_bit"} do
      r["before_" .. bits] = r["before_" .. bits] or readings.ecc[bits]
      r[bits] = readings.ecc[bits]
    end
    if power then r.power, r.powers = r.power + power, r.powers + 1 end
    r.absent = not temperature and (readings.reason or readings.absent.temperature) or nil
  end
  function r.publish()
    row.rounds, row.products, row.bytes_copied, row.seconds = r.rounds, r.products, r.bytes_copied, npu.time() - start
    if r.busy > 0 then row.flops = r.flop / r.busy end
    if r.powers > 0 then row.power_mean = r.power / r.powers end
    check.data("devices", json.array(results))
    local errors = 0
    for _, other in ipairs(results) do errors = errors + other.errors end
    bar:note("errors: " .. errors)
  end
  function r.text()
    return ("%d rounds, %d products%s, %s copied, errors: %d"):format(r.rounds, r.products,
      r.busy > 0 and (" at %.4g TFLOPS"):format(r.flop / r.busy / 1e12) or "", measure.text(r.bytes_copied, "B"), row.errors)
  end
  return r
end

-- Counts the error of a round; true where it makes no sense to go on. What is no NPU error is one of this script, or of the
-- host.
local function failed(t, w, r, err)
  if type(err) ~= "table" or not err.code or err.host then error(err, 0) end -- it says nothing of the device
  if err.code == LACKS and w.products then
    w.products, w.lacks = false, err.message or tostring(err)
    return false
  end
  r.npu_error(err)
  r.in_a_row = (r.in_a_row or 0) + 1
  r.row.gave_up = err.code == HUNG and "work does not end" or err.code == LOST and "the device is lost"
    or r.in_a_row >= GIVE_UP and GIVE_UP .. " rounds in a row failed" or json.null
  if r.row.gave_up ~= json.null then return true end
  for _, name in ipairs{"compute", "copies"} do
    local s = w[name]
    w[name] = nil
    if s then pcall(s.close, s) end
  end
  return false
end

local function verdict(t, r)
  local kinds = {}
  for kind, count in pairs(r.row.errors_by_kind) do kinds[#kinds + 1] = ("%d x %s"):format(count, kind) end
  table.sort(kinds)
  if #kinds > 0 then t:log("errors in all: %s", table.concat(kinds, ", ")) end
  if r.row.gave_up ~= json.null then t:fail("given up after %s of %s: %s", measure.text(r.row.seconds, "s"), measure.text(opt.duration, "s"), r.row.gave_up) end
  t:expect(r.rounds > 0, "no round came to its end")
  if r.busy > 0 then t:metric("matrix products", r.row.flops / 1e12, "TFLOPS") end
  t:metric("copied", r.bytes_copied, "B")
  if r.row.temperature_max ~= json.null then t:metric("highest temperature", r.row.temperature_max, "°C", {max = opt.max_temperature})
  elseif r.absent then t:log("temperature is not known: %s", r.absent) end
  if r.powers > 0 then t:metric("mean power", r.row.power_mean, "W") end
  for bits, way in pairs{single_bit = "were corrected", double_bit = "could not be corrected"} do
    local more = r[bits] and r[bits] - r["before_" .. bits] or 0
    if more > 0 then (bits == "double_bit" and t.fail or t.warn)(t, "%d memory errors %s during the burn", more, way) end
  end
  local best, last = 0, nil
  for tenth = 1, 10 do
    local x = r.tenths[tenth]
    if x then
      last = x.flop / x.busy
      best = math.max(best, last)
    end
  end
  if last and last < 0.8 * best then t:warn("products were slower at the end, as where a device is throttled: %.4g TFLOPS, the best tenth %.4g", last / 1e12, best / 1e12) end
end

local function burn(t, id)
  local r, w = record(t, id), nil
  local ok, err = pcall(function()
    r.sample(true)
    w = prepare(id, r)
  end)
  if not ok then
    if type(err) ~= "table" or not err.code or err.host then error(err, 0) end -- it says nothing of the device
    r.npu_error(err)
    r.row.gave_up = "it could not be set up"
    t:fail("%s", r.row.gave_up)
    return r.publish()
  end
  w.products = true
  local begin, logged = npu.time(), 0
  while npu.time() - begin < opt.duration and r.rounds ~= rounds do
    local ok, err = pcall(round, w, r, r.sample)
    if ok then r.rounds, r.in_a_row = r.rounds + 1, 0 end
    local over = not ok and failed(t, w, r, err)
    r.publish()
    if over then break end
    local now = npu.time() - begin
    if math.floor(now / opt.duration * 10) > logged then
      logged = math.floor(now / opt.duration * 10)
      t:log("%s: %s", measure.text(now, "s"), r.text())
    end
    if rounds then npu.sleep(math.max(opt.duration / rounds * r.rounds - now, 0)) end
  end
  pcall(r.sample, true) -- a device that is lost has none
  r.publish()
  verdict(t, r)
  if not w.lacks then return end
  for _, name in ipairs(opt.allow_skip) do
    if name == "operators" then return t:warn("without matrix products\n%s", w.lacks) end
  end
  fleet.missing(t, "operators", w.lacks)
end

local working = fleet.answering(opt.device, patience)

if #working > 0 then bar = progress.new{seconds = opt.duration, title = "burnin"} end
start = npu.time()
local tasks = {}
for i, id in ipairs(working) do
  tasks[i] = npu.spawn(function() check.test("burn", {device = id}, function(t) burn(t, id) end) end)
end
npu.join(tasks)
bar:done()

-- A device that computes at less than half the rate of the best of its kind is suspicious.
local best, alike = {}, 0
for _, r in ipairs(results) do
  local name = npu.devices()[r.device + 1].name
  if r.flops ~= json.null then best[name], alike = math.max(best[name] or 0, r.flops), alike + 1 end
end
if alike > 1 then
  for _, r in ipairs(results) do
    local most = best[npu.devices()[r.device + 1].name]
    if r.flops ~= json.null then
      check.test("as fast as others", {device = r.device, open = false}, function(t)
        t:expect(r.flops >= most / 2, "%.4g TFLOPS, another device has %.4g", r.flops / 1e12, most / 1e12)
      end)
    end
  end
end

if not opt.json and #results > 0 then
  local rows = {}
  local function cell(v, scale) return v == json.null and "-" or ("%.4g"):format(v / (scale or 1)) end
  for i, r in ipairs(results) do
    rows[i] = {r.device, r.rounds, r.products, cell(r.flops, 1e12), cell(r.bytes_copied, 1e9), r.errors, cell(r.temperature_max), cell(r.power_mean)}
  end
  print(tabulate.format(rows, {headers = {"device", "rounds", "products", "TFLOPS", "GB copied", "errors", "max °C", "mean W"}, align = {[4] = "right", [5] = "right", [7] = "right", [8] = "right"}}))
end
