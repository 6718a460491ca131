-- bandwidth: measure copies between host and device, and inside the device.
--
-- usage: npulua run bandwidth [--device N] [--max BYTES] [--repeat N] [--json]
-- For sizes from 4 KiB on, each four times the one before: copies with pinned host memory, queued
-- on a stream and timed with events, and blocking copies with pageable host memory, timed by the
-- host. A rate is bytes copied by time, in GB/s (10^9 bytes a second). Before they are timed, copies
-- of each kind and size are checked byte by byte.
--   --device N     device to measure (default: 0)
--   --max BYTES    largest size (default: 67108864)
--   --repeat N     copies per figure (default: 5)
--   --json         print one JSON object instead of a table
local npu = require "npu"

local SMALLEST, STEP = 4096, 4

local function usage(message)
  io.stderr:write("bandwidth: ", message,
    "; usage: npulua run bandwidth [--device N] [--max BYTES] [--repeat N] [--json]\n")
  os.exit(2)
end

local least = {["--device"] = 0, ["--max"] = SMALLEST, ["--repeat"] = 1}
local options = {["--device"] = 0, ["--max"] = 64 * 1024 * 1024, ["--repeat"] = 5}
local as_json = false
local i = 1
while arg[i] do
  local name, value = arg[i], tonumber(arg[i + 1])
  if name == "--json" then
    as_json = true
    i = i + 1
  elseif not least[name] then
    usage("unknown option " .. name)
  elseif not value or value < least[name] or value ~= math.floor(value) then
    usage(name .. " wants a whole number, " .. least[name] .. " or more")
  else
    options[name] = value
    i = i + 2
  end
end
local largest, copies = options["--max"], options["--repeat"]

local dev = npu.device(options["--device"])
local ctx = dev:create_context()
local s = ctx:create_stream()
local start, stop = ctx:create_event{timing = true}, ctx:create_event{timing = true}

-- One buffer of each kind, of the largest size; smaller sizes are slices.
local pageable = {pinned = false}
local all = {
  x = ctx:alloc("uint8", largest), y = ctx:alloc("uint8", largest),
  pinned = npu.host("uint8", largest), pinned_out = npu.host("uint8", largest),
  pageable = npu.host("uint8", largest, pageable), pageable_out = npu.host("uint8", largest, pageable),
}

-- Source bytes 1 to 251, again and again: no power of two, so that bytes at a wrong place show.
local bytes = {}
for byte = 1, 251 do bytes[byte] = string.char(byte) end
local pattern = string.rep(table.concat(bytes), 4096)
for first = 1, largest, #pattern do
  local count = math.min(#pattern, largest - first + 1)
  all.pinned:slice(first, count):set(pattern:sub(1, count))
end
npu.copy(all.pageable, all.pinned)

-- Each way of copying, in round trips from source to result; what they go through is cleared before.
local function check(b, n)
  local function round_trip(source, result, copy_in, copy_out)
    result:fill(0)
    s:fill(b.x, 0)
    s:fill(b.y, 0)
    copy_in(b.x, source)
    s:copy(b.y, b.x)
    s:synchronize()
    copy_out(result, b.y)
    s:synchronize()
    assert(result:close_to(source), "wrong bytes in a copy of " .. n .. " B")
  end
  local function queued(dst, src) s:copy(dst, src) end
  round_trip(b.pinned, b.pinned_out, queued, queued)
  round_trip(b.pageable, b.pageable_out, npu.copy, npu.copy)
end

-- GB/s of copies from src to dst that are queued: device time, between two events.
local function queued_rate(dst, src)
  s:record(start)
  for _ = 1, copies do s:copy(dst, src) end
  s:record(stop)
  s:synchronize()
  return copies * dst.bytes / npu.elapsed(start, stop) / 1e9
end

-- GB/s of blocking copies: host time.
local function blocking_rate(dst, src)
  local t = npu.time()
  for _ = 1, copies do npu.copy(dst, src) end
  return copies * dst.bytes / (npu.time() - t) / 1e9
end

local ways = {
  {"host_to_device_pinned", queued_rate, "x", "pinned"},
  {"host_to_device_pageable", blocking_rate, "x", "pageable"},
  {"device_to_host_pinned", queued_rate, "pinned_out", "x"},
  {"device_to_host_pageable", blocking_rate, "pageable_out", "x"},
  {"device_to_device", queued_rate, "y", "x"},
}

local results = {}
local n = SMALLEST
while n <= largest do
  local b = {}
  for name, buffer in pairs(all) do b[name] = buffer:slice(1, n) end
  check(b, n)
  local row = {bytes = n}
  for _, way in ipairs(ways) do
    local name, rate, dst, src = unpack(way)
    row[name] = rate(b[dst], b[src])
  end
  results[#results + 1] = row
  n = n * STEP
end

-- JSON text of a number, a string, a boolean, a list, or a table with names, in their order.
local function json(v)
  local parts = {}
  if type(v) == "number" then
    return v == math.floor(v) and string.format("%.0f", v) or string.format("%.3f", v)
  elseif type(v) == "string" then
    return '"' .. v:gsub('[%c"\\]', function(c) return string.format("\\u%04x", c:byte()) end) .. '"'
  elseif type(v) ~= "table" then
    return tostring(v)
  elseif #v > 0 then
    for k, item in ipairs(v) do parts[k] = json(item) end
    return "[" .. table.concat(parts, ",") .. "]"
  end
  for name, item in pairs(v) do parts[#parts + 1] = json(name) .. ":" .. json(item) end
  table.sort(parts)
  return "{" .. table.concat(parts, ",") .. "}"
end

if as_json then
  print(json{
    backend = npu.backend, simulated = npu.simulated, device = dev.id, name = dev.name,
    unit = "GB/s", copies = copies, results = results,
  })
else
  print(string.format("%s, device %d, backend %s%s", dev.name, dev.id, npu.backend,
    npu.simulated and ": simulated, says nothing about real hardware" or ""))
  print("               host to device        device to host      device to")
  print("     bytes     pinned   pageable     pinned   pageable     device  (GB/s)")
  for _, row in ipairs(results) do
    local line = string.format("%10d", row.bytes)
    for _, way in ipairs(ways) do line = line .. string.format(" %10.2f", row[way[1]]) end
    print(line)
  end
end
