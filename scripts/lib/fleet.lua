-- fleet: what scripts over all devices share: which of them answer, whether they are alike, and who is to blame.
local check, measure = require "check", require "measure"
local npu = require "npu"

local fleet = {
  names = {}, -- by id, the part that a device is
  sick = {}, -- by id, whether a test of fleet.each found the device wanting
  lost = {}, -- by id, whether the device was lost meanwhile
}

-- A wrong option of the script name that only it can see: exit status 2, as args gives.
function fleet.usage(name, text, ...)
  io.stderr:write(name, ": ", text:format(...), "\nusage: npulua run ", name, " [options]; --help lists the options\n")
  os.exit(2)
end

-- check.setup with the options of check.options, and more.
function fleet.setup(name, opt, more)
  if opt.json and opt.markdown == "-" then fleet.usage(name, "--json and --markdown - both want standard output: give --markdown a file") end
  local settings = {title = name, json = opt.json, junit = opt.junit, markdown = opt.markdown, strict = opt.strict, level = opt.level, allow_skip = opt.allow_skip}
  for key, value in pairs(more) do settings[key] = value end
  check.setup(settings)
end

-- An NPU error in a line.
function fleet.text(err)
  return type(err) == "table" and err.code and ("%s [%d %s]"):format(err.message, err.code, err.name) or tostring(err)
end

-- Opens each device of a list and waits for it, for patience seconds at most, in a test of its own, and returns the ids of
-- those that answer. A device that is gone, or that there is not, fails its test, and the others go on. more(t, device) may
-- ask further, and then that a device answers is a result of its own; failed(id, text) is told what a device says instead.
function fleet.answering(ids, patience, more, failed)
  local working = {}
  if npu.device_count() == 0 or #ids == 0 then
    check.test("answers", function(t) t:error("there is no device: the %s backend shows none", npu.backend) end)
    return working
  end
  for _, id in ipairs(ids) do
    local result = check.test("answers", {device = id, open = false, prepares = not more}, function(t)
      local ok, err = t:try(function()
        local dev = npu.device(id)
        local m = dev:memory()
        t:metric("memory", m.total, "B", {min = 1})
        t:metric("memory that is free", m.free, "B")
        dev:synchronize(patience)
        if more then more(t, dev) end
        fleet.names[id] = dev.name
      end)
      if not ok and failed then failed(id, fleet.text(err)) end
    end)
    if fleet.names[id] and (result == "pass" or result == "warn") then working[#working + 1] = id end
  end
  return working
end

-- Ends a test for want of something that the server should have, `operators` or `sensors`; reason is a text or an error.
function fleet.missing(t, name, reason)
  t:missing(name, "%s", type(reason) == "table" and reason.message or tostring(reason))
end

-- Calls fn, which needs operators.
function fleet.operator(t, fn, ...)
  local ok, err = pcall(fn, ...)
  if ok then return end
  if type(err) == "table" and err.code == 207000 then fleet.missing(t, "operators", err) end
  error(err, 0)
end

local function answers(id) return (pcall(function() npu.device(id):memory() end)) end

-- Does test(row) for the rows of a list, each of which gives the results of check.test of the device, until the device is
-- lost, which fails. What the server lacks says nothing of the device.
function fleet.each(id, rows, test)
  for _, row in ipairs(rows) do
    local result, lacks = test(row)
    if result == "fail" or result == "error" and not lacks then fleet.sick[id] = true end
    if fleet.sick[id] and not answers(id) then
      fleet.lost[id] = true
      check.test("answers still", {device = id, open = false}, function(t)
        if t:try(function() npu.device(id):memory() end) then t:fail("it did not, and does again") end
      end)
      return
    end
  end
end

-- How a figure is judged beside those of the others of its kind.
local judges = {
  rate = {unit = "B/s", of = "max", bad = function(v, best) return v < best / 2 end, text = "less than half of %s, which is the best of the others"},
  time = {unit = "s", of = "median", bad = function(v, median) return v > 4 * median end, text = "more than four times %s, the median of the others"},
}

-- A test of each device, that its figure is like those of others of its kind. figures is a list of {device = 0, kind =
-- "Ascend910B3", value = v}; judge is "rate" or "time". Nothing where there are no two of a kind, but with a level, where
-- these tests are skipped.
function fleet.alike(name, judge, figures, level)
  local j = judges[judge]
  for i, f in ipairs(figures) do
    local others = {}
    for k, other in ipairs(figures) do
      if k ~= i and other.kind == f.kind then others[#others + 1] = other.value end
    end
    if #others > 0 or level then
      check.test("devices alike: " .. name, {device = f.device, open = false, level = level}, function(t)
        if #others == 0 then t:skip("no other one of its kind was measured") end
        local usual = measure.stats(others)[j.of]
        t:expect(not j.bad(f.value, usual), "%s is " .. j.text, measure.text(f.value, j.unit), measure.text(usual, j.unit))
      end)
    end
  end
end

-- What is wrong with each link, as link.why: an error, a rate below least, or less than half of the best of its kind.
local function judge_links(links, least)
  local best = {}
  for _, l in ipairs(links) do
    l.kind = (fleet.names[l.from] or "?") .. " " .. (fleet.names[l.to] or "?")
    if l.value then best[l.kind] = math.max(best[l.kind] or 0, l.value) end
  end
  for _, l in ipairs(links) do
    if l.value and not l.why then
      if least and l.value < least then
        l.why = ("%s, below the minimum of %s"):format(measure.text(l.value, "B/s"), measure.text(least, "B/s"))
      elseif l.value < best[l.kind] / 2 then
        l.why = ("%s is less than half of %s, which is the best of the others"):format(measure.text(l.value, "B/s"), measure.text(best[l.kind], "B/s"))
      end
    end
  end
end

-- Whose fault the bad links are, with their texts, by id: that of devices that do not answer, of those that were found
-- wanting before, then of those that most bad links have in common. The two ends of a single bad link share it.
local function blame(links)
  local guilty = {}
  local function take(ids)
    for _, l in ipairs(links) do
      for _, id in ipairs{l.from, l.to} do
        if l.why and not l.settled and ids[id] then
          guilty[id] = guilty[id] or {}
          table.insert(guilty[id], ("device %d to device %d: %s"):format(l.from, l.to, l.why))
        end
      end
    end
    for _, l in ipairs(links) do l.settled = l.settled or ids[l.from] or ids[l.to] end
  end
  local dead = {}
  for _, l in ipairs(links) do
    for _, id in ipairs{l.from, l.to} do
      if l.why and dead[id] == nil then dead[id] = not answers(id) end
    end
  end
  take(dead)
  take(fleet.sick)
  while true do
    local count, most, ids = {}, 0, {}
    for _, l in ipairs(links) do
      for _, id in ipairs{l.from, l.to} do
        if l.why and not l.settled then
          count[id] = (count[id] or 0) + 1
          most = math.max(most, count[id])
        end
      end
    end
    if most == 0 then return guilty end
    for id, n in pairs(count) do ids[id] = n == most end
    take(ids)
  end
end

-- Measures from each of the devices to every other one, how.measure(t, here, there) gives a rate, and then has a test of
-- each device, called name, which fails for those that are to blame for what was wrong or slow, so that no device is named
-- for another one. t is for measure to say what is wrong; a test says what went on. how.level, how.least (B/s) and
-- how.unreachable(from, to) as they say. Returns the links: from, to, value.
function fleet.links(name, ids, how)
  local links = {}
  local function one(t, link)
    local say = {
      expect = function(_, ok, ...) if not ok then link.why = link.why or string.format(...) end return ok end,
      require = function(_, ok, ...) if not ok then error(string.format(...), 0) end return ok end,
      error = function(_, ...) -- no fault of a device
        link.unmeasured = string.format(...)
        error(link.unmeasured, 0)
      end,
      warn = function(_, ...) t:warn(...) end, log = function(_, ...) t:log(...) end, metric = function() end,
    }
    local ok, err = pcall(npu.scope, function()
      local here, there = npu.device(link.from), npu.device(link.to)
      here.context:set_current()
      if not here:can_access_peer(there) then
        link.absent = true
        t:log("device %d cannot reach the memory of device %d", link.from, link.to)
        return
      end
      here:enable_peer_access(there)
      link.value = how.measure(say, here, there)
    end)
    if not ok and type(err) == "table" and err.host then link.unmeasured = fleet.text(err) end
    if not ok and not link.unmeasured then link.why = link.why or fleet.text(err) end
    local what = link.why or link.unmeasured
    if what then t:log("device %d to device %d: %s", link.from, link.to, what) end
    if link.value then t:metric(("device %d to device %d"):format(link.from, link.to), link.value, "B/s") end
  end
  for _, from in ipairs(ids) do
    local mine = {}
    for _, to in ipairs(ids) do
      if to ~= from then
        local link = {from = from, to = to, why = "it was not measured"}
        links[#links + 1], mine[#mine + 1] = link, link
      end
    end
    local result = check.test(("copies from device %d"):format(from), {level = how.level, prepares = true}, function(t)
      local reached = 0
      for _, link in ipairs(mine) do
        link.why = nil
        one(t, link)
        if not link.absent then reached = reached + 1 end
      end
      if reached == 0 then t:skip("no other device can be reached") end
      t:expect(true)
    end)
    if result == "not_run" then for _, link in ipairs(mine) do link.why = nil end end
  end
  judge_links(links, how.least)
  local guilty = blame(links)
  for _, id in ipairs(ids) do
    check.test(name, {device = id, open = false, level = how.level}, function(t)
      local reached = false
      for _, l in ipairs(links) do reached = reached or (l.from == id or l.to == id) and not l.absent end
      if not reached then t:skip("no other device can be reached") end
      for _, text in ipairs(guilty[id] or {}) do t:fail("%s", text) end
      for _, l in ipairs(links) do
        if l.unmeasured and (l.from == id or l.to == id) then t:error("device %d to device %d: %s", l.from, l.to, l.unmeasured) end
      end
      t:expect(true)
    end)
  end
  return links
end

return fleet
