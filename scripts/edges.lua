-- edges: find the edges of a picture on two streams.
--
-- usage: npulua run edges [IN [OUT]]
-- IN is a PNG or JPEG file, gray or colour, with or without transparency (default: the sample
-- picture "sample:picture.png"); OUT is a .png, .jpg or .jpeg file (default: edges.png).
local npu = require "npu"

local function usage(message)
  io.stderr:write("edges: ", message, "; usage: npulua run edges [IN [OUT]]\n")
  os.exit(2)
end
for _, a in ipairs(arg) do
  if a:find("^%-") then usage("unknown option " .. a) end
end
if #arg > 2 then usage("two files at most") end
local infile, outfile = arg[1] or "sample:picture.png", arg[2] or "edges.png"

local dev = npu.device(0)
local ctx = dev:create_context()
local s1, s2 = ctx:create_stream(), ctx:create_stream()

local picture = npu.load_image(infile)  -- pinned host memory, height x width x channels
local height, width, channels = unpack(picture.shape)
local pixels = height * width

local x = ctx:alloc("uint8", picture.count)
local gray, edges = ctx:alloc("uint8", pixels), ctx:alloc("uint8", pixels)
local result = npu.host("uint8", pixels)

local start = s1:record()
s1:copy(x, picture)
s1:launch(npu.kernel "rgb_to_gray", 8, gray, x, height, width, channels)
local gray_ready = s1:record()

s2:wait(gray_ready)
s2:launch(npu.kernel "sobel", 8, edges, gray, height, width)
s2:copy(result, edges)
local done = s2:record()
done:synchronize()

result:reshape(height, width):save_image(outfile)
print(string.format("%s: %d x %d, %d channel(s)", infile, width, height, channels))
print(string.format("on the device: %.1f us for copy in and gray, %.1f us for edges and copy out",
  npu.elapsed(start, gray_ready) * 1e6, npu.elapsed(gray_ready, done) * 1e6))
print(string.format("%s: %d x %d, values from %d to %d", outfile, width, height, result:min(), result:max()))
