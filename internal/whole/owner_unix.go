//go:build unix

package whole

import (
	"io/fs"
	"os"
	"syscall"
)

// keepOwner gives f the owner of the file that it is to replace, where this user may.
func keepOwner(f *os.File, old fs.FileInfo) {
	was, ok := old.Sys().(*syscall.Stat_t)
	info, err := f.Stat()
	if !ok || err != nil {
		return
	}
	if is, ok := info.Sys().(*syscall.Stat_t); ok && (is.Uid != was.Uid || is.Gid != was.Gid) {
		_ = f.Chown(int(was.Uid), int(was.Gid)) // only root may, mostly
	}
}
