package main

import (
	"fmt"
	"os/exec"
	"strconv"
	"strings"
)

// executor reads the ratios that the executor's own benchmarks measure.
func executor(*bench) ([]row, error) {
	m, err := benchmarks("./npu/internal/executor", "^Benchmark(Queued|Call)$", "1s")
	if err != nil {
		return nil, err
	}
	q, c := m["BenchmarkQueued"], m["BenchmarkCall"]
	return []row{
		{"queued command: times the rate of a channel to a locked goroutine",
			fmt.Sprintf("%.0f (%.0f ns / %.0f ns)", q["ratio"], q["ns/op"], q["channel-ns/op"]), "100", within(q["ratio"] >= 100)},
		{"synchronous call, hot", fmt.Sprintf("%.0f ns", c["ns/op"]), "1500 ns", within(c["ns/op"] < 1500)},
		{"synchronous call: times the rate of the channel",
			fmt.Sprintf("%.0f (%.0f ns / %.0f ns)", c["ratio"], c["ns/op"], c["channel-ns/op"]), "20", within(c["ratio"] >= 20)},
	}, nil
}

// allocations are those of the hot calls of a script, and what other calls take.
func allocations(*bench) ([]row, error) {
	m, err := benchmarks("./luabind", "^BenchmarkScript$", "1000000x")
	if err != nil {
		return nil, err
	}
	var rows []row
	for _, name := range []string{"copy", "launch4"} {
		n := m["BenchmarkScript/"+name]["allocs/op"]
		rows = append(rows, row{"allocations of s:" + strings.TrimSuffix(name, "4"), fmt.Sprintf("%.2f a call", n), "0", within(n < 0.01)})
	}
	for _, name := range []string{"copy", "launch4", "record", "wait", "query", "time", "read", "write", "pcall"} {
		row := row{what: "script, null backend: " + name, measured: fmt.Sprintf("%.0f ns", m["BenchmarkScript/"+name]["ns/op"])}
		if name == "pcall" {
			row.budget, row.met = "3000 ns", within(m["BenchmarkScript/pcall"]["ns/op"] < 3000)
		}
		rows = append(rows, row)
	}
	return rows, nil
}

// benchmarks runs benchmarks of a package and returns their metrics by unit.
func benchmarks(pkg, pattern, length string) (map[string]map[string]float64, error) {
	out, err := exec.Command("go", "test", "-run", "^$", "-bench", pattern, "-benchtime", length, "-cpu", "2", pkg).CombinedOutput()
	if err != nil {
		return nil, fmt.Errorf("go test %s: %w\n%s", pkg, err, out)
	}
	all := make(map[string]map[string]float64)
	for line := range strings.Lines(string(out)) {
		f := strings.Fields(line)
		if len(f) < 4 || !strings.HasPrefix(f[0], "Benchmark") {
			continue
		}
		metrics := make(map[string]float64)
		for i := 2; i+1 < len(f); i += 2 {
			if v, err := strconv.ParseFloat(f[i], 64); err == nil {
				metrics[f[i+1]] = v
			}
		}
		all[strings.TrimSuffix(f[0], "-2")] = metrics
	}
	return all, nil
}
