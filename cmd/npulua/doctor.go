package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"npulua/internal/printable"
	"npulua/npu"
	"npulua/npu/doctor"
)

const doctorHelp = `npulua doctor [--json]

Examines whether NPUs can be used here: the backend and why it is chosen, libraries and
their versions, driver and device files, environment, and a test of each device. Each
problem comes with its remedy. --json prints the same facts as one JSON object.
Before it: --sim PROFILE examines the simulator, --timeout TIME ends it.
Exit status: 0 where hardware can be used, or the simulator that was asked for, else 1.
`

// doctorCommand examines the installation. It succeeds where hardware can be used, or the simulator that was asked
// for.
func doctorCommand(p *program, o *options, args []string) int {
	if len(args) == 1 && (args[0] == "--help" || args[0] == "-h") {
		fmt.Fprint(p.stdout, doctorHelp)
		return exitOK
	}
	asJSON := slices.Equal(args, []string{"--json"})
	if len(args) > 0 && !asJSON {
		return p.usage(fmt.Errorf("doctor takes --json, or nothing, got %q; options such as --sim come before it", args[0]))
	}
	if o.session.Backend == "null" {
		return p.usage(errors.New("doctor examines hardware or the simulator, not the backend null"))
	}
	if _, err := npu.ModelSources(o.session.Sim); err != nil { // a profile that cannot be meant
		return p.cannotOpen(err)
	}
	ctx, cancel := context.WithCancelCause(context.Background())
	defer cancel(nil)
	defer p.watchSignals(ctx, cancel)()
	defer time.AfterFunc(cmp.Or(o.timeout, math.MaxInt64), func() { cancel(errTimeout) }).Stop()

	report := doctor.Run(ctx, doctor.Options{Session: o.session})
	var err error
	if asJSON {
		var b bytes.Buffer
		out := json.NewEncoder(&b)
		out.SetIndent("", "  ")
		out.SetEscapeHTML(false)
		if err = out.Encode(report); err == nil {
			_, err = p.stdout.Write(printable.JSON(b.Bytes()))
		}
	} else {
		err = report.WriteText(p.stdout)
	}
	switch {
	case ctx.Err() != nil:
		return exitStatus(ctx, nil)
	case err != nil:
		fmt.Fprintf(p.stderr, "npulua: standard output: %v\n", err)
		return exitError
	case !report.Usable:
		return exitError
	}
	return exitOK
}
