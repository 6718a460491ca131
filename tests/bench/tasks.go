package main

import (
	"errors"
	"fmt"
	"time"
)

// switches is 10^6 turns of two tasks that give way to each other, and prints the seconds of one; %s is
// what gives way.
const switches = `
local sleep, time, a, b = npu.sleep, npu.time, npu.channel(), npu.channel()
local function turns(...) %s end
local begin = time()
npu.join{npu.spawn(turns, a, b), npu.spawn(turns, b, a)}
print((time() - begin) / 1e6)`

// ways are how tasks give way: by nothing else, by a timer of the backend, by handing a value over.
var ways = []struct{ what, lua, budget string }{
	{"task switch (npu.sleep(0))", "for i = 1, 500 do for j = 1, 1000 do sleep(0) end end", "2,000 ns"},
	{"  and back, through a channel without capacity", "local to, from = ... for i = 1, 500 do for j = 1, 500 do if to == a then to:send(1) from:receive() else from:receive() to:send(1) end end end", ""},
}

// spawning is 10^5 tasks that do nothing, one after the other.
const spawning = `
local function nothing() end
local begin = npu.time()
for i = 1, 100 do for j = 1, 1000 do npu.spawn(nothing):join() end end
print((npu.time() - begin) / 1e5)`

// waiting sleeps for %d seconds of real time while 1000 tasks wait for a channel.
const waiting = `
local ch = npu.channel()
for i = 1, 1000 do npu.spawn(function() ch:receive() end) end
npu.sleep(%d)
ch:close()`

// counting does the same pure Lua in one machine, or half of it in each of two; the %s are the work and how.
const counting = `
%s
local n = 4
%s`

// works are what workers compute: calls and comparisons, and what leaves garbage.
var works = []struct{ what, lua, budget string }{
	{"two workers in pure Lua: times the rate of one", "local function fib(n) if n < 2 then return n end return fib(n - 1) + fib(n - 2) end local function count(n) for i = 1, n do fib(30) end end", "1.8"},
	{"  the same, with strings and tables that become garbage", "local function count(n) for i = 1, n do local t = {} for i = 1, 3e5 do t[i] = string.format('%d:x', i) end table.concat(t) end end", ""},
}

// tasks is what tasks and workers cost.
func tasks(b *bench) ([]row, error) {
	var rows []row
	for _, way := range ways {
		seconds, err := b.median("--backend=null", "-e", fmt.Sprintf(switches, way.lua))
		if err != nil {
			return nil, err
		}
		met := info
		if way.budget != "" {
			met = within(seconds < 2e-6)
		}
		rows = append(rows, row{way.what, nanoseconds(seconds), way.budget, met})
	}
	seconds, err := b.median("--backend=null", "-e", spawning)
	if err != nil {
		return nil, err
	}
	rows = append(rows, row{"spawn and join", nanoseconds(seconds), "20,000 ns", within(seconds < 20e-6)})

	var cpu [2][]float64
	for range rounds {
		for i, n := range []int{1, 3} {
			r, err := b.lua("--backend=sim", "--clock=wall", "-e", fmt.Sprintf(waiting, n))
			if err != nil {
				return nil, err
			}
			cpu[i] = append(cpu[i], r.cpu.Seconds())
		}
	}
	share := (median(cpu[1]) - median(cpu[0])) / 2
	rows = append(rows, row{"1,000 tasks wait: share of a CPU", fmt.Sprintf("%.1f %%", max(share, 0)*100), "none", within(share < 0.005)})

	for _, work := range works {
		r, err := b.workers(work.lua)
		if err != nil {
			return nil, err
		}
		r.what, r.budget = work.what, work.budget
		if r.budget == "" {
			r.met = info
		}
		rows = append(rows, r)
	}
	return rows, nil
}

// workers is how much faster two workers are than one, and two processes.
func (b *bench) workers(work string) (row, error) {
	var ratios, limits []float64
	for range rounds {
		one, err := b.lua("--backend=sim", "-e", fmt.Sprintf(counting, work, "npu.worker(count, n):join()"))
		if err != nil {
			return row{}, err
		}
		two, err := b.lua("--backend=sim", "-e", fmt.Sprintf(counting, work, "local a, b = npu.worker(count, n / 2), npu.worker(count, n / 2) a:join() b:join()"))
		if err != nil {
			return row{}, err
		}
		ratios = append(ratios, one.wall.Seconds()/two.wall.Seconds())

		half := fmt.Sprintf(counting, work, "npu.worker(count, n / 2):join()")
		begin, other := time.Now(), make(chan error)
		go func() {
			_, err := b.lua("--backend=sim", "-e", half)
			other <- err
		}()
		_, err = b.lua("--backend=sim", "-e", half)
		if err := errors.Join(err, <-other); err != nil {
			return row{}, err
		}
		limits = append(limits, one.wall.Seconds()/time.Since(begin).Seconds())
	}
	ratio := median(ratios)
	return row{measured: fmt.Sprintf("%.2f (two processes: %.2f)", ratio, median(limits)), met: within(ratio >= 1.8)}, nil
}

// median is the median of the numbers that runs of the binary print.
func (b *bench) median(args ...string) (float64, error) {
	var all []float64
	for range rounds {
		r, err := b.lua(args...)
		if err != nil {
			return 0, err
		}
		x, err := number(r.out)
		if err != nil {
			return 0, err
		}
		all = append(all, x)
	}
	return median(all), nil
}
