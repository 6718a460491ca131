package luabind

import (
	"fmt"
	"strings"
	"time"

	"npulua/npu"
)

// Now is the time of the backend's clock, as npu.time tells it: virtual on the simulator.
func (e *Evaluator) Now() time.Duration {
	now, err := e.in.session.Main().Now()
	if err != nil {
		return 0
	}
	return now
}

// Timeline draws what the streams have done since a point of Now, in width columns.
func (e *Evaluator) Timeline(since time.Duration, width int) string {
	return e.in.Timeline(since, width)
}

// Devices is a table of the visible devices.
func (e *Evaluator) Devices() string {
	var ids []int
	for id := range e.in.session.DeviceCount() {
		ids = append(ids, id)
	}
	if text := (&printer{e: e}).devices(ids); text != "" {
		return text
	}
	return "the backend does not describe its devices"
}

// Streams is a table of the open streams and their work; default streams that were never used are left out.
func (e *Evaluator) Streams() string {
	in := e.in
	list, _, err := in.session.History(in.session.Main())
	if err != nil {
		text, _, _ := strings.Cut(err.Error(), "\n")
		return "no list of streams: " + text
	}
	rows := [][]string{{"Stream", "Left", "Failed", "Last", "Now"}}
	for _, s := range list {
		if s.Closed {
			continue
		}
		left, failed, last, now := 0, 0, "-", "-"
		for _, c := range s.Commands {
			switch c.State {
			case "failed":
				failed++
			case "queued", "running":
				if left++; left == 1 {
					now = in.commandText(c) + ", " + c.State
					if c.WaitsFor != "" {
						now += ", waits for " + c.WaitsFor
					}
				}
				continue
			}
			last = in.commandText(c) + ", " + c.State
		}
		rows = append(rows, []string{s.Name, fmt.Sprint(left), fmt.Sprint(failed), last, now})
	}
	if len(rows) == 1 {
		return "no streams"
	}
	return in.table(rows)
}

// commandText is a command and its place: "launch spin at input 3:1".
func (in *Interp) commandText(c npu.CommandInfo) string {
	text := c.Op
	if c.Name != "" {
		text += " " + c.Name
	}
	if at := in.sites.text(c.Site); at != "" {
		text += " at " + at
	}
	return text
}

// Memory is a table of the memory that is in use: of each device in use, and of each place that made buffers
// which are still open.
func (e *Evaluator) Memory() string {
	in := e.in
	rows := [][]string{{"NPU", "Used", "Free", "Total"}}
	for id := range in.session.DeviceCount() {
		d := in.openDevice(id)
		if d == nil {
			continue
		}
		free, total, err := d.Memory(in.session.Main())
		if err != nil {
			continue
		}
		rows = append(rows, []string{fmt.Sprint(id), fmt.Sprintf("%d B", total-free), fmt.Sprintf("%d B", free), mebibytes(total)})
	}
	text := "no device is in use"
	if len(rows) > 1 {
		text = in.table(rows)
	}
	rows = [][]string{{"Buffers", "Elements", "Made at", "Number"}}
	for _, l := range in.session.Leaks() {
		if strings.HasSuffix(l.Kind, "memory") {
			rows = append(rows, []string{l.Kind, l.Detail, in.sites.text(l.Site), fmt.Sprint(l.Count)})
		}
	}
	if len(rows) > 1 {
		text += "\n" + in.table(rows)
	}
	return text
}

// Notices are what a person should be told before the next chunk, each once: tasks and workers that have failed
// and that nobody has joined.
func (e *Evaluator) Notices() []string {
	var out []string
	for _, t := range e.in.sched.Failures() {
		if !e.told[t] {
			e.told[t] = true
			out = append(out, e.in.FormatError(&taskFailure{t, t.Err()}))
		}
	}
	for _, err := range e.in.workerFailures() {
		if f, ok := err.(*taskFailure); ok && !e.told[f.task] {
			e.told[f.task] = true
			out = append(out, e.in.FormatError(f))
		}
	}
	return out
}

// Waiting is what a wait that takes long is for: the program that the machine waits for, else what its tasks
// wait for and what each stream with work left is at, a line each. Unlike the other methods it may be called from
// any goroutine while Eval runs; it returns when the runtime has time to answer, which is not before a
// host function of the script that runs has ended.
func (e *Evaluator) Waiting() []string {
	if program := e.in.std.Blocked(); program != "" {
		return []string{program}
	}
	return append(e.in.session.Waits(), e.in.session.Pending()...)
}
