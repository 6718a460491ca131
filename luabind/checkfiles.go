package luabind

import (
	"errors"
	"fmt"
	"os"
	"syscall"
)

// The files of reports: all that the module check does with files.

// probeReport fails where a report could not be written to path at the end, hours later. A pipe that nobody reads is
// such a place. It empties the file: that of an earlier run must not stand for one that was killed.
func probeReport(d disk, path string) error {
	f, err := d.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC|syscall.O_NONBLOCK, newMode)
	if err == nil {
		err = f.Close()
	}
	return reportError(path, err)
}

func writeReport(d disk, path string, data []byte) error {
	f, err := d.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC|syscall.O_NONBLOCK, newMode)
	if err == nil {
		_, err = asking{f, d}.Write(data)
		if e := f.Close(); err == nil {
			err = e
		}
	}
	return reportError(path, err)
}

// sameFile reports whether two paths are of one regular file, which is there.
func sameFile(d disk, a, b string) bool {
	x, errX := d.Stat(a)
	y, errY := d.Stat(b)
	return errX == nil && errY == nil && x.Mode().IsRegular() && os.SameFile(x, y)
}

func reportError(path string, err error) error {
	if err == nil {
		return nil
	}
	var pe *os.PathError
	if errors.As(err, &pe) {
		err = pe.Err
	}
	return fmt.Errorf("report: cannot write %s: %w", shownLine(path), err)
}
