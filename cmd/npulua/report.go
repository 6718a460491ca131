package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"npulua/cmd/npulua/serve"
	"npulua/luabind"
	"npulua/npu"
)

// reportTime bounds how long the end of a script waits for the runtime to tell what the streams did.
const reportTime = time.Second

// beginReport says in the folder of --report what the script runs on.
func (p *program) beginReport(o *options, info npu.Info) error {
	if o.report == "" {
		return nil
	}
	data, err := json.Marshal(serve.Session{Backend: info.Name, Simulated: info.Simulated, Detail: info.Detail})
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(o.report, serve.SessionFile), append(data, '\n'), 0o644)
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
			errs = append(errs, os.WriteFile(filepath.Join(o.report, name), data, 0o644))
		}
	}
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
