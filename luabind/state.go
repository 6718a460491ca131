package luabind

import (
	"time"
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

// Notices are what a person should be told before the next chunk, each once: tasks and workers that have failed
// and that nobody has joined.
func (e *Evaluator) Notices() []string {
	var out []string
	for _, f := range e.in.failures() {
		out = append(out, e.in.FormatError(f))
		e.in.told[f.task] = true
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
