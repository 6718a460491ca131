package lua51

import (
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"syscall"
)

// System is what io, os and print use of the operating system, so that a program can grant less than all of it. An
// error that has a PlainText is told in these words.
type System interface {
	OpenFile(name string, flag int, perm fs.FileMode) (*os.File, error)
	Stat(name string) (fs.FileInfo, error)
	Remove(name string) error
	Rename(from, to string) error
	// TempDir is the folder of temporary files.
	TempDir() string
	Getenv(name string) (string, bool)
	// Run is nil where programs may be started.
	Run() error
	// Write is asked before n bytes go to a file or a standard stream.
	Write(n int) error
	// Whole says that all of the system is granted, standard streams as files included.
	Whole() bool
}

// host is a System that grants everything.
type host struct{}

func (host) OpenFile(name string, flag int, perm fs.FileMode) (*os.File, error) {
	return os.OpenFile(name, flag, perm)
}
func (host) Stat(name string) (fs.FileInfo, error)      { return os.Stat(name) }
func (host) Remove(name string) error                   { return os.Remove(name) }
func (host) Rename(from, to string) error               { return syscall.Rename(from, to) }
func (host) TempDir() string                            { return os.TempDir() }
func (host) Getenv(name string) (value string, ok bool) { return os.LookupEnv(name) }
func (host) Run() error                                 { return nil }
func (host) Write(int) error                            { return nil }
func (host) Whole() bool                                { return true }

// system is what the library uses.
func (s *Streams) system() System {
	if s.System == nil {
		return host{}
	}
	return s.System
}

// tempFile makes a new file in the folder of temporary files.
func (s *Streams) tempFile() (*os.File, string, error) {
	const letters, tries = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789", 100
	sys := s.system()
	var err error
	for range tries {
		name := filepath.Join(sys.TempDir(), "lua_")
		for range 6 {
			name += string(letters[rand.IntN(len(letters))])
		}
		var f *os.File
		if f, err = sys.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600); err == nil {
			return f, name, nil
		}
		if _, number := errnoText(err); number != int(syscall.EEXIST) {
			break
		}
	}
	return nil, "", err
}
