package luabind

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"npulua/internal/whole"
)

// The files of reports: all that the module check does with files.

// reportOptions are how reports are written: whoever reads one finds the old one or the new one. A file that is a mount
// of its own, as in a container, is written in place.
var reportOptions = whole.Options{Sync: true, InPlace: true}

// probeReport fails where a report could not be written to path at the end, hours later. A pipe that nobody reads is
// such a place. What is there stays until then.
func probeReport(d disk, path string) error {
	return reportError(path, whole.Probe(d, path, reportOptions))
}

func writeReport(d disk, path string, data []byte) error {
	return reportError(path, whole.Write(d, path, reportOptions, func(w io.Writer) error {
		_, err := w.Write(data)
		return err
	}))
}

// sameFile reports whether two paths are of one regular file, which may not be there yet.
func sameFile(d disk, a, b string) bool {
	x, errX := d.Stat(a)
	y, errY := d.Stat(b)
	if errX == nil && errY == nil {
		return x.Mode().IsRegular() && os.SameFile(x, y)
	}
	return errX != nil && errY != nil && filepath.Base(a) == filepath.Base(b) && sameFolder(d, filepath.Dir(a), filepath.Dir(b))
}

func sameFolder(d disk, a, b string) bool {
	x, errX := d.Stat(a)
	y, errY := d.Stat(b)
	return errX == nil && errY == nil && os.SameFile(x, y)
}

func reportError(path string, err error) error {
	if err == nil {
		return nil
	}
	var pe *os.PathError
	var folder *whole.FolderError
	switch {
	case errors.As(err, &pe):
		err = pe.Err
	case errors.As(err, &folder):
		err = folder.Err
	}
	return fmt.Errorf("report: cannot write %s: %w", shownLine(path), err)
}
