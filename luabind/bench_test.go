package luabind_test

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"testing"
	"time"

	"npulua/luabind"
	"npulua/npu"
)

// inner is the length of the inner loop: gopher-lua's own arithmetic costs as much as what is
// measured, so the loops are nested instead of counting calls.
const inner = 1000

// calls are the hot calls of a script. body runs inner times per round.
var calls = []struct {
	name, body string
	free       bool // must not allocate
}{
	{"copy", `s:copy(d, h)`, true},
	{"launch4", `s:launch(k, 8, z, x, y, 1024)`, true},
	{"fill", `s:fill(x, 0)`, true},
	{"record", `s:record(e)`, true},
	{"wait", `s:wait(e)`, true},
	{"query", `s:query()`, false},
	{"time", `npu.time()`, false},
	{"read", `local v = g[7]`, false},
	{"write", `g[7] = 1`, false},
	{"field", `local n = g.count`, false},
	{"length", `local n = #g`, false},
	{"pcall", `pcall(nop)`, false},
	{"pcall_error", `pcall(fail)`, false},
	{"lua_call", `nop()`, false}, // yardstick: a Lua function that does nothing
}

const setup = `
	dev = npu.device(0)
	ctx = dev.context
	s = ctx:create_stream()
	e = ctx:create_event()
	d = ctx:alloc("float32", 1024)
	x, y, z = ctx:alloc("float32", 1024), ctx:alloc("float32", 1024), ctx:alloc("float32", 1024)
	h = npu.host("float32", 1024)
	g = npu.host("float32", 1024, {pinned = false})
	k = npu.kernel "vector_add"
	nop = function() end
	fail = function() error("x", 0) end
`

func open(tb testing.TB) *luabind.Interp {
	tb.Helper()
	in, err := luabind.Open(context.Background(), luabind.Options{Session: npu.Options{Backend: "null"}})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = in.Close(false) })
	if err := in.RunString(setup, "setup"); err != nil {
		tb.Fatal(err)
	}
	return in
}

// loop runs body rounds x inner times and returns the time and the allocations of it.
func loop(tb testing.TB, in *luabind.Interp, body string, rounds int) (time.Duration, uint64) {
	tb.Helper()
	code := fmt.Sprintf(`
		local s, d, h, x, y, z, e, g, k, npu, nop, fail, pcall = s, d, h, x, y, z, e, g, k, npu, nop, fail, pcall
		for i = 1, %d do for j = 1, %d do %s end end
		s:synchronize()`, rounds, inner, body)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	start := time.Now()
	if err := in.RunString(code, "loop"); err != nil {
		tb.Fatal(err)
	}
	took := time.Since(start)
	runtime.ReadMemStats(&after)
	return took, after.Mallocs - before.Mallocs
}

// BenchmarkScript measures what a call costs a script on the null backend. ns/op is the call
// alone: the empty loop is measured in the same rounds and subtracted (ns-loop says what it took).
func BenchmarkScript(b *testing.B) {
	for _, c := range calls {
		b.Run(c.name, func(b *testing.B) {
			in := open(b)
			loop(b, in, c.body, 20)
			rounds := max(b.N/inner, 1)
			const parts = 5
			if rounds >= 2*parts {
				rounds /= parts
			}
			var net, empty, allocs []float64
			b.ResetTimer()
			for range parts {
				bare, _ := loop(b, in, "", rounds)
				full, n := loop(b, in, c.body, rounds)
				ops := float64(rounds * inner)
				net = append(net, float64(full-bare)/ops)
				empty = append(empty, float64(bare)/ops)
				allocs = append(allocs, float64(n)/ops)
			}
			b.ReportMetric(median(net), "ns/op")
			b.ReportMetric(median(empty), "ns-loop/op")
			b.ReportMetric(median(allocs), "allocs/op")
		})
	}
}

func median(v []float64) float64 {
	s := slices.Sorted(slices.Values(v))
	return s[len(s)/2]
}

// TestHotCallsDoNotAllocate: garbage on the way of a queued command would stop the script for it.
func TestHotCallsDoNotAllocate(t *testing.T) {
	in := open(t)
	for _, c := range calls {
		if !c.free {
			continue
		}
		loop(t, in, c.body, 2)
		const rounds = 20
		_, bare := loop(t, in, "", rounds)
		_, n := loop(t, in, c.body, rounds)
		if per := float64(int64(n)-int64(bare)) / (rounds * inner); per > 0.01 {
			t.Errorf("%s allocates %.2f times a call", c.body, per)
		}
	}
}
