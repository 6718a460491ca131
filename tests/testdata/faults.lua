-- What a launch that leaves its operands does to its stream, to waits and to its context.
local dev = npu.device(0)
local ctx = dev:create_context()
local s = ctx:create_stream()
local x, h = ctx:alloc("float32", 4), npu.host("float32", 4)
local add = npu.kernel "vector_add"
x:upload{1, 2, 3, 4}

npu.on_exception(function(e) print("told", e.op, e.code, e.where, e.stream == s) end)
s:launch(add, 1, x, x, x, 5)
s:copy(h, x)
s:fill(x, 7)
print(pcall(s.synchronize, s))
print(pcall(s.synchronize, s))    -- never twice
print(h:sum(), x:download():sum())

-- Whatever waits for the stream raises it.
local mark = ctx:create_event()
local function raise(what, fn, ...)
  s:launch(add, 1, x, x, x, 6)
  local ok, e = pcall(fn, ...)
  print(what, ok, e.code, e.call, e.op, e.where, e.raised_by)
end
raise("context", ctx.synchronize, ctx)
raise("device", dev.synchronize, dev)
raise("query", function() while not s:query() do end end)
raise("event", function() s:record(mark) mark:synchronize() end)
raise("close", s.close, s)

-- Refused arguments; a failure that stops the context.
s = ctx:create_stream{failure = "stop"}
local other = ctx:create_stream()
s:launch(npu.kernel "reduce_sum", 1, x, x, 0)
print(pcall(s.synchronize, s))
other:fill(x, 1)
local ok, e = pcall(other.synchronize, other)
print(ok, e.code, e.where)
print(x:download():sum())
print(pcall(ctx.close, ctx))
