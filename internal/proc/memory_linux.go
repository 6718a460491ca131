package proc

import (
	"math"
	"os"
	"path"
	"strconv"
	"strings"
)

// Memory is a size that the status of a process, an id or "self", gives, such as VmSize; in bytes.
func Memory(process, field string) (int64, error) {
	data, err := os.ReadFile("/proc/" + process + "/status")
	if err != nil {
		return 0, err
	}
	_, rest, _ := strings.Cut(string(data), "\n"+field+":")
	text, _, _ := strings.Cut(rest, "kB")
	n, err := strconv.ParseInt(strings.TrimSpace(text), 10, 64)
	return n << 10, err
}

// endless is what version 1 of control groups gives where there is no limit, or more.
const endless = 1 << 60

// GroupMemory is the smallest memory limit of the control groups that this process is in, of either version, and of
// those above them, in bytes; math.MaxInt64 where there is none.
func GroupMemory() int64 {
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
		for dir := path.Clean("/" + fields[2]); ; dir = path.Dir(dir) {
			text, err := os.ReadFile(path.Join(root, dir, file))
			if n, bad := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64); err == nil && bad == nil && n > 0 && n < endless {
				most = min(most, n)
			}
			if dir == "/" {
				break
			}
		}
	}
	return most
}
