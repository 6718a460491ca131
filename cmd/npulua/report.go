package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"npulua/cmd/npulua/serve"
	"npulua/internal/whole"
	"npulua/luabind"
	"npulua/npu"
)

// reportTime bounds how long the end of a script waits for the runtime to tell what the streams did.
const reportTime = 10 * time.Second

// mostReport bounds a file of the report of a script in a sandbox: whoever reads it trusts the script with no more.
const mostReport = 16 << 20

// writeReport makes a file in the folder of --report anew: a script may have put a link, or a pipe, in its place.
func (o *options) writeReport(name string, data []byte) error {
	if o.sandbox.on && len(data) > mostReport {
		return fmt.Errorf("%s would have more than %d MiB, the most of a script in a sandbox", name, mostReport>>20)
	}
	folder := reportFolder{o.reportRoot}
	if old, err := folder.Root.Lstat(name); err == nil && !old.Mode().IsRegular() {
		if err := folder.Remove(name); err != nil {
			return err
		}
	}
	err := whole.Write(folder, name, whole.Options{}, func(w io.Writer) error {
		_, err := w.Write(data)
		return err
	})
	var f *whole.FolderError
	if errors.As(err, &f) {
		err = f.Err
	}
	if err != nil {
		err = fmt.Errorf("%s: %w", name, err)
	}
	return err
}

// reportFolder is the folder of --report, which nothing leads out of.
type reportFolder struct{ *os.Root }

// Real implements whole.FS: what is there is a file, and no link.
func (reportFolder) Real(path string) (string, error) { return path, nil }

// Write implements whole.FS.
func (reportFolder) Write(int) error { return nil }

// Whole says that the folder is not all of the file system.
func (reportFolder) Whole() bool { return false }

// writeSession says in the folder of --report what the script runs on.
func (o *options) writeSession(info npu.Info) error {
	data, err := json.Marshal(serve.Session{Backend: info.Name, Simulated: info.Simulated, Detail: info.Detail})
	if err != nil {
		return err
	}
	return o.writeReport(serve.SessionFile, append(data, '\n'))
}

// beginReport opens the folder of --report, and says there what the script runs on.
func (p *program) beginReport(o *options, info npu.Info) error {
	if o.report == "" {
		return nil
	}
	var err error
	if o.reportRoot, err = os.OpenRoot(o.report); err != nil {
		return err
	}
	return o.writeSession(info)
}

// endReport writes what the script has to tell into the folder of --report, before the session closes. It reports false where
// that failed.
func (p *program) endReport(o *options, in *luabind.Interp) bool {
	if o.report == "" {
		return true
	}
	picture := make(chan []byte, 1)
	go func() { picture <- in.TimelineSVG() }()
	var errs []error
	write := func(name string, data []byte) {
		if data != nil {
			errs = append(errs, o.writeReport(name, data))
		}
	}
	errs = append(errs, o.writeSession(in.Session().Info())) // again: the script may have changed it
	write(serve.CheckFile, in.ChecksJSON())
	text, err := in.Metrics().Text()
	errs = append(errs, err)
	if text != "" {
		write(serve.MetricsFile, []byte(text))
	}
	select {
	case svg := <-picture:
		write(serve.TimelineFile, svg)
	case <-time.After(reportTime): // a call of the runtime, or a host function, that does not end
	}
	err = errors.Join(errs...)
	if err != nil {
		fmt.Fprintf(p.stderr, "npulua: --report: %v\n", err)
	}
	return err == nil
}
