package tests

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

// computing are scripts of which tasks compute while others wait, run with what they print to compare.
var computing = map[string]string{
	"timers": `
		local ticks, over = {}, false
		for i = 1, 3 do npu.spawn(function() while not over do npu.sleep(i * 7e-4) ticks[#ticks + 1] = i .. "@" .. npu.time() end end) end
		npu.spawn(function() npu.sleep(0.02) over = true end)
		local n = 0
		while not over do n = n + 1 end
		print(n, table.concat(ticks, " "))`,
	"asking": `
		local ctx = npu.device(0).context
		local s = ctx:create_stream()
		npu.spawn(function() npu.sleep(0.003) print("timer", npu.time()) end)
		npu.sleep(0)
		s:launch(npu.kernel "spin", 1, 0.002)
		local asked = 0
		repeat asked = asked + 1 until s:query()
		print(asked, npu.time())`,
	"callbacks": `
		local ctx = npu.device(0).context
		local s, x, seen = ctx:create_stream(), ctx:alloc("float32", 1e5), {}
		npu.spawn(function() npu.sleep(0.05) end)
		npu.sleep(0)
		for i = 1, 40 do
			s:fill(x, i)
			s:callback(function() for _ = 1, 300 do end seen[#seen + 1] = npu.time and i end, {blocking = i % 2 == 0})
			for _ = 1, 4000 do end
		end
		s:synchronize()
		print(#seen, npu.time())`,
	"workers": `
		local ch = npu.channel(1)
		local w = npu.worker(function(ch) npu.device(0) for i = 1, 50 do npu.sleep(1e-3) ch:send(i) end ch:close() end, ch)
		local n = 0
		for v in ch do n = n + v end
		print(n, npu.time())`,
	"timeouts": `
		local check = require "check"
		check.test("computes", {timeout = 0.01}, function(t) while true do end end)
		check.test("waits", {timeout = 0.01}, function(t) npu.sleep(1) end)
		check.test("asks", {timeout = 0.01, device = 0}, function(t) while true do npu.current_device() end end)`,
	"collected": `
		local ctx = npu.device(0).context
		local free = ctx.device:memory().free
		local function waste() for i = 1, 50 do ctx:alloc("uint8", 4096) ctx:create_stream() ctx:create_event() end end
		npu.scope(waste)
		waste()
		collectgarbage()
		print(free - ctx.device:memory().free, npu.stats().live.stream, npu.time())`,
}

// Scripts print the same whatever else the machine does, however many CPUs there are, and whenever garbage is collected.
func TestSameOutput(t *testing.T) {
	long(t, "it runs some scripts many times")
	stop := make(chan struct{})
	defer close(stop)
	for range 2 { // beside them something that takes CPUs
		go func() {
			for n := 0; ; n++ {
				select {
				case <-stop:
					return
				default:
				}
			}
		}()
	}
	runs := map[string][]string{
		"bandwidth": {"run", "bandwidth", "--max-size", "1M"},
		"latency":   {"run", "latency", "--count", "20", "--warmup", "2"},
		"leakcheck": {"run", "leakcheck", "--rounds", "3"},
		"health":    {"run", "health"},
		"video":     {"run", "video_pipeline", "--frames", "20"},
		"shared":    {"run", "threads_shared_context"},
		"own":       {"run", "threads_own_context"},
	}
	dir := t.TempDir()
	for name, code := range computing {
		path := filepath.Join(dir, name+".lua")
		if err := os.WriteFile(path, []byte(code), 0o600); err != nil {
			t.Fatal(err)
		}
		runs[name] = []string{path}
	}
	for name, args := range runs {
		t.Run(name, func(t *testing.T) {
			var want []byte
			for _, env := range [][]string{{"GOMAXPROCS=1", "GOGC=off"}, {"GOMAXPROCS=8", "GOGC=1"}} {
				_, out, stderr, _ := npulua(t, env, append([]string{"--sim=910b:2"}, args...)...)
				got := append(out, stderr...)
				if want == nil {
					want = got
				}
				if !bytes.Equal(got, want) {
					t.Errorf("with %v it prints\n%s\nand before\n%s", env, got, want)
				}
				if len(out) == 0 {
					t.Errorf("it prints nothing: %s", stderr)
				}
			}
		})
	}
}
