-- video_pipeline: keep host, copies and NPU busy at once, and count the frames per second.
--
-- usage: npulua run video_pipeline [--frames N]
-- A frame is prepared on the host (8-bit RGB, 640 x 480), copied to the device, goes through
-- inference, and its result is copied back and post-processed on the host. First one step at a time;
-- then with two sets of buffers and a stream for each stage, which is as fast as the busiest stage
-- allows: interleaved by hand, and as three tasks with channels between them. Host work and
-- inference are stand-ins of a fixed time; each frame's result is checked.
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
  return slot
end

local function postprocess(slot)
  npu.busy(POSTPROCESS)
  local shade, low, high = slot.number % 256, slot.result:min(), slot.result:max()
  assert(low == shade and high == shade, "wrong result for frame " .. slot.number)
  return slot
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
  return slot
end

-- One stream, one frame at a time: the host waits while the device works, and the other way round.
local function synchronous(s, _, _, slot)
  for i = 1, frames do
    preprocess(slot, i)
    submit(slot, s, s, s)
    s:synchronize()
    postprocess(slot)
  end
end

-- Three streams, two slots: while the device works on frame i, the host finishes frame i - 1 and
-- prepares frame i + 1. A slot is free again when its result was post-processed: the host knows, and
-- no stream has to wait for it.
local function pipelined(copy_in, compute, copy_out, this, last)
  preprocess(last, 1)
  submit(last, copy_in, compute, copy_out)
  for i = 2, frames do
    preprocess(this, i)
    submit(this, copy_in, compute, copy_out)
    last.done:synchronize()
    postprocess(last)
    this, last = last, this
  end
  last.done:synchronize()
  postprocess(last)
end

-- The same as three tasks: one prepares, one waits for the device, one finishes. Slots go round by
-- channels, and nothing is interleaved by hand: npu.busy keeps the host from all tasks, a wait suspends its own.
local function tasks(a, b, c, one, two)
  local free, queued, ready = npu.channel(2), npu.channel(2), npu.channel(2)
  free:send(one) free:send(two)
  npu.spawn(function() for i = 1, frames do queued:send(submit(preprocess(free:receive(), i), a, b, c)) end queued:close() end)
  npu.spawn(function() for slot in queued do slot.done:synchronize() ready:send(slot) end ready:close() end)
  npu.spawn(function() for slot in ready do free:send(postprocess(slot)) end end):join()
end

-- Frames per second of one way, and a slot that it used.
local function run(way)
  local one, two = new_slot(), new_slot()
  local s1, s2, s3 = ctx:create_stream(), ctx:create_stream(), ctx:create_stream()
  local start = npu.time()
  way(s1, s2, s3, one, two)
  return frames / (npu.time() - start), one
end

local one_by_one, slot = run(synchronous)
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
for _, form in ipairs{{"pipelined", pipelined}, {"tasks", tasks}} do
  local rate = run(form[2])
  print(string.format("%-12s %5.1f frames/s, %.1f times as many; %.1f %% of the bound",
    form[1], rate, rate / one_by_one, 100 * rate / bound))
end
print(string.format("%-12s %5.1f frames/s, set by the stage \"%s\"", "bound", bound, busiest.name))
print(string.format("%d frames each way, all results right", frames))
