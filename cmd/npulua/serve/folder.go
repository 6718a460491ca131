package serve

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// folderPrefix is how names of folders of runs begin; digits follow.
const folderPrefix = "npulua-serve-"

// folder is where a run writes its report. Its lock (flock) goes with the server, however that ends, so whoever can lock it knows that
// nobody needs it any more.
type folder struct {
	path string
	lock *os.File
}

// newFolder makes one in dir.
func newFolder(dir string) (*folder, error) {
	for range 10 {
		path, err := os.MkdirTemp(dir, folderPrefix)
		if err != nil {
			return nil, err
		}
		lock, err := lockFolder(path)
		if err != nil { // another server has just taken it for one that was left
			_ = os.Remove(path)
			continue
		}
		if _, err := os.Lstat(path); err != nil { // the same, a little later
			_ = lock.Close()
			continue
		}
		return &folder{path, lock}, nil
	}
	return nil, errors.New("a folder for the report cannot be locked in " + dir)
}

func (f *folder) remove() {
	_ = os.RemoveAll(f.path)
	_ = f.lock.Close()
}

func lockFolder(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_DIRECTORY|syscall.O_NOFOLLOW, 0)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		_ = f.Close()
		return nil, err
	}
	return f, nil
}

// RemoveLeft removes from dir the folders of this user's servers that were killed. It returns their number.
func RemoveLeft(dir string) (removed int) {
	list, _ := os.ReadDir(dir) // who cannot read it leaves them
	for _, e := range list {
		digits, ok := strings.CutPrefix(e.Name(), folderPrefix)
		if !ok || digits == "" || strings.Trim(digits, "0123456789") != "" {
			continue
		}
		info, err := e.Info()
		if err != nil || !info.IsDir() || info.Mode().Perm() != 0o700 {
			continue
		}
		if st, ok := info.Sys().(*syscall.Stat_t); !ok || int(st.Uid) != os.Geteuid() {
			continue
		}
		path := filepath.Join(dir, e.Name())
		lock, err := lockFolder(path)
		if err != nil {
			continue
		}
		if os.RemoveAll(path) == nil {
			removed++
		}
		_ = lock.Close()
	}
	return removed
}
