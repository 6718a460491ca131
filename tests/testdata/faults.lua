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

-- A failure that stops the context: an event that was reached before, a graph, and what is recorded later.
ctx = dev:create_context()
s, other = ctx:create_stream{failure = "stop"}, ctx:create_stream()
local reached = other:record()
other:synchronize()
local y = ctx:alloc("float32", 4)
y:upload{1, 1, 1, 1}
local g = other:capture(function()
  other:launch(add, 1, y, x, x, 4)
  other:fill(y, 2)
end)
s:launch(add, 1, x, x, x, 5)
g:replay(s)
print(select(2, pcall(s.synchronize, s)).where)
local function answer(what, fn, ...)
  local ok, e = pcall(fn, ...)
  print(what, ok, type(e) == "table" and e.code .. " " .. e.where or tostring(e))
end
answer("query before", reached.query, reached)
answer("synchronize before", reached.synchronize, reached)
answer("record again", other.record, other, reached)
answer("query again", reached.query, reached)
answer("capture", other.capture, other, function() other:fill(y, 3) end)
answer("update", g.update, g, "vector_add", {y, x, x, 4})
answer("replay", g.replay, g, other)
answer("synchronize", other.synchronize, other)
print(y:download():sum())
print(pcall(ctx.close, ctx))

-- Each command that failed, or was refused, is told of as one; those in a context that has stopped are skipped.
local function list(s)
  for _, c in ipairs(s:commands()) do print(c.op, c.state, c.code) end
end
s = dev.context:create_stream()
s:copy(npu.device(1).context:alloc("float32", 4), x)
s:launch(add, 1, x, x, x, 5)
s:fill(x, 1)
s:launch(add, 1, x, x, x, 6)
print(select(2, pcall(s.synchronize, s)).code)
list(s)
s = dev:create_context():create_stream{failure = "stop"}
s:launch(add, 1, x, x, x, 5)
s:fill(x, 1)
print(pcall(s.synchronize, s))
s:fill(x, 2)
list(s)
