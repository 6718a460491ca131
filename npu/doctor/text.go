package doctor

import (
	"fmt"
	"io"
	"strings"

	"npulua/internal/printable"
)

// columns is what a line of the text has at most, as long as no word is longer.
const columns = 80

// marks are what a line begins with.
var marks = map[Level]string{Note: "    ", OK: "ok  ", Warn: "warn", Fail: "FAIL"}

// WriteText writes the report for people.
func (r *Report) WriteText(w io.Writer) error {
	var b strings.Builder
	for _, s := range sections {
		text := r.sectionText(s.name)
		if text == "" {
			continue
		}
		fmt.Fprintf(&b, "%s\n%s\n", s.title, text)
	}
	wrap(&b, "", "", r.summary())
	_, err := io.WriteString(w, printable.Text(b.String()))
	return err
}

func (r *Report) sectionText(name string) string {
	var b strings.Builder
	if name == "devices" {
		r.deviceTable(&b)
	}
	for _, f := range r.Findings {
		if f.Section != name {
			continue
		}
		wrap(&b, "  "+marks[f.Level]+" ", "         ", f.Text)
		if f.Remedy != "" {
			wrap(&b, "       -> ", "          ", f.Remedy)
		}
	}
	return b.String()
}

// deviceTable shows the ids of each device side by side, and what its self-test did.
func (r *Report) deviceTable(b *strings.Builder) {
	if len(r.Devices) == 0 {
		return
	}
	fmt.Fprintf(b, "  %4s  %7s  %8s  %-12s  %10s  %s\n", "user", "logical", "physical", "name", "memory", "self-test")
	id := func(n int) string {
		if n < 0 {
			return "-"
		}
		return fmt.Sprint(n)
	}
	for _, d := range r.Devices {
		fmt.Fprintf(b, "  %4d  %7s  %8s  %-12s  %6d MiB  %s\n", d.User, id(d.Logical), id(d.Physical), d.Name, d.Memory>>20, d.State)
		for _, s := range d.Steps {
			wrap(b, fmt.Sprintf("        %-10s  %-7s %9.3f ms  ", s.Name, s.State, s.Seconds*1e3), strings.Repeat(" ", 10), s.Detail)
		}
	}
}

// summary is the last line.
func (r *Report) summary() string {
	count := map[Level]int{}
	for _, f := range r.Findings {
		count[f.Level]++
	}
	tail := fmt.Sprintf("%d failure(s), %d warning(s)", count[Fail], count[Warn])
	switch {
	case r.Usable && r.Backend.Simulated:
		return "The simulator works, hardware was not looked at. " + tail
	case r.Usable:
		return "The hardware can be used. " + tail
	case r.Backend.Asked == "sim":
		return "The simulator cannot be used. " + tail
	}
	return "The hardware cannot be used. " + tail
}

// wrap writes text behind first, and what does not fit into a line behind rest.
func wrap(b *strings.Builder, first, rest, text string) {
	line, empty := first, true
	for _, word := range strings.Fields(text) {
		if !empty && len(line)+1+len(word) > columns {
			b.WriteString(line + "\n")
			line, empty = rest, true
		}
		if !empty {
			line += " "
		}
		line += word
		empty = false
	}
	b.WriteString(strings.TrimRight(line, " ") + "\n")
}
