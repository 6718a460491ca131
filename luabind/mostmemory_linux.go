package luabind

import (
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// mostMemory is how much memory scripts may have without a sandbox: what the machine, the control group of the process
// and its resource limits have, less what the process needs besides.
func mostMemory() int64 {
	most := groupMemory()
	var info syscall.Sysinfo_t
	if syscall.Sysinfo(&info) == nil {
		most = min(most, int64(uint64(info.Totalram)*uint64(info.Unit)))
	}
	most -= most / 10
	for _, limit := range []struct {
		resource int
		field    string
	}{{syscall.RLIMIT_AS, "VmSize"}, {syscall.RLIMIT_DATA, "VmData"}} {
		var r syscall.Rlimit
		if syscall.Getrlimit(limit.resource, &r) == nil && r.Cur < 1<<60 {
			left := int64(r.Cur) - statusBytes(limit.field)
			most = min(most, max(left/2, 1)) // the collector, which is late at times, needs the rest
		}
	}
	return most
}

// statusBytes is a size of the process that /proc/self/status gives in kB.
func statusBytes(field string) int64 {
	data, _ := os.ReadFile("/proc/self/status") // without one, 0
	_, rest, _ := strings.Cut(string(data), "\n"+field+":")
	text, _, _ := strings.Cut(rest, "kB")
	n, _ := strconv.ParseInt(strings.TrimSpace(text), 10, 64)
	return n << 10
}

// groupMemory is the memory limit of the control group of the process, and of those above it.
func groupMemory() int64 {
	most := int64(math.MaxInt64)
	data, _ := os.ReadFile("/proc/self/cgroup") // without one there is no limit
	for line := range strings.Lines(string(data)) {
		fields := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(fields) != 3 {
			continue
		}
		root, file := "/sys/fs/cgroup", "memory.max"
		if fields[1] == "memory" {
			root, file = "/sys/fs/cgroup/memory", "memory.limit_in_bytes"
		} else if fields[1] != "" {
			continue
		}
		for dir := filepath.Clean("/" + fields[2]); ; dir = filepath.Dir(dir) {
			text, err := os.ReadFile(filepath.Join(root, dir, file))
			if n, bad := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64); err == nil && bad == nil && n > 0 {
				most = min(most, n)
			}
			if dir == "/" {
				break
			}
		}
	}
	return most
}
