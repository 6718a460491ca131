-- watch: see the state of the devices change, on one screen.
local args, json, measure, screen, tabulate = require "args", require "json", require "measure", require "screen", require "tabulate"
local npu = require "npu"

local opt = args.parse{
  name = "watch", summary = "see the state of the devices change, on one screen",
  text = [[
Shows for every device how much memory is in use, how busy cores and copy engines are, how many streams can still be made, and what its sensors tell: temperature, power, memory errors, health. A value that cannot be read is a dash; below the table stands why.

On a terminal the screen is redrawn until q is pressed; otherwise the table is printed again and again, below each other. Memory and streams are those of the device, whoever uses them. To tell them npulua opens each device, which takes some memory itself.

With --json every sample is one line, a JSON document of its own; docs/watch.schema.json describes it.]],
  options = {
    {"device", "LIST", "devices to show, such as 0,2-3", type = "devices", default = "all"},
    {"interval", "TIME", "time between samples", type = "seconds", default = 1, min = 0.05},
    {"count", "N", "samples to show; without it, or a --timeout, until the end is asked for", type = "integer", min = 1},
    {"timeout", "TIME", "time after which it ends", type = "seconds"},
    {"json", "print JSON, a line for each sample"},
  },
}

local devices = {}
for _, id in ipairs(opt.device) do devices[#devices + 1] = {id = id} end
if #devices == 0 then
  io.stderr:write("watch: there is no device: the ", npu.backend, " backend shows none\n")
  os.exit(4)
end

-- What cannot be read is nil, and noted; a call that is not there (207000) is no fault of the device.
local function try(row, what, fn)
  local ok, value = pcall(fn)
  if ok then return value end
  if type(value) ~= "table" then error(value, 0) end
  row.absent[what] = value.message or tostring(value)
  if value.code ~= 207000 then row.failed = true end
end

local function sample(d)
  local row = {id = d.id, absent = {}}
  d.device = d.device and not d.device.closed and d.device or try(row, "device", function() return npu.device(d.id) end)
  if not d.device then
    row.name = d.name
    return row
  end
  local dev = d.device
  d.name = dev.name
  row.name = dev.name
  row.memory = try(row, "memory", function() return dev:memory() end)
  row.utilization = try(row, "utilization", function() return dev:utilization() end)
  row.streams_free = try(row, "streams_free", function() return dev:streams_free() end)
  row.streams = dev.info.max_streams
  local s = try(row, "sensors", function() return dev:sensors() end)
  if s and not s.available then
    row.absent.sensors = s.reason
  elseif s then
    row.temperature, row.power, row.health, row.ecc = s.temperature, s.power, s.health, s.ecc
    if s.health == "unknown" then row.health = nil end
    for _, name in ipairs{"temperature", "power", "health"} do
      if row[name] == nil then row.absent[name] = type(s.absent[name]) == "string" and s.absent[name] or "the driver does not tell" end
    end
  end
  return row
end

local function percent(share) return share and ("%.0f%%"):format(share * 100) end

-- The columns of the table: title, alignment, text of a row's cell.
local columns = {
  {"NPU", "right", function(r) return r.id end},
  {"Name", "left", function(r) return r.name end},
  {"Memory in use", "right", function(r)
    local m = r.memory
    return m and ("%s of %s"):format(percent((m.total - m.free) / m.total), measure.text(m.total, "B"))
  end},
  {"Cores", "right", function(r) return percent(r.utilization and r.utilization.cores) end},
  {"Copies", "right", function(r) return percent(r.utilization and r.utilization.copies) end},
  {"Streams free", "right", function(r) return r.streams_free end},
  {"Temp.", "right", function(r) return r.temperature and ("%.0f °C"):format(r.temperature) end},
  {"Power", "right", function(r) return r.power and ("%.0f W"):format(r.power) end},
  {"ECC", "right", function(r) return r.ecc and r.ecc.single_bit and ("%d+%d"):format(r.ecc.single_bit, r.ecc.double_bit or 0) end},
  {"Health", "left", function(r) return r.failed and "NO ANSWER" or r.health end},
}

-- What a narrow terminal does without, in this order.
local optional = {"Name", "Streams free", "Copies", "Power", "ECC"}

local function columns_of(line) return #line:gsub("[\128-\191]", "") end

-- The table, without the columns whose titles are keys of hidden.
local function grid(rows, hidden)
  local cells, headers, align = {}, {}, {}
  for i in ipairs(rows) do cells[i] = {} end
  for _, column in ipairs(columns) do
    local title, side, of = unpack(column)
    if not hidden[title] then
      headers[#headers + 1], align[#align + 1] = title, side
      for i, row in ipairs(rows) do
        local cell = of(row)
        cells[i][#headers] = cell == nil and "-" or tostring(cell)
      end
    end
  end
  return tabulate.format(cells, {headers = headers, align = align})
end

-- The table, as wide as a terminal of so many columns has room for, and why what is absent is.
local function text(rows, width)
  local hidden, out = {}, grid(rows, {})
  for _, title in ipairs(optional) do
    if width and columns_of(out:match("[^\n]*")) > width then
      hidden[title] = true
      out = grid(rows, hidden)
    end
  end
  local notes, noted = {}, {}
  for _, row in ipairs(rows) do
    for what, why in pairs(row.absent) do
      local note = ("device %d, %s: %s"):format(row.id, what, why:match("[^\n]*"))
      if not noted[note] then
        noted[note] = true
        notes[#notes + 1] = note
      end
    end
  end
  table.sort(notes)
  table.insert(notes, 1, out)
  return table.concat(notes, "\n")
end

local function document(rows, time)
  local list = {}
  for i, r in ipairs(rows) do
    local row = {}
    for _, name in ipairs{"id", "name", "memory", "utilization", "streams_free", "streams", "temperature", "power", "health", "ecc"} do
      row[name] = r[name] == nil and json.null or r[name]
    end
    row.answers = not r.failed
    row.absent = r.absent
    list[i] = row
  end
  return json.encode{schema_version = 1, backend = npu.backend, simulated = npu.simulated, npulua = npu.version, time = time, devices = json.array(list)}
end

local title = ("npulua watch, backend %s%s"):format(npu.backend, npu.sim and ": " .. npu.sim.profile .. ", says nothing about hardware" or "")
local s = not opt.json and screen.terminal and screen.open()
for _, d in ipairs(devices) do pcall(npu.device, d.id) end -- which takes seconds the first time
local start, failed, n = npu.time(), false, 0

-- Waits for the next sample; false where the end is asked for. Keys that change nothing do not make it wait less.
local function another()
  n = n + 1
  local time = npu.time() - start
  if opt.count and n >= opt.count or opt.timeout and time + opt.interval > opt.timeout then return false end
  if not s then
    npu.sleep(opt.interval)
    return true
  end
  local key = s:key(opt.interval)
  if npu.sim then npu.sleep(opt.interval) end -- virtual time goes on with it
  return key ~= "q" and key ~= "escape" and key ~= "ctrl-d"
end

repeat
  local rows, time = {}, npu.time() - start
  for i, d in ipairs(devices) do
    rows[i] = sample(d)
    failed = failed or rows[i].failed
  end
  if opt.json then
    print(document(rows, time))
  elseif s then
    s:draw(("%s\n%s\n\n%s\n\nq: quit"):format(title, ("every %g s, sample %d"):format(opt.interval, n + 1), text(rows, (screen.size()))))
  else
    print((n == 0 and title .. "\n" or "") .. ("%.3f s"):format(time))
    print(text(rows, (screen.size())))
  end
  io.stdout:flush()
until not another()
if s then s:close() end
os.exit(failed and 3 or 0)
