package luabind

import (
	"errors"
	"fmt"
	"os"
	"sync"
	"syscall"
)

// This file holds what the module log does with files; nothing in it knows Lua.

var errNoLogFile = errors.New("is a pipe, a socket or a device, no file")

// logFiles are the log files of a session by absolute path. Each is opened once, by whichever machine writes to it.
type logFiles struct {
	mu   sync.Mutex
	open map[string]*logFile
}

// logFile is written to at its end, a whole line at a time, without a buffer: what was logged is there after a crash.
// Its methods may be called from any goroutine.
type logFile struct {
	path string
	disk disk

	mu sync.Mutex
	f  *os.File
}

// get is the log file of path, which is made where it is missing.
func (l *logFiles) get(d disk, path string) (*logFile, error) {
	full, err := d.Abs(path)
	if err != nil {
		return nil, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if f := l.open[full]; f != nil {
		return f, nil
	}
	f := &logFile{path: path, disk: d}
	if err := f.reopen(); err != nil {
		return nil, err
	}
	if l.open == nil {
		l.open = make(map[string]*logFile)
	}
	l.open[full] = f
	return f, nil
}

// close closes all of them. It returns the first error.
func (l *logFiles) close() (first error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, f := range l.open {
		if err := f.f.Close(); err != nil && first == nil {
			first = err
		}
	}
	l.open = nil
	return first
}

// reopen opens the file of the path, which may be another one than before.
func (l *logFile) reopen() error {
	f, err := l.disk.OpenFile(l.path, os.O_WRONLY|os.O_APPEND|os.O_CREATE|syscall.O_NONBLOCK, newMode)
	if err != nil {
		return ofDirectory(err)
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = errNoLogFile
	}
	if err != nil {
		f.Close()
		return err
	}
	if l.f != nil {
		l.f.Close() // it has everything: nothing is kept in a buffer
	}
	l.f = f
	return nil
}

// write adds a line. Where the file was moved away, as logrotate does, or removed, a new one is begun.
func (l *logFile) write(line []byte) error {
	if err := l.disk.Write(len(line)); err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.moved() {
		if err := l.reopen(); err != nil {
			return err
		}
	}
	_, err := l.f.Write(line)
	return err
}

// moved reports whether the path no longer leads to the open file.
func (l *logFile) moved() bool {
	here, err := l.disk.Stat(l.path)
	if err != nil {
		return true // reopen says why
	}
	open, err := l.f.Stat()
	return err == nil && !os.SameFile(here, open)
}

// closeLogs closes the log files at the end of the program.
func (in *Interp) closeLogs() {
	if err := in.logFiles.close(); err != nil {
		in.notice(fmt.Sprintf("a log file could not be closed: %v", err))
	}
}
