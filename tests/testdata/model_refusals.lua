-- What is refused alike on every backend: prints codes, messages and hints. arg[1] is a model of 3 numbers a row
-- in, 2 out.
local npu = require "npu"
local dev = npu.device(0)
local ctx = dev:create_context()
local s, m = ctx:create_stream(), npu.model(arg[1])
local largest = m.batches[#m.batches]
local x, y = ctx:alloc("float32", m.inputs[1].count), ctx:alloc("float32", m.outputs[1].count)
local function refused(what, fn, ...)
	local ok, e = pcall(fn, ...)
	print(what, ok or e.code, ok or e.name, ok or e.call, ok or e.message, ok or e.hint)
end
print(m, #m.inputs, #m.outputs, m.inputs[1].bytes, m.outputs[1].bytes, largest)
refused("count", m.run, m, s, {x, x}, y, {batch = largest})
refused("type", m.run, m, s, ctx:alloc("int32", x.count), y, {batch = largest})
refused("input", m.run, m, s, x:slice(1, x.count - 1), y, {batch = largest})
refused("output", m.run, m, s, x, y:slice(1, y.count - 1), {batch = largest})
refused("batch", m.run, m, s, x, y, {batch = 3})
refused("file", function() local _, e = pcall(npu.model, "none") print(e.code, e.name) end)
refused("context", m.run, m, dev:create_context():create_stream(), x, y, {batch = largest})
s:capture(function() refused("graph", m.run, m, s, x, y, {batch = largest}) end)

-- Runs queued on two streams, closed while they are.
ctx:set_current()
local from = npu.host("float32", x.count)
from:set(function(i) return i % 5 - 2 end)
x:upload(from)
local streams = {s, ctx:create_stream()}
for i = 1, 40 do m:run(streams[i % 2 + 1], x, y, {batch = largest}) end
m:close()
refused("closed", m.run, m, s, x, y, {batch = largest})
local h, out = y:download(), {}
for i = 1, #h do out[i] = string.format("%.4f", h[i]) end
print(table.concat(out, " "))
m = npu.model(arg[1])
for i = 1, 40 do m:run(streams[i % 2 + 1], x, y, {batch = largest}) end
ctx:close()
print(m)
