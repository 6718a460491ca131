package luabind

import (
	"errors"
	"fmt"
	"os"
)

// The files of reports: all that the module check does with files.

// probeReport fails where a report could not be written to path at the end, hours later. It empties the file: that of an
// earlier run must not stand for one that was killed.
func probeReport(path string) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o666)
	if err == nil {
		err = f.Close()
	}
	return reportError(path, err)
}

func writeReport(path string, data []byte) error {
	return reportError(path, os.WriteFile(path, data, 0o666))
}

// sameFile reports whether two paths are of one regular file, which is there.
func sameFile(a, b string) bool {
	x, errX := os.Stat(a)
	y, errY := os.Stat(b)
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
