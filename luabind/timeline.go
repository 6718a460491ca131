package luabind

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"npulua/npu"
)

// maxRows bounds the streams that a timeline shows.
const maxRows = 32

// minTimeline is the least number of columns that a timeline takes.
const minTimeline = 20

// EmptyTimeline is the Timeline of a time in which no command began or ended.
const EmptyTimeline = "no stream has done anything"

// Timeline draws what the streams of the session have done since a point in time of the backend's clock, as
// npu.time tells it: a row for each stream that was busy, with a bar for each command, and an axis of time. What
// began earlier is marked where it comes in. It takes width columns; 80 where that is 0. Text of one line says why
// there is nothing to draw.
func (in *Interp) Timeline(since time.Duration, width int) string {
	if width <= 0 {
		width = prettyWidth
	}
	streams, now, err := in.session.History(in.session.Main())
	if err != nil {
		text, _, _ := strings.Cut(err.Error(), "\n")
		return "no timeline: " + text
	}
	return drawTimeline(streams, since, now, max(width, minTimeline))
}

// mark is how a kind of command is drawn.
type mark struct {
	letter byte
	text   string // for the legend
}

var marks = []struct {
	op, way string
	mark
}{
	{"copy", "H2D", mark{'<', "copy to the device"}},
	{"copy", "D2H", mark{'>', "copy to the host"}},
	{"copy", "D2D", mark{'=', "copy among devices"}},
	{"fill", "", mark{'F', "fill"}},
	{"launch", "", mark{'K', "kernel"}},
	{"callback", "", mark{'C', "callback"}},
	{"replay", "", mark{'G', "graph"}},
	{"run", "", mark{'M', "model"}},
}

// Marks that kinds of commands do not have; earlier stands at the left edge.
var (
	failed  = mark{'X', "failed"}
	earlier = mark{':', "began earlier"}
)

// markOf is how c is drawn; ok is false for what takes no time, such as records and waits.
func markOf(c npu.CommandInfo) (m mark, ok bool) {
	for _, row := range marks {
		if row.op == c.Op && row.way == c.Way {
			if c.State == "failed" {
				return failed, true
			}
			return row.mark, true
		}
	}
	return mark{}, false
}

// timelineRows are the streams that were busy after since, up to maxRows of them, with the commands that they were busy with, and the time
// that these take. more is how many streams were left out; without rows nothing has happened.
func timelineRows(streams []npu.StreamCommands, since, now time.Duration) (rows []npu.StreamCommands, first, last time.Duration, more int) {
	happened := false // something began or ended
	first = math.MaxInt64
	for _, s := range streams {
		var busy []npu.CommandInfo
		for _, c := range s.Commands {
			if c.State == "running" {
				c.End = max(now, c.Start)
			}
			ran := c.State == "done" || c.State == "failed" || c.State == "running"
			if _, ok := markOf(c); !ok || !ran || c.End == 0 || c.Start < since && c.End <= since {
				continue
			}
			happened = happened || c.Start >= since || c.State != "running"
			first, last = min(first, max(c.Start, since)), max(last, c.End)
			busy = append(busy, c)
		}
		if len(busy) > 0 {
			s.Commands = busy
			rows = append(rows, s)
		}
	}
	if !happened {
		return nil, 0, 0, 0
	}
	slices.SortStableFunc(rows, func(a, b npu.StreamCommands) int {
		return cmp.Or(a.Device-b.Device, a.Context-b.Context, a.Number-b.Number)
	})
	more = max(len(rows)-maxRows, 0)
	return rows[:len(rows)-more], first, last, more
}

// drawTimeline draws what ran after since, in width columns.
func drawTimeline(streams []npu.StreamCommands, since, now time.Duration, width int) string {
	rows, first, last, more := timelineRows(streams, since, now)
	if len(rows) == 0 {
		return EmptyTimeline
	}
	names := make([]string, len(rows))
	label := 0
	for i, s := range rows {
		names[i] = streamLabel(s, width)
		label = max(label, len(names[i]))
	}
	t := timeline{since: since, first: first, span: max(last-first, 1), columns: width - label - 3}
	var b strings.Builder
	for i, s := range rows {
		fmt.Fprintf(&b, "%-*s |%s|\n", label, names[i], t.row(s.Commands))
	}
	if more > 0 {
		fmt.Fprintf(&b, "... %d more streams\n", more)
	}
	fmt.Fprintf(&b, "%*s  %s\n", label, "", t.axis())
	for _, line := range t.legend(width) {
		b.WriteString(line + "\n")
	}
	return strings.TrimRight(b.String(), "\n")
}

// streamLabel names a row: short where the terminal is narrow.
func streamLabel(s npu.StreamCommands, width int) string {
	number := "default"
	if s.Number > 0 {
		number = strconv.Itoa(s.Number)
	}
	if width < 60 {
		return fmt.Sprintf("%d/%d/%.3s", s.Device, s.Context, number)
	}
	context := ""
	if s.Context > 0 {
		context = fmt.Sprintf("/ctx%d", s.Context)
	}
	return fmt.Sprintf("npu%d%s stream %s", s.Device, context, number)
}

// timeline is the scale of a drawing, and what was drawn.
type timeline struct {
	since, first, span time.Duration
	columns            int
	used               []mark
}

// column is the one of a moment.
func (t *timeline) column(at time.Duration) int {
	return min(int(float64(at-t.first)/float64(t.span)*float64(t.columns)), t.columns-1)
}

// row draws the commands of one stream. A command has the columns that it was busy in the middle of, one at
// least; where several share a column the longest has it.
func (t *timeline) row(commands []npu.CommandInfo) string {
	line := []byte(strings.Repeat(" ", t.columns))
	share := make([]time.Duration, t.columns) // of the command that has the column
	owner := make([]int, t.columns)
	for n, c := range commands {
		m, _ := markOf(c)
		t.note(m)
		began := byte('[')
		if c.Start < t.since {
			c.Start, began = t.since, earlier.letter
			t.note(earlier)
		}
		from, to := t.column(c.Start), t.column(c.End)
		if to > from && t.moment(to) >= c.End { // it ends where the column begins
			to--
		}
		for i := from; i <= to; i++ {
			part := min(c.End, t.moment(i+1)) - max(c.Start, t.moment(i))
			if line[i] == ' ' || part > share[i] {
				line[i], share[i], owner[i] = m.letter, part, n
			}
		}
		for from < to && owner[from] != n {
			from++
		}
		switch {
		case owner[from] != n:
		case to-from >= 2: // so that neighbours stay apart
			line[from] = began
			t.name(line[from+1:to+1], c, m)
		case began == earlier.letter:
			line[from] = began
		}
	}
	return string(line)
}

// name writes the name of the kernel into its bar where that has room.
func (t *timeline) name(bar []byte, c npu.CommandInfo, m mark) {
	if c.Name == "" || m == failed || len(bar) < len(c.Name)+2 || strings.ContainsFunc(c.Name, func(r rune) bool { return r < ' ' || r > '~' }) {
		return
	}
	copy(bar[(len(bar)-len(c.Name))/2:], c.Name)
}

// moment is when column i begins.
func (t *timeline) moment(i int) time.Duration {
	return t.first + time.Duration(float64(t.span)*float64(i)/float64(t.columns))
}

func (t *timeline) note(m mark) {
	if !slices.Contains(t.used, m) {
		t.used = append(t.used, m)
	}
}

// largeClock is from when on the time of the clock tells little, in few digits, of when a chunk did what.
const largeClock = 10 * time.Second

// axis has the times of the first and the last column, and what lies between.
func (t *timeline) axis() string {
	begin, end := "^ "+shortTime(t.first), "+"+shortTime(t.span)+" ^"
	if t.since > 0 && t.first >= largeClock {
		begin = "^ " + shortTime(t.first-t.since) + " into the chunk"
	}
	gap := t.columns - len(begin) - len(end)
	switch {
	case len(begin) > t.columns:
		return "^"
	case gap < 1:
		return begin
	}
	return begin + strings.Repeat(" ", gap) + end
}

// legend explains the letters that were used, in lines of width columns.
func (t *timeline) legend(width int) []string {
	var lines []string
	line := ""
	add := func(m mark) {
		text := fmt.Sprintf("%c %s", m.letter, m.text)
		switch {
		case line == "":
			line = text
		case len(line)+3+len(text) <= width:
			line += "   " + text
		default:
			lines, line = append(lines, line), text
		}
	}
	for _, row := range marks {
		if slices.Contains(t.used, row.mark) {
			add(row.mark)
		}
	}
	for _, m := range []mark{failed, earlier} {
		if slices.Contains(t.used, m) {
			add(m)
		}
	}
	return append(lines, line)
}

// shortTime is a time with four digits, or whole seconds, and a unit.
func shortTime(d time.Duration) string {
	f, unit := float64(d), "ns"
	switch {
	case d >= time.Second:
		f, unit = d.Seconds(), "s"
	case d >= time.Millisecond:
		f, unit = float64(d)/float64(time.Millisecond), "ms"
	case d >= time.Microsecond:
		f, unit = float64(d)/float64(time.Microsecond), "us"
	}
	if f >= 1000 {
		return strconv.FormatFloat(f, 'f', 0, 64) + " " + unit
	}
	return strconv.FormatFloat(f, 'g', 4, 64) + " " + unit
}
