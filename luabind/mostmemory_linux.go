package luabind

import (
	"syscall"

	"npulua/internal/proc"
)

// mostMemory is how much memory scripts may have without a sandbox: what the machine, the control group of the process
// and its resource limits have, less what the process needs besides.
func mostMemory() int64 {
	most := proc.GroupMemory()
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
			now, _ := proc.Memory("self", limit.field) // without /proc, 0
			left := int64(r.Cur) - now
			most = min(most, max(left/2, 1)) // the collector, which is late at times, needs the rest
		}
	}
	return most
}
