-- video_pipeline: keep host, copies and NPU busy at once, and count the frames per second.
--
-- usage: npulua run video_pipeline [--frames N]
-- A frame is prepared on the host (8-bit RGB, 640 x 480), copied to the device, goes through
-- inference, and its result is copied back and post-processed on the host. First one step at a time;
-- then with two sets of buffers and a stream for each stage, which is as fast as the busiest stage
-- allows: interleaved by hand, with a task for each stage, and with a task for each set of buffers.
-- Host work and inference are stand-ins of a fixed time; each frame's result is checked.
--   --frames N   frames to run, each way (default: 100)
local npu = require "npu"

local PREPROCESS, INFERENCE, POSTPROCESS = 0.0120, 0.0190, 0.0089  -- seconds
local WIDTH, HEIGHT, CHANNELS = 640, 480, 3

local function usage(message)
  io.stderr:write("video_pipeline: ", message, "; usage: npulua run video_pipeline [--frames N]\n")
  os.exit(2)
end

local frames = 100
if #arg > 0 then
  if arg[1] ~= "--frames" then usage("unknown option " .. arg[1]) end
  if #arg > 2 then usage("unknown option " .. arg[3]) end
  frames = tonumber(arg[2])
  if not frames or frames < 1 or frames ~= math.floor(frames) then
    usage("--frames wants a whole number above 0")
  end
end

local dev = npu.device(0)
local ctx = dev:create_context()
local spin, rgb_to_gray = npu.kernel "spin", npu.kernel "rgb_to_gray"

-- All that one frame in flight needs.
local function new_slot()
  local pixels, timing = WIDTH * HEIGHT, {timing = true}
  return {
    frame = npu.host("uint8", pixels * CHANNELS), result = npu.host("uint8", pixels),
    x = ctx:alloc("uint8", pixels * CHANNELS), y = ctx:alloc("uint8", pixels),
    start = ctx:create_event(timing), loaded = ctx:create_event(timing),
    computed = ctx:create_event(timing), done = ctx:create_event(timing),
  }
end

-- Host: the picture of frame i is one shade of gray, so that its result is known.
local function preprocess(slot, i)
  npu.busy(PREPROCESS)
  slot.frame:fill(i % 256)
  slot.number = i
end

local function postprocess(slot)
  npu.busy(POSTPROCESS)
  local shade, low, high = slot.number % 256, slot.result:min(), slot.result:max()
  assert(low == shade and high == shade, "wrong result for frame " .. slot.number)
end

-- Device: each queues one stage of a frame on a stream, behind the stage before, and returns at once.
local function upload(slot, stream)
  stream:record(slot.start)
  stream:copy(slot.x, slot.frame)
  stream:record(slot.loaded)
end

local function infer(slot, stream)
  stream:wait(slot.loaded)
  stream:launch(spin, 1, INFERENCE)
  stream:launch(rgb_to_gray, 8, slot.y, slot.x, HEIGHT, WIDTH, CHANNELS)
  stream:record(slot.computed)
end

local function download(slot, stream)
  stream:wait(slot.computed)
  stream:copy(slot.result, slot.y)
  stream:record(slot.done)
end

local function submit(slot, copy_in, compute, copy_out)
  upload(slot, copy_in)
  infer(slot, compute)
  download(slot, copy_out)
end

-- One stream, one frame at a time: the host waits while the device works, and the other way round.
local function synchronous()
  local s, slot = ctx:create_stream(), new_slot()
  local start = npu.time()
  for i = 1, frames do
    preprocess(slot, i)
    submit(slot, s, s, s)
    s:synchronize()
    postprocess(slot)
  end
  return frames / (npu.time() - start), slot
end

-- Two slots, three streams: while the device works on frame i, the host finishes frame i - 1 and
-- prepares frame i + 1. A slot is free again when its result was post-processed: the host knows, and
-- no stream has to wait for it.
local function pipelined()
  local copy_in, compute, copy_out = ctx:create_stream(), ctx:create_stream(), ctx:create_stream()
  local slots = {[0] = new_slot(), new_slot()}  -- frame i uses slot i % 2
  local start = npu.time()

  preprocess(slots[1], 1)
  submit(slots[1], copy_in, compute, copy_out)
  for i = 2, frames do
    local this, last = slots[i % 2], slots[(i - 1) % 2]
    preprocess(this, i)
    submit(this, copy_in, compute, copy_out)
    last.done:synchronize()
    postprocess(last)
  end
  local last = slots[frames % 2]
  last.done:synchronize()
  postprocess(last)
  return frames / (npu.time() - start)
end

-- A task for each stage, connected by channels: slots go round from free to loaded to computed, and
-- nothing is interleaved by hand. npu.busy keeps the host from all tasks; a wait suspends only its own.
local function stage_tasks()
  local copy_in, compute, copy_out = ctx:create_stream(), ctx:create_stream(), ctx:create_stream()
  local free, loaded, computed = npu.channel(2), npu.channel(), npu.channel()
  for _ = 1, 2 do free:send(new_slot()) end
  local start = npu.time()

  npu.spawn(function()
    for i = 1, frames do
      local slot = free:receive()
      preprocess(slot, i)
      upload(slot, copy_in)
      loaded:send(slot)
    end
    loaded:close()
  end)
  npu.spawn(function()
    for slot in loaded do
      infer(slot, compute)
      computed:send(slot)
    end
    computed:close()
  end)
  npu.spawn(function()
    for slot in computed do
      download(slot, copy_out)
      slot.done:synchronize()
      postprocess(slot)
      free:send(slot)
    end
  end):join()
  return frames / (npu.time() - start)
end

-- A task for each slot: the loop of synchronous() twice, half of the frames each. While one waits for
-- the device, the other one has the host.
local function slot_tasks()
  local function run(first, slot, s)
    for i = first, frames, 2 do
      preprocess(slot, i)
      submit(slot, s, s, s)
      s:synchronize()
      postprocess(slot)
    end
  end
  local one, two, s1, s2 = new_slot(), new_slot(), ctx:create_stream(), ctx:create_stream()
  local start = npu.time()
  npu.join{npu.spawn(run, 1, one, s1), npu.spawn(run, 2, two, s2)}
  return frames / (npu.time() - start)
end

local one_by_one, slot = synchronous()
local stages = {
  {name = "host", time = PREPROCESS + POSTPROCESS},
  {name = "copy in", time = npu.elapsed(slot.start, slot.loaded)},
  {name = "compute", time = npu.elapsed(slot.loaded, slot.computed)},
  {name = "copy out", time = npu.elapsed(slot.computed, slot.done)},
}
local busiest = stages[1]
for _, stage in ipairs(stages) do
  print(string.format("%-12s %7.3f ms a frame", stage.name, stage.time * 1e3))
  if stage.time > busiest.time then busiest = stage end
end
local bound = 1 / busiest.time

print(string.format("%-12s %5.1f frames/s", "synchronous", one_by_one))
for _, form in ipairs{{"pipelined", pipelined}, {"stage tasks", stage_tasks}, {"slot tasks", slot_tasks}} do
  local rate = form[2]()
  print(string.format("%-12s %5.1f frames/s, %.1f times as many; %.1f %% of the bound",
    form[1], rate, rate / one_by_one, 100 * rate / bound))
end
print(string.format("%-12s %5.1f frames/s, set by the stage \"%s\"", "bound", bound, busiest.name))
print(string.format("%d frames each way, all results right", frames))
