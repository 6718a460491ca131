package proc

import (
	"math"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// Space is memory of a process that a resource limit bounds.
type Space struct {
	Resource int    // of the limit
	Option   string // of ulimit, in KiB
	field    string // of the status of the process
}

// Spaces are address space, and private memory that can be written.
func Spaces() []Space {
	return []Space{{unix.RLIMIT_AS, "ulimit -v", "VmSize"}, {unix.RLIMIT_DATA, "ulimit -d", "VmData"}}
}

// Limit is the limit of a process, 0: this one, in bytes; false: it has none.
func (s Space) Limit(pid int) (int64, bool) {
	var r unix.Rlimit
	err := unix.Prlimit(pid, s.Resource, nil, &r)
	return int64(r.Cur), err == nil && r.Cur < endless
}

// TightestSpace is the space of this process whose limit is smallest, and that in bytes, where it is less than the machine
// has; false: there is none.
func TightestSpace() (tightest Space, limit int64, ok bool) {
	limit = MachineMemory()
	for _, s := range Spaces() {
		if n, limited := s.Limit(0); limited && n < limit {
			tightest, limit, ok = s, n, true
		}
	}
	return tightest, limit, ok
}

// Used is what a process, 0: this one, has of it, in bytes.
func (s Space) Used(pid int) (int64, error) {
	process := "self"
	if pid > 0 {
		process = strconv.Itoa(pid)
	}
	return Memory(process, s.field)
}

// MachineMemory is the memory of the machine, in bytes; math.MaxInt64 where the system does not tell.
func MachineMemory() int64 {
	var info syscall.Sysinfo_t
	if syscall.Sysinfo(&info) != nil {
		return math.MaxInt64
	}
	return int64(uint64(info.Totalram) * uint64(info.Unit))
}
