-- rehearse: run scripts with checks on the simulator, once for each scenario of faults, and see which check finds what.
local check, exec, json, tabulate = require "check", require "exec", require "json", require "tabulate"
local npu = require "npu"

local rehearse = {}

-- The scripts that run, and what keeps each run short: what is rehearsed is the finding, not the load.
local scripts = {
  {"health", "--level", "3", "--memory", "64M"},
  {"bandwidth", "--max-size", "8M", "--repeat", "3"},
  {"latency", "--count", "20"},
  {"leakcheck", "--rounds", "3"},
  {"burnin", "--duration", "2"},
}

local function usage(name, text)
  io.stderr:write(name, ": ", text, "\n")
  os.exit(2)
end

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
      usage(name, ("there is no scenario %q: want all, %s"):format(wanted, table.concat(known, ", ")))
    end
  end
  return list
end

-- Runs a script with the faults of a scenario: its report, or nil and what happened instead.
local function run(scenario, words, timeout)
  local command = {arg[-1], "--backend=sim", "--sim=" .. npu.sim.spec, "--scenario=" .. scenario.name, "run"}
  for _, word in ipairs(words) do command[#command + 1] = word end
  command[#command + 1] = "--json"
  local r = exec.run(command, {timeout = timeout})
  if r.timed_out then return nil, ("did not end within %g s"):format(timeout) end
  local ok, report = pcall(json.decode, r.stdout)
  if not ok then
    return nil, ("exit status %s without a report: %s"):format(r.status or r.signal, r.stderr:match("[^\n]*"))
  end
  return report
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
function rehearse.run(name, opt)
  if not npu.sim then usage(name, "faults are rehearsed on the simulator: npulua --sim 910b:4 run " .. name .. " --scenario all") end
  local list = chosen(name, opt.scenario)
  check.setup{title = name .. ": rehearsal of faults", json = opt.json, junit = opt.junit, markdown = opt.markdown, strict = opt.strict, timeout = 3600, quiet = true}
  local rows, data = {}, {}
  for _, scenario in ipairs(list) do
    local row, caught, wrong = {scenario = scenario.name, what = scenario.text}, 0, {}
    local entry = {scenario = scenario.name, text = scenario.text, faults = json.array(scenario.faults), found = {}}
    for _, words in ipairs(scripts) do
      local script = words[1]
      local report, why = run(scenario, words, opt.timeout)
      if report then
        local found = findings(report)
        row[script], entry.found[script] = short(found), json.array(found)
        if #found > 0 then caught = caught + 1 end
        if report.verdict == "pass" and #found > 0 or report.totals.tests == 0 then wrong[#wrong + 1] = script .. " contradicts itself" end
      else
        row[script], entry.found[script] = "did not run", json.null
        wrong[#wrong + 1] = script .. " " .. why
      end
    end
    check.test(scenario.name, function(t)
      t:expect(#wrong == 0, "%s", table.concat(wrong, "; "))
      if #scenario.faults == 0 then
        t:expect(caught == 0, "nothing is wrong there, and something was found")
      else
        t:expect(caught > 0, "no check noticed: %s", scenario.text)
      end
    end)
    rows[#rows + 1], data[#data + 1] = row, entry
  end
  check.data("rehearsal", json.array(data))
  if not opt.json and opt.markdown ~= "-" then
    local columns = {"scenario", "what"}
    for _, words in ipairs(scripts) do columns[#columns + 1] = words[1] end
    local headers = {unpack(columns)}
    headers[1], headers[2] = "Scenario", "What goes wrong"
    print("Which check of which script noticed which fault, on " .. npu.sim.profile .. "\n")
    print(tabulate.format(rows, {columns = columns, headers = headers}) .. "\n")
  end
end

return rehearse
