package luabind

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"npulua/internal/whole"
	"npulua/luabind/lua51"
	"npulua/npu"
)

var (
	_ lua51.System = (*policy)(nil)
	_ npu.WriteFS  = (*policy)(nil)
)

// openNow is how files are read that must not be waited for: a named pipe without a writer is empty.
const openNow = os.O_RDONLY | syscall.O_NONBLOCK

// fileBytes is what making a file counts as, beside what is written to it.
const fileBytes = 4 << 10

// OpenFile implements lua51.System.
func (p *policy) OpenFile(path string, flag int, perm fs.FileMode) (*os.File, error) {
	name, err := p.inside(path)
	if err != nil {
		return nil, err
	}
	switch info, err := p.granted.Stat(name); {
	case err == nil && info.Mode()&fs.ModeDevice != 0:
		return nil, errOnlyFiles // opening some does something already
	case err != nil && flag&os.O_CREATE != 0:
		if err := p.Write(fileBytes); err != nil {
			return nil, err
		}
	}
	f, err := p.granted.OpenFile(name, flag&^os.O_TRUNC|syscall.O_NONBLOCK, perm)
	if errors.Is(err, syscall.ENXIO) {
		return nil, errOnlyFiles // nobody reads the pipe
	}
	if err != nil {
		return nil, p.told(err)
	}
	if err := mayUse(f, flag); err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// mayUse asks for a file that is open, and makes it empty where flag says so.
func mayUse(f *os.File, flag int) error {
	info, err := f.Stat()
	if err != nil {
		return err
	}
	switch {
	case info.IsDir():
		return nil
	case !info.Mode().IsRegular():
		return errOnlyFiles
	case flag&(os.O_WRONLY|os.O_RDWR) == 0:
		return nil
	}
	if stat, ok := info.Sys().(*syscall.Stat_t); ok && stat.Nlink > 1 {
		return errOtherNames
	}
	if flag&os.O_TRUNC != 0 {
		return f.Truncate(0)
	}
	return nil
}

// Stat implements lua51.System.
func (p *policy) Stat(path string) (fs.FileInfo, error) {
	name, err := p.inside(path)
	if err != nil {
		return nil, err
	}
	info, err := p.granted.Stat(name)
	return info, p.told(err)
}

// Remove implements lua51.System.
func (p *policy) Remove(path string) error {
	name, err := p.inside(path)
	if err != nil {
		return err
	}
	return p.told(p.granted.Remove(name))
}

// Rename implements lua51.System.
func (p *policy) Rename(from, to string) error {
	old, err := p.inside(from)
	if err != nil {
		return err
	}
	name, err := p.inside(to)
	if err != nil {
		return err
	}
	return p.told(p.granted.Rename(old, name))
}

// TempDir implements lua51.System.
func (p *policy) TempDir() string { return "." }

// Getenv implements lua51.System: the environment is empty.
func (p *policy) Getenv(string) (string, bool) { return "", false }

// Run implements lua51.System.
func (p *policy) Run() error { return errNoPrograms }

// Write implements lua51.System.
func (p *policy) Write(n int) error { return p.ledger.write(n) }

// Whole implements lua51.System: a standard stream is no file that can be written where others wrote.
func (p *policy) Whole() bool { return false }

// Open implements fs.FS, for paths as scripts write them.
func (p *policy) Open(path string) (fs.File, error) {
	f, err := p.OpenFile(path, openNow, 0)
	if err != nil {
		return nil, readError(path, err)
	}
	return counted{f, p}, nil
}

// counted is a file that asks for room before each read, and ends when scripts have exceeded a limit.
type counted struct {
	f *os.File
	p *policy
}

func (c counted) Stat() (fs.FileInfo, error) { return c.f.Stat() }
func (c counted) Close() error               { return c.f.Close() }
func (c counted) Read(data []byte) (int, error) {
	c.p.Room(2 * len(data))
	if over := c.p.exceeded.Load(); over != nil {
		return 0, over
	}
	return c.f.Read(data)
}

// readError says of which path of a script err is.
func readError(path string, err error) error {
	var pe *fs.PathError
	if errors.As(err, &pe) {
		err = pe.Err
	}
	return fmt.Errorf("read %s: %w", path, err)
}

// WriteFile implements npu.WriteFS.
func (p *policy) WriteFile(path string, write func(io.Writer) error) error {
	err := whole.Write(p, path, whole.Options{}, write)
	var pe *fs.PathError
	if errors.As(err, &pe) {
		err = pe.Err
	}
	if err != nil {
		err = fmt.Errorf("write %s: %w", path, err)
	}
	return err
}

// maxSource bounds a chunk that a sandbox compiles: nothing interrupts the compiler, and it takes some hundred times
// as much memory.
const maxSource = 1 << 20

// readCode reads a chunk that require or a worker is to run: a file beside the script whose name ends in .lua, or
// one in the granted folder.
func (p *policy) readCode(path string) ([]byte, error) {
	f, err := p.openCode(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return readChunk(f)
}

// readChunk reads what may be compiled.
func readChunk(f *os.File) ([]byte, error) {
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return nil, errors.Join(err, errors.New("it is no regular file"))
	}
	data, err := io.ReadAll(io.LimitReader(f, maxSource+1))
	if err == nil {
		err = checkSource(len(data))
	}
	return data, err
}

func checkSource(n int) error {
	if n > maxSource {
		return fmt.Errorf("the sandbox compiles no chunk of more than %s", sizeText(maxSource))
	}
	return nil
}

func (p *policy) openCode(path string) (*os.File, error) {
	if p.beside != nil && filepath.Ext(path) == ".lua" {
		if rel, ok := below(p.scriptIn, path); ok {
			f, err := p.beside.OpenFile(rel, openNow, 0)
			if err == nil || p.granted == nil {
				return f, p.told(err)
			}
		}
	}
	return p.OpenFile(path, openNow, 0)
}

// isCode reports whether readCode finds a file.
func (p *policy) isCode(path string) bool {
	f, err := p.openCode(path)
	if err != nil {
		return false
	}
	defer f.Close()
	info, err := f.Stat()
	return err == nil && !info.IsDir()
}
