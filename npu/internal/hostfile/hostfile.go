// Package hostfile reads and writes the files that become host buffers: NumPy arrays and pictures.
//
// An error either says what the operating system refused (errors.Is finds fs.ErrNotExist and so
// on) or what is wrong with the content, and then errors.Is finds ErrFormat. There is no third
// kind. Nothing here trusts a size that a file claims: it is checked against what the file holds
// before memory is taken for it.
package hostfile

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
)

// ErrFormat marks content that cannot be read, or that the wanted format cannot hold.
var ErrFormat = errors.New("bad format")

// formatError is a sentence about content; it is ErrFormat without saying so in its text.
type formatError string

func (e formatError) Error() string        { return string(e) }
func (e formatError) Is(target error) bool { return target == ErrFormat }

func formatErrorf(format string, args ...any) error {
	return formatError(fmt.Sprintf(format, args...))
}

// pathError puts op and path in front of err, in place of those that package os gave it.
func pathError(op, path string, err error) error {
	if pe, ok := errors.AsType[*fs.PathError](err); ok {
		err = pe.Err
	}
	return fmt.Errorf("%s %s: %w", op, path, err)
}

// readFile calls decode with the open file and its size in bytes, which is negative for what has
// none: a FIFO, a terminal.
func readFile(path string, decode func(r io.Reader, size int64) error) error {
	f, err := os.Open(path)
	if err != nil {
		return pathError("read", path, err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return pathError("read", path, err)
	}
	size := int64(-1)
	if info.Mode().IsRegular() {
		size = info.Size()
	}
	if err := decode(f, size); err != nil {
		return pathError("read", path, err)
	}
	return nil
}

// writeFile makes path hold what encode writes, or leaves everything as it was: the bytes go to a
// temporary file in the same folder, which takes the name at the end. What exists and is no
// regular file (a FIFO, a terminal, /dev/stdout) is written straight.
func writeFile(path string, encode func(io.Writer) error) error {
	if path == "/dev/stdout" { // opening it again would not share the offset with what was printed
		if err := encode(os.Stdout); err != nil {
			return pathError("write", path, err)
		}
		return nil
	}
	target, perm := path, fs.FileMode(0)
	if info, err := os.Stat(path); err == nil {
		// Opening also finds out about a directory and a file that is not writable.
		f, err := os.OpenFile(path, os.O_WRONLY, 0)
		if err != nil {
			return pathError("write", path, err)
		}
		if !info.Mode().IsRegular() {
			err := encode(f)
			if cerr := f.Close(); err == nil {
				err = cerr
			}
			if err != nil {
				return pathError("write", path, err)
			}
			return nil
		}
		f.Close()
		perm = info.Mode().Perm()
		if t, err := filepath.EvalSymlinks(path); err == nil {
			target = t // a link stays a link
		}
	}
	if err := replaceFile(target, perm, encode); err != nil {
		return pathError("write", path, err)
	}
	return nil
}

// replaceFile gives the new file the permissions perm; zero means those of any new file.
func replaceFile(target string, perm fs.FileMode, encode func(io.Writer) error) (err error) {
	dir := filepath.Dir(target)
	// os.CreateTemp would make it unreadable for others, whatever the umask says.
	temp := filepath.Join(dir, fmt.Sprintf(".npulua-%016x.tmp", rand.Uint64()))
	f, err := os.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return pathError("folder", dir, err)
	}
	defer func() {
		if err != nil {
			f.Close()
			os.Remove(temp)
		}
	}()
	if err := encode(f); err != nil {
		return err
	}
	if perm != 0 {
		if err := f.Chmod(perm); err != nil {
			return err
		}
	}
	if err := f.Close(); err != nil {
		return err
	}
	if err := os.Rename(temp, target); err != nil {
		if le, ok := errors.AsType[*os.LinkError](err); ok {
			return le.Err
		}
		return err
	}
	return nil
}
