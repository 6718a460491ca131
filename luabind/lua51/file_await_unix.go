//go:build unix

package lua51

import (
	"context"
	"os"

	"golang.org/x/sys/unix"
)

// awaitInput waits until f has something to read, its end included, or returns an interruption. A read that
// was given up would take what comes next from whoever else reads f. f must be a file that blocks.
func awaitInput(ctx context.Context, f *os.File) error {
	r, w, err := os.Pipe()
	if err != nil {
		return nil // the read waits then
	}
	defer r.Close()
	defer context.AfterFunc(ctx, func() { w.Close() })()
	for {
		fds := []unix.PollFd{{Fd: int32(f.Fd()), Events: unix.POLLIN}, {Fd: int32(r.Fd()), Events: unix.POLLIN}}
		switch _, err := unix.Poll(fds, -1); {
		case ctx.Err() != nil:
			return interruption{ctx.Err()}
		case err == unix.EINTR:
		default:
			w.Close()
			return nil
		}
	}
}
