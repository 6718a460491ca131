package luabind

import "npulua/internal/proc"

// mostMemory is how much memory scripts may have without a sandbox: what the machine, the control group of the process
// and its resource limits have, less what the process needs besides. So much of that as spare says may be garbage.
func mostMemory() (most, spare int64) {
	most = min(proc.GroupMemory(), proc.MachineMemory())
	most -= most / 10
	for _, s := range proc.Spaces() {
		if limit, ok := s.Limit(0); ok {
			now, _ := s.Used(0) // without /proc, 0
			if left := max(limit-now, 4); left/2 < most {
				most, spare = left/2, left/4 // the collector, which is late at times, needs the rest
			}
		}
	}
	return most, spare
}
