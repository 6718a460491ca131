-- Every operator on every type that it may work on: what it computes, or why not.
local ctx = npu.device(0):create_context()
local s = ctx:create_stream()

local function device(dtype, count, fn)
  local h = npu.host(dtype, count)
  h:set(fn or function(i) return (i * 7) % 5 - (dtype:find "^u" and 0 or 1) end)
  local b = ctx:alloc(dtype, count)
  b:upload(h)
  return b
end

local function text(b)
  local list = {}
  for i, v in ipairs(b:download():to_table()) do list[i] = string.format("%.4g", v) end
  return table.concat(list, " ")
end

-- Runs an operator on `result` and shows it.
local function run(name, dtype, result, ...)
  local ok, err = pcall(npu.ops[name], s, result, ...)
  if not ok then
    print(name, dtype, (err.message or tostring(err)))
    return
  end
  s:synchronize()
  print(name, dtype, text(result))
end

for _, dtype in ipairs{"float32", "float16", "bfloat16", "int8", "uint8", "int32", "int64"} do
  local function new(count) return device(dtype, count) end
  for _, name in ipairs{"add", "sub", "mul"} do run(name, dtype, new(7), new(7), new(7)) end
  for _, name in ipairs{"axpy", "scale"} do run(name, dtype, new(7), new(7), -1.5) end
  for _, name in ipairs{"relu", "exp", "sigmoid"} do run(name, dtype, new(7), new(7)) end
  for _, to in ipairs{"float32", "float16", "int8"} do run("cast", dtype .. " " .. to, device(to, 7), new(7)) end
  run("softmax", dtype, new(6), new(6), 2, 3)
  run("layer_norm", dtype, new(6), new(6), new(3), new(3), 2, 3, 1e-5)
  for _, name in ipairs{"sum", "max"} do run(name, dtype, new(1), new(9)) end
  run("argmax", dtype, device("uint32", 1), new(9))
  run("matmul", dtype, new(8), new(6), new(12), 2, 4, 3)
  run("transpose", dtype, new(6), new(6), 2, 3)
end

-- In a graph, with other arguments later.
local x, z = device("float32", 4), device("float32", 4)
local y = device("float32", 4, function(i) return i end)
local g = s:capture(function()
  npu.ops.add(s, z, x, y)
  npu.ops.softmax(s, z, z, 2, 2)
end)
g:replay(s)
s:synchronize()
print("graph", text(z))
g:update("vector_add", {z, x, x, 4})
g:replay(s)
s:synchronize()
print("updated", text(z))

-- In place, on a part of a buffer, on the default stream, and in other tasks.
npu.ops.scale(ctx.default_stream, x:slice(2, 2), x:slice(2, 2), 3)
ctx.default_stream:synchronize()
print("slice", text(x))
npu.join{npu.spawn(function() npu.ops.relu(s, y, x) end), npu.spawn(function() s:synchronize() end)}
s:synchronize()
print("tasks", text(y))
