package repl

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// historyLimit is how many entries are kept. The file is cut when it has twice as many.
const historyLimit = 10_000

// HistoryPath returns where the history of a program is kept: $XDG_STATE_HOME/name/history, or
// ~/.local/state/name/history.
func HistoryPath(name string) (string, error) {
	dir := os.Getenv("XDG_STATE_HOME")
	if !filepath.IsAbs(dir) { // also when it is not set
		home, err := os.UserHomeDir()
		if err != nil {
			return "", err
		}
		dir = filepath.Join(home, ".local", "state")
	}
	return filepath.Join(dir, name, "history"), nil
}

// history is the entries of earlier sessions and of this one, and the file that keeps them. Each line of the
// file is an entry in which "\n" stands for a newline and "\\" for a backslash.
type history struct {
	path    string // "" keeps nothing
	entries []string
}

var (
	escapeEntry   = strings.NewReplacer("\\", "\\\\", "\n", "\\n")
	unescapeEntry = strings.NewReplacer("\\\\", "\\", "\\n", "\n")
)

// openHistory reads the file at path, and makes it where there is none. With an error, the history
// works but is not kept.
func openHistory(path string) (*history, error) {
	h := &history{path: path}
	if path == "" {
		return h, nil
	}
	err := os.MkdirAll(filepath.Dir(path), 0o700)
	if err == nil {
		err = h.load()
	}
	if err != nil {
		h.path = ""
	}
	return h, err
}

func (h *history) load() error {
	f, err := h.lock()
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() { // such as a link to /dev/null
		return err
	}
	if info.Mode().Perm()&0o077 != 0 {
		f.Chmod(0o600)
	}
	data, err := io.ReadAll(f)
	if err != nil {
		return err
	}
	lines := bytes.Split(bytes.TrimRight(data, "\n"), []byte("\n"))
	if len(lines) > historyLimit {
		cut := len(lines) > 2*historyLimit
		lines = lines[len(lines)-historyLimit:]
		if cut {
			h.rewrite(append(bytes.Join(lines, []byte("\n")), '\n')) // not worth a warning
		}
	}
	for _, line := range lines {
		if e := unescapeEntry.Replace(clean(string(line))); strings.TrimSpace(e) != "" {
			h.entries = append(h.entries, e)
		}
	}
	return nil
}

// rewrite replaces the file, which the caller has locked. Another session that waits for the lock
// sees by the file's identity that there is a new one.
func (h *history) rewrite(data []byte) error {
	path, err := filepath.EvalSymlinks(h.path)
	if err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(path), ".history-*") // 0600
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	err = errors.Join(err, f.Close())
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		os.Remove(f.Name())
	}
	return err
}

// lock opens the file for reading and appending, and locks it until it is closed.
func (h *history) lock() (*os.File, error) {
	for {
		f, err := os.OpenFile(h.path, os.O_RDWR|os.O_APPEND|os.O_CREATE, 0o600)
		if err != nil {
			return nil, err
		}
		if err := flock(f); err != nil {
			f.Close()
			return nil, err
		}
		mine, err1 := f.Stat()
		now, err2 := os.Stat(h.path)
		if err1 == nil && err2 == nil && os.SameFile(mine, now) {
			return f, nil
		}
		f.Close() // it was replaced in the meantime
	}
}

func flock(f *os.File) error {
	for {
		err := unix.Flock(int(f.Fd()), unix.LOCK_EX)
		switch err {
		case unix.EINTR:
		case unix.ENOLCK, unix.ENOTSUP, unix.ENOSYS: // a network file system; appending is still whole
			return nil
		default:
			return err
		}
	}
}

// add keeps an entry, unless it is the same as the last one.
func (h *history) add(entry string) error {
	entry = strings.TrimRight(entry, "\n")
	if strings.TrimSpace(entry) == "" || len(h.entries) > 0 && h.entries[len(h.entries)-1] == entry {
		return nil
	}
	h.entries = append(h.entries, entry)
	if h.path == "" {
		return nil
	}
	f, err := h.lock()
	if err == nil {
		line := escapeEntry.Replace(entry) + "\n"
		last := make([]byte, 1)
		if n, _ := f.Seek(0, io.SeekEnd); n > 0 {
			if _, err := f.ReadAt(last, n-1); err == nil && last[0] != '\n' {
				line = "\n" + line // a session was killed while it wrote
			}
		}
		_, err = f.WriteString(line)
		err = errors.Join(err, f.Close())
	}
	if err != nil {
		h.path = "" // one warning is enough
	}
	return err
}
