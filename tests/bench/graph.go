package main

import (
	"fmt"
	"time"
)

// graphLaunches times a million launches of a script, and as many through replays of a graph of a
// thousand, each with the synchronize at the end, and prints the seconds of both. %d is
// how many buffers the launches of the graph work on.
const graphLaunches = `
local ctx = npu.device(0).context
local s, k = ctx:create_stream(), npu.kernel "vector_add"
local n, b, time = %d, {}, npu.time
for i = 1, n do b[i] = ctx:alloc("float32", 16) end
local function launches()
	for i = 1, 1000, n / 3 do
		for j = 1, n, 3 do s:launch(k, 1, b[j], b[j + 1], b[j + 2], 16) end
	end
end
local g = s:capture(launches)
local function took(fn)
	local begin = time()
	for i = 1, 1000 do fn() end
	s:synchronize()
	return time() - begin
end
took(launches)
print(took(launches), took(function() g:replay(s) end))`

// graphReplays is a million launches in a process of its own, with %s for how.
const graphReplays = `
local ctx = npu.device(0).context
local s, k = ctx:create_stream(), npu.kernel "vector_add"
local x, y, z = ctx:alloc("float32", 16), ctx:alloc("float32", 16), ctx:alloc("float32", 16)
s:fill(x, 1) s:fill(y, 2)
local function launches() for i = 1, 1000 do s:launch(k, 1, z, x, y, 16) end end
local g = s:capture(launches)
for i = 1, 1000 do %s end
s:synchronize()`

// graphs is what a launch costs through a graph of 1000 launches, against one of a script.
func graphs(b *bench) ([]row, error) {
	var rows []row
	for _, c := range []struct {
		what    string
		buffers int
	}{
		{"launch by replay of a graph of 1000: times cheaper for the script than s:launch", 30},
		{"  the same, three buffers of its own for each launch", 3000},
	} {
		var ratios, scripts, replays []float64
		for range rounds {
			r, err := b.lua("--backend=null", "-e", fmt.Sprintf(graphLaunches, c.buffers))
			if err != nil {
				return nil, err
			}
			var script, replay float64
			if _, err := fmt.Sscan(r.out, &script, &replay); err != nil {
				return nil, fmt.Errorf("times of a graph: %w", err)
			}
			ratios = append(ratios, script/replay)
			scripts, replays = append(scripts, script/1e6), append(replays, replay/1e6)
		}
		ratio := median(ratios)
		rows = append(rows, row{c.what, fmt.Sprintf("%.0f (%s / %.1f ns)", ratio, nanoseconds(median(scripts)), median(replays)*1e9), "20", within(ratio >= 20)})
	}

	var ratios, rates []float64
	for range rounds {
		var walls [3]time.Duration
		for i, how := range []string{"", "launches()", "g:replay(s)"} {
			r, err := b.lua("--backend=sim", "-e", fmt.Sprintf(graphReplays, how))
			if err != nil {
				return nil, err
			}
			walls[i] = r.wall
		}
		replay := max(walls[2]-walls[0], time.Microsecond).Seconds()
		ratios = append(ratios, (walls[1]-walls[0]).Seconds()/replay)
		rates = append(rates, 1e6/replay)
	}
	return append(rows, row{"  the same end to end, with the simulator's work",
		fmt.Sprintf("%.2f (%.2f M/s)", median(ratios), median(rates)/1e6), "", info}), nil
}
