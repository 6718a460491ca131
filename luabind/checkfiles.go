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
// such a place.
func probeReport(d disk, path string) error {
	return reportError(path, whole.Probe(d, path, reportOptions))
}

// reportFile is where a report goes. The one of an earlier run must not stand for one that was killed, and must not be
// lost where the disk is full: it is set aside, with an empty file in its place, until the new one is complete.
type reportFile struct {
	path  string
	aside string // where the earlier one is; "": there was none, or it could not be set aside
}

// newReportFile sets aside what is at path.
func newReportFile(d disk, path string) reportFile {
	r := reportFile{path: path}
	old, err := d.Stat(path)
	if err != nil || !old.Mode().IsRegular() || old.Size() == 0 {
		return r
	}
	real, err := d.Real(path)
	if err != nil {
		return r
	}
	aside := filepath.Join(filepath.Dir(real), "."+filepath.Base(real)+".old")
	if d.Rename(real, aside) != nil {
		return r
	}
	r.aside = aside
	if whole.Write(d, real, whole.Options{Mode: old.Mode().Perm()}, func(io.Writer) error { return nil }) != nil {
		r.restore(d)
	}
	return r
}

func (r *reportFile) restore(d disk) {
	if r.aside != "" {
		if real, err := d.Real(r.path); err == nil {
			_ = d.Rename(r.aside, real) // the report is lost anyway
		} else {
			_ = d.Rename(r.aside, r.path)
		}
		r.aside = ""
	}
}

// write writes the report, or brings the earlier one back.
func (r *reportFile) write(d disk, data []byte) error {
	err := whole.Write(d, r.path, reportOptions, func(w io.Writer) error {
		_, err := w.Write(data)
		return err
	})
	switch {
	case err != nil:
		r.restore(d)
	case r.aside != "":
		_ = d.Remove(r.aside)
		r.aside = ""
	}
	return reportError(r.path, err)
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
