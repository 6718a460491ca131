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
	"os"

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

// writeFile makes path hold what encode writes, or leaves everything as it was.
func writeFile(path string, encode func(io.Writer) error) error {
	if err := whole.Write(whole.Host{}, path, whole.Options{Await: true}, encode); err != nil {
		return pathError("write", path, err)
	}
	return nil
}
