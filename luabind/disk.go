package luabind

import (
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

// disk is the file system as modules see it, by paths as scripts write them: all of it, or what a sandbox grants.
type disk interface {
	OpenFile(path string, flag int, perm fs.FileMode) (*os.File, error)
	Stat(path string) (fs.FileInfo, error)
	Lstat(path string) (fs.FileInfo, error)
	// ReadDir is what is in a directory, in any order.
	ReadDir(path string) ([]fs.DirEntry, error)
	Mkdir(path string, perm fs.FileMode) error
	MkdirAll(path string, perm fs.FileMode) error
	// MkdirTemp makes a directory that only this user can read, where temporary ones are.
	MkdirTemp() (string, error)
	Remove(path string) error
	RemoveAll(path string) error
	Rename(from, to string) error
	Readlink(path string) (string, error)
	Symlink(target, path string) error
	// Abs is the path from the root, with links as they are.
	Abs(path string) (string, error)
	// Real is a path of the same file in which there are no links.
	Real(path string) (string, error)
	// Write is asked before n bytes are written.
	Write(n int) error
	// Room is asked before n bytes are kept in memory; where that is too much, the context of the scripts ends.
	Room(n int)
}

// disk is the file system that scripts of the machine have.
func (in *Interp) disk() disk {
	if in.policy != nil {
		return in.policy
	}
	return wholeDisk{}
}

// wholeDisk is all of the file system.
type wholeDisk struct{}

func (wholeDisk) OpenFile(path string, flag int, perm fs.FileMode) (*os.File, error) {
	return os.OpenFile(path, flag, perm)
}
func (wholeDisk) Stat(path string) (fs.FileInfo, error)        { return os.Stat(path) }
func (wholeDisk) Lstat(path string) (fs.FileInfo, error)       { return os.Lstat(path) }
func (wholeDisk) ReadDir(path string) ([]fs.DirEntry, error)   { return os.ReadDir(path) }
func (wholeDisk) Mkdir(path string, perm fs.FileMode) error    { return os.Mkdir(path, perm) }
func (wholeDisk) MkdirAll(path string, perm fs.FileMode) error { return os.MkdirAll(path, perm) }
func (wholeDisk) MkdirTemp() (string, error)                   { return os.MkdirTemp("", "npulua-") }
func (wholeDisk) Remove(path string) error                     { return os.Remove(path) }
func (wholeDisk) RemoveAll(path string) error                  { return os.RemoveAll(path) }
func (wholeDisk) Rename(from, to string) error                 { return os.Rename(from, to) }
func (wholeDisk) Readlink(path string) (string, error)         { return os.Readlink(path) }
func (wholeDisk) Symlink(target, path string) error            { return os.Symlink(target, path) }
func (wholeDisk) Abs(path string) (string, error)              { return filepath.Abs(path) }
func (wholeDisk) Real(path string) (string, error)             { return filepath.EvalSymlinks(path) }
func (wholeDisk) Write(int) error                              { return nil }
func (wholeDisk) Room(int)                                     {}

var _ disk = (*policy)(nil)

// Room implements disk.
func (p *policy) Room(n int) { p.ask(int64(n)) }

// entrySteps is how many instructions an entry of a directory counts as that is read or removed.
const entrySteps = 20

// Lstat implements disk.
func (p *policy) Lstat(path string) (fs.FileInfo, error) {
	name, err := p.inside(path)
	if err != nil {
		return nil, err
	}
	info, err := p.granted.Lstat(name)
	return info, p.told(err)
}

// ReadDir implements disk.
func (p *policy) ReadDir(path string) ([]fs.DirEntry, error) {
	f, err := p.OpenFile(path, os.O_RDONLY|syscall.O_DIRECTORY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	list, err := f.ReadDir(-1)
	p.Ran(entrySteps * len(list))
	if over := p.exceeded.Load(); over != nil {
		return nil, over
	}
	return list, err
}

// Mkdir implements disk.
func (p *policy) Mkdir(path string, perm fs.FileMode) error {
	name, err := p.inside(path)
	if err == nil {
		err = p.Write(fileBytes)
	}
	if err != nil {
		return err
	}
	return p.told(p.granted.Mkdir(name, perm))
}

// MkdirAll implements disk.
func (p *policy) MkdirAll(path string, perm fs.FileMode) error {
	name, err := p.inside(path)
	if err != nil {
		return err
	}
	missing := 0
	for up := filepath.Clean(name); up != "."; up = filepath.Dir(up) {
		if _, err := p.granted.Lstat(up); err == nil {
			break
		}
		missing++
	}
	if err := p.Write(missing * fileBytes); err != nil {
		return err
	}
	return p.told(p.granted.MkdirAll(name, perm))
}

// MkdirTemp implements disk: there is no other place than the granted folder.
func (p *policy) MkdirTemp() (string, error) {
	name := fmt.Sprintf(".npulua-%016x", rand.Uint64())
	return name, p.Mkdir(name, 0o700)
}

// RemoveAll implements disk.
func (p *policy) RemoveAll(path string) error {
	name, err := p.inside(path)
	if err != nil {
		return err
	}
	if name = filepath.Clean(name); name == "." {
		return &withheld{"the folder of the sandbox stays", "remove what is in it"}
	}
	return p.told(p.granted.RemoveAll(name))
}

// Readlink implements disk.
func (p *policy) Readlink(path string) (string, error) {
	name, err := p.inside(path)
	if err != nil {
		return "", err
	}
	target, err := p.granted.Readlink(name)
	return target, p.told(err)
}

// Symlink implements disk. Who comes into the folder later may follow a link, and is in no sandbox.
func (p *policy) Symlink(string, string) error {
	return &withheld{"the sandbox makes no links", withoutHint}
}

// Abs implements disk.
func (p *policy) Abs(path string) (string, error) {
	if filepath.IsAbs(path) {
		return filepath.Clean(path), nil
	}
	if p.granted == nil {
		return "", p.refused
	}
	return filepath.Join(p.names[0], path), nil
}

// maxLinks is how many links a path may lead through.
const maxLinks = 40

// Real implements disk. What it returns may be a link by the time that it is used: whoever uses it does so through
// the policy, too.
func (p *policy) Real(path string) (string, error) {
	name, err := p.inside(path)
	if err != nil {
		return "", err
	}
	var real []string
	rest := components(name)
	for links := 0; len(rest) > 0; {
		next := rest[0]
		rest = rest[1:]
		if next == ".." {
			if len(real) == 0 {
				return "", p.refused
			}
			real = real[:len(real)-1]
			continue
		}
		here := filepath.Join(append(slices.Clone(real), next)...)
		info, err := p.granted.Lstat(here)
		if err != nil {
			return "", p.told(err)
		}
		if info.Mode()&fs.ModeSymlink == 0 {
			real = append(real, next)
			continue
		}
		target, err := p.granted.Readlink(here)
		if err != nil {
			return "", p.told(err)
		}
		if links++; links > maxLinks {
			return "", syscall.ELOOP
		}
		if filepath.IsAbs(target) {
			return "", p.refused
		}
		rest = append(components(target), rest...)
	}
	return filepath.Join(append([]string{p.names[0]}, real...)...), nil
}

// components are the names in a path, without those that stay where they are.
func components(path string) []string {
	var list []string
	for c := range strings.SplitSeq(path, string(filepath.Separator)) {
		if c != "" && c != "." {
			list = append(list, c)
		}
	}
	return list
}
