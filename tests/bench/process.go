package main

import (
	"fmt"
	"time"
)

// startUp is an empty script: time and memory of what every run pays.
func startUp(b *bench) ([]row, error) {
	var walls, sizes []float64
	for range 4 * rounds {
		r, err := b.lua("-e", "")
		if err != nil {
			return nil, err
		}
		walls, sizes = append(walls, r.wall.Seconds()), append(sizes, float64(r.rss))
	}
	ms, rss := median(walls)*1e3, median(sizes)
	return []row{
		{"npulua -e '': time", fmt.Sprintf("%.1f ms", ms), "15 ms", within(ms < 15)},
		{"npulua -e '': peak memory", megabytes(rss), "30 MB", within(rss < 30e6)},
	}, nil
}

// launches queues a million launches without waiting in between, and waits once. body is the
// launch, or nothing for what the rest of the script takes.
const launches = `
local ctx = npu.device(0).context
local s, k = ctx:create_stream(), npu.kernel "vector_add"
local x, y, z = ctx:alloc("float32", 16), ctx:alloc("float32", 16), ctx:alloc("float32", 16)
local d, h = ctx:alloc("float32", 16), npu.host("float32", 16)
s:fill(x, 1) s:fill(y, 2)
for i = 1, 1000 do for j = 1, 1000 do %s end end
s:synchronize()`

// simulated is how fast the simulator works off a script's commands, end to end.
func simulated(b *bench) ([]row, error) {
	var rows []row
	for _, c := range []struct{ what, body string }{
		{"launches", "s:launch(k, 1, z, x, y, 16)"},
		{"copies", "s:copy(d, h)"},
	} {
		var rates, sizes, extra []float64
		for range rounds {
			bare, err := b.lua("--backend=sim", "-e", fmt.Sprintf(launches, ""))
			if err != nil {
				return nil, err
			}
			full, err := b.lua("--backend=sim", "-e", fmt.Sprintf(launches, c.body))
			if err != nil {
				return nil, err
			}
			rates = append(rates, 1e6/max(full.wall-bare.wall, time.Microsecond).Seconds())
			sizes, extra = append(sizes, float64(full.rss)), append(extra, float64(full.rss-bare.rss))
		}
		rate := median(rates)
		rows = append(rows,
			row{"simulated " + c.what + ", 10^6 from a script and one synchronize", fmt.Sprintf("%.2f M/s", rate/1e6), "1 M/s", within(rate >= 1e6)},
			row{"  peak memory of that run", fmt.Sprintf("%s (%s more than without)", megabytes(median(sizes)), megabytes(max(median(extra), 0))), "bounded", info})
	}
	return rows, nil
}
