package npu

import (
	"math"
	"os"
	"path"
	"strconv"
	"strings"
)

// machineRoom is how much memory buffers may have that have granted bytes now: what is available and their share of
// what the process uses, in the machine and in the control groups of the process.
func machineRoom(granted int64) int64 { return roomOf(os.ReadFile, granted) }

// roomOf is machineRoom by files that read reads.
func roomOf(read func(path string) ([]byte, error), granted int64) int64 {
	field := func(file, name string) (int64, bool) {
		text, err := read(file)
		if err != nil {
			return 0, false
		}
		for line := range strings.Lines(string(text)) {
			if rest, ok := strings.CutPrefix(line, name); ok {
				n, unit, _ := strings.Cut(strings.TrimSpace(strings.TrimPrefix(rest, ":")), " ")
				v, err := strconv.ParseInt(n, 10, 64)
				if unit == "kB" {
					v *= 1024
				}
				return v, err == nil
			}
		}
		return 0, false
	}
	number := func(file string) (int64, bool) {
		text, err := read(file)
		if err != nil {
			return 0, false
		}
		v, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64) // "max" is no number
		return v, err == nil
	}
	resident, _ := field("/proc/self/status", "RssAnon")
	swapped, _ := field("/proc/self/status", "VmSwap")
	own := min(granted, resident+swapped) // of the buffers, as far as they were written

	available, ok := field("/proc/meminfo", "MemAvailable")
	if !ok {
		return math.MaxInt64
	}
	swap, _ := field("/proc/meminfo", "SwapFree")
	room := available + swap + own
	groups, _ := read("/proc/self/cgroup")
	for line := range strings.Lines(string(groups)) {
		parts := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(parts) < 3 {
			continue
		}
		root, limit, usage, cache := "/sys/fs/cgroup", "memory.max", "memory.current", "inactive_file"
		switch {
		case parts[0] == "0":
		case strings.Contains(","+parts[1]+",", ",memory,"):
			root, limit, usage, cache = "/sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"
		default:
			continue
		}
		for dir := path.Join(root, parts[2]); ; dir = path.Dir(dir) {
			most, ok1 := number(path.Join(dir, limit))
			used, ok2 := number(path.Join(dir, usage))
			if ok1 && ok2 {
				idle, _ := field(path.Join(dir, "memory.stat"), cache+" ") // of files: it goes where memory is needed
				room = min(room, max(most-used+idle, 0)+swap+own)
			}
			if dir == root || len(dir) <= len(root) {
				break
			}
		}
	}
	return room
}
