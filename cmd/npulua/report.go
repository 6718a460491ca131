package main

import (
	"encoding/json"
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
	var err error
	select {
	case svg := <-picture:
		if svg != nil {
			err = os.WriteFile(filepath.Join(o.report, serve.TimelineFile), svg, 0o644)
		}
	case <-time.After(reportTime): // a call of the runtime, or a host function, that does not end
	}
	if err != nil {
		fmt.Fprintf(p.stderr, "npulua: --report: %v\n", err)
	}
	return err == nil
}
