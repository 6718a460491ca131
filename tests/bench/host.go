package main

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// bulk prints, for each operation on 16 MiB of host memory, the seconds that it takes.
const bulk = `
local n = 4194304
local a, b = npu.host("float32", n, {pinned = false}), npu.host("float32", n, {pinned = false})
a:fill(0.5) -- not the system's one page of zeros
b:fill(0.5)
local text = a:to_string()
local function measure(name, fn)
  fn()
  local start = npu.time()
  for i = 1, 8 do fn() end
  print(name, (npu.time() - start) / 8)
end
measure("npu.copy", function() npu.copy(b, a) end)
measure("h:fill", function() b:fill(1.5) end)
measure("h:set(string)", function() b:set(text) end)
measure("h:sum", function() return a:sum() end)
measure("h:min", function() return a:min() end)
measure("h:close_to", function() return a:close_to(a, 0) end)
measure("h:to_string", function() return a:to_string() end)`

// budgeted are the operations that only move bytes; the others compute, or make a new Lua string.
var budgeted = map[string]bool{"npu.copy": true, "h:fill": true, "h:set(string)": true}

// hostBuffers compares bulk operations with a copy of as many bytes in Go.
func hostBuffers(b *bench) ([]row, error) {
	ratios := make(map[string][]float64)
	var names []string
	var plain []float64
	dst, src := make([]byte, 16<<20), make([]byte, 16<<20)
	for i := range src {
		src[i], dst[i] = byte(i), 1
	}
	for range rounds {
		start := time.Now()
		for range 16 {
			copy(dst, src)
		}
		base := time.Since(start).Seconds() / 16
		plain = append(plain, base)
		r, err := b.lua("--backend=null", "-e", bulk)
		if err != nil {
			return nil, err
		}
		for line := range strings.Lines(r.out) {
			name, took, _ := strings.Cut(strings.TrimSpace(line), "\t")
			v, err := strconv.ParseFloat(took, 64)
			if err != nil {
				return nil, fmt.Errorf("%q: %w", line, err)
			}
			if ratios[name] == nil {
				names = append(names, name)
			}
			ratios[name] = append(ratios[name], base/v)
		}
	}
	rows := []row{{what: "memmove of 16 MiB in Go", measured: fmt.Sprintf("%.1f GB/s", float64(len(src))/median(plain)/1e9)}}
	for _, name := range names {
		v := median(ratios[name])
		r := row{what: name + " of 16 MiB: share of memmove's rate", measured: fmt.Sprintf("%.2f", v)}
		if budgeted[name] {
			r.budget, r.met = "0.5", within(v >= 0.5)
		}
		rows = append(rows, r)
	}
	return rows, nil
}
