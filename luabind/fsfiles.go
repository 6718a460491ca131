package luabind

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
)

// This file holds what the module fs does with files; nothing in it knows Lua.

// filePiece is how much is read or written between two looks at the context.
const filePiece = 1 << 20

var errNoDirectory = errors.New("its directory does not exist")

var errNotRegular = errors.New("is a pipe, a socket or a device, no file: io.open is for those")

// openRegular opens a regular file to read; a pipe without a writer does not hold it up.
func openRegular(path string) (*os.File, fs.FileInfo, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, nil, err
	}
	info, err := f.Stat()
	switch {
	case err != nil:
	case info.IsDir():
		err = syscall.EISDIR
	case !info.Mode().IsRegular():
		err = errNotRegular
	}
	if err != nil {
		f.Close()
		return nil, nil, err
	}
	return f, info, nil
}

// readWhole reads a file of at most limit bytes.
func readWhole(ctx context.Context, path string, limit int64) (string, error) {
	f, info, err := openRegular(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	var b strings.Builder
	b.Grow(int(min(info.Size(), limit, 64*filePiece)) + 1)
	n, err := copyPieces(ctx, &b, io.LimitReader(f, limit+1))
	if err == nil && n > limit {
		err = fmt.Errorf("has more than %d B (option max_bytes)", limit)
	}
	return b.String(), err
}

// copyPieces is io.Copy until ctx ends.
func copyPieces(ctx context.Context, w io.Writer, r io.Reader) (total int64, err error) {
	for {
		if ctx.Err() != nil {
			return total, context.Cause(ctx)
		}
		n, err := io.CopyN(w, r, filePiece)
		total += n
		if err == io.EOF {
			return total, nil
		}
		if err != nil {
			return total, err
		}
	}
}

// newMode is what files are made with, less what the process's umask takes away.
const newMode = 0o666

// replaceFile gives path the content that fill writes, as a whole or not at all: it fills a new file beside it, and
// renames that. A link stays one; a file that was there keeps its mode, unless mode (not 0) says another one.
func replaceFile(path string, mode fs.FileMode, fill func(w io.Writer) error) (err error) {
	old, err := os.Stat(path)
	switch {
	case err == nil && old.IsDir():
		return syscall.EISDIR
	case err == nil && !old.Mode().IsRegular():
		return errNotRegular
	case err == nil:
		if path, err = filepath.EvalSymlinks(path); err != nil {
			return err
		}
		if mode == 0 {
			mode = old.Mode().Perm()
		}
	}
	f, err := createBeside(path)
	if err != nil {
		if old != nil && (errors.Is(err, fs.ErrPermission) || errors.Is(err, fs.ErrNotExist)) {
			return errors.New("no new file can be made beside it (atomic = false writes in place)")
		}
		return ofDirectory(err)
	}
	defer func() {
		if err != nil {
			f.Close()
			os.Remove(f.Name())
		}
	}()
	if err := fill(f); err != nil {
		return err
	}
	if mode != 0 {
		if err := f.Chmod(mode); err != nil {
			return err
		}
	}
	if err := f.Sync(); err != nil {
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}

// ofDirectory is an error of making a file, which is missing itself.
func ofDirectory(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return errNoDirectory
	}
	return err
}

// createBeside makes a new file in the directory of path.
func createBeside(path string) (*os.File, error) {
	dir, base := filepath.Split(path)
	if len(base) > 200 {
		base = base[:200]
	}
	for range 100 {
		name := filepath.Join(dir, fmt.Sprintf(".%s.%08x", base, rand.Uint32()))
		f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, newMode)
		if !errors.Is(err, fs.ErrExist) {
			return f, err
		}
	}
	return nil, fs.ErrExist
}

// writeInPlace writes to the file as it is; flag is os.O_TRUNC or os.O_APPEND.
func writeInPlace(ctx context.Context, path, data string, mode fs.FileMode, flag int) (err error) {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|syscall.O_NONBLOCK|flag, newMode)
	if err != nil {
		return ofDirectory(err)
	}
	defer func() {
		if e := f.Close(); err == nil {
			err = e
		}
	}()
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = errNotRegular
	}
	if err == nil && mode != 0 {
		err = f.Chmod(mode)
	}
	if err == nil {
		_, err = copyPieces(ctx, f, strings.NewReader(data))
	}
	return err
}

// copyFile copies a regular file and its mode.
func copyFile(ctx context.Context, from, to string) error {
	f, info, err := openRegular(from)
	if err != nil {
		return err
	}
	defer f.Close()
	if old, err := os.Stat(to); err == nil && os.SameFile(old, info) {
		return errors.New("the two are the same file")
	}
	return replaceFile(to, info.Mode().Perm(), func(w io.Writer) error {
		_, err := copyPieces(ctx, w, f)
		return err
	})
}

// copyTree copies a directory with all that is in it to a new one. Links are copied as links.
func copyTree(ctx context.Context, from, to string) error {
	if _, err := os.Lstat(to); err == nil {
		return &fs.PathError{Op: "copy", Path: to, Err: syscall.EEXIST}
	}
	if inside, err := isInside(to, from); err != nil || inside {
		return cmpError(err, errors.New("the copy would be inside the original"))
	}
	return filepath.WalkDir(from, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		rest, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		target := filepath.Join(to, rest)
		info, err := d.Info()
		switch {
		case err != nil:
			return err
		case d.IsDir():
			return os.Mkdir(target, info.Mode().Perm()|0o700)
		case d.Type()&fs.ModeSymlink != 0:
			link, err := os.Readlink(path)
			if err != nil {
				return err
			}
			return os.Symlink(link, target)
		}
		if err := copyFile(ctx, path, target); err != nil {
			return &fs.PathError{Op: "copy", Path: path, Err: err}
		}
		return nil
	})
}

func cmpError(first, otherwise error) error {
	if first != nil {
		return first
	}
	return otherwise
}

// isInside reports whether path is dir, or would be below it.
func isInside(path, dir string) (bool, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return false, err
	}
	if dir, err = filepath.Abs(dir); err != nil {
		return false, err
	}
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		dir = real
	}
	for up := path; ; up = filepath.Dir(up) { // the part of path that exists
		if real, err := filepath.EvalSymlinks(up); err == nil {
			path = filepath.Join(real, strings.TrimPrefix(path, up))
			break
		}
		if up == filepath.Dir(up) {
			break
		}
	}
	rest, err := filepath.Rel(dir, path)
	return err == nil && rest != ".." && !strings.HasPrefix(rest, ".."+string(filepath.Separator)), nil
}

// removeTree removes path and all that is in it, unless it is what the program stands on.
func removeTree(path string) error {
	if _, err := os.Lstat(path); err != nil {
		return err
	}
	full, err := filepath.Abs(path)
	if err != nil {
		return err
	}
	if full == filepath.Dir(full) {
		return errors.New("is the root of the file system")
	}
	if info, err := os.Lstat(full); err == nil && info.IsDir() {
		if here, err := os.Getwd(); err == nil {
			if inside, err := isInside(here, full); err != nil || inside {
				return cmpError(err, errors.New("the working directory is in it"))
			}
		}
	}
	return os.RemoveAll(path)
}

// fileKind is what a file is, as fs.stat says it.
func fileKind(mode fs.FileMode) string {
	for _, k := range []struct {
		bits fs.FileMode
		name string
	}{
		{fs.ModeDir, "directory"}, {fs.ModeSymlink, "link"}, {fs.ModeNamedPipe, "pipe"}, {fs.ModeSocket, "socket"}, {fs.ModeDevice, "device"},
	} {
		if mode&k.bits != 0 {
			return k.name
		}
	}
	return "file"
}

// tempDirs are the temporary directories of a program, which go with it.
type tempDirs struct {
	mu   sync.Mutex
	list []string
}

func (t *tempDirs) create() (string, error) {
	dir, err := os.MkdirTemp("", "npulua-")
	if err == nil {
		t.mu.Lock()
		defer t.mu.Unlock()
		t.list = append(t.list, dir)
	}
	return dir, err
}

// remove removes them. It returns the first error.
func (t *tempDirs) remove() (first error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, dir := range t.list {
		if err := os.RemoveAll(dir); err != nil && first == nil {
			first = err
		}
	}
	t.list = nil
	return first
}
