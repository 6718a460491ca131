-- quickstart: add two vectors on an NPU and check the result.
--
-- usage: npulua run quickstart
-- A device, a context, a stream, two vectors, a kernel, and the result. No arguments.
local npu = require "npu"

local n = 1024
local dev = npu.device(0)
local ctx = dev:create_context()
local s = ctx:create_stream()

local a, b, sum = npu.host("float32", n), npu.host("float32", n), npu.host("float32", n)
a:set(function(i) return i end)
b:set(function(i) return 2 * i end)

local x, y, z = ctx:alloc("float32", n), ctx:alloc("float32", n), ctx:alloc("float32", n)
s:copy(x, a)
s:copy(y, b)
s:launch(npu.kernel "vector_add", 8, z, x, y, n)
s:copy(sum, z)
s:synchronize()

for i = 1, n do assert(sum[i] == 3 * i, "wrong at " .. i) end
print(string.format("%s (%s): %d sums right, from %g to %g", dev.name, npu.backend, n, sum[1], sum[n]))
