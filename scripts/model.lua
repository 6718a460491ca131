-- model: load a compiled network and run it with every batch that it was made for.
--
-- usage: npulua run model [FILE]
-- FILE is an .om file on hardware and a JSON file on the simulator. Left out it is a network of two layers that
-- comes with npulua, for the simulator. The inputs are made up; the first numbers of each output are printed.
local npu = require "npu"

local ctx = npu.device(0):create_context()
local s = ctx:create_stream()
local m = npu.model(arg[1] or "sample:mlp_batch.json")

local function shape(t)
	local dims = {}
	for i, n in ipairs(t.shape) do dims[i] = n < 0 and "batch" or n end
	return table.concat(dims, " x ")
end

print(string.format("%s: %s", m.name, #m.batches > 0 and "batches " .. table.concat(m.batches, ", ") or "fixed sizes"))
for _, t in ipairs(m.inputs) do print("  in  " .. t.name, t.dtype, shape(t)) end
for _, t in ipairs(m.outputs) do print("  out " .. t.name, t.dtype, shape(t)) end

-- Device memory for the largest batch, and host memory that copies can use.
local function buffers(tensors)
	local list = {}
	for i, t in ipairs(tensors) do
		list[i] = {name = t.name, device = ctx:alloc(t.dtype, t.count), host = npu.host(t.dtype, t.count)}
	end
	return list
end
local inputs, outputs = buffers(m.inputs), buffers(m.outputs)
local x, y = {}, {}
for _, b in ipairs(inputs) do
	x[b.name] = b.device
	b.host:set(function(i) return b.host.dtype:find("float") and (i * 7 % 11) / 4 - 1 or i % 2 end)
end
for _, b in ipairs(outputs) do y[b.name] = b.device end

-- One run a batch: copies in, the run, copies out, all queued; the stream keeps them in order.
for _, batch in ipairs(#m.batches > 0 and m.batches or {0}) do
	for _, b in ipairs(inputs) do s:copy(b.device, b.host) end
	m:run(s, x, y, {batch = batch})
	for _, b in ipairs(outputs) do s:copy(b.host, b.device) end
	s:synchronize()
	for i, b in ipairs(outputs) do
		local t, numbers = m.outputs[i], {}
		local rows = t.shape[1] == -1 and batch / m.batches[#m.batches] or 1
		for k = 1, math.min(8, #b.host * rows) do numbers[k] = string.format("%.4f", b.host[k]) end
		print((batch > 0 and "batch " .. batch .. ", " or "") .. b.name .. ":", table.concat(numbers, " "))
	end
end
m:close()
