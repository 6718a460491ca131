-- inventory: list the devices, their state and which can reach which.
local args, check, json, measure, tabulate = require "args", require "check", require "json", require "measure", require "tabulate"
local fleet, npu = require "fleet", require "npu"

local opt = args.parse{
  name = "inventory", summary = "list the devices, their state and which can reach which",
  text = [[
Shows what runs the commands (the simulator, or the runtime and the driver with their versions), the devices with cores, memory, limits, temperature, power, health and memory errors, and the pairs of devices that can reach each other's memory. What cannot be told is a dash in tables, with the reason below, an empty cell in CSV, and null in JSON, with the reason under "absent".

A device that does not answer is listed with what is known without it, and fails; the others are listed. One that another process uses is listed as any other: its free memory is less. Bad health fails nothing here: npulua run health judges it.

With --json the member "data" of the report has "software", "devices" and "peers"; docs/inventory.schema.json describes the document. Memory is in bytes, temperatures in degrees Celsius, power in W, voltage in V, utilization from 0 to 1; faults in CSV are codes with blanks between them.

Exit status: 0 all devices answer, 3 one does not, 4 something could not run or no device is there, 2 wrong options.]],
  options = {
    {"device", "LIST", "devices to list, such as 0,2-3", type = "devices", default = "all"},
    {"timeout", "TIME", "time that each device has to answer", type = "seconds", default = 60, min = 0.01},
    {"csv", "print the devices as CSV, without a report: a line for each, after one with the names"},
    check.report_options,
  },
}
if opt.csv and (opt.json or opt.markdown == "-") then fleet.usage("inventory", "--csv has standard output for itself: leave --json and --markdown - out") end

fleet.setup("inventory", opt, {timeout = opt.timeout, brief = true, report = not opt.csv})

-- What the runtime tells of a part, whether it answers or not.
local known = {"name", "family", "cube_cores", "vector_cores", "max_streams", "max_events", "queue_depth"}

-- What sensors tell, by the names that it has here; a group of them has its readings in a table.
local readings = {
  {"health"}, {"temperature"}, {"hbm_temperature"}, {"power"}, {"card_power"}, {"voltage"},
  {"ecc_single_bit", "ecc", "single_bit"}, {"ecc_double_bit", "ecc", "double_bit"},
  {"ecc_total_single_bit", "ecc", "total_single_bit"}, {"ecc_total_double_bit", "ecc", "total_double_bit"},
  {"ecc_isolated_pages", "ecc", "isolated_pages"},
  {"utilization_cores", "utilization", "cores"}, {"utilization_vector", "utilization", "vector"},
  {"utilization_memory", "utilization", "memory"}, {"utilization_hbm", "utilization", "hbm"},
  {"utilization_hbm_bandwidth", "utilization", "hbm_bandwidth"},
}

local SILENT = "the device does not answer"

-- Puts a value into a row, or null, and why.
local function put(row, name, value, why)
  row[name] = value == nil and json.null or value
  row.absent[name] = value == nil and why or nil
end

local function message(err) return type(err) == "table" and err.message or tostring(err) end

local ok, parts = pcall(npu.devices)
local untold = not ok and message(parts) or "the backend does not tell"
if not ok then parts = {} end

local devices, by_id = {}, {}
for i, id in ipairs(opt.device) do
  local row, part = {id = id, answers = false, error = json.null, absent = {}}, parts[id + 1] or {}
  for _, name in ipairs(known) do put(row, name, part[name], untold) end
  put(row, "memory_total", part.memory, untold)
  for _, name in ipairs{"memory_free", "sensors", "faults"} do put(row, name, nil, SILENT) end
  for _, r in ipairs(readings) do put(row, r[1], nil, SILENT) end
  devices[i], by_id[id] = row, row
end

local function read_sensors(row, dev)
  local told, s = pcall(dev.sensors, dev)
  local why = not told and message(s) or not s.available and s.reason
  put(row, "sensors", not why and s.source or nil, why)
  if why then s = {absent = {}} end
  for _, r in ipairs(readings) do
    local name, group, key = unpack(r)
    local from, absent = s, s.absent
    if group then from, absent = s[group] or {}, s.absent[group] or {} end
    local value = from[key or name]
    if value == "unknown" then value = nil end
    put(row, name, value, why or absent[key or name] or "the driver does not tell")
  end
  local faults = s.faults and json.array{}
  for i, f in ipairs(s.faults or {}) do faults[i] = {code = f.hex, text = f.text or json.null} end
  put(row, "faults", faults, why or s.absent.faults or "the driver does not tell")
end

local working = fleet.answering(opt.device, opt.timeout / 2, function(t, dev)
  local row, memory = by_id[dev.id], dev:memory()
  row.answers = true
  put(row, "memory_total", memory.total)
  put(row, "memory_free", memory.free)
  for _, name in ipairs(known) do put(row, name, dev.info[name], untold) end
  read_sensors(row, dev)
end, function(id, why) by_id[id].error = why end)
for _, row in ipairs(devices) do row.answers = false end
for _, id in ipairs(working) do by_id[id].answers = true end
for _, row in ipairs(devices) do
  if not row.answers and row.error == json.null then row.error = "it could not be asked, or not in time" end
end

-- Whether a device can reach the memory of another one, or nil and why that is not known.
local function access(from, to)
  if not (by_id[from].answers and by_id[to].answers) then return nil, SILENT end
  local told, can = pcall(function() return npu.device(from):can_access_peer(npu.device(to)) end)
  if told then return can end
  return nil, message(can)
end

local peers = {}
for _, from in ipairs(opt.device) do
  for _, to in ipairs(opt.device) do
    if from ~= to then
      local pair = {device = from, peer = to, absent = {}}
      put(pair, "access", access(from, to))
      peers[#peers + 1] = pair
    end
  end
end

-- Version of the driver, from the file that it installs; nil and why it is not known.
local function driver_version()
  if npu.backend ~= "acl" then return nil, "the backend " .. npu.backend .. " has none" end
  local why
  for _, path in ipairs{"/usr/local/Ascend/driver/version.info", "/usr/local/Ascend/version.info"} do
    local read, text = pcall(function() return require("fs").read(path, {max_bytes = 65536}) end)
    local version = read and text:match("[Vv]ersion%s*=%s*([^\r\n]+)")
    if version then return version end
    why = why or (read and path .. " has no line Version=" or message(text))
  end
  return nil, why
end

local software = {npulua = npu.version, backend = npu.backend, simulated = npu.simulated, detail = npu.detail, absent = {}}
put(software, "runtime", npu.detail:match("AscendCL ([%d.]+)"), npu.backend == "acl" and "the runtime does not tell" or "the backend " .. npu.backend .. " has none")
put(software, "driver", driver_version())
check.data("software", software)
check.data("devices", json.array(devices))
check.data("peers", json.array(peers))

-- A value for a table: null is a dash.
local function cell(value, unit)
  if value == json.null then return "-" end
  return unit and measure.text(value, unit) or tostring(value)
end

local function show_devices()
  local headers = {"Id", "Name", "Family", "Cube", "Vector", "Memory", "Free", "Temp.", "Power", "Health", "ECC", "Streams", "Events", "Queue"}
  local lines, align = {}, {}
  for i, h in ipairs(headers) do align[i] = (h == "Name" or h == "Family" or h == "Health") and "left" or "right" end
  for i, r in ipairs(devices) do
    local ecc = r.ecc_single_bit == json.null and r.ecc_double_bit == json.null and "-" or cell(r.ecc_single_bit) .. "/" .. cell(r.ecc_double_bit)
    lines[i] = {
      r.id, cell(r.name), cell(r.family), cell(r.cube_cores), cell(r.vector_cores), cell(r.memory_total, "B"), cell(r.memory_free, "B"),
      cell(r.temperature, "°C"), cell(r.power, "W"), r.answers and cell(r.health) or "NO ANSWER", ecc, cell(r.max_streams), cell(r.max_events), cell(r.queue_depth),
    }
  end
  print(tabulate.format(lines, {headers = headers, align = align}))
end

-- What the table has not: faults, and why there are dashes, each reason once.
local function show_notes()
  local shown, order, of = {"family", "cube_cores", "vector_cores", "memory_total", "memory_free", "temperature", "power", "health", "ecc_single_bit", "max_streams", "max_events", "queue_depth"}, {}, {}
  for _, r in ipairs(devices) do
    for _, f in ipairs(r.faults == json.null and {} or r.faults) do print(("Device %d reports the fault %s%s"):format(r.id, f.code, f.text == json.null and "" or ", " .. f.text)) end
    for _, name in ipairs(shown) do
      local why = r.absent[name]
      if why and r.answers then
        local key = ("Device %d, not known: %%s: %s"):format(r.id, why:gsub("%%", "%%%%"))
        if not of[key] then order[#order + 1], of[key] = key, {} end
        table.insert(of[key], name)
      end
    end
  end
  for _, key in ipairs(order) do print((key:gsub("%%s", function() return table.concat(of[key], ", ") end, 1))) end
end

local function show_peers()
  local lines, headers, align, row = {}, {"from \\ to"}, {"right"}, {}
  for i, from in ipairs(opt.device) do
    headers[i + 1], align[i + 1] = tostring(from), "right"
    row[from] = {tostring(from)}
    for k = 1, #opt.device do row[from][k + 1] = "-" end
    lines[i] = row[from]
  end
  for _, p in ipairs(peers) do
    for k, to in ipairs(opt.device) do
      if to == p.peer then row[p.device][k + 1] = p.access == json.null and "?" or p.access and "yes" or "no" end
    end
  end
  print("\nAccess to the memory of other devices\n" .. tabulate.format(lines, {headers = headers, align = align}))
end

if opt.csv then
  local columns = {"id"}
  for _, name in ipairs(known) do columns[#columns + 1] = name end
  for _, name in ipairs{"memory_total", "memory_free", "sensors"} do columns[#columns + 1] = name end
  for _, r in ipairs(readings) do columns[#columns + 1] = r[1] end
  for _, name in ipairs{"faults", "answers", "error", "backend", "simulated"} do columns[#columns + 1] = name end
  local lines = {}
  for i, r in ipairs(devices) do
    local line = {backend = npu.backend, simulated = npu.simulated}
    for name, value in pairs(r) do line[name] = value ~= json.null and name ~= "absent" and value or line[name] end
    line.answers = r.answers
    local codes = {}
    for k, f in ipairs(r.faults == json.null and {} or r.faults) do codes[k] = f.code end
    line.faults = table.concat(codes, " ")
    lines[i] = line
  end
  print(tabulate.format(lines, {columns = columns, style = "csv", format = {memory_total = "%.0f", memory_free = "%.0f"}}))
elseif not opt.json and opt.markdown ~= "-" then
  if npu.backend == "acl" then
    print(("AscendCL %s, driver %s\n"):format(cell(software.runtime), software.driver == json.null and "not known: " .. software.absent.driver or software.driver))
  end
  if #devices > 0 then show_devices() end
  show_notes()
  if #devices > 1 then show_peers() end
  if #devices > 0 then print() end
end
