package metrics

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/prometheus/common/expfmt"
)

// Text is what Prometheus reads: the text exposition format, version 0.0.4.
func (r *Registry) Text() (string, error) {
	families, err := r.Gather()
	if err != nil {
		return "", err
	}
	var b strings.Builder
	for _, f := range families {
		if _, err := expfmt.MetricFamilyToText(&b, f); err != nil {
			return "", err
		}
	}
	return b.String(), nil
}

// WriteFile writes the text to a file that anybody may read, which has either all of it or what it had before: the
// textfile collector of a node exporter may look at any time.
func WriteFile(path, text string) error {
	err := replaceFile(path, text)
	var named *os.PathError
	var linked *os.LinkError
	switch {
	case errors.As(err, &named):
		err = named.Err
	case errors.As(err, &linked):
		err = linked.Err
	}
	if err != nil {
		return fmt.Errorf("cannot write %s: %w", path, err)
	}
	return nil
}

func replaceFile(path, text string) (err error) {
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = os.Remove(f.Name()) // the first error tells
		}
	}()
	_, err = f.WriteString(text)
	if err == nil {
		err = f.Chmod(0o644)
	}
	if err == nil {
		err = f.Sync()
	}
	if closeErr := f.Close(); err == nil {
		err = closeErr
	}
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	return err
}
