package lua51

import (
	"os"
	"strconv"
	"syscall"
)

// openDescriptors lists the open descriptors from 3 on that a child would get, nil where the system does not tell.
func openDescriptors() (list []int) {
	dir, err := os.Open("/proc/self/fd")
	if err != nil {
		return nil
	}
	defer dir.Close()
	names, _ := dir.Readdirnames(-1)
	for _, name := range names {
		fd, err := strconv.Atoi(name)
		if err != nil || fd < 3 {
			continue
		}
		flags, _, no := syscall.RawSyscall(syscall.SYS_FCNTL, uintptr(fd), syscall.F_GETFD, 0)
		if no == 0 && flags&syscall.FD_CLOEXEC == 0 {
			list = append(list, fd)
		}
	}
	return list
}

func closeOnExec(fd int) { syscall.CloseOnExec(fd) }
