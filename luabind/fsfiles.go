package luabind

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"

	"npulua/internal/whole"
)

// This file holds what the module fs does with files; nothing in it knows Lua.

// filePiece is how much is read or written between two looks at the context.
const filePiece = 1 << 20

var errNoDirectory = errors.New("its directory does not exist")

var errNotRegular = errors.New("is a pipe, a socket or a device, no file: io.open is for those")

// openRegular opens a regular file to read; a pipe without a writer does not hold it up.
func openRegular(d disk, path string) (*os.File, fs.FileInfo, error) {
	f, err := d.OpenFile(path, openNow, 0)
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
func readWhole(ctx context.Context, d disk, path string, limit int64) (string, error) {
	f, info, err := openRegular(d, path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	var b strings.Builder
	size := int(min(info.Size(), limit, 64*filePiece)) + 1
	d.Room(size)
	b.Grow(size)
	n, err := copyPieces(ctx, kept{&b, d}, io.LimitReader(present{f}, limit+1))
	if err == nil && n > limit {
		err = fmt.Errorf("has more than %d B (option max_bytes)", limit)
	}
	return b.String(), err
}

// kept is text that asks for room before each write.
type kept struct {
	text *strings.Builder
	d    disk
}

func (k kept) Write(data []byte) (int, error) {
	k.d.Room(2 * len(data)) // it grows by doubling
	return k.text.Write(data)
}

// asking is a file that asks before each write.
type asking struct {
	f *os.File
	d disk
}

func (a asking) Write(data []byte) (int, error) {
	if err := a.d.Write(len(data)); err != nil {
		return 0, err
	}
	return a.f.Write(data)
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

// replaceFile gives path the content that fill writes, as a whole or not at all. A link stays one; a file that was
// there keeps its mode, unless mode (not 0) says another one.
func replaceFile(d disk, path string, mode fs.FileMode, fill func(w io.Writer) error) error {
	err := whole.Write(d, path, whole.Options{Mode: mode, Sync: true, Plain: true}, fill)
	var folder *whole.FolderError
	switch {
	case errors.Is(err, whole.ErrNotRegular):
		return errNotRegular
	case !errors.As(err, &folder):
		return ofDirectory(err)
	}
	if _, e := d.Stat(path); e == nil && (errors.Is(err, fs.ErrPermission) || errors.Is(err, fs.ErrNotExist)) {
		return errors.New("no new file can be made beside it (atomic = false writes in place)")
	}
	return ofDirectory(folder.Err)
}

// ofDirectory is an error of making a file, which is missing itself.
func ofDirectory(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return errNoDirectory
	}
	return err
}

// writeInPlace writes to the file as it is; flag is os.O_TRUNC or os.O_APPEND.
func writeInPlace(ctx context.Context, d disk, path, data string, mode fs.FileMode, flag int) (err error) {
	f, err := d.OpenFile(path, os.O_WRONLY|os.O_CREATE|syscall.O_NONBLOCK|flag, newMode)
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
		_, err = copyPieces(ctx, asking{f, d}, strings.NewReader(data))
	}
	return err
}

// copyFile copies a regular file and its mode.
func copyFile(ctx context.Context, d disk, from, to string) error {
	f, info, err := openRegular(d, from)
	if err != nil {
		return err
	}
	defer f.Close()
	if old, err := d.Stat(to); err == nil && os.SameFile(old, info) {
		return errors.New("the two are the same file")
	}
	return replaceFile(d, to, info.Mode().Perm(), func(w io.Writer) error {
		_, err := copyPieces(ctx, w, present{f})
		return err
	})
}

// copyTree copies a directory with all that is in it to a new one. Links are copied as links.
func copyTree(ctx context.Context, d disk, from, to string) error {
	if _, err := d.Lstat(to); err == nil {
		return &fs.PathError{Op: "copy", Path: to, Err: syscall.EEXIST}
	}
	if inside, err := isInside(d, to, from); err != nil || inside {
		return cmpError(err, errors.New("the copy would be inside the original"))
	}
	return copyEntry(ctx, d, from, to)
}

// copyEntry copies what from is. An error that is about another path says so.
func copyEntry(ctx context.Context, d disk, from, to string) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	info, err := d.Lstat(from)
	switch {
	case err != nil:
	case info.IsDir():
		err = copyEntries(ctx, d, from, to, info.Mode().Perm()|0o700)
	case info.Mode()&fs.ModeSymlink != 0:
		var link string
		if link, err = d.Readlink(from); err == nil {
			err = d.Symlink(link, to)
		}
	default:
		err = copyFile(ctx, d, from, to)
	}
	var named *fs.PathError
	if err == nil || ctx.Err() != nil || errors.As(err, &named) && named.Op == "copy" {
		return err
	}
	return &fs.PathError{Op: "copy", Path: from, Err: err}
}

func copyEntries(ctx context.Context, d disk, from, to string, mode fs.FileMode) error {
	list, err := d.ReadDir(from)
	if err != nil {
		return err
	}
	if err := d.Mkdir(to, mode); err != nil {
		return &fs.PathError{Op: "copy", Path: to, Err: err}
	}
	for _, e := range list {
		if err := copyEntry(ctx, d, filepath.Join(from, e.Name()), filepath.Join(to, e.Name())); err != nil {
			return err
		}
	}
	return nil
}

func cmpError(first, otherwise error) error {
	if first != nil {
		return first
	}
	return otherwise
}

// isInside reports whether path is dir, or would be below it.
func isInside(d disk, path, dir string) (bool, error) {
	path, err := d.Abs(path)
	if err != nil {
		return false, err
	}
	if dir, err = d.Abs(dir); err != nil {
		return false, err
	}
	if real, err := d.Real(dir); err == nil {
		dir = real
	}
	for up := path; ; up = filepath.Dir(up) { // the part of path that exists
		if real, err := d.Real(up); err == nil {
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
func removeTree(d disk, path string) error {
	if _, err := d.Lstat(path); err != nil {
		return err
	}
	full, err := d.Abs(path)
	if err != nil {
		return err
	}
	if full == filepath.Dir(full) {
		return errors.New("is the root of the file system")
	}
	if info, err := d.Lstat(full); err == nil && info.IsDir() {
		if here, err := os.Getwd(); err == nil {
			if inside, err := isInside(d, here, full); err != nil || inside {
				return cmpError(err, errors.New("the working directory is in it"))
			}
		}
	}
	return d.RemoveAll(path)
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

func (t *tempDirs) create(d disk) (string, error) {
	dir, err := d.MkdirTemp()
	if err == nil {
		t.mu.Lock()
		defer t.mu.Unlock()
		t.list = append(t.list, dir)
	}
	return dir, err
}

// remove removes them. It returns the first error.
func (t *tempDirs) remove(d disk) (first error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, dir := range t.list {
		if err := d.RemoveAll(dir); err != nil && first == nil {
			first = err
		}
	}
	t.list = nil
	return first
}
