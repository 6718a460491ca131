package luabind

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"npulua/npu"
)

// Bounds of what is shown of many.
const (
	maxListed = 20 // rows of a table of streams or buffers
	maxWaits  = 5  // lines that say what a stream waits for
)

// streamRow is what a stream is at.
type streamRow struct {
	name            string
	pending, failed int
	last, at        *npu.CommandInfo // the last one that is over, and the first that is not
}

// Streams is a table of the open streams and their work; default streams that were never used are left out. Of
// many it has those with work left or failures, and the last ones.
func (e *Evaluator) Streams() string {
	in := e.in
	list, _, err := in.session.History(in.session.Main())
	if err != nil {
		text, _, _ := strings.Cut(err.Error(), "\n")
		return "no list of streams: " + text
	}
	var rows []streamRow
	for _, s := range list {
		if !s.Closed {
			rows = append(rows, readStream(s))
		}
	}
	if len(rows) == 0 {
		return "no streams"
	}
	rows, more := lastRows(rows, func(r streamRow) bool { return r.pending > 0 || r.failed > 0 })
	text := in.streamTable(rows, false)
	if !in.fits(text) {
		text = in.streamTable(rows, true)
	}
	if more > 0 {
		text += fmt.Sprintf("\n%d more", more)
	}
	waits := 0
	for _, r := range rows {
		if r.at == nil || r.at.WaitsFor == "" {
			continue
		}
		if waits++; waits <= maxWaits {
			text += "\n" + Wrap(fmt.Sprintf("%s waits for %s", r.name, r.at.WaitsFor), in.columns)
		}
	}
	if waits > maxWaits {
		text += fmt.Sprintf("\n%d more wait", waits-maxWaits)
	}
	return text
}

// readStream sums up the commands of s.
func readStream(s npu.StreamCommands) streamRow {
	r := streamRow{name: streamLabel(s, prettyWidth)}
	for i := range s.Commands {
		c := &s.Commands[i]
		switch c.State {
		case "queued", "running":
			if r.pending++; r.pending == 1 {
				r.at = c
			}
			continue
		case "failed":
			r.failed++
		}
		r.last = c
	}
	return r
}

// lastRows are maxListed rows at most, in order: those that matter, and else the last ones; more is how many there are
// besides.
func lastRows[T any](rows []T, matters func(T) bool) (kept []T, more int) {
	if more = len(rows) - maxListed; more <= 0 {
		return rows, 0
	}
	keep := make([]bool, len(rows))
	left := maxListed
	for _, all := range []bool{false, true} {
		for i := len(rows) - 1; i >= 0 && left > 0; i-- {
			if !keep[i] && (all || matters(rows[i])) {
				keep[i] = true
				left--
			}
		}
	}
	for i, row := range rows {
		if keep[i] {
			kept = append(kept, row)
		}
	}
	return kept, more
}

func (in *Interp) streamTable(rows []streamRow, short bool) string {
	cells := [][]string{{"Stream", "Pending", "Failed", "Last", "At"}}
	for _, r := range rows {
		cells = append(cells, []string{r.name, fmt.Sprint(r.pending), fmt.Sprint(r.failed), in.commandText(r.last, short), in.commandText(r.at, short)})
	}
	if short {
		return in.cutTable(cells)
	}
	return grid(cells)
}

// commandText is a command and its place, "launch spin at input 3:1", or short, "spin 3:1"; and its state where that
// is neither done nor on its way.
func (in *Interp) commandText(c *npu.CommandInfo, short bool) string {
	if c == nil {
		return "-"
	}
	text, at := c.Op, in.sites.text(c.Site)
	switch {
	case c.Name != "" && short:
		text = c.Name
	case c.Name != "":
		text += " " + c.Name
	}
	switch {
	case at == "":
	case short:
		text += " " + strings.TrimPrefix(filepath.Base(at), "input ")
	default:
		text += " at " + at
	}
	if slices.Contains([]string{"failed", "skipped"}, c.State) {
		text += ", " + c.State
	}
	return text
}
