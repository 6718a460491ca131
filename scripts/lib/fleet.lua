-- fleet: what scripts over all devices share: which of them answer, and whether they are alike.
local check, measure = require "check", require "measure"
local npu = require "npu"

local fleet = {
  names = {}, -- by id, the part that a device is
  lost = {}, -- by id, whether the device was lost meanwhile
}

-- A wrong option of the script name that only it can see: exit status 2, as args gives.
function fleet.usage(name, text, ...)
  io.stderr:write(name, ": ", text:format(...), "\nusage: npulua run ", name, " [options]; --help lists the options\n")
  os.exit(2)
end

-- Opens each device of a list and waits for it, for patience seconds at most, in a test of its own, and returns the ids of
-- those that answer. A device that is gone fails its test, and the others go on. more(t, device) may ask further; failed(id,
-- text) is told what a device says instead.
function fleet.answering(ids, patience, more, failed)
  local working = {}
  if #ids == 0 then
    check.test("answers", function(t) t:error("there is no device: the %s backend shows none", npu.backend) end)
  end
  for _, id in ipairs(ids) do
    local result = check.test("answers", {device = id, open = false}, function(t)
      local ok, err = t:try(function()
        local dev = npu.device(id)
        local m = dev:memory()
        t:metric("memory", m.total, "B", {min = 1})
        t:metric("memory that is free", m.free, "B")
        dev:synchronize(patience)
        if more then more(t, dev) end
        fleet.names[id] = dev.name
      end)
      if not ok and failed then failed(id, ("%s [%d %s]"):format(err.message, err.code, err.name)) end
    end)
    if fleet.names[id] and (result == "pass" or result == "warn") then working[#working + 1] = id end
  end
  return working
end

-- Does test(row) for the rows of a list, each of which gives the result of a test of the device, but not those that come
-- after one in which the device was lost: they are skipped together.
function fleet.each(id, rows, test)
  for _, row in ipairs(rows) do
    local result = test(row)
    if (result == "fail" or result == "error") and not pcall(function() npu.device(id):memory() end) then
      fleet.lost[id] = true
      check.test("other tests", {device = id, open = false}, function(t) t:skip("the device is lost") end)
      return
    end
  end
end

-- How a figure is judged beside those of the others of its kind.
local judges = {
  rate = {unit = "B/s", of = "max", bad = function(v, best) return v < best / 2 end, text = "less than half of %s, which is the best of the others"},
  time = {unit = "s", of = "median", bad = function(v, median) return v > 4 * median end, text = "more than four times %s, the median of the others"},
}

-- One test that figures are alike among parts of one kind, where there are several. figures is a list of {who = "device 0",
-- kind = "Ascend910B3", value = v}; judge is "rate" or "time". With level there is a test in any case.
function fleet.alike(name, judge, figures, level)
  local j, found = judges[judge], {}
  local compared = false
  for i, f in ipairs(figures) do
    local others = {}
    for k, other in ipairs(figures) do
      if k ~= i and other.kind == f.kind then others[#others + 1] = other.value end
    end
    if #others > 0 then
      compared = true
      local usual = measure.stats(others)[j.of]
      if j.bad(f.value, usual) then
        found[#found + 1] = ("%s: %s is "):format(f.who, measure.text(f.value, j.unit)) .. j.text:format(measure.text(usual, j.unit))
      end
    end
  end
  if not compared and not level then return end
  check.test("devices alike: " .. name, {level = level}, function(t)
    if not compared then t:skip("fewer than two of a kind were measured") end
    for _, text in ipairs(found) do t:fail("%s", text) end
    if #found == 0 then t:expect(true) end
  end)
end

return fleet
