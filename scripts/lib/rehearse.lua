-- rehearse: run scripts with checks on the simulator, once for each scenario of faults, and see which check finds what.
local check, exec, json, progress, tabulate = require "check", require "exec", require "json", require "progress", require "tabulate"
local fleet, npu = require "fleet", require "npu"

local rehearse = {}

-- The scripts that run, and what keeps each run short: what is rehearsed is the finding, not the load.
local scripts = {
  {"health", "--level", "3", "--memory", "64M"},
  {"bandwidth", "--max-size", "8M", "--repeat", "3"},
  {"latency", "--count", "20"},
  {"leakcheck", "--rounds", "3"},
  {"burnin", "--duration", "2"},
}

-- Scenarios by name, in their order; all of them for "all".
local function chosen(name, names)
  local list, by_name, all = {}, {}, npu.sim.scenarios()
  for _, s in ipairs(all) do by_name[s.name] = s end
  for _, wanted in ipairs(names) do
    if wanted == "all" then
      for _, s in ipairs(all) do list[#list + 1] = s end
    elseif by_name[wanted] then
      list[#list + 1] = by_name[wanted]
    else
      local known = {}
      for _, s in ipairs(all) do known[#known + 1] = s.name end
      fleet.usage(name, "there is no scenario %q: want all, %s", wanted, table.concat(known, ", "))
    end
  end
  return list
end

-- The device that is sick: one in the middle, so that a script which blames the first or the last one is found out.
local sick = math.floor(npu.device_count() / 2)

-- Whether a scenario is of copies between devices.
local function of_links(scenario)
  for _, rule in ipairs(scenario.faults) do
    if rule:find("direction=p2p", 1, true) then return true end
  end
  return false
end

-- Real time that a script may take. It is simulated: what takes too long there is found in virtual time, and a busy machine takes its time.
local patience = 3600

-- Runs a script with the faults of a scenario, on the device that is sick: its report, or nil and what happened instead.
local function run(scenario, words)
  local command = {arg[-1], "--backend=sim", "--sim=" .. npu.sim.spec}
  for _, rule in ipairs(scenario.faults) do command[#command + 1] = "--fault=" .. rule:gsub("device=0", "device=" .. sick) end
  command[#command + 1] = "run"
  for _, word in ipairs(words) do command[#command + 1] = word end
  command[#command + 1] = "--json"
  local r = exec.run(command, {timeout = patience})
  if r.timed_out then return nil, ("did not end within %g s"):format(patience) end
  local ok, report = pcall(json.decode, r.stdout)
  if not ok then
    return nil, ("exit status %s without a report: %s"):format(r.status or r.signal, r.stderr:match("[^\n]*"))
  end
  return report
end

-- What a report says of devices that are well: the first test that fails one.
local function slander(report, scenario)
  for _, t in ipairs(report.tests) do
    local shared = of_links(scenario) and npu.device_count() == 2 -- nobody can tell which end of one link it is
    if t.result == "fail" and t.device ~= json.null and t.device ~= sick and not shared then
      return ("%s fails device %d, which is well"):format(t.name, t.device)
    end
  end
end

-- The tests of a report that noticed something, each once, failures before warnings.
local function findings(report)
  local found, seen = {}, {}
  for _, result in ipairs{"fail", "error", "warn"} do
    for _, t in ipairs(report.tests) do
      if t.result == result and not seen[t.name] then
        seen[t.name] = true
        found[#found + 1] = t.name
      end
    end
  end
  return found
end

local function short(found)
  if #found == 0 then return "-" end
  return found[1] .. (#found > 1 and (" and %d more"):format(#found - 1) or "")
end

-- Rehearses the scenarios that opt.scenario names; ends the script. name is that of the script that was asked to.
function rehearse.run(name, opt, given_devices)
  if not npu.sim then fleet.usage(name, "faults are rehearsed on the simulator: npulua --sim 910b:4 run %s --scenario all", name) end
  if npu.device_count() == 0 then fleet.usage(name, "a rehearsal takes devices: npulua --sim 910b:4 run %s --scenario all", name) end
  if #npu.sim.faults() > 0 then fleet.usage(name, "a rehearsal has faults of its own: leave --fault and --scenario before run out") end
  if given_devices then fleet.usage(name, "a rehearsal is of all devices: leave --device out") end
  local list = chosen(name, opt.scenario)
  fleet.setup(name .. ": rehearsal of faults", opt, {timeout = patience, brief = true})
  local rows, data = {}, {}
  local bar = progress.new{total = #list, title = "rehearsal", unit = "scenarios"}
  for _, scenario in ipairs(list) do
    bar:note(scenario.name)
    local row, caught, problem, slandered = {scenario = scenario.name, what = scenario.text}, 0, nil, nil
    local entry = {scenario = scenario.name, text = scenario.text, faults = json.array(scenario.faults), found = {}}
    local impossible = of_links(scenario) and npu.device_count() < 2
    for _, words in ipairs(impossible and {} or scripts) do
      local script = words[1]
      local report, why = run(scenario, words)
      if report then
        local found = findings(report)
        row[script], entry.found[script] = short(found), json.array(found)
        if #found > 0 then caught = caught + 1 end
        local wrong = slander(report, scenario)
        slandered = slandered or wrong and script .. ": " .. wrong
      else
        row[script], entry.found[script] = "did not run", json.null
        problem = problem or script .. " " .. why
      end
    end
    check.test(scenario.name, function(t)
      if impossible then t:skip("it takes two devices") end
      if problem then t:error("%s", problem) end
      t:expect(not slandered, "%s", slandered or "")
      if #scenario.faults == 0 then
        t:expect(caught == 0, "nothing is wrong there, and something was found")
      else
        t:expect(caught > 0, "no check noticed: %s", scenario.text)
      end
    end)
    rows[#rows + 1], data[#data + 1] = row, entry
    bar:add()
  end
  bar:done()
  check.data("rehearsal", json.array(data))
  if not opt.json and opt.markdown ~= "-" then
    local columns = {"scenario", "what"}
    for _, words in ipairs(scripts) do columns[#columns + 1] = words[1] end
    local headers = {unpack(columns)}
    headers[1], headers[2] = "Scenario", "What goes wrong"
    print(("Which check of which script noticed which fault, where device %d is sick; %s\n"):format(sick, npu.sim.profile))
    print(tabulate.format(rows, {columns = columns, headers = headers, max_width = "terminal"}) .. "\n")
  end
end

return rehearse
