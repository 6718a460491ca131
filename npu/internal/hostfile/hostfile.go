// Package hostfile reads and writes the files that become host buffers: NumPy arrays and pictures.
//
// An error either says what the operating system refused (errors.Is finds fs.ErrNotExist and so
// on) or what is wrong with the content, and then errors.Is finds ErrFormat. There is no third
// kind. Nothing here trusts a size that a file claims: it is checked against what the file holds
// before memory is taken for it.
package hostfile

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"
	"time"

	"npulua/internal/whole"
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
// none: a FIFO, a terminal. wait calls what may wait for whoever is at the other end of such a file: until its ctx ends.
func readFile(path string, wait Wait, decode func(r io.Reader, size int64) error) error {
	f, err := open(path, wait)
	if err != nil {
		return pathError("read", path, err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return pathError("read", path, err)
	}
	size, r := int64(-1), io.Reader(waiting{f, wait})
	if info.Mode().IsRegular() {
		size, r = info.Size(), f
	}
	if err := decode(r, size); err != nil {
		return pathError("read", path, err)
	}
	return nil
}

// Wait calls fn, which waits, and returns its error, or why the wait was ended: the ctx of fn has ended then.
type Wait func(fn func(ctx context.Context) error) error

// forEver is a Wait that nothing ends.
func forEver(fn func(context.Context) error) error { return fn(context.Background()) }

// open opens a file to read. A FIFO waits for a writer.
func open(path string, wait Wait) (*os.File, error) {
	if info, err := os.Stat(path); err != nil || info.Mode().IsRegular() || info.IsDir() {
		return os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0) // what has become a FIFO meanwhile has no content
	}
	var f *os.File
	err := wait(func(ctx context.Context) error {
		type opened struct {
			f   *os.File
			err error
		}
		done := make(chan opened, 1)
		go func() {
			f, err := os.Open(path)
			done <- opened{f, err}
		}()
		select {
		case o := <-done:
			f = o.f
			return o.err
		case <-ctx.Done():
			go func() { // nobody can end the call
				if o := <-done; o.err == nil {
					o.f.Close()
				}
			}()
			return context.Cause(ctx)
		}
	})
	if err != nil && f != nil {
		f.Close()
	}
	return f, err
}

// waiting is a file whose reads wait.
type waiting struct {
	f    *os.File
	wait Wait
}

func (w waiting) Read(p []byte) (n int, err error) {
	ended := w.wait(func(ctx context.Context) error {
		defer context.AfterFunc(ctx, func() { _ = w.f.SetReadDeadline(time.Unix(1, 0)) })() // what has no deadlines does not wait
		if n, err = w.f.Read(p); err != nil && ctx.Err() != nil {
			return context.Cause(ctx)
		}
		return nil
	})
	if ended != nil {
		return 0, ended
	}
	return n, err
}

// writeFile makes path hold what encode writes, or leaves everything as it was.
func writeFile(path string, encode func(io.Writer) error) error {
	if err := whole.Write(whole.Host{}, path, whole.Options{Await: true}, encode); err != nil {
		return pathError("write", path, err)
	}
	return nil
}
