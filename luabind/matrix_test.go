package luabind

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"

	lua "github.com/yuin/gopher-lua"

	"npulua/npu"
)

// fixture makes one handle of every kind, open and closed, and a value of every Lua type.
const fixture = `
	local dev = npu.device(0)
	local ctx = dev:create_context()
	local gone = dev:create_context()
	local s, e, x, h = ctx:create_stream(), ctx:create_event{timing = true}, ctx:alloc("float32", 8), npu.host("float32", 8)
	local s2, e2, x2, h2 = gone:create_stream(), gone:create_event(), gone:alloc("int8", 8), npu.host("int8", 8)
	gone:close() x2:close() h2:close()
	return {dev, ctx, s, e, x, h, gone, s2, e2, x2, h2, npu.kernel "relu", npu.device(1), x:slice(1, 4), npu.host("uint8", 8, {pinned = false}),
		true, 0, -1, 1, 2, 1.5, 2^53, 2^60, 0/0, 1/0, -1/0, "", "float32", "relu", "8", {}, {1, 2}, {pinned = 3}, {timing = true},
		function() return 1 end, coroutine.create(function() end)}
`

// handles is how many values of the fixture are handles that calls may close.
const handles = 11

// TestEveryCallWithEverything calls every function of the API with values of every kind: each call
// works, or raises an error object with a code that has a name.
func TestEveryCallWithEverything(t *testing.T) {
	long(t, "one goroutine runs Lua here")
	t.Chdir(t.TempDir()) // names of files are among the values
	in, err := Open(context.Background(), Options{Session: npu.Options{Backend: "sim", Sim: "910b:2"}})
	if err != nil {
		t.Fatal(err)
	}
	m := &matrix{T: t, in: in, rnd: rand.New(rand.NewPCG(1, 2))}
	m.build()
	for _, f := range moduleFunctions {
		m.call("npu."+f.name, in.L.GetField(in.L.GetGlobal("npu"), f.name))
	}
	methodsOf(m, in.devices)
	methodsOf(m, in.contexts)
	methodsOf(m, in.streams)
	methodsOf(m, in.events)
	methodsOf(m, in.buffers)
	methodsOf(m, in.kernels)
	_ = in.Close(false) // faults of the calls
	t.Logf("%d calls, %d errors", m.calls, m.errors)
	if m.errors < m.calls/2 || m.calls < 10000 {
		t.Error("too few calls, or errors, for the test to mean anything")
	}
}

type matrix struct {
	*testing.T
	in            *Interp
	rnd           *rand.Rand
	values        []lua.LValue
	calls, errors int
}

func methodsOf[T comparable](m *matrix, b *binding[T]) {
	for _, x := range b.cl.methods {
		m.call(b.cl.name+":"+x.name, b.methods.RawGetString(x.name))
	}
	for _, key := range []string{"__index", "__newindex", "__tostring", "__len"} {
		if fn, ok := b.meta.RawGetString(key).(*lua.LFunction); ok {
			m.call(b.cl.name+"."+key, fn)
		}
	}
}

func (m *matrix) build() {
	fn, err := m.in.load(m.in.L, []byte(fixture), "=fixture")
	if err != nil {
		m.Fatal(err)
	}
	results, err := m.in.threads.Call(m.in.L, fn)
	if err != nil {
		m.Fatal(err)
	}
	t := results[0].(*lua.LTable)
	m.values = m.values[:0]
	t.ForEach(func(_, v lua.LValue) { m.values = append(m.values, v) })
}

// whole reports whether the handles of the fixture are as they were made.
func (m *matrix) whole() bool {
	for i, v := range m.values[:handles] {
		closed := false
		switch h := v.(*lua.LUserData).Value.(type) {
		case *npu.Device:
			closed = h.Closed()
		case *npu.Context:
			closed = h.Closed()
		case *npu.Stream:
			closed = h.Closed()
		case *npu.Event:
			closed = h.Closed()
		case *npu.Buffer:
			closed = h.Closed()
		}
		if closed != (i >= 6) {
			return false
		}
	}
	return true
}

func (m *matrix) call(name string, fn lua.LValue) {
	m.Helper()
	pick := func() lua.LValue { return m.values[m.rnd.IntN(len(m.values))] }
	m.one(name, fn)
	for i := range m.values {
		m.one(name, fn, m.values[i])
		for j := range m.values {
			m.one(name, fn, m.values[i], m.values[j])
		}
		for range 20 {
			m.one(name, fn, m.values[i], pick(), pick())
			m.one(name, fn, m.values[i], m.values[11], lua.LNumber(1), pick(), pick(), pick())
		}
	}
}

func (m *matrix) one(name string, fn lua.LValue, args ...lua.LValue) {
	m.Helper()
	if !m.whole() {
		m.build()
	}
	m.calls++
	_, err := m.in.threads.Call(m.in.L, fn, args...)
	if err == nil {
		return
	}
	m.errors++
	api, _ := err.(*lua.ApiError)
	if api == nil {
		m.Fatalf("%s%v: %v", name, args, err)
	}
	t, ok := api.Object.(*lua.LTable)
	if !ok {
		m.Errorf("%s%v: the error is %v\n%s", name, args, api.Object, api.StackTrace)
		return
	}
	code, _ := t.RawGetString("code").(lua.LNumber)
	if npu.Code(code).Name() == "" || t.RawGetString("message") == lua.LNil || math.Trunc(float64(code)) != float64(code) {
		text := errorText(t)
		m.Errorf("%s%v: %s", name, args, text)
	}
}
