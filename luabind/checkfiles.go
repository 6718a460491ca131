package luabind

import (
	"errors"
	"fmt"
	"os"
	"syscall"
)

// The files of reports: all that the module check does with files.

// probeReport fails where a report could not be written to path at the end, hours later. A pipe that nobody reads is
// such a place.
func probeReport(d disk, path string) error {
	f, err := d.OpenFile(path, os.O_WRONLY|os.O_CREATE|syscall.O_NONBLOCK, newMode)
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
