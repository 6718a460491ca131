package luabind

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"syscall"
)

var errWouldWait = errors.New("would wait for data")

// present reads what a file that was opened with openNow has, and never waits for more: some regular files of the system, such as
// /proc/kmsg, give data as it comes, and a read of theirs could not be interrupted.
type present struct{ f *os.File }

func (p present) Read(data []byte) (n int, err error) {
	if len(data) == 0 {
		return 0, nil
	}
	raw, err := p.f.SyscallConn()
	if err != nil {
		return 0, err
	}
	var failed error
	err = raw.Read(func(fd uintptr) bool {
		for {
			if n, failed = syscall.Read(int(fd), data); failed != syscall.EINTR {
				return true
			}
		}
	})
	switch {
	case err == nil && failed == nil && n == 0:
		return 0, io.EOF
	case err == nil && failed == syscall.EAGAIN:
		return 0, errWouldWait
	case err == nil && failed != nil:
		return 0, &fs.PathError{Op: "read", Path: p.f.Name(), Err: failed}
	}
	return n, err
}
