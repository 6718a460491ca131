-- video_pipeline: keep host, copies and NPU busy at once, and count the frames per second.
--
-- usage: npulua run video_pipeline [--frames N]
-- A frame is prepared on the host (8-bit RGB, 640 x 480), copied to the device, goes through
-- inference, and its result is copied back and post-processed on the host. First one step at a time;
-- then with two sets of buffers and a stream for each stage, which is as fast as the busiest stage
-- allows. Host work and inference are stand-ins of a fixed time; each frame's result is checked.
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
end

local function postprocess(slot, i)
  npu.busy(POSTPROCESS)
  local low, high = slot.result:min(), slot.result:max()
  assert(low == i % 256 and high == i % 256, "wrong result for frame " .. i)
end

-- Device: queues the three stages of a frame, each on its stream, and returns at once.
local function submit(slot, copy_in, compute, copy_out)
  copy_in:record(slot.start)
  copy_in:copy(slot.x, slot.frame)
  copy_in:record(slot.loaded)

  compute:wait(slot.loaded)
  compute:launch(spin, 1, INFERENCE)
  compute:launch(rgb_to_gray, 8, slot.y, slot.x, HEIGHT, WIDTH, CHANNELS)
  compute:record(slot.computed)

  copy_out:wait(slot.computed)
  copy_out:copy(slot.result, slot.y)
  copy_out:record(slot.done)
end

-- One stream, one frame at a time: the host waits while the device works, and the other way round.
local function synchronous()
  local s, slot = ctx:create_stream(), new_slot()
  local start = npu.time()
  for i = 1, frames do
    preprocess(slot, i)
    submit(slot, s, s, s)
    s:synchronize()
    postprocess(slot, i)
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
    postprocess(last, i - 1)
  end
  local last = slots[frames % 2]
  last.done:synchronize()
  postprocess(last, frames)
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
local overlapped, bound = pipelined(), 1 / busiest.time

print(string.format("%-12s %5.1f frames/s", "synchronous", one_by_one))
print(string.format("%-12s %5.1f frames/s, %.1f times as many", "pipelined", overlapped, overlapped / one_by_one))
print(string.format("%-12s %5.1f frames/s, set by the stage \"%s\"; the pipeline reaches %.1f %% of it",
  "bound", bound, busiest.name, 100 * overlapped / bound))
print(string.format("%d frames each way, all results right", frames))
