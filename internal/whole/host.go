package whole

import (
	"io/fs"
	"os"
	"path/filepath"
)

// Host is the file system of the machine.
type Host struct{}

// OpenFile implements FS.
func (Host) OpenFile(path string, flag int, perm fs.FileMode) (*os.File, error) {
	return os.OpenFile(path, flag, perm)
}

// Stat implements FS.
func (Host) Stat(path string) (fs.FileInfo, error) { return os.Stat(path) }

// Remove implements FS.
func (Host) Remove(path string) error { return os.Remove(path) }

// Rename implements FS.
func (Host) Rename(from, to string) error { return os.Rename(from, to) }

// Real implements FS.
func (Host) Real(path string) (string, error) { return filepath.EvalSymlinks(path) }

// Write implements FS.
func (Host) Write(int) error { return nil }

// standard is the standard stream that path names, whatever file that is; nil: it names none. To open it again would
// not share the offset with what was printed, and to replace it would take it away from who reads it.
func standard(d FS, path string) *os.File {
	if w, ok := d.(interface{ Whole() bool }); ok && !w.Whole() {
		return nil
	}
	switch filepath.Clean(path) {
	case "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1":
		return os.Stdout
	case "/dev/stderr", "/dev/fd/2", "/proc/self/fd/2":
		return os.Stderr
	}
	return nil
}
