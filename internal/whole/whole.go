// Package whole writes files as a whole or not at all: what is there stays until the new content is complete, and
// stays where that fails, on a full disk for example. It is the one way in which npulua writes files that it did not
// leave open.
package whole

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"syscall"
)

// FS is where files are written, by paths as its users write them.
type FS interface {
	OpenFile(path string, flag int, perm fs.FileMode) (*os.File, error)
	Stat(path string) (fs.FileInfo, error)
	Remove(path string) error
	Rename(from, to string) error
	// Real is a path of the same file in which there are no links.
	Real(path string) (string, error)
	// Write is asked before n bytes are written.
	Write(n int) error
}

// Options say how a file is written.
type Options struct {
	Mode  fs.FileMode // permissions; 0: those of the file that is there, else those of any new file
	Sync  bool        // the content is on the disk before the name is
	Plain bool        // what is there and is no regular file is refused, with ErrNotRegular; else it is written straight
	Await bool        // a pipe that nobody reads is waited for; else it is an error
	// InPlace writes into the file that is there where no new one can be made beside it, or take its name: its folder
	// is read-only, or the file is a mount of its own. That is the one case in which it may be cut.
	InPlace bool
}

// ErrNotRegular is for what is there, and is a pipe, a socket or a device.
var ErrNotRegular = errors.New("is a pipe, a socket or a device, no file")

// FolderError says that no file can be made in a folder.
type FolderError struct {
	Dir string
	Err error // of the system, without a path
}

func (e *FolderError) Error() string { return fmt.Sprintf("folder %s: %v", e.Dir, e.Err) }
func (e *FolderError) Unwrap() error { return e.Err }

const newMode = 0o666 // less what the process's umask takes away

// Write makes path hold what fill writes. A link stays one, and a file keeps its permissions and its owner, as far as
// this user may give them. A file that may not be written is not replaced either.
func Write(d FS, path string, o Options, fill func(io.Writer) error) error {
	if f := standard(d, path); f != nil {
		return fill(asking{f, d})
	}
	old, err := stat(d, path)
	switch {
	case err != nil:
		return err
	case old == nil:
		return replace(d, path, nil, o, fill)
	case old.IsDir():
		return syscall.EISDIR
	case !old.Mode().IsRegular() && o.Plain:
		return ErrNotRegular
	}
	wait := syscall.O_NONBLOCK
	if o.Await {
		wait = 0
	}
	f, err := d.OpenFile(path, os.O_WRONLY|wait, 0)
	if err != nil {
		return err
	}
	if !old.Mode().IsRegular() {
		return close(f, fill(asking{f, d}))
	}
	if err := f.Close(); err != nil {
		return err
	}
	if path, err = d.Real(path); err != nil {
		return err
	}
	if !o.InPlace {
		return replace(d, path, old, o, fill)
	}
	var text bytes.Buffer // written in place, nothing but the disk may fail
	if err := fill(&text); err != nil {
		return err
	}
	give := func(w io.Writer) error {
		_, err := w.Write(text.Bytes())
		return err
	}
	if err = replace(d, path, old, o, give); !cannotReplace(err) {
		return err
	}
	if f, err = d.OpenFile(path, os.O_WRONLY|os.O_TRUNC, 0); err != nil {
		return err
	}
	return close(f, give(asking{f, d}))
}

// stat is what is at path; nil: nothing.
func stat(d FS, path string) (fs.FileInfo, error) {
	info, err := d.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case errors.Is(err, syscall.ENOTDIR) || errors.Is(err, syscall.EACCES):
		return nil, &FolderError{filepath.Dir(path), bare(err)}
	}
	return info, err
}

// Probe fails where Write with these options would fail before it fills a file. It changes nothing.
func Probe(d FS, path string, o Options) error {
	if standard(d, path) != nil {
		return nil
	}
	old, err := stat(d, path)
	switch {
	case err != nil:
		return err
	case old != nil && old.IsDir():
		return syscall.EISDIR
	case old != nil && !old.Mode().IsRegular() && o.Plain:
		return ErrNotRegular
	case old != nil:
		f, err := d.OpenFile(path, os.O_WRONLY|syscall.O_NONBLOCK, 0)
		if err != nil {
			return err
		}
		if err := f.Close(); err != nil || !old.Mode().IsRegular() {
			return err
		}
		if path, err = d.Real(path); err != nil {
			return err
		}
	}
	f, name, err := create(d, path)
	if err != nil {
		if old != nil && o.InPlace && cannotReplace(err) {
			return nil
		}
		return err
	}
	return errors.Join(f.Close(), d.Remove(name))
}

func cannotReplace(err error) bool {
	var folder *FolderError
	return errors.As(err, &folder) && (errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.EROFS)) ||
		errors.Is(err, syscall.EBUSY) || errors.Is(err, syscall.EXDEV)
}

// close closes f, of which err is known already.
func close(f *os.File, err error) error {
	if e := f.Close(); err == nil {
		err = e
	}
	return err
}

// replace fills a new file beside path, and gives it the name.
func replace(d FS, path string, old fs.FileInfo, o Options, fill func(io.Writer) error) (err error) {
	f, name, err := create(d, path)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = f.Close()
			_ = d.Remove(name) // err tells more
		}
	}()
	if err := fill(asking{f, d}); err != nil {
		return err
	}
	mode := o.Mode
	if old != nil {
		keepOwner(f, old)
		if mode == 0 {
			mode = old.Mode().Perm()
		}
	}
	if mode != 0 {
		if err := f.Chmod(mode); err != nil {
			return err
		}
	}
	if o.Sync {
		if err := f.Sync(); err != nil && !errors.Is(err, syscall.EINVAL) && !errors.Is(err, syscall.ENOTSUP) {
			return err
		}
	}
	if err := f.Close(); err != nil {
		return err
	}
	return bare(d.Rename(name, path))
}

// bare is what the system said, without the paths, of which one is that of a file that nobody asked for.
func bare(err error) error {
	var pe *fs.PathError
	var le *os.LinkError
	switch {
	case errors.As(err, &pe):
		return pe.Err
	case errors.As(err, &le):
		return le.Err
	}
	return err
}

// create makes a new file in the folder of path.
func create(d FS, path string) (f *os.File, name string, err error) {
	dir, base := filepath.Split(path)
	if len(base) > 200 {
		base = base[:200]
	}
	for range 100 {
		name = filepath.Join(dir, fmt.Sprintf(".%s.%08x", base, rand.Uint32()))
		if f, err = d.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, newMode); err == nil {
			return f, name, nil
		}
		if !errors.Is(err, fs.ErrExist) {
			break
		}
	}
	return nil, "", &FolderError{filepath.Dir(path), bare(err)}
}

// asking is a file that asks before each write.
type asking struct {
	f *os.File
	d FS
}

func (a asking) Write(data []byte) (int, error) {
	if err := a.d.Write(len(data)); err != nil {
		return 0, err
	}
	return a.f.Write(data)
}
